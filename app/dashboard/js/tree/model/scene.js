// The shown part of a store: the nodes below a root, down to those that are folded, in preorder, each with
// its place in the unit square. u runs across the leaves, v from the root (0) to the ground (1).
// Pure arithmetic on typed arrays; nothing recurses, so a chain of any depth is laid out.

import { NONE, Store } from "./store.js";

export const INNER = 0;
export const LEAF = 1;
/** The nodes below are not loaded. */
export const UNSEEN = 2;
/** The user has folded it. */
export const FOLDED = 3;
/** All children that were left out of a view. */
export const REST = 4;

/**
 * The mapping of heights to v, for scales that have one: `at(height)` -> v, `of(v)` -> height.
 *
 * @typedef {{
 *   low: number,
 *   top: number,
 *   at: (height: number) => number,
 *   of: (v: number) => number,
 * }} HeightAxis
 */

/**
 * The drawn part of a tree: columns of `n` nodes, parents before children. `slot` is -1 for REST, whose
 * `id` is -1 - its parent's; `parent` and `end` (one past the subtree) are rows; `left` to `right` is
 * the span of u; `deep` the greatest v in the subtree; `weight` how thick a branch is, 0 to 4; `tips`
 * how many rows have nothing below them; `monotone` whether no v is less than its parent's.
 *
 * @typedef {{
 *   n: number,
 *   slot: Int32Array,
 *   id: Int32Array,
 *   parent: Int32Array,
 *   end: Int32Array,
 *   kind: Uint8Array,
 *   leaves: Float64Array,
 *   size: Float64Array,
 *   height: Float64Array,
 *   left: Float64Array,
 *   right: Float64Array,
 *   u: Float64Array,
 *   v: Float64Array,
 *   deep: Float64Array,
 *   weight: Uint8Array,
 *   tips: number,
 *   monotone: boolean,
 *   axis: HeightAxis | null,
 *   rows?: Map<number, number>,
 *   ranked?: Uint32Array,
 * }} Drawn
 *
 * @typedef {Drawn & {
 *   depth: Int32Array,
 *   scale: Exclude<Scale, "auto">,
 *   maxDepth: number,
 * }} Scene a part of a store, laid out
 */

/** @typedef {"auto" | "height" | "sqrt" | "rank" | "depth" | "level"} Scale */

/** @type {readonly Scale[]} */
export const SCALES = ["auto", "height", "sqrt", "rank", "depth", "level"];

/**
 * Collect the shown nodes below `root`. O(shown).
 *
 * @param {Store} store
 * @param {number} root
 * @param {Set<number>} folded
 */
export function collect(store, root, folded) {
  const slot = [];
  const parent = [];
  const kind = [];
  const stack = [store.slot(root), NONE];
  while (stack.length) {
    const up = stack.pop() ?? NONE;
    const at = stack.pop() ?? NONE;
    const here = slot.length;
    slot.push(at);
    parent.push(up);
    if (at === NONE) {
      kind.push(REST);
      continue;
    }
    const kids = store.kids[at];
    if (!kids) {
      kind.push(store.hidden[at] > 0 ? UNSEEN : LEAF);
    } else if (folded.has(store.id[at])) {
      kind.push(FOLDED);
    } else {
      kind.push(INNER);
      if (store.hidden[at] > 0) stack.push(NONE, here);
      for (let child = kids.length - 1; child >= 0; child -= 1) stack.push(kids[child], here);
    }
  }
  return columns(store, slot, parent, kind);
}

/**
 * @param {Store} store
 * @param {number[]} slot
 * @param {number[]} parent
 * @param {number[]} kind
 */
