// What is shown of a store: the nodes below a root, down to what is folded, in preorder, each with
// its place in the unit square. u runs across the leaves, v from the root (0) to the ground (1).
// Pure arithmetic on typed arrays; nothing recurses, so a chain of any depth is laid out.

import { NONE } from "./store.js";

export const INNER = 0;
export const LEAF = 1;
/** The service has not said what lies below. */
export const UNSEEN = 2;
/** The user has folded it. */
export const FOLDED = 3;
/** The children that found no room in a view, together. */
export const REST = 4;

/**
 * @typedef {object} Scene columns of `n` nodes, parents before children:
 *   slot (-1 for REST), id (a REST has -1 - its parent's id), parent, end (one past the subtree),
 *   depth, kind, leaves, size, left, right (span of u), u, v, deep (greatest v in the subtree)
 */

/** Collect what is shown below the node `root`. O(shown). */
export function collect(store, root, folded) {
  const slot = [];
  const parent = [];
  const kind = [];
  const stack = [store.slot(root), NONE];
  while (stack.length) {
    const up = stack.pop();
    const at = stack.pop();
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

function columns(store, slot, parent, kind) {
  const n = slot.length;
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
    tips: 0,
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
    for (const child of store.kids[scene.slot[up]]) {
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
 * Room across: a leaf takes 1 and what is not yet seen as much as its leaves will, so that nothing
 * moves when it comes. What the user has folded takes little.
 */
export function across(scene) {
  const { n, kind, leaves, parent, left, right, u } = scene;
  const width = new Float64Array(n);
  const most = Math.max(1, leaves[0] * 0.012);
  for (let i = n - 1; i >= 0; i -= 1) {
    if (kind[i] === FOLDED)
      width[i] = Math.min(leaves[i], Math.max(most, 1 + Math.log2(leaves[i]) / 3));
    else if (kind[i] !== INNER) width[i] = leaves[i];
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
  // An inner node stands midway between its first and its last child.
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

export const SCALES = ["auto", "height", "sqrt", "rank", "depth", "level"];

/** The plainest scale under which the inner nodes do not crowd at one end. O(n log n) */
export function readable(scene, low) {
  const { n, kind, height } = scene;
  const top = greatest(height, n);
  if (!(top > low)) return "level";
  // Where much is not yet seen, what is seen lies near the root and says little of the whole.
  for (let i = 0; i < n; i += 1)
    if (kind[i] === UNSEEN && scene.leaves[i] > 0.2 * scene.leaves[0]) return "height";
  const inner = [];
  for (let i = 1; i < n; i += 1)
    if (kind[i] !== LEAF && kind[i] !== REST) inner.push(share(height[i], low, top));
  if (!inner.length) return "height";
  inner.sort((a, b) => a - b);
  const middle = inner[inner.length >> 1];
  if (middle >= 0.15 && middle <= 0.9) return "height";
  return middle >= 0.15 ** 2 && middle < 0.15 ? "sqrt" : "rank";
}

function greatest(values, n) {
  let top = -Infinity;
  for (let i = 0; i < n; i += 1) if (values[i] > top) top = values[i];
  return top;
}

// Halved where the distance of two finite heights overflows.
function share(height, low, top) {
  const part = Number.isFinite(top - low) ? 1 : 0.5;
  return Math.min(1, Math.max(0, (height * part - low * part) / (top * part - low * part)));
}

/**
 * Fill in v. `axis` says how heights stand along it: {of(v) -> height, at(height) -> v} for the
 * scales where they do, else null.
 */
export function along(scene, scale, low) {
  const { n, height, kind, v, parent, depth, end, deep } = scene;
  const top = greatest(height, n);
  let axis = null;
  if (scale === "depth" || scale === "level" || !(top > low)) {
    steps(scene, scale === "depth");
  } else if (scale === "rank") {
    const distinct = Float64Array.from(new Set(height)).sort();
    const least = distinct[0] > low ? 1 : 0;
    const span = distinct.length - 1 + least || 1;
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

/** Row of the last of `sorted` that is no greater than `value`; 0 where none is. */
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

/** How thick a branch is, 0 to 4: by the logarithm of the leaves it carries. */
function weights({ n, leaves }) {
  const found = new Uint8Array(n);
  const most = Math.log1p(Math.max(2, leaves[0]));
  for (let i = 0; i < n; i += 1)
    found[i] = Math.round(4 * Math.min(1, Math.log1p(leaves[i]) / most) ** 1.5);
  return found;
}

/** Everything at once. */
export function build(store, { root, folded, scale }) {
  const scene = across(collect(store, root, folded));
  const low = Math.min(store.low, scene.height[0]);
  const chosen = scale === "auto" ? readable(scene, low) : scale;
  return along(scene, chosen, low);
}

/** {id: row} of a scene. */
export function rows(scene) {
  scene.rows ??= new Map(Array.from(scene.id, (id, row) => [id, row]));
  return scene.rows;
}
