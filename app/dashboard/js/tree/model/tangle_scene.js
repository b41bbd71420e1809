// One side of two trees that face each other: its nodes as a scene, and its place on the page.

import { INNER, LEAF, UNSEEN } from "./scene.js";

/** A scene of the service's nodes, placed as it has placed them. `name` and `size` by row. */
export function sceneOf(nodes) {
  const n = nodes.length;
  const at = new Map(nodes.map((node, row) => [node.id, row]));
  const column = (Column, of) => Column.from(nodes, of);
  const scene = {
    n,
    id: column(Int32Array, (node) => node.id),
    slot: Int32Array.from({ length: n }, (_, row) => row),
    parent: column(Int32Array, (node) => (node.parent === null ? -1 : (at.get(node.parent) ?? -1))),
    u: column(Float64Array, (node) => node.x),
    v: column(Float64Array, (node) => node.y),
    leaves: column(Float64Array, (node) => node.n_leaves),
    size: column(Float64Array, (node) => node.size),
    height: column(Float64Array, (node) => node.height),
    kind: new Uint8Array(n).fill(LEAF),
    left: new Float64Array(n).fill(1),
    right: new Float64Array(n),
    deep: new Float64Array(n),
    end: Int32Array.from({ length: n }, (_, row) => row + 1),
    weight: new Uint8Array(n),
    monotone: false,
    name: nodes.map((node) => node.name),
    rowOf: at,
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
  const most = Math.log1p(Math.max(2, scene.leaves[0] ?? 2));
  for (let row = 0; row < n; row += 1)
    scene.weight[row] = Math.round(4 * Math.min(1, Math.log1p(scene.leaves[row]) / most) ** 1.5);
  scene.tips = scene.kind.reduce((sum, kind) => sum + Number(kind !== INNER), 0);
  return scene;
}

/** Room of each tip: to the middle between it and its neighbours; of the others: of all below. */
function spans(scene) {
  const { n, kind, u, left, right, deep, v, parent } = scene;
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
 * Where a side stands: from `x0` (root) to `x1` (leaves), which is left of `x0` for the right side;
 * `top` and `height` of all its leaves, seen through {k, y}; `page`: the height that can be seen.
 */
export function sidePlace({ x0, x1, top, height, page }, camera) {
  const across = height * camera.k;
  const from = top * camera.k + camera.y;
  const along = x1 - x0;
  const way = Math.sign(along) || 1;
  const at = (u, v) => [x0 + v * along, from + u * across];
  return {
    shape: "rectangular",
    round: false,
    down: false,
    across,
    along: Math.abs(along),
    way,
    pu: (u) => from + u * across,
    pv: (v) => x0 + v * along,
    acrossAt: () => across,
    alongBetween: (a, b) => (b - a) * Math.abs(along),
    at,
    beyond: (u, v, px) => [x0 + v * along + px * way, from + u * across],
    invert: (x, y) => ({ u: (y - from) / across, v: (x - x0) / along }),
    move: (path, u, v) => path.move(...at(u, v)),
    line: (path, u, v) => path.line(...at(u, v)),
    arc: (path, v, _u0, u1, px = 0) => path.line(x0 + v * along + px * way, from + u1 * across),
    window: { spans: [[(-40 - from) / across, (page + 40 - from) / across]], v0: -1, v1: 2 },
  };
}

/** Rows of the clusters at the top: the highest node is opened first until there are `k`. */
export function topClusters(scene, k) {
  const { n, kind, height, end } = scene;
  const of = new Int32Array(n).fill(-1);
  let open = [0];
  for (;;) {
    const inner = open
      .filter((row) => kind[row] === INNER)
      .sort((a, b) => height[b] - height[a] || a - b);
    if (!inner.length) break;
    const children = [];
    for (let c = inner[0] + 1; c < end[inner[0]]; c = end[c]) children.push(c);
    if (open.length - 1 + children.length > k) break;
    open = [...open.filter((row) => row !== inner[0]), ...children];
  }
  open.sort((a, b) => scene.u[a] - scene.u[b]);
  open.forEach((row, cluster) => of.fill(cluster, row, end[row]));
  return of;
}
