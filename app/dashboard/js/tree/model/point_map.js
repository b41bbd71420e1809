// The points of a map, in the order of the leaves of the tree: so the points under a node, or in a
// cluster, are a run of places. What is where, within an outline, and under the pointer.

import { NONE } from "./store.js";

/** @import { Store } from "./store.js" */

/**
 * @typedef {{ xy: Float32Array, n: number }} Points x and y of each place in turn
 * @typedef {{ x0: number, y0: number, x1: number, y1: number }} Box
 * @typedef {{ first: number, n: number, index: number }} Run `index`: of its colour
 * @typedef {[x: number, y: number]} Corner
 *
 * @typedef {{
 *   box: Box,
 *   columns: number,
 *   rows: number,
 *   start: Uint32Array,
 *   place: Uint32Array,
 * }} Grid the places of the points of each cell are `place[start[cell]]` to `place[start[cell + 1] - 1]`
 */

/** Points of a cell, about. */
const IN_CELL = 4;

/**
 * The smallest box around all points, never without area.
 *
 * @param {Points} points
 * @returns {Box}
 */
export function boxOf({ xy }) {
  let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
  for (let at = 0; at < xy.length; at += 2) {
    if (xy[at] < x0) x0 = xy[at];
    if (xy[at] > x1) x1 = xy[at];
    if (xy[at + 1] < y0) y0 = xy[at + 1];
    if (xy[at + 1] > y1) y1 = xy[at + 1];
  }
  if (!(x0 <= x1)) return { x0: -1, y0: -1, x1: 1, y1: 1 };
  const spare = Math.max(x1 - x0, y1 - y0) * 0.005 || 1;
  return { x0: x0 - spare, y0: y0 - spare, x1: x1 + spare, y1: y1 + spare };
}

/**
 * The points by cells of a grid, for `nearestTo`. O(n).
 *
 * @param {Points} points
 * @param {Box} box around all of them
 * @returns {Grid}
 */
export function gridOf({ xy, n }, box) {
  const side = Math.max(1, Math.ceil(Math.sqrt(n / IN_CELL)));
  const grid = { box, columns: side, rows: side };
  const start = new Uint32Array(side * side + 1);
  const cell = new Uint32Array(n);
  for (let at = 0; at < n; at += 1) {
    cell[at] = cellAt(grid, xy[2 * at], xy[2 * at + 1]);
    start[cell[at] + 1] += 1;
  }
  for (let at = 1; at < start.length; at += 1) start[at] += start[at - 1];
  const next = start.slice();
  const place = new Uint32Array(n);
  for (let at = 0; at < n; at += 1) {
    place[next[cell[at]]] = at;
    next[cell[at]] += 1;
  }
  return { ...grid, start, place };
}

/**
 * @param {{ box: Box, columns: number, rows: number }} grid
 * @param {number} x
 * @param {number} y
 */
function cellAt({ box, columns, rows }, x, y) {
  const column = Math.floor(((x - box.x0) / (box.x1 - box.x0)) * columns);
  const row = Math.floor(((y - box.y0) / (box.y1 - box.y0)) * rows);
  return limited(row, rows) * columns + limited(column, columns);
}

/**
 * @param {number} at
 * @param {number} n
 */
const limited = (at, n) => Math.max(0, Math.min(n - 1, at));

/**
 * The place of the point nearest to x, y within a distance; -1 if there is none. Among equally near
 * ones the last, which is drawn on top.
 *
 * @param {Points} points
 * @param {Grid} grid
 * @param {number} x
 * @param {number} y
 * @param {number} reach
 */
export function nearestTo({ xy }, grid, x, y, reach) {
  const low = cellAt(grid, x - reach, y - reach);
  const high = cellAt(grid, x + reach, y + reach);
  const { columns, start, place } = grid;
  let [best, least] = [NONE, reach * reach];
  for (let row = Math.floor(low / columns); row <= Math.floor(high / columns); row += 1) {
    const from = start[row * columns + (low % columns)];
    const to = start[row * columns + (high % columns) + 1];
    for (let at = from; at < to; at += 1) {
      const other = place[at];
      const [dx, dy] = [xy[2 * other] - x, xy[2 * other + 1] - y];
      const square = dx * dx + dy * dy;
      if (square < least || (square === least && other > best)) [best, least] = [other, square];
    }
  }
  return best;
}

