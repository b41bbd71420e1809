// One side of two trees that face each other, its nodes as a scene.

import { INNER, LEAF, UNSEEN, weights } from "./scene.js";

/** @import { ViewNode } from "../../net/answers.js" */
/** @import { Drawn } from "./scene.js" */

/**
 * @typedef {Drawn & {
 *   name: (string | null)[],
 *   rowOf: Map<number, number>,
 * }} TangleScene `name` by row; `rowOf`: row by id
 */

/**
 * The service's nodes as a scene, at the positions from the service.
 *
 * @param {ViewNode[]} nodes
 */
export function sceneOf(nodes) {
  const n = nodes.length;
  const rowOf = new Map(nodes.map((node, row) => [node.id, row]));
  /** @param {(node: ViewNode) => number} value */
  const reals = (value) => Float64Array.from(nodes, value);
  /** @type {TangleScene} */
  const scene = {
    n,
    id: Int32Array.from(nodes, (node) => node.id),
    slot: Int32Array.from({ length: n }, (_, row) => row),
    parent: Int32Array.from(nodes, ({ parent }) =>
      parent === null ? -1 : (rowOf.get(parent) ?? -1),
    ),
    u: reals((node) => node.x),
    v: reals((node) => node.y),
    leaves: reals((node) => node.n_leaves),
    size: reals((node) => node.size),
    height: reals((node) => node.height),
    kind: new Uint8Array(n).fill(LEAF),
    left: new Float64Array(n).fill(1),
    right: new Float64Array(n),
    deep: new Float64Array(n),
    end: Int32Array.from({ length: n }, (_, row) => row + 1),
    weight: new Uint8Array(n),
    tips: 0,
    monotone: false,
    axis: null,
    name: nodes.map((node) => node.name),
    rowOf,
  };
  for (let row = n - 1; row > 0; row -= 1) {
    const up = scene.parent[row];
    scene.kind[up] = INNER;
    scene.end[up] = Math.max(scene.end[up], scene.end[row]);
  }
  nodes.forEach((node, row) => {
    if (scene.kind[row] !== INNER && node.folded) scene.kind[row] = UNSEEN;
  });
  spans(scene);
  scene.weight = weights(scene);
  scene.tips = scene.kind.reduce((sum, kind) => sum + Number(kind !== INNER), 0);
  return scene;
}

/**
 * A tip extends half-way to its neighbours, any other node over all nodes below it.
 *
 * @param {Drawn} scene
 */
function spans(scene) {
  const { n, kind, u, left, right, deep, v, parent } = scene;
  /** @type {number[]} */
  const tips = [];
  for (let row = 0; row < n; row += 1) if (kind[row] !== INNER) tips.push(row);
  tips.sort((a, b) => u[a] - u[b]);
  tips.forEach((row, at) => {
    left[row] = at === 0 ? 0 : (u[tips[at - 1]] + u[row]) / 2;
    right[row] = at === tips.length - 1 ? 1 : (u[row] + u[tips[at + 1]]) / 2;
  });
  for (let row = n - 1; row >= 0; row -= 1) {
    deep[row] = Math.max(deep[row], kind[row] === UNSEEN ? 1 : v[row]);
    const up = parent[row];
    if (up < 0) continue;
    left[up] = Math.min(left[up], left[row]);
    right[up] = Math.max(right[up], right[row]);
    deep[up] = Math.max(deep[up], deep[row]);
  }
}

/**
 * Rows of the clusters at the top: the highest node is opened first until there are `k`.
 *
 * @param {Drawn} scene
 * @param {number} k
 */
export function topClusters(scene, k) {
  const { n, kind, height, end } = scene;
  const of = new Int32Array(n).fill(-1);
  let open = [0];
  for (;;) {
    const inner = open
      .filter((row) => kind[row] === INNER)
      .sort((a, b) => height[b] - height[a] || a - b);
    if (!inner.length) break;
    /** @type {number[]} */
    const children = [];
    for (let c = inner[0] + 1; c < end[inner[0]]; c = end[c]) children.push(c);
    if (open.length - 1 + children.length > k) break;
    open = [...open.filter((row) => row !== inner[0]), ...children];
  }
  open.sort((a, b) => scene.u[a] - scene.u[b]);
  open.forEach((row, cluster) => of.fill(cluster, row, end[row]));
  return of;
}
