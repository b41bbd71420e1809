// Which names a picture has, and where: one rule for the tree in each of its shapes and for the map,
// and for the service's pictures (`app/pictures/labels.py`). Pure.
//
// Where the labels of all tips do not fit, the tree is divided into groups that are just wide enough
// for a name each. Names get their places in turn, the largest first, where nothing else is written.

const CELL = 6;
/** The most names of groups in a picture. */
export const MOST_WORDS = 60;
/** A group takes less than this part of what is seen, if it can be divided. */
const PARTS = 40;
/** A node stays open until it is this much narrower than one that is opened. */
const STICKS = 0.85;
/** A name that is shown keeps its place against names of up to this many times its rank. */
const KEPT = 1.5;

const COUNT = / \([\d,]+\)$/;
const SHARE = / \(\d[\d.]*%\)$/;

/**
 * What was shown before, so that names stay while one moves: the nodes that are open and those that
 * have names, by id.
 *
 * @typedef {{ open: Set<number>, shown: Set<number> }} Memory
 */

/** @returns {Memory} */
export const noMemory = () => ({ open: new Set(), shown: new Set() });

/**
 * A name that has room: a share in brackets at the end goes first, then the last parts of a list, then
 * letters. Where a list that goes on has another part that fits whole, it takes the first part's place.
 * A number in brackets stays.
 *
 * @param {string} text
 * @param {number} room
 * @param {(text: string) => number} width
 * @param {(text: string, room: number) => string} clip
 */
export function shortened(text, room, width, clip) {
  if (width(text) <= room) return text;
  if (SHARE.test(text)) return shortened(text.replace(SHARE, ""), room, width, clip);
  const count = COUNT.exec(text)?.[0] ?? "";
  let rest = text.slice(0, text.length - count.length);
  const left = room - (count ? width(count) : 0);
  const parts = rest.split(", ");
  const all = rest.endsWith(", …") ? parts.slice(0, -1) : [];
  while (parts.length > 1 && width(rest) > left) {
    parts.pop();
    rest = [...parts, "…"].join(", ");
  }
  if (width(rest) > left) {
    const each = [...all.map((part) => `${part}, …`), ...all];
    rest = each.find((part) => width(part) <= left) ?? rest;
  }
  const short = clip(rest, left);
  return short && short + count;
}

/**
 * The rows that stand for all below them, from left to right: a row is opened if it is at least
 * `least` wide, and at least a fortieth of what is seen. Rows are in preorder. O(visited).
 *
 * @param {{ n: number, end: ArrayLike<number> }} rows `end`: one past the subtree of each
 * @param {{
 *   width: (row: number) => number,
 *   isTip: (row: number) => boolean,
 *   isSeen?: (row: number) => boolean,
 *   id?: (row: number) => number,
 *   least: number,
 *   all: number,
 *   memory?: Memory,
 * }} options `all`: the width of all that is seen
 */
export function groups(
  { n, end },
  { width, isTip, isSeen, id = (row) => row, least, all, memory = noMemory() },
) {
  const wanted = Math.max(least, all / PARTS);
  const found = [];
  const open = new Set();
  for (let row = 0; row < n;) {
    if (isSeen && !isSeen(row)) {
      row = end[row];
      continue;
    }
    const enough = memory.open.has(id(row)) ? STICKS * wanted : wanted;
    if (!isTip(row) && width(row) >= enough) {
      open.add(id(row));
      row += 1;
    } else {
      found.push(row);
      row = end[row];
    }
  }
  memory.open = open;
  return found;
}

/**
 * How much a name counts: its rank, and more where it is shown already.
 *
 * @param {Memory} memory
 * @param {number} id
 * @param {number} rank
 */
export const priority = (memory, id, rank) => (memory.shown.has(id) ? KEPT * rank : rank);