function columns(store, slot, parent, kind) {
  const n = slot.length;
  /** @type {Scene} */
  const scene = {
    n,
    slot: Int32Array.from(slot),
    id: new Int32Array(n),
    parent: Int32Array.from(parent),
    kind: Uint8Array.from(kind),
    end: new Int32Array(n),
    depth: new Int32Array(n),
    leaves: new Float64Array(n),
    size: new Float64Array(n),
    height: new Float64Array(n),
    left: new Float64Array(n),
    right: new Float64Array(n),
    u: new Float64Array(n),
    v: new Float64Array(n),
    deep: new Float64Array(n),
    weight: new Uint8Array(n),
    tips: 0,
    monotone: true,
    axis: null,
    scale: "height",
    maxDepth: 0,
  };
  for (let i = 0; i < n; i += 1) {
    const at = scene.slot[i];
    const up = scene.parent[i];
    scene.depth[i] = up < 0 ? 0 : scene.depth[up] + 1;
    scene.end[i] = i + 1;
    if (scene.kind[i] !== INNER) scene.tips += 1;
    if (at !== NONE) {
      scene.id[i] = store.id[at];
      scene.leaves[i] = store.leaves[at];
      scene.size[i] = store.size[at];
      scene.height[i] = store.height[at];
      continue;
    }
    let leaves = store.leaves[scene.slot[up]];
    let size = store.size[scene.slot[up]];
    for (const child of store.kids[scene.slot[up]] ?? []) {
      leaves -= store.leaves[child];
      size -= store.size[child];
    }
    scene.id[i] = -1 - scene.id[up];
    scene.leaves[i] = Math.max(1, leaves);
    scene.size[i] = size;
    scene.height[i] = store.low;
  }
  for (let i = n - 1; i > 0; i -= 1) {
    const up = scene.parent[i];
    if (scene.end[i] > scene.end[up]) scene.end[up] = scene.end[i];
  }
  return scene;
}

/**
 * Widths: a leaf takes 1, and nodes that are not loaded as much as their leaves will, so that
 * nothing moves when they arrive. Nodes folded by the user take little.
 *
 * @param {Scene} scene
 */
export function across(scene) {
  const { n, kind, leaves, parent, left, right, u } = scene;
  const width = new Float64Array(n);
  const most = Math.max(1, leaves[0] * 0.012);
  for (let i = n - 1; i >= 0; i -= 1) {
    if (kind[i] === FOLDED) {
      width[i] = Math.min(leaves[i], Math.max(most, 1 + Math.log2(leaves[i]) / 3));
    } else if (kind[i] !== INNER) width[i] = leaves[i];
    if (i > 0) width[parent[i]] += width[i];
  }
  const total = width[0] || 1;
  const free = new Float64Array(n);
  left[0] = 0;
  right[0] = 1;
  for (let i = 1; i < n; i += 1) {
    const up = parent[i];
    left[i] = left[up] + free[up];
    free[up] += width[i] / total;
    right[i] = Math.min(1, left[i] + width[i] / total);
  }
  // An inner node is midway between its first and its last child.
  const last = new Float64Array(n).fill(NaN);
  for (let i = n - 1; i >= 0; i -= 1) {
    u[i] = Number.isNaN(last[i]) ? (left[i] + right[i]) / 2 : (u[i] + last[i]) / 2;
    if (i === 0) break;
    const up = parent[i];
    if (Number.isNaN(last[up])) last[up] = u[i];
    u[up] = u[i];
  }
  return scene;
}

/**
 * The simplest scale under which the inner nodes do not crowd at one end. O(n log n)
 *
 * @param {Drawn} scene
 * @param {number} low
 */
export function readableScale(scene, low) {
  const { n, kind, height } = scene;
  const top = greatest(height, n);
  if (!(top > low)) return "level";
  // If much is not loaded yet, the loaded part is near the root and not representative.
  for (let i = 0; i < n; i += 1) {
    if (kind[i] === UNSEEN && scene.leaves[i] > 0.2 * scene.leaves[0]) return "height";
  }
  /** @type {number[]} */
  const inner = [];
  for (let i = 1; i < n; i += 1) {
    if (kind[i] !== LEAF && kind[i] !== REST) inner.push(share(height[i], low, top));
  }
  if (!inner.length) return "height";
  inner.sort((a, b) => a - b);
  const middle = inner[inner.length >> 1];
  if (middle >= 0.15 && middle <= 0.9) return "height";
  return middle >= 0.15 ** 2 && middle < 0.15 ? "sqrt" : "rank";
}

/**
 * @param {Float64Array} values
 * @param {number} n
 */
function greatest(values, n) {
  let top = -Infinity;
  for (let i = 0; i < n; i += 1) if (values[i] > top) top = values[i];
  return top;
}

// Halved if the difference of two finite heights overflows.
/**
 * @param {number} height
 * @param {number} low
 * @param {number} top
 */
function share(height, low, top) {
  const part = Number.isFinite(top - low) ? 1 : 0.5;
  return Math.min(1, Math.max(0, (height * part - low * part) / (top * part - low * part)));
}

/**
 * Fill in v, and `axis` for scales that map heights to v.
 *
 * @param {Scene} scene
 * @param {Exclude<Scale, "auto">} scale
 * @param {number} low
 */
