// What a tree says, in a few sentences: the groups that stand out, the worst confusions, what stands
// apart, how sure it is, what moved. Pure.

import { capitalized, count, number, percent, plural, shortened } from "../../ui/format.js";
import { calledName } from "../model/cluster_names.js";
import { criterionText } from "../model/cut.js";
import { NONE } from "../model/store.js";

/** @import { ConfusedPair, Level } from "../../net/answers.js" */
/** @import { CutClusters } from "../model/cut.js" */
/** @import { Store } from "../model/store.js" */

/**
 * @typedef {string | { text: string, node?: number, k?: number, panel?: string }} Part of a sentence; one
 *   with a node, a number of clusters or a panel leads there
 */

const LISTED = 3;
const PAIRS = 2;
const LONGEST = 60;
const SHORT = 20;
/**
 * A silhouette below which there is no substantial structure (Kaufman and Rousseeuw, "Finding Groups in
 * Data", 1990, chapter 2).
 */
const STRONG = 0.25;
/** A node that stands apart has at most this share of the points. */
const SMALL = 0.1;
/** Its branch is this many times as long as the median of the leaves, or longer, and this share of all heights. */
const TIMES = 3;
const LEAST = 0.2;

/** @param {string} text */
const cut = (text) => shortened(text, LONGEST);

/**
 * "a", "a and b", "a, b and c", as parts.
 *
 * @param {Part[][]} items
 * @returns {Part[]}
 */
const joined = (items) =>
  items.flatMap((item, at) => [...(at ? [at === items.length - 1 ? " and " : ", "] : []), ...item]);

/**
 * The groups that stand out, with their strength; without a level that does, the largest of the cut.
 *
 * @param {Level | null} level
 * @param {CutClusters | null} shown the cut of the page
 * @param {Map<number, string>} names of its clusters
 * @returns {Part[] | null}
 */
export function groupsSentence(level, shown, names) {
  const isShown = shown !== null && (level === null || shown.n_clusters === level.k);
  const largest = isShown && shown.clusters.length > 1 ? shown.clusters.slice(0, LISTED) : [];
  /** @type {Part[]} */
  const list = joined(
    largest.map(({ node, category, size }) => [
      { text: cut(names.get(category) ?? `Node ${node}`), node },
      ` (${count(size)})`,
    ]),
  );
  if (level) {
    const strength = `${criterionText(level.criterion)}, score ${number(Number(level.score.toPrecision(2)))}`;
    const of = list.length ? [largest.length < level.k ? ", the largest " : ": ", ...list] : [];
    const isWeak = level.criterion === "silhouette" && level.score < STRONG;
    const stand = isWeak ? " stand out, but weakly" : " stand out";
    return [{ text: plural(level.k, "group"), k: level.k }, `${stand} (${strength})`, ...of, "."];
  }
  return list.length ? ["No level stands out. The largest clusters of the cut are ", ...list, "."] : null; // prettier-ignore
}

/**
 * The classes that are taken for others most.
 *
 * @param {ConfusedPair[]} pairs the worst first
 * @returns {Part[] | null}
 */
export function confusionsSentence(pairs) {
  const worst = pairs.filter(({ share }) => share).slice(0, PAIRS);
  if (!worst.length) return null;
  const items = worst.map(({ node, name, taken_for: other, taken_for_name: otherName, share, meet }) => [
    { text: `${cut(name ?? `node ${node}`)} for ${cut(otherName ?? `node ${other}`)}`, node: meet },
    ` (${percent(share ?? 0)} of ${name && name.length <= SHORT ? name : "the first"})`,
  ]); // prettier-ignore
  return ["Most is lost by taking ", ...joined(items), "."];
}

/**
 * The small part that joins the others by the longest branch, if that is long; null if none does.
 *
 * @param {Store} store
 * @returns {Part[] | null}
 */
export function apartSentence(store) {
  const { n, parent, height, size, id, kids } = store;
  const top = store.slot(0);
  if (top === NONE || n < 5) return null;
  let best = NONE;
  let longest = 0;
  const ofLeaves = [];
  for (let slot = 0; slot < n; slot += 1) {
    const up = parent[slot];
    if (up === NONE || store.noise.has(id[slot])) continue;
    const long = height[up] - height[slot];
    if (!kids[slot]) ofLeaves.push(long);
    if (size[slot] <= SMALL * size[top] && long > longest) [best, longest] = [slot, long];
  }
  ofLeaves.sort((a, b) => a - b);
  const usual = ofLeaves[ofLeaves.length >> 1] ?? 0;
  const whole = height[top] - store.low;
  if (best === NONE || !(longest >= TIMES * usual) || !(longest >= LEAST * whole)) return null;
  const name = calledName(store, best) || `Node ${id[best]}`;
  const joins = number(height[parent[best]]);
  return [
    { text: cut(name), node: id[best] },
    ` stands apart: it joins the others at height ${joins}, of ${number(height[top])}.`,
  ];
}

/**
 * How sure the tree is: by the support of its nodes, else by a calibration's promise.
 *
 * @param {Map<number, number> | null} support
 * @param {string | null} promise
 * @param {boolean} isOffered whether it can be calibrated
 * @returns {Part[] | null}
 */
export function trustSentence(support, promise, isOffered) {
  if (support?.size) {
    const values = [...support.values()];
    const sure = values.filter((value) => value >= 0.9 - 1e-9).length;
    return [`${capitalized(`${count(sure)} of ${plural(values.length, "group")}`)} come back in at least 90 % of the repetitions.`]; // prettier-ignore
  }
  if (promise) return [promise, " ", { text: "Trust", panel: "trust" }];
  return isOffered ? ["How sure it is has not been measured: ", { text: "calibrate it", panel: "trust" }, "."] : null; // prettier-ignore
}
