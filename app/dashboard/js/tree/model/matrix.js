// Which classes are taken for which, as a matrix in the order of the tree; the part of a matrix that is
// shown, and the trees on its sides. Pure.

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
 * @typedef {{ rows: number, columns: number }} Extent of a matrix
 * @typedef {{ row: number, column: number, rows: number, columns: number }} Window the first row and
 *   column that are shown, which may be parts of one, and how many there are
 * @typedef {{ height: number, from: number, to: number, feet: [at: number, height: number][] }} Join
 *   an inner node over classes: where its children are, and how high
 */

/** The fewest rows, and columns, that a window shows. */
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
 * @param {Extent} extent
 * @returns {Window}
 */
export const wholeOf = ({ rows, columns }) => ({
  row: 0,
  column: 0,
  rows: Math.max(1, rows),
  columns: Math.max(1, columns),
});

/**
 * The window with `factor` times the rows and columns; what is at `row` and `column` stays where it is.
 *
 * @param {Window} window
 * @param {Extent} extent
 * @param {number} factor
 * @param {{ row: number, column: number }} at
 * @returns {Window}
 */
export function zoomed(window, extent, factor, { row, column }) {
  const whole = wholeOf(extent);
  /**
   * @param {number} shown
   * @param {number} n
   */
  const scaled = (shown, n) => Math.min(Math.max(shown * factor, Math.min(FEWEST, n)), n);
  const rows = scaled(window.rows, whole.rows);
  const columns = scaled(window.columns, whole.columns);
  return within(
    {
      row: row - (row - window.row) * (rows / window.rows),
      column: column - (column - window.column) * (columns / window.columns),
      rows,
      columns,
    },
    extent,
  );
}

/**
 * @param {Window} window
 * @param {Extent} extent
 * @param {{ rows: number, columns: number }} by
 * @returns {Window}
 */
export const moved = (window, extent, { rows, columns }) =>
  within({ ...window, row: window.row + rows, column: window.column + columns }, extent);

/**
 * The cell beside another one, or the middle one of those that are shown; never outside the matrix.
 *
 * @param {{ row: number, column: number } | null} spot
 * @param {Window} window
 * @param {Extent} extent
 * @param {{ rows: number, columns: number }} by
 */
export function beside(spot, window, extent, { rows, columns }) {
  const row = spot ? spot.row + rows : Math.floor(window.row + window.rows / 2);
  const column = spot ? spot.column + columns : Math.floor(window.column + window.columns / 2);
  return {
    row: Math.max(0, Math.min(extent.rows - 1, row)),
    column: Math.max(0, Math.min(extent.columns - 1, column)),
  };
}

/**
 * The window moved as little as it takes to show a cell.
 *
 * @param {Window} window
 * @param {Extent} extent
 * @param {{ row: number, column: number }} spot
 */
export function showing(window, extent, { row, column }) {
  /** @type {(first: number, shown: number, at: number) => number} */
  const off = (first, shown, at) => Math.min(0, at - first) || Math.max(0, at + 1 - first - shown);
  const by = { rows: off(window.row, window.rows, row), columns: off(window.column, window.columns, column) }; // prettier-ignore
  return moved(window, extent, by);
}

/**
 * @param {Window} window
 * @param {Extent} extent
 * @returns {Window}
 */
function within({ row, column, rows, columns }, extent) {
  return {
    row: Math.min(Math.max(0, row), Math.max(0, extent.rows - rows)),
    column: Math.min(Math.max(0, column), Math.max(0, extent.columns - columns)),
    rows,
    columns,
  };
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

/**
 * The tree over columns.
 *
 * @param {number} n columns
 * @param {readonly (readonly [one: number, other: number, height: number])[]} merges `one`, `other`: a
 *   column, or `n` plus the number of an earlier merge
 * @returns {Join[]} children before parents
 */
export function joinsOfMerges(n, merges) {
  /** @type {[at: number, height: number][]} */
  const ends = Array.from({ length: n }, (_, at) => [at + 0.5, 0]);
  return merges.map(([one, other, height]) => {
    const feet = [ends[one], ends[other]];
    const [from, to] = feet.map(([at]) => at).sort((a, b) => a - b);
    ends.push([(from + to) / 2, height]);
    return { height, from, to, feet };
  });
}
