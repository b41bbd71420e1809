// Cuts of a tree that is here whole, as the service makes them (models/tree/cut.py), so that a slider
// needs no answer; and what a cut says of the shown nodes.

import { NONE } from "./store.js";

/** What all cuts of a complete store need. O(n log n), once. */
export function cutter(store) {
  const { n, parent, id, height, leaves } = store;
  // Where heights may fall from child to parent, a node counts as high as the highest below it.
  const greatest = new Float64Array(n).fill(-Infinity);
  const children = new Int32Array(n);
  // Slots of several views come in any order.
  const order = preorder(store);
  for (let at = order.length - 1; at >= 0; at -= 1) {
    const slot = order[at];
    greatest[slot] = Math.max(greatest[slot], height[slot]);
    const up = parent[slot];
    if (up === NONE) continue;
    greatest[up] = Math.max(greatest[up], greatest[slot]);
    children[up] += 1;
  }
  const inner = order.filter((slot) => children[slot] > 0);
  inner.sort((a, b) => greatest[b] - greatest[a] || id[a] - id[b]);
  const counts = new Float64Array(inner.length + 1);
  counts[0] = 1;
  inner.forEach((slot, at) => (counts[at + 1] = counts[at] + children[slot] - 1));
  const nLeaves = leaves[order[0]];
  return { store, order, greatest, inner, counts, nLeaves };
}

function preorder(store) {
  const found = [];
  const stack = [store.slot(0)];
  while (stack.length) {
    const slot = stack.pop();
    found.push(slot);
    const kids = store.kids[slot];
    if (kids) for (let at = kids.length - 1; at >= 0; at -= 1) stack.push(kids[at]);
  }
  return found;
}

/** The clusters of {k} or {height}, in the form of the service's answer. */
export function cutHere(own, cut) {
  const { store, order, greatest, inner, counts, nLeaves } = own;
  let steps;
  const warnings = [];
  if (cut.k !== undefined) {
    const k = Math.min(cut.k, nLeaves);
    let within = 0;
    for (let at = 0; at < counts.length && counts[at] <= k; at += 1) within = at;
    steps = within;
    while (steps > 0 && counts[steps - 1] === counts[within]) steps -= 1;
    if (counts[steps] !== k) {
      warnings.push(
        `No cut has exactly ${k} clusters: this one has ${counts[steps]}, the next ${counts[within + 1]}.`,
      );
    }
  } else {
    steps = 0;
    while (steps < inner.length && greatest[inner[steps]] > cut.height) steps += 1;
  }
  const opened = new Uint8Array(store.n);
  for (let at = 0; at < steps; at += 1) opened[inner[at]] = 1;
  const clusters = [];
  for (const slot of order) {
    const up = store.parent[slot];
    if (opened[slot] || (up !== NONE && !opened[up])) continue;
    clusters.push({
      node: store.id[slot],
      size: store.size[slot],
      name: store.name[slot],
      category: clusters.length,
    });
  }
  const sizes = clusters.map((one) => one.size).sort((a, b) => a - b);
  const from = steps < inner.length ? greatest[inner[steps]] : store.low;
  const below = steps > 0 ? greatest[inner[steps - 1]] : null;
  clusters.sort((a, b) => b.size - a.size || a.node - b.node);
  return {
    cut,
    n_clusters: clusters.length,
    heights: below !== null && from >= below ? null : { from, below },
    smallest: sizes[0],
    median: (sizes[(sizes.length - 1) >> 1] + sizes[sizes.length >> 1]) / 2,
    largest: sizes[sizes.length - 1],
    clusters,
    warnings,
  };
}

/** A height that makes this cut, in the middle of those that do; null where none does. */
export function heightOf(found) {
  if (!found) return null;
  if (found.cut.height !== undefined) return found.cut.height;
  const { heights } = found;
  if (!heights || heights.below === null || heights.below === undefined) return null;
  return heights.from + (heights.below - heights.from) / 2;
}

/** Category of each row of a scene: of the cluster that it lies in; -1 above the cut. */
export function categories(scene, store, byNode) {
  const found = new Int32Array(scene.n).fill(NONE);
  // A cut may lie above the part that is shown.
  let above = NONE;
  for (
    let slot = store.parent[scene.slot[0]];
    slot !== NONE && above === NONE;
    slot = store.parent[slot]
  ) {
    above = byNode.get(store.id[slot]) ?? NONE;
  }
  for (let i = 0; i < scene.n; i += 1) {
    const up = scene.parent[i];
    const given = up < 0 ? above : found[up];
    found[i] = given === NONE ? (byNode.get(scene.id[i]) ?? NONE) : given;
  }
  return found;
}
