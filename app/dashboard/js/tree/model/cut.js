// Cuts of a tree that is loaded whole, as the service makes them (its `tree/cut.py`), so that a
// slider needs no request; and the cluster of each shown node.

import { NONE } from "./store.js";

/** The category of noise, which is in no cluster. */
export const NOISE = -2;

/** @import { Clusters, Level } from "../../net/answers.js" */
/** @import { Drawn } from "./scene.js" */
/** @import { Store } from "./store.js" */

/**
 * Where a tree is cut: into k clusters, or at a height.
 *
 * @typedef {{ k: number, height?: undefined } | { height: number, k?: undefined }} Cut
 *
 * @typedef {{
 *   node: number,
 *   size: number,
 *   name: string | null,
 *   category: number,
 *   points_before: number,
 * }} Cluster `node` by id; `category`: its place in the drawing order
 *
 * @typedef {Pick<Clusters,
 *   "n_clusters" | "n_noise" | "heights" | "smallest" | "median" | "largest" | "warnings"> & {
 *   cut: Cut,
 *   clusters: Cluster[],
 * }} CutClusters the clusters of a cut, the largest first
 *
 * @typedef {ReturnType<typeof cutter>} Cutter
 */

/**
 * The columns that every cut of a complete store needs. O(n log n), once.
 *
 * @param {Store} store
 */
export function cutter(store) {
  const { n, parent, id, height, leaves } = store;
  // If heights may fall from child to parent, a node has the height of the highest below it.
  const greatest = new Float64Array(n).fill(-Infinity);
  const children = new Int32Array(n);
  // Slots of several views are in any order.
  const order = preorder(store);
  for (let at = order.length - 1; at >= 0; at -= 1) {
    const slot = order[at];
    greatest[slot] = Math.max(greatest[slot], height[slot]);
    const up = parent[slot];
    if (up === NONE) continue;
    greatest[up] = Math.max(greatest[up], greatest[slot]);
    children[up] += 1;
  }
  /** @param {number} slot */
  const isNoise = (slot) => store.noise.has(id[slot]);
  const inner = order.filter((slot) => children[slot] > 0 && !isNoise(slot));
  inner.sort((a, b) => greatest[b] - greatest[a] || id[a] - id[b]);
  // The closed nodes after each opening, and the clusters among them.
  const parts = new Float64Array(inner.length + 1);
  const counts = new Float64Array(inner.length + 1);
  parts[0] = 1;
  counts[0] = isNoise(order[0]) ? 0 : 1;
  inner.forEach((slot, at) => {
    const noise = [...(store.kids[slot] ?? [])].filter(isNoise).length;
    parts[at + 1] = parts[at] + children[slot] - 1;
    counts[at + 1] = counts[at] + children[slot] - noise - 1;
  });
  const nLeaves = store.noise.size ? counts[inner.length] : leaves[order[0]];
  return { store, order, greatest, inner, parts, counts, nLeaves };
}

/** @param {Store} store */
function preorder(store) {
  const order = [];
  const stack = [store.slot(0)];
  while (stack.length) {
    const slot = stack.pop() ?? NONE;
    order.push(slot);
    const kids = store.kids[slot];
    if (kids) for (let at = kids.length - 1; at >= 0; at -= 1) stack.push(kids[at]);
  }
  return order;
}

/**
 * The clusters of a cut, in the form of the service's answer.
 *
 * @param {Cutter} columns
 * @param {Cut} cut
 */