/**
 * The places of the positions that are at least `apart` from each other, ascending: the highest rank
 * comes first, among equals the first.
 *
 * @param {number[]} at
 * @param {number[]} rank
 * @param {number} apart
 * @param {number | null} [around] the length of a closed line
 */
export function spaced(at, rank, apart, around = null) {
  /** @type {number[]} Positions, ascending. */
  const taken = [];
  const kept = [];
  const order = at.map((_, place) => place).sort((a, b) => rank[b] - rank[a] || a - b);
  const turns = around === null ? [0] : [0, around, -around];
  for (const place of order) {
    if (turns.some((turn) => !isFree(taken, at[place] + turn, apart))) continue;
    taken.splice(after(taken, at[place]), 0, at[place]);
    kept.push(place);
  }
  return kept.sort((a, b) => a - b);
}

/**
 * @param {number[]} taken
 * @param {number} at
 */
function after(taken, at) {
  let [low, high] = [0, taken.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (taken[middle] < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * @param {number[]} taken
 * @param {number} at
 * @param {number} apart
 */
function isFree(taken, at, apart) {
  const next = after(taken, at);
  for (const other of [taken[next - 1], taken[next]]) {
    if (other !== undefined && Math.abs(other - at) < apart - 1e-9) return false;
  }
  return true;
}

/** The parts of a picture that are written on, in cells of a few px. */
export class Ground {
  /**
   * @param {number} width
   * @param {number} height
   */
  constructor(width, height) {
    this.width = width;
    this.height = height;
    this.columns = Math.ceil(width / CELL) + 1;
    this.cells = new Uint8Array(this.columns * (Math.ceil(height / CELL) + 1));
  }

  /**
   * Take a box; false if it is over the edge or any part of it is taken.
   *
   * @param {number} x
   * @param {number} y
   * @param {number} w
   * @param {number} h
   */
  take(x, y, w, h) {
    if (!this.#isFree(x, y, w, h)) return false;
    this.#fill(x, y, w, h);
    return true;
  }

  /**
   * Take what a text along a line needs, as `take`.
   *
   * @param {number} x0
   * @param {number} y0
   * @param {number} x1
   * @param {number} y1
   * @param {number} tall
   */
  takeAlong(x0, y0, x1, y1, tall) {
    const steps = Math.max(1, Math.ceil(Math.hypot(x1 - x0, y1 - y0) / (tall / 2)));
    const corners = Array.from({ length: steps + 1 }, (_, at) => [
      x0 + ((x1 - x0) * at) / steps - tall / 2,
      y0 + ((y1 - y0) * at) / steps - tall / 2,
    ]);
    if (!corners.every(([x, y]) => this.#isFree(x, y, tall, tall))) return false;
    for (const [x, y] of corners) this.#fill(x, y, tall, tall);
    return true;
  }

  /**
   * @param {number} x
   * @param {number} y
   * @param {number} w
   * @param {number} h
   */
  #isFree(x, y, w, h) {
    if (x < 0 || y < 0 || x + w > this.width || y + h > this.height) return false;
    const [x0, x1] = [Math.floor(x / CELL), Math.floor((x + w) / CELL)];
    const [y0, y1] = [Math.floor(y / CELL), Math.floor((y + h) / CELL)];
    const { cells, columns } = this;
    for (let row = y0; row <= y1; row += 1) {
      for (let column = x0; column <= x1; column += 1) {
        if (cells[row * columns + column]) return false;
      }
    }
    return true;
  }

  /**
   * @param {number} x
   * @param {number} y
   * @param {number} w
   * @param {number} h
   */
  #fill(x, y, w, h) {
    const [x0, x1] = [Math.floor(x / CELL), Math.floor((x + w) / CELL)];
    const [y0, y1] = [Math.floor(y / CELL), Math.floor((y + h) / CELL)];
    for (let row = y0; row <= y1; row += 1) {
      this.cells.fill(1, row * this.columns + x0, row * this.columns + x1 + 1);
    }
  }
}
