// Which names a picture has, and where: one rule for the tree in each of its shapes and for the map,
// and for the service's pictures (`app/pictures/labels.py`). Pure.
//
// Where the labels of all tips do not fit, the tree is divided into groups that are just wide enough
// for a name each. Names get their places in turn, the largest first, where nothing else is written.

/** @import { Picture } from "./picture.js" */

const CELL = 2;
/** The height of a name and the room at its ends, in its size. */
const TALL = 1;
const SPARE = 0.15;
/** How far from its node a name that is led out by a line may be, in its size, and in how many directions. */
const LED = [2, 3, 4, 5, 6];
const WAYS = 16;
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

/**
 * The left end of a name, its middle line, and where a line from its node ends, if one leads to it; from the
 * node.
 *
 * @typedef {{ left: number, middle: number, led: [x: number, y: number] | null }} Spot
 */

/**
 * Where the name of a node may stand, the best place first: beside the node, in its fork, and where it is
 * led out by a line farther off.
 *
 * @param {number} wide
 * @param {number} size
 * @param {{ isRound: boolean, isLed: boolean }} options
 * @returns {Spot[]}
 */
export function spots(wide, size, { isRound, isLed }) {
  const [gap, half] = [0.35 * size, 0.5 * size];
  /** @type {(left: number, middle: number) => Spot} */
  const spot = (left, middle) => ({ left, middle, led: null });
  const corners = [-wide - gap, gap].flatMap((left) =>
    [-0.75 * size, 0.75 * size].map((down) => spot(left, down)),
  );
  const middle = [spot(-wide / 2, -0.9 * size), spot(-wide / 2, 0.9 * size)];
  const sides = [spot(half, 0), spot(-wide - half, 0)];
  const order = isRound ? [...middle, ...sides, ...corners] : [...corners, ...sides, ...middle];
  for (const far of isLed ? LED : []) {
    for (let way = 0; way < WAYS; way += 1) {
      // Upwards first, then by turns to both sides.
      const turn = (Math.floor((way + 1) / 2) * (way % 2 ? 1 : -1) * 2 * Math.PI) / WAYS;
      const [x, y] = [far * size * Math.sin(turn), -far * size * Math.cos(turn)];
      if (Math.abs(x) > 0.3 * far * size) {
        const left = x > 0 ? x + SPARE * size : x - wide - SPARE * size;
        order.push({ left, middle: y, led: [x, y] });
      } else order.push({ left: -wide / 2, middle: y, led: [0, y - Math.sign(y) * half] });
    }
  }
  return order;
}

/**
 * The part of a line within a picture, `edge` px from its sides; null if there is none.
 *
 * @param {[x: number, y: number]} from
 * @param {[x: number, y: number]} to
 * @param {{ width: number, height: number }} picture
 * @param {number} edge
 * @returns {[[x: number, y: number], [x: number, y: number]] | null}
 */
export function within([ax, ay], [bx, by], picture, edge) {
  let [start, stop] = [0, 1];
  const [dx, dy] = [bx - ax, by - ay];
  /** @type {[at: number, step: number, length: number][]} */
  const sides = [[ax, dx, picture.width], [ay, dy, picture.height]]; // prettier-ignore
  for (const [at, step, length] of sides) {
    const [low, high] = [edge, length - edge];
    if (Math.abs(step) < 1e-9) {
      if (at < low || at > high) return null;
      continue;
    }
    const [one, other] = [(low - at) / step, (high - at) / step];
    start = Math.max(start, Math.min(one, other));
    stop = Math.min(stop, Math.max(one, other));
  }
  if (start >= stop) return null;
  return [[ax + start * dx, ay + start * dy], [ax + stop * dx, ay + stop * dy]]; // prettier-ignore
}

/** The parts of a picture that are written on or have lines, in cells of a few px. */
export class Ground {
  /**
   * @param {number} width
   * @param {number} height
   */
  constructor(width, height) {
    this.width = width;
    this.height = height;
    this.columns = Math.ceil(width / CELL) + 1;
    this.rows = Math.ceil(height / CELL) + 1;
    this.cells = new Uint8Array(this.columns * this.rows);
    /** @type {Uint8Array | null} Cells with lines, once there are any. */
    this.lines = null;
  }

  /**
   * A line, which may be over the edge. O(its length in the picture).
   *
   * @param {number} x0
   * @param {number} y0
   * @param {number} x1
   * @param {number} y1
   */
  draw(x0, y0, x1, y1) {
    this.lines ??= new Uint8Array(this.cells.length);
    if (this.#holds(x0, y0) && this.#holds(x1, y1)) {
      this.#mark(this.lines, x0, y0, x1, y1);
      return;
    }
    const isBeside = Math.max(x0, x1) < 0 || Math.min(x0, x1) > this.width;
    if (isBeside || Math.max(y0, y1) < 0 || Math.min(y0, y1) > this.height) return;
    const part = within([x0, y0], [x1, y1], this, 0);
    if (part) this.#mark(this.lines, ...part[0], ...part[1]);
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  #holds(x, y) {
    return x >= 0 && y >= 0 && x <= this.width && y <= this.height;
  }