export function cutHere(columns, cut) {
  const { store, order, greatest, inner, parts, counts, nLeaves } = columns;
  let steps;
  /** @type {string[]} */
  const warnings = [];
  if (cut.k !== undefined) {
    const k = Math.min(cut.k, nLeaves);
    let within = 0;
    for (let at = 0; at < counts.length && counts[at] <= k; at += 1) within = at;
    steps = within;
    while (steps > 0 && parts[steps - 1] === parts[within]) steps -= 1;
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
  /** @type {Cluster[]} */
  const clusters = [];
  let nNoise = 0;
  for (const slot of order) {
    const up = store.parent[slot];
    if (opened[slot] || (up !== NONE && !opened[up])) continue;
    if (store.noise.has(store.id[slot])) {
      nNoise += store.size[slot];
      continue;
    }
    clusters.push({
      node: store.id[slot],
      size: store.size[slot],
      name: store.name[slot],
      category: clusters.length,
      points_before: store.before[slot],
    });
  }
  const held = noiseSize(store) - nNoise;
  if (held > 0) {
    warnings.push(
      `${held} row(s) of noise are in the clusters of this cut, which is too coarse to have them apart.`,
    );
  }
  const sizes = clusters.map((cluster) => cluster.size).sort((a, b) => a - b);
  const from = steps < inner.length ? greatest[inner[steps]] : store.low;
  const below = steps > 0 ? greatest[inner[steps - 1]] : null;
  clusters.sort((a, b) => b.size - a.size || a.node - b.node);
  return {
    cut,
    n_clusters: clusters.length,
    n_noise: nNoise,
    heights: below !== null && from >= below ? null : { from, below },
    smallest: sizes[0] ?? 0,
    median: sizes.length ? (sizes[(sizes.length - 1) >> 1] + sizes[sizes.length >> 1]) / 2 : 0,
    largest: sizes[sizes.length - 1] ?? 0,
    clusters,
    warnings,
  };
}

/**
 * The points of noise in the loaded nodes.
 *
 * @param {Store} store
 */
function noiseSize(store) {
  let size = 0;
  for (const id of store.noise) {
    const slot = store.slot(id);
    const up = slot === NONE ? NONE : store.parent[slot];
    if (slot !== NONE && !(up !== NONE && store.noise.has(store.id[up]))) size += store.size[slot];
  }
  return size;
}

/**
 * A height that gives this cut, in the middle of those that do; null if none does.
 *
 * @param {CutClusters | null} answer
 */
export function heightOf(answer) {
  if (!answer) return null;
  if (answer.cut.height !== undefined) return answer.cut.height;
  const { heights } = answer;
  if (!heights || heights.below === null || heights.below === undefined) return null;
  const from = heights.from ?? 0;
  return from + (heights.below - from) / 2;
}

/**
 * Category of each row of a scene, by its cluster; -1 above the cut, `NOISE` of noise in none.
 *
 * @param {Drawn} scene
 * @param {Store} store
 * @param {Map<number, number>} byNode
 */
export function categories(scene, store, byNode) {
  const result = new Int32Array(scene.n).fill(NONE);
  /** @param {number} id */
  const ofNode = (id) => byNode.get(id) ?? (store.noise.has(id) ? NOISE : NONE);
  // A cut may be above the shown part.
  let above = NONE;
  for (
    let slot = store.parent[scene.slot[0]];
    slot !== NONE && above === NONE;
    slot = store.parent[slot]
  ) {
    above = ofNode(store.id[slot]);
  }
  for (let i = 0; i < scene.n; i += 1) {
    const up = scene.parent[i];
    const inherited = up < 0 ? above : result[up];
    result[i] = inherited === NONE ? ofNode(scene.id[i]) : inherited;
  }
  return result;
}

/**
 * "k:7" or "height:2.5" as a cut; null for anything else.
 *
 * @param {string | null | undefined} text
 * @returns {Cut | null}
 */
export function cutOf(text) {
  const [by, value] = (text ?? "").split(":");
  const number = Number(value);
  if (value === undefined || value === "" || !Number.isFinite(number)) return null;
  if (by === "k" && Number.isInteger(number) && number >= 1) return { k: number };
  if (by === "height") return { height: number };
  return null;
}

/**
 * A cut as "k:7" or "height:2.5".
 *
 * @param {Cut | null} cut
 */
export const cutText = (cut) =>
  cut === null ? null : cut.k === undefined ? `height:${cut.height}` : `k:${cut.k}`;

/**
 * `color_by` for the clusters of a cut.
 *
 * @param {Cut} cut
 */
export const cutColour = (cut) =>
  cut.k === undefined ? `height:${cut.height}` : `cluster:${cut.k}`;

/**
 * The number of clusters at a position of a slider; logarithmic if there are many leaves, since 2
 * and 3 clusters differ more than 900 and 901.
 *
 * @param {number} at 0 to 1
 * @param {number} leaves
 */
export const clustersAt = (at, leaves) =>
  Math.round(leaves <= 40 ? 1 + at * (leaves - 1) : leaves ** at);

/**
 * The position of a number of clusters, 0 to 1.
 *
 * @param {number} k
 * @param {number} leaves
 */
export function sliderPosition(k, leaves) {
  if (leaves <= 1) return 0;
  return leaves <= 40 ? (k - 1) / (leaves - 1) : Math.log(k) / Math.log(leaves);
}

/** A cut with a larger cluster than this share of the points says nothing about the others. */
export const MOST_SHARE = 0.8;

/** @type {Record<string, string>} Why a level stands out, by its criterion. */
const REASONS = {
  gap: "gap in the heights",
  silhouette: "compact and apart",
  modularity: "few mix-ups between",
};

/**
 * Why a level stands out, in words.
 *
 * @param {string} criterion
 */
export const criterionText = (criterion) => REASONS[criterion] ?? criterion;

/**
 * Suggestions in the order in which they are tried: those by a criterion on the data rather than by
 * heights, and first those with no more clusters than colours can distinguish.
 *
 * @param {Level[]} levels
 */
export function rankedLevels(levels) {
  const order = ["modularity", "silhouette", "gap"];
  /** @param {Level} level */
  const isMany = (level) => Number(level.k > 20);
  /** @param {Level} level */
  const rank = (level) => order.indexOf(level.criterion);
  return levels
    .filter((level) => level.k > 1)
    .sort((a, b) => isMany(a) - isMany(b) || rank(a) - rank(b) || b.score - a.score);
}

/**
 * The first number of clusters that leaves no cluster with more than `MOST_SHARE` of the points;
 * null if none does.
 *
 * @param {number[]} counts
 * @param {(k: number) => number | Promise<number>} shareOf the share of the largest of k clusters
 */
export async function balancedCount(counts, shareOf) {
  for (const k of counts) if ((await shareOf(k)) <= MOST_SHARE) return k;
  return null;
}