/**
 * The nearest point to the right, left, above or below another one, within 45 degrees; the point itself where
 * none lies there. O(N).
 *
 * @param {Points} points
 * @param {number} place
 * @param {number} dx 1, -1 or 0
 * @param {number} dy upwards
 */
export function toward({ xy, n }, place, dx, dy) {
  let [best, least] = [place, Infinity];
  const [x, y] = [xy[2 * place], xy[2 * place + 1]];
  for (let other = 0; other < n; other += 1) {
    const [right, up] = [xy[2 * other] - x, xy[2 * other + 1] - y];
    const along = dx * right + dy * up;
    const aside = Math.abs(dx ? up : right);
    if (along <= 0 || aside > along) continue;
    const distance = along * along + aside * aside;
    if (distance < least) [best, least] = [other, distance];
  }
  return best;
}

/**
 * Which points lie within a closed outline by the even-odd rule, as the service decides it; and how
 * many. O(n) for the points between its lowest and highest corner, and one step for each edge at their
 * height.
 *
 * @param {Points} points
 * @param {Corner[]} outline
 */
export function within({ xy, n }, outline) {
  const inside = new Uint8Array(n);
  const ys = outline.map(([, y]) => y);
  const [low, high] = [Math.min(...ys), Math.max(...ys)];
  const strips = Math.min(512, Math.max(1, Math.ceil(n / 64)));
  /** @type {number[][]} The edges at each height. */
  const edges = Array.from({ length: strips }, () => []);
  /** @param {number} y */
  const stripAt = (y) => limited(Math.floor(((y - low) / (high - low)) * strips), strips);
  outline.forEach(([, y], at) => {
    const next = outline[(at + 1) % outline.length][1];
    if (next === y) return;
    for (let s = stripAt(Math.min(y, next)); s <= stripAt(Math.max(y, next)); s += 1) {
      edges[s].push(at);
    }
  });
  let count = 0;
  for (let at = 0; at < n; at += 1) {
    const y = xy[2 * at + 1];
    if (!(y >= low && y < high)) continue;
    let odd = 0;
    for (const edge of edges[stripAt(y)]) {
      const [x0, y0] = outline[edge];
      const [x1, y1] = outline[(edge + 1) % outline.length];
      if (y0 <= y === y1 <= y) continue;
      if (xy[2 * at] < x0 + (y - y0) * ((x1 - x0) / (y1 - y0))) odd ^= 1;
    }
    inside[at] = odd;
    count += odd;
  }
  return { inside, count };
}

/**
 * An outline of at most `most` corners, spread evenly over those that there are.
 *
 * @param {Corner[]} outline
 * @param {number} most
 */
export function thinned(outline, most) {
  const step = Math.ceil(outline.length / most);
  return outline.filter((_, at) => at % step === 0);
}

/**
 * The colour of each place, as an index: 0 where no run is.
 *
 * @param {number} n
 * @param {Iterable<Run>} runs
 */
export function painted(n, runs) {
  const index = new Uint8Array(n);
  for (const run of runs) index.fill(run.index, run.first, run.first + run.n);
  return index;
}

/**
 * The deepest loaded node over a place, as a slot of the store; -1 if the store is empty or holds
 * another part of the tree.
 *
 * @param {Store} store
 * @param {number} place
 */
export function nodeOver(store, place) {
  /** @param {number} slot */
  const holds = (slot) =>
    place >= store.before[slot] && place < store.before[slot] + store.size[slot];
  let slot = topOf(store);
  if (slot === NONE || !holds(slot)) return NONE;
  for (;;) {
    const kid = store.kids[slot]?.find(holds);
    if (kid === undefined) return slot;
    slot = kid;
  }
}

/** @param {Store} store */
function topOf(store) {
  if (!store.n) return NONE;
  let slot = 0;
  while (store.parent[slot] !== NONE) slot = store.parent[slot];
  return slot;
}
