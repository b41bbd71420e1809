// The errors of a classifier on its tree: how right it is at each node, and what it confuses. Pure.

import { NONE } from "./store.js";

/** @import { ClassifierTables, ClassRow, Confusion, NodeRow } from "../../net/answers.js" */
/** @import { Drawn } from "./scene.js" */
/** @import { Store } from "./store.js" */

/** @typedef {"f1" | "missed"} Measure */
/** @typedef {Pick<NodeRow, "support" | "n_given" | "precision" | "recall" | "f1">} Rates */

/**
 * `rates` by node; `isWhole`: whether they are known of inner nodes too; `confusions`: the most
 * frequent first.
 *
 * @typedef {{
 *   job: string,
 *   rates: Map<number, Rates>,
 *   isWhole: boolean,
 *   confusions: Confusion[],
 * }} Errors
 * @typedef {{ from: number, to: number, count: number }} ErrorLink rows of a scene: the true label, the
 *   given one
 */

/** @type {readonly [value: Measure, label: string][]} */
export const MEASURES = [
  ["f1", "F1"],
  ["missed", "Share of rows missed"],
];

/** The least goodness of each category but the first, the worst. */
const BOUNDS = [0.2, 0.4, 0.6, 0.8, 0.9];
export const N_CATEGORIES = BOUNDS.length + 1;
const MOST_LINKS = 20;

/**
 * The errors in the tables of an evaluation, some of which may not have been requested.
 *
 * @param {string} job
 * @param {Partial<ClassifierTables>} tables
 * @returns {Errors}
 */
export function errorsIn(job, { node = [], class: classes = [], confusions = [] }) {
  const isWhole = node.length > 0;
  /** @type {readonly (NodeRow | ClassRow)[]} */
  const rows = isWhole ? node : classes;
  /** @type {Map<number, Rates>} */
  const rates = new Map();
  for (const row of rows) if (row.node !== null) rates.set(row.node, row);
  return { job, rates, isWhole, confusions };
}

/**
 * The category of a node, 0 for the most errors; -1 if no row is of the node.
 *
 * @param {Rates | undefined} rates
 * @param {Measure} measure
 */
export function categoryOf(rates, measure) {
  const goodness = measure === "f1" ? rates?.f1 : rates?.recall;
  if (typeof goodness !== "number") return NONE;
  // A share like 1 - 0.2 is 0.8 but for rounding.
  return BOUNDS.filter((bound) => goodness >= bound - 1e-9).length;
}

/**
 * "F1 0.8–0.9", "10–20 % missed".
 *
 * @param {number} category
 * @param {Measure} measure
 */
export function categoryName(category, measure) {
  const [low, high] = [[0, ...BOUNDS][category], [...BOUNDS, 1][category]];
  if (measure === "f1") return `F1 ${low}–${high}`;
  return `${Math.round(100 * (1 - high))}–${Math.round(100 * (1 - low))} % missed`;
}

/**
 * A node's rates in a sentence; "" if it has none.
 *
 * @param {Rates | undefined} rates
 */
export function ratesText(rates) {
  if (!rates) return "";
  const { f1, precision, recall, support } = rates;
  const rows = `${support} ${support === 1 ? "row" : "rows"}`;
  if (f1 === null) return `${rows}, never given`;
  return `F1 ${shown(f1)}, precision ${shown(precision)}, recall ${shown(recall)}; ${rows}`;
}

/** @param {number | null} value */
const shown = (value) => (value === null ? "–" : value.toFixed(2));

/**
 * The most frequent confusions of two nodes that are distinct in a scene. Nodes that are folded away
 * are taken for what they are folded into.
 *
 * @param {Errors} errors
 * @param {Store} store
 * @param {Drawn} scene
 * @param {(id: number) => number} rowOf
 * @returns {ErrorLink[]}
 */
export function linksOf({ confusions }, store, scene, rowOf) {
  /** @param {number | null} id */
  const shownRow = (id) => {
    for (const node of id === null ? [] : store.path(id).reverse()) {
      const row = rowOf(node);
      if (row !== NONE) return row;
    }
    return NONE;
  };
  /** @type {Map<string, ErrorLink>} */
  const links = new Map();
  for (const { true_node: truth, predicted_node: given, count } of confusions) {
    const [from, to] = [shownRow(truth), shownRow(given)];
    if (from === NONE || to === NONE || from === to) continue;
    // One that lies below the other is joined to it by the tree already.
    if ((from < to && to < scene.end[from]) || (to < from && from < scene.end[to])) continue;
    const link = links.get(`${from} ${to}`);
    if (link) link.count += count;
    else links.set(`${from} ${to}`, { from, to, count });
  }
  return [...links.values()].sort((a, b) => b.count - a.count).slice(0, MOST_LINKS);
}