  /**
   * @param {Uint8Array} lines
   * @param {number} x0
   * @param {number} y0
   * @param {number} x1
   * @param {number} y1
   */
  #mark(lines, x0, y0, x1, y1) {
    const { columns } = this;
    const far = Math.max(Math.abs(x1 - x0), Math.abs(y1 - y0));
    const steps = Math.ceil(far / CELL);
    const [dx, dy] = steps ? [(x1 - x0) / steps / CELL, (y1 - y0) / steps / CELL] : [0, 0];
    let [x, y] = [x0 / CELL, y0 / CELL];
    for (let step = 0; step <= steps; step += 1) {
      // Rounding may leave the ground by less than a cell.
      lines[(y | 0) * columns + (x | 0)] = 1;
      x += dx;
      y += dy;
    }
  }

  /**
   * Take the first of the spots of the node at (x, y) where its name lies on no line and no other name, with
   * the line that leads to it; null if there is none. Not from the node, but in the picture.
   *
   * @param {number} x
   * @param {number} y
   * @param {number} wide
   * @param {number} size
   * @param {{
   *   isRound: boolean,
   *   isLed?: boolean,
   *   isOver?: boolean,
   *   isInside?: (spot: Spot) => boolean,
   * }} options `isOver`: on lines, too
   * @returns {Spot | null}
   */
  name(x, y, wide, size, { isRound, isLed = false, isOver = false, isInside = () => true }) {
    for (const { left, middle, led } of spots(wide, size, { isRound, isLed })) {
      /** @type {Spot} */
      const spot = {
        left: x + left,
        middle: y + middle,
        led: led && [x + led[0], y + led[1]],
      };
      if (!isInside(spot) || (spot.led && this.#isOverNames(x, y, ...spot.led))) continue;
      const [x0, y0] = [spot.left - SPARE * size, spot.middle - (TALL / 2) * size];
      const [w, h] = [wide + 2 * SPARE * size, TALL * size];
      if (!this.take(x0, y0, w, h, !isOver)) continue;
      if (spot.led) this.draw(x, y, ...spot.led);
      return spot;
    }
    return null;
  }

  /**
   * @param {number} x0
   * @param {number} y0
   * @param {number} x1
   * @param {number} y1
   */
  #isOverNames(x0, y0, x1, y1) {
    const steps = Math.ceil(Math.hypot(x1 - x0, y1 - y0) / CELL);
    for (let step = 0; step < steps; step += 1) {
      const x = Math.floor((x0 + ((x1 - x0) * step) / steps) / CELL);
      const y = Math.floor((y0 + ((y1 - y0) * step) / steps) / CELL);
      const isOut = x < 0 || y < 0 || x >= this.columns || y >= this.rows;
      if (isOut || this.cells[y * this.columns + x]) return true;
    }
    return false;
  }

  /**
   * Take a box; false if it is over the edge or any part of it is taken.
   *
   * @param {number} x
   * @param {number} y
   * @param {number} w
   * @param {number} h
   * @param {boolean} [clear] of lines, too
   */
  take(x, y, w, h, clear = false) {
    if (!this.#isFree(x, y, w, h) || (clear && this.#hasLine(x, y, w, h))) return false;
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
   * @param {boolean} [clear] of lines, too
   */
  takeAlong(x0, y0, x1, y1, tall, clear = false) {
    const steps = Math.max(1, Math.ceil(Math.hypot(x1 - x0, y1 - y0) / (tall / 2)));
    const corners = Array.from({ length: steps + 1 }, (_, at) => [
      x0 + ((x1 - x0) * at) / steps - tall / 2,
      y0 + ((y1 - y0) * at) / steps - tall / 2,
    ]);
    const isClear = corners.every(
      ([x, y]) => this.#isFree(x, y, tall, tall) && !(clear && this.#hasLine(x, y, tall, tall)),
    );
    if (!isClear) return false;
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
    return !this.#hasAny(this.cells, x, y, w, h);
  }

  /**
   * Whether a line runs through a box.
   *
   * @param {number} x
   * @param {number} y
   * @param {number} w
   * @param {number} h
   */
  #hasLine(x, y, w, h) {
    return this.lines !== null && this.#hasAny(this.lines, x, y, w, h);
  }

  /**
   * @param {Uint8Array} cells
   * @param {number} x
   * @param {number} y
   * @param {number} w
   * @param {number} h
   */
  #hasAny(cells, x, y, w, h) {
    const [x0, x1] = [Math.floor(x / CELL), Math.floor((x + w) / CELL)];
    const [y0, y1] = [Math.floor(y / CELL), Math.floor((y + h) / CELL)];
    for (let row = y0; row <= y1; row += 1) {
      for (let column = x0; column <= x1; column += 1) {
        if (cells[row * this.columns + column]) return true;
      }
    }
    return false;
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

/**
 * The lines and areas of a picture on a ground of names.
 *
 * @param {Picture} picture
 * @param {Ground} ground
 */
export function drawnLines({ layers }, ground) {
  /** @type {(x0: number, y0: number, x1: number, y1: number) => void} */
  const draw = (...line) => ground.draw(...line);
  for (const item of [...layers.strokes, ...layers.guides]) {
    if (item.kind !== "text") item.path.pieces(draw);
  }
  for (const item of layers.areas) if (item.kind !== "text") item.path.fan(draw);
  return ground.lines;
}
