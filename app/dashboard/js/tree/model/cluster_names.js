// Names of the clusters of a cut: a node's name, which a user or a naming gave it; else the names of its
// largest leaves; else, for all that have no name, numbers. Leaves that are called by the number of
// their row have no name in this sense. Pure.

import { NONE } from "./store.js";

/** @import { CutClusters, Cluster } from "./cut.js" */
/** @import { Store } from "./store.js" */

/** The number of leaves that name a cluster. */
const LEAVES = 3;
/** Clusters that must have a name for names to be shown: as many as a legend lists. */
const LISTED = 24;

/** Letters of scripts from right to left, beside which a comma would join the wrong name. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/;
const NUMBER = /^\d+$/;
/** @param {string} name */
const isolated = (name) => `\u2068${name}\u2069`;

/**
 * A list of names as the service writes it, each isolated where one is from right to left.
 *
 * @param {string} list
 */
export const eachIsolated = (list) =>
  list.includes(", ") && RIGHT_TO_LEFT.test(list) && !list.includes("\u2068")
    ? list.split(", ").map(isolated).join(", ")
    : list;

/** @typedef {{ names: Map<number, string>, numbered: Map<number, string> }} Names by category; by node */

/** @type {WeakMap<CutClusters, Names & { store: Store, n: number }>} */
const known = new WeakMap();

/**
 * The name of each cluster by its category. O(loaded nodes), once for a cut and what is loaded.
 *
 * @param {CutClusters} cut
 * @param {Store} store
 */
export const clusterNames = (cut, store) => allNames(cut, store).names;

/**
 * The names of the clusters that have only numbers, by node, for the picture. As `clusterNames`.
 *
 * @param {CutClusters} cut
 * @param {Store} store
 */
export const clusterNumbers = (cut, store) => allNames(cut, store).numbered;

/**
 * @param {CutClusters} cut
 * @param {Store} store
 */
function allNames(cut, store) {
  const earlier = known.get(cut);
  if (earlier && earlier.store === store && earlier.n === store.n) return earlier;
  const names = { store, n: store.n, ...namesOf(cut.clusters, store) };
  known.set(cut, names);
  return names;
}

/**
 * @param {Cluster[]} clusters the largest first
 * @param {Store} store
 * @returns {Names}
 */
function namesOf(clusters, store) {
  const isNamed = clusters.every(({ name }) => name);
  // The name of a leaf alone is not a name that was given to a cluster.
  const given = clusters.map(({ node, name }) => {
    const slot = store.slot(node);
    const isGiven = isNamed || (slot !== NONE && store.leaves[slot] > 1);
    return isGiven && name ? eachIsolated(name) : null;
  });
  const names = clusters.map(({ node }, at) => {
    const slot = store.slot(node);
    return given[at] || (slot !== NONE && store.called[slot]) || largestLeaves(store, slot);
  });
  const isNumbered = names.slice(0, LISTED).some((name) => !name);
  /** @type {Names} */
  const found = { names: new Map(), numbered: new Map() };
  for (const [at, { category, node }] of clusters.entries()) {
    const name = given[at] || (!isNumbered && names[at]);
    found.names.set(category, name || `Cluster ${category + 1}`);
    if (!name) found.numbered.set(node, `Cluster ${category + 1}`);
  }
  return found;
}

/**
 * The names of the largest leaves below a node, or of what is folded there; null if none is loaded.
 *
 * @param {Store} store
 * @param {number} top slot
 */
export function largestLeaves(store, top) {
  const { names, n } = bestOf(store, top);
  return names.length ? listed(names, n > LEAVES) : null;
}

/**
 * @param {string[]} names
 * @param {boolean} goesOn
 */
const listed = (names, goesOn) => {
  const each = [...new Set(names)];
  const apart = each.some((name) => RIGHT_TO_LEFT.test(name)) ? each.map(isolated) : each;
  return apart.join(", ") + (goesOn ? ", …" : "");
};

/**
 * The largest leaves of an inner node, by name; "" if none that has a name is loaded.
 *
 * @param {Store} store
 * @param {number} top slot
 */
export function leavesText(store, top) {
  const { names } = bestOf(store, top);
  return listed(names, names.length > 0 && names.length < store.leaves[top]);
}

/**
 * What a node is called: its name, else what the service calls it, else its largest leaves; "" for
 * nothing.
 *
 * @param {Store} store
 * @param {number} slot
 */
export const calledName = (store, slot) =>
  (slot !== NONE &&
    (store.name[slot] ||
      store.called[slot] ||
      store.numbered.get(store.id[slot]) ||
      largestLeaves(store, slot))) ||
  "";

/**
 * The names of the largest leaves below a node, or of what is folded there, and how many have a name.
 *
 * @param {Store} store
 * @param {number} top slot
 */
function bestOf(store, top) {
  /** @type {number[]} Slots, the largest first. */
  const best = [];
  const root = store.slot(0);
  const isOfRows = root === NONE || store.leaves[root] === store.size[root];
  let n = 0;
  const stack = top === NONE ? [] : [top];
  while (stack.length) {
    const slot = stack.pop() ?? NONE;
    const kids = store.kids[slot];
    if (kids) {
      for (let at = kids.length - 1; at >= 0; at -= 1) stack.push(kids[at]);
      continue;
    }
    const name = store.name[slot];
    if (!name || (isOfRows && NUMBER.test(name)) || store.noise.has(store.id[slot])) continue;
    n += 1;
    let at = best.length;
    while (at > 0 && store.size[best[at - 1]] < store.size[slot]) at -= 1;
    if (at < LEAVES) {
      best.splice(at, 0, slot);
      best.length = Math.min(best.length, LEAVES);
    }
  }
  return { names: best.map((slot) => store.name[slot] ?? ""), n };
}
