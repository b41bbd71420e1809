// Which tiles of a heatmap are needed for what is shown, and what their cells stand for. Pure.

/** @import { Extent, Window } from "./matrix.js" */

/**
 * @typedef {{ start: number, stop: number, pooled: number }} Span rows or columns, `pooled` in a cell
 * @typedef {{ level: number, row: number, column: number, rows: Span, columns: Span }} Tile
 */

/** @typedef {{ what: "features" | "distances", [term: string]: unknown }} HeatmapTerms */

/** @type {Record<string, HeatmapTerms>} */
export const KINDS = {
  mean: { what: "features", statistic: "mean", scale: "standard" },
  median: { what: "features", statistic: "median", scale: "standard" },
  raw: { what: "features", statistic: "mean", scale: "none" },
  euclidean: { what: "distances", metric: "euclidean" },
  cosine: { what: "distances", metric: "cosine" },
  cophenetic: { what: "distances", metric: "cophenetic" },
};

/** @typedef {{ kind: string, rows: "cut" | "leaves" }} Choice a heatmap on the page of a tree */

/**
 * The heatmap that an address names; null for anything else.
 *
 * @param {string | undefined} text
 * @returns {Choice | null}
 */
export function choiceIn(text) {
  const [kind, rows, ...rest] = (text ?? "").split(".");
  if (rest.length || !Object.hasOwn(KINDS, kind)) return null;
  return rows === "cut" || rows === "leaves" ? { kind, rows } : null;
}

/** @param {Choice | null} choice */
export const choiceText = (choice) => choice && `${choice.kind}.${choice.rows}`;

/** The most rows and columns of cells in a tile. */
export const TILE = 256;
/** A cell is one of 0 to this. */
export const STEPS = 65_535;
/** Cells are not drawn larger than this many pixels while there are finer ones. */
const COARSE_PX = 2;

/** @param {number} n rows or columns */
const doublings = (n) => Math.max(0, Math.ceil(Math.log2(Math.ceil(n / TILE))));

/**
 * How many rows, or columns, of `n` are in a cell at a level of detail.
 *
 * @param {number} n
 * @param {number} level
 */
export const pooledAt = (n, level) => 2 ** Math.max(0, doublings(n) - level);

/** @param {Extent} extent */
export const levelsOf = ({ rows, columns }) => 1 + Math.max(doublings(rows), doublings(columns));

/**
 * The coarsest level at which cells are fine enough.
 *
 * @param {Extent} extent
 * @param {{ down: number, across: number }} px of a row and of a column
 */
export function levelFor(extent, { down, across }) {
  const last = levelsOf(extent) - 1;
  /**
   * @param {number} n
   * @param {number} level
   * @param {number} px
   */
  const isFine = (n, level, px) => {
    const pooled = pooledAt(n, level);
    return pooled === 1 || pooled * px < COARSE_PX;
  };
  for (let level = 0; level < last; level += 1) {
    if (isFine(extent.rows, level, down) && isFine(extent.columns, level, across)) return level;
  }
  return last;
}

/**
 * The tiles of a level that a window touches, by rows.
 *
 * @param {Extent} extent
 * @param {number} level
 * @param {Window} window
 * @returns {Tile[]}
 */
export function tilesIn(extent, level, window) {
  const rows = spansIn(extent.rows, level, window.row, window.rows);
  const columns = spansIn(extent.columns, level, window.column, window.columns);
  return rows.flatMap(([row, down]) =>
    columns.map(([column, across]) => ({ level, row, column, rows: down, columns: across })),
  );
}

/**
 * @param {number} n
 * @param {number} level
 * @param {number} first
 * @param {number} shown
 * @returns {[number: number, span: Span][]}
 */
function spansIn(n, level, first, shown) {
  const pooled = pooledAt(n, level);
  const step = TILE * pooled;
  const last = Math.min(Math.ceil(n / step) - 1, Math.floor((first + shown) / step));
  const begin = Math.max(0, Math.floor(first / step));
  return Array.from({ length: Math.max(0, last - begin + 1) }, (_, at) => {
    const start = (begin + at) * step;
    return [begin + at, { start, stop: Math.min(n, start + step), pooled }];
  });
}

/** @param {Span} span */
export const cellsIn = ({ start, stop, pooled }) => Math.ceil((stop - start) / pooled);

/**
 * The cell of a tile over a row and a column; -1 if it has none.
 *
 * @param {Tile} tile
 * @param {number} row
 * @param {number} column
 */
export function cellAt({ rows, columns }, row, column) {
  if (row < rows.start || row >= rows.stop) return -1;
  if (column < columns.start || column >= columns.stop) return -1;
  const down = Math.floor((row - rows.start) / rows.pooled);
  return down * cellsIn(columns) + Math.floor((column - columns.start) / columns.pooled);
}

/**
 * @param {number} cell
 * @param {{ low: number, high: number }} bounds
 */
export const valueOf = (cell, { low, high }) => low + (cell / STEPS) * (high - low);

/**
 * The value of a cell; null where it has none.
 *
 * @param {number} cell
 * @param {{ low: number, high: number, missing?: number | null }} bounds
 */
export const valueIn = (cell, bounds) => (cell === bounds.missing ? null : valueOf(cell, bounds));

/** The most cells of a heatmap whose rows can be ordered by a column: all of them are loaded for it. */
export const MOST_ORDERED = 2_000_000;

/**
 * Rows by their cells in a column, from the highest; equal ones in the order of the tree, those without a
 * value at the end.
 *
 * @param {Uint16Array} cells by rows
 * @param {{ rows: number, columns: number }} extent
 * @param {number} column
 * @param {number | null | undefined} missing the cell that stands for no value
 */
export function rowsBy(cells, { rows, columns }, column, missing) {
  /** @param {number} row */
  const valueAt = (row) => {
    const cell = cells[row * columns + column];
    return cell === missing ? -1 : cell;
  };
  return Uint32Array.from({ length: rows }, (_, row) => row).sort(
    (a, b) => valueAt(b) - valueAt(a) || a - b,
  );
}

/**
 * The place of each step on a scale from the first colour to the last, 0 to `n` - 1.
 *
 * @param {{ low: number, high: number, shown_low: number, shown_high: number }} bounds
 * @param {number} n colours
 */
export function shadesOf(bounds, n) {
  const { shown_low: first, shown_high: last } = bounds;
  const shades = new Uint8Array(STEPS + 1);
  for (let cell = 0; cell <= STEPS; cell += 1) {
    const share = (valueOf(cell, bounds) - first) / (last - first);
    shades[cell] = Math.round(Math.min(1, Math.max(0, share)) * (n - 1));
  }
  return shades;
}
