// Which classes are taken for which, as a matrix in the order of the tree, and the part of it that is
// shown. Pure.

import { NONE } from "./store.js";

/** @import { ConfusedClass, ConfusedPair, Confusions } from "../../net/answers.js" */
/** @import { Store } from "./store.js" */

/**
 * @typedef {{ row: number, column: number, share: number, pair: ConfusedPair }} Cell `row`: the class,
 *   `column`: what it is taken for, as places in the order of the tree
 * @typedef {{
 *   classes: ConfusedClass[],
 *   cells: Cell[],
 *   most: number,
 *   cellAt: (row: number, column: number) => Cell | undefined,
 * }} Matrix `cells`: the known pairs, the largest share last; `most`: that share
 * @typedef {{ row: number, column: number, span: number }} Window the first row and column that are
 *   shown, which may be parts of one, and how many there are both ways
 * @typedef {{ height: number, from: number, to: number, feet: [at: number, height: number][] }} Join
 *   an inner node over classes: where its children are, and how high
 */

/** The fewest classes that a window shows. */
const FEWEST = 4;

/**
 * @param {Pick<Confusions, "classes" | "pairs">} confusions
 * @returns {Matrix}
 */
export function matrixOf({ classes, pairs }) {
  const places = new Map(classes.map(({ node }, at) => [node, at]));
  /** @type {Map<number, Cell>} */
  const known = new Map();
  for (const pair of pairs) {
    const row = places.get(pair.node);
    const column = places.get(pair.taken_for);
    if (row === undefined || column === undefined || !pair.share) continue;
    known.set(row * classes.length + column, { row, column, share: pair.share, pair });
  }
  const cells = [...known.values()].sort((a, b) => a.share - b.share);
  return {
    classes,
    cells,
    most: cells.at(-1)?.share ?? 0,
    cellAt: (row, column) => known.get(row * classes.length + column),
  };
}

/**
 * @param {number} n classes
 * @returns {Window}
 */
export const wholeOf = (n) => ({ row: 0, column: 0, span: Math.max(1, n) });

/**
 * The window with `factor` times the classes; what is at `row` and `column` stays where it is.
 *
 * @param {Window} window
 * @param {number} n classes
 * @param {number} factor
 * @param {{ row: number, column: number }} at
 * @returns {Window}
 */
export function zoomed(window, n, factor, { row, column }) {
  const span = Math.min(Math.max(window.span * factor, Math.min(FEWEST, n)), Math.max(1, n));
  const share = span / window.span;
  return within(
    {
      row: row - (row - window.row) * share,
      column: column - (column - window.column) * share,
      span,
    },
    n,
  );
}

/**
 * @param {Window} window
 * @param {number} n classes
 * @param {{ rows: number, columns: number }} by
 * @returns {Window}
 */
export const moved = (window, n, { rows, columns }) =>
  within({ ...window, row: window.row + rows, column: window.column + columns }, n);

/**
 * @param {Window} window
 * @param {number} n
 * @returns {Window}
 */
function within({ row, column, span }, n) {
  /** @param {number} start */
  const bound = (start) => Math.min(Math.max(0, start), Math.max(0, n - span));
  return { row: bound(row), column: bound(column), span };
}

/**
 * The inner nodes over at least two places of classes, children before parents; null where the tree is
 * not loaded down to each class. O(nodes of the store).
 *
 * @param {Store} store
 * @param {readonly { node: number }[]} classes
 * @returns {Join[] | null}
 */
export function joinsOf(store, classes) {
  const places = new Float64Array(store.n).fill(NaN);
  for (const [at, { node }] of classes.entries()) {
    const slot = store.slot(node);
    if (slot === NONE) return null;
    places[slot] = at + 0.5;
  }
  /** @type {number[]} */
  const order = [];
  /** @type {number[]} */
  const stack = [];
  for (let slot = 0; slot < store.n; slot += 1) if (store.parent[slot] === NONE) stack.push(slot);
  while (stack.length) {
    const slot = stack.pop() ?? NONE;
    order.push(slot);
    for (const kid of store.kids[slot] ?? []) stack.push(kid);
  }
  /** @type {Join[]} */
  const joins = [];
  for (const slot of order.reverse()) {
    /** @type {[number, number][]} */
    const feet = [];
    for (const kid of store.kids[slot] ?? []) {
      if (!Number.isNaN(places[kid])) feet.push([places[kid], store.height[kid]]);
    }
    if (!feet.length) continue;
    const from = Math.min(...feet.map(([at]) => at));
    const to = Math.max(...feet.map(([at]) => at));
    places[slot] = (from + to) / 2;
    joins.push({ height: store.height[slot], from, to, feet });
  }
  return joins;
}