export function along(scene, scale, low) {
  const { n, height, kind, v, parent, depth, end, deep } = scene;
  const top = greatest(height, n);
  /** @type {HeightAxis | null} */
  let axis = null;
  if (scale === "depth" || scale === "level" || !(top > low)) {
    steps(scene, scale === "depth");
  } else if (scale === "rank") {
    const distinct = Float64Array.from(new Set(height)).sort();
    const least = distinct[0] > low ? 1 : 0;
    const span = distinct.length - 1 + least || 1;
    /** @param {number} h */
    const place = (h) => 1 - (below(distinct, h) + least) / span;
    for (let i = 0; i < n; i += 1) v[i] = place(height[i]);
    axis = {
      low,
      top,
      at: (h) => Math.min(1, place(h) - 0.5 / span),
      of: (at) =>
        distinct[Math.min(distinct.length - 1, Math.max(0, Math.floor((1 - at) * span) - least))],
    };
  } else {
    const power = scale === "sqrt" ? 0.5 : 1;
    for (let i = 0; i < n; i += 1) v[i] = 1 - share(height[i], low, top) ** power;
    axis = {
      low,
      top,
      at: (h) => 1 - share(h, low, top) ** power,
      of: (at) => low + (top - low) * Math.min(1, Math.max(0, 1 - at)) ** (1 / power),
    };
  }
  let fallen = false;
  for (let i = n - 1; i >= 0; i -= 1) {
    if (kind[i] > LEAF) deep[i] = 1;
    else if (end[i] === i + 1 || deep[i] < v[i]) deep[i] = v[i];
    const up = parent[i];
    if (up < 0) continue;
    if (v[i] < v[up] - 1e-12) fallen = true;
    if (deep[i] > deep[up]) deep[up] = deep[i];
  }
  scene.monotone = !fallen;
  scene.axis = axis;
  scene.scale = scale;
  scene.maxDepth = 0;
  for (let i = 0; i < n; i += 1) if (depth[i] > scene.maxDepth) scene.maxDepth = depth[i];
  scene.weight = weights(scene);
  return scene;
}

/**
 * Row of the last of `sorted` that is at most `value`; 0 if there is none.
 *
 * @param {Float64Array} sorted
 * @param {number} value
 */
function below(sorted, value) {
  let from = 0;
  let to = sorted.length - 1;
  while (from < to) {
    const middle = (from + to + 1) >> 1;
    if (sorted[middle] <= value) from = middle;
    else to = middle - 1;
  }
  return from;
}

/**
 * @param {Scene} options
 * @param {boolean} byDepth
 */
function steps({ n, parent, depth, kind, v }, byDepth) {
  if (byDepth) {
    let most = 1;
    for (let i = 0; i < n; i += 1) if (depth[i] > most) most = depth[i];
    for (let i = 0; i < n; i += 1) v[i] = depth[i] / most;
    return;
  }
  const level = new Int32Array(n);
  for (let i = n - 1; i > 0; i -= 1) {
    if (kind[i] === UNSEEN || kind[i] === FOLDED) level[i] = Math.max(level[i], 1);
    if (level[i] + 1 > level[parent[i]]) level[parent[i]] = level[i] + 1;
  }
  const most = Math.max(1, level[0]);
  for (let i = 0; i < n; i += 1) v[i] = 1 - level[i] / most;
}

/**
 * The thickness of each branch, 0 to 4: by the logarithm of its number of leaves.
 *
 * @param {Pick<Drawn, "n" | "leaves">} options
 */
export function weights({ n, leaves }) {
  const result = new Uint8Array(n);
  const most = Math.log1p(Math.max(2, leaves[0]));
  for (let i = 0; i < n; i += 1) {
    result[i] = Math.round(4 * Math.min(1, Math.log1p(leaves[i]) / most) ** 1.5);
  }
  return result;
}

/**
 * The scene of the part below `root`, laid out.
 *
 * @param {Store} store
 * @param {{ root: number, folded: Set<number>, scale: Scale }} options
 */
export function build(store, { root, folded, scale }) {
  const scene = across(collect(store, root, folded));
  const low = Math.min(store.low, scene.height[0]);
  const chosen = scale === "auto" ? readableScale(scene, low) : scale;
  return along(scene, chosen, low);
}

/**
 * Row of a scene by id.
 *
 * @param {Drawn} scene
 */
export function rows(scene) {
  scene.rows ??= new Map(Array.from(scene.id, (id, row) => [id, row]));
  return scene.rows;
}

/** An empty scene, for a view that has not loaded anything yet. */
export const emptyScene = () => columns(new Store(), [], [], []);
