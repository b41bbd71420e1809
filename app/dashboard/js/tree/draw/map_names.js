// The names on a map, each on its points: the largest nodes in view are divided until there are as many
// names as have room, so that they are of large nodes from afar, and of leaves when near. The cost of a
// frame is bounded. Pure.

import { calledName } from "../model/cluster_names.js";
import { NONE } from "../model/store.js";
import { Ground, MOST_WORDS, priority } from "./label_places.js";
import { drawnName, fitted, width } from "./text.js";

/** @import { Points } from "../model/point_map.js" */
/** @import { Store } from "../model/store.js" */
/** @import { Memory } from "./label_places.js" */

/**
 * @typedef {{ x: number, y: number, spread: number, first: number, n: number, name: string }} Spot the
 *   middle of a node's points, one of them, and how far half of them are from it, in the map's units;
 *   `first` and `n`: their places
 * @typedef {{
 *   id: number,
 *   x: number,
 *   y: number,
 *   text: string,
 *   whole: string,
 *   size: number,
 *   weight: number,
 *   width: number,
 * }} MapName in px
 */

/** Points of a node that are looked at. */
const SAMPLE = 48;
/** A node is divided if half of its points lie farther than this from their middle, px. */
const WIDE_PX = 18;
/** The nodes that are enough for names: not all have room. */
const WANTED = 90;
const MOST_BELOW = 60;
const STICKS = 0.85;
/** The most nodes that are looked at in a frame, and those whose points are looked at anew. */
const MOST_VISITS = 500;
export const MOST_NEW = 80;
const ROOM_PX = 170;
/** The longest name, as a part of the width. */
const PART = 0.3;
/** The most points of a map where names keep clear of dots. */
const MOST_DOTS = 2000;
/** On a narrow map, as on a phone, names are shorter, so that there are more. */
const NARROW_PX = 420;
const NARROW_PART = 0.22;
const FEWEST_LETTERS = 4;
const SMALL = 11;
const LARGE = 16;

/** What is known of the nodes of a map. */
export class Spots {
  /** @param {Points} points */
  constructor(points) {
    this.points = points;
    /** @type {Map<number, Spot>} By id. */
    this.known = new Map();
    this.fresh = 0;
    /** Whether a frame had no time for all that it needs: the next one has more. */
    this.isBehind = false;
  }

  /**
   * Whether there is time for the spots of so many nodes more in a frame.
   *
   * @param {Store} store
   * @param {Int32Array | number[]} slots
   */
  hasTimeFor(store, slots) {
    let missing = 0;
    for (const slot of slots) if (!this.known.has(store.id[slot])) missing += 1;
    const hasTime = missing === 0 || this.fresh + missing <= MOST_NEW;
    if (!hasTime) this.isBehind = true;
    return hasTime;
  }

  /**
   * The spot of a node.
   *
   * @param {Store} store
   * @param {number} slot
   */
  of(store, slot) {
    const id = store.id[slot];
    const [first, n] = [store.before[slot], store.size[slot]];
    const spot = this.known.get(id);
    if (spot && spot.first === first && spot.n === n) return spot;
    this.fresh += 1;
    const made = { ...middleOf(this.points, first, n), first, n, name: "" };
    this.known.set(id, made);
    return made;
  }

  /** Names have changed. */
  forget() {
    for (const spot of this.known.values()) spot.name = "";
  }
}

/**
 * The middle of a run of places: of a sample, the point nearest to the median of both axes.
 *
 * @param {Points} points
 * @param {number} first
 * @param {number} n
 */
function middleOf({ xy }, first, n) {
  const count = Math.min(n, SAMPLE);
  const at = Array.from({ length: count }, (_, i) => first + Math.floor(((i + 0.5) * n) / count));
  /** @param {number} axis */
  const median = (axis) =>
    Float32Array.from(at, (place) => xy[2 * place + axis]).sort()[count >> 1];
  const [mx, my] = [median(0), median(1)];
  /** @param {number} place */
  const far = (place) => Math.hypot(xy[2 * place] - mx, xy[2 * place + 1] - my);
  let best = at[0];
  for (const place of at) if (far(place) < far(best)) best = place;
  const spread = count < 2 ? 0 : Float32Array.from(at, far).sort()[count >> 1];
  return { x: xy[2 * best], y: xy[2 * best + 1], spread };
}

/**
 * The names that are shown, the largest first.
 *
 * @param {Store} store
 * @param {Spots} spots
 * @param {{
 *   k: number,
 *   px: (x: number, y: number) => [x: number, y: number],
 *   width: number,
 *   height: number,
 *   family: string,
 *   memory: Memory,
 *   reach?: number,
 * }} options `k`: px of a unit; `px`: where a place is; `reach`: the size of a point, px
 * @returns {MapName[]}
 */
export function mapNames(store, spots, { k, px, width: w, height: h, family, memory, reach = 3 }) {
  spots.fresh = 0;
  spots.isBehind = false;
  const rows = divided(store, spots, { k, px, width: w, height: h, memory });
  const most = Math.log1p(rows.reduce((sum, { spot }) => Math.max(sum, spot.n), 1));
  /** @param {{ slot: number, spot: Spot }} row */
  const rank = ({ slot, spot }) => priority(memory, store.id[slot], spot.n);
  rows.sort((a, b) => rank(b) - rank(a) || a.spot.first - b.spot.first);
  const ground = new Ground(w, h);
  const { points } = spots;
  const isSparse = points.xy.length <= 2 * MOST_DOTS;
  for (let place = 0; isSparse && place < points.xy.length / 2; place += 1) {
    const [x, y] = px(points.xy[2 * place], points.xy[2 * place + 1]);
    for (const dy of [1 - reach, 0, reach - 1]) {
      ground.draw(x - reach + 1, y + dy, x + reach - 1, y + dy);
    }
  }
  const words = new Set();
  const shown = new Set();
  /** @type {MapName[]} */
  const names = [];
  for (const { slot, spot, x, y } of rows) {
    if (names.length >= MOST_WORDS) break;
    spot.name ||= nameOf(store, slot);
    if (!spot.name || words.has(spot.name)) continue;
    const isLeaf = spot.n === 1 || !(store.kids[slot]?.length || store.hidden[slot]);
    const share = isLeaf ? 0 : Math.log1p(spot.n) / most;
    const size = Math.round(SMALL + (LARGE - SMALL) * share ** 2);
    const weight = isLeaf ? 400 : 600;
    const room = Math.min(ROOM_PX, (w < NARROW_PX ? NARROW_PART : PART) * w);
    const text = fitted(spot.name, size, room, family, weight);
    if (!text || (text !== spot.name && text.length < FEWEST_LETTERS)) continue;
    // What is left without its share may be written already.
    if (words.has(text) && !text.endsWith("…")) continue;
    const wide = width(text, size, family, weight);
    const tall = 1.25 * size;
    // A leaf's name stands beside its point, that of others on their points, or a line off, and inside.
    const on = Math.max(2, Math.min(x - wide / 2, w - wide - 4));
    const off = [[on, y - tall], [on, y + tall]]; // prettier-ignore
    const beside = [[x + reach + 3, y], [x - reach - 3 - wide, y]]; // prettier-ignore
    const tries = isLeaf ? [...beside, ...off] : [[on, y], ...off];
    /** @type {(clear: boolean) => number[] | undefined} */
    const free = (clear) =>
      [...tries, ...(clear && !isLeaf ? beside : [])].find(([left, middle]) =>
        ground.take(left - 2, middle - tall / 2, wide + 4, tall, clear),
      );
    // Where dots are few, a name lies on none if there is room near its own.
    const place = (isSparse ? free(true) : undefined) ?? free(false);
    if (!place) continue;
    words.add(spot.name).add(text);
    shown.add(store.id[slot]);
    const [left, middle] = place;
    names.push({ id: store.id[slot], x: left, y: middle, text, whole: spot.name, size, weight, width: wide }); // prettier-ignore
  }
  memory.shown = shown;
  return names;
}

/** @typedef {{ slot: number, spot: Spot, x: number, y: number, isSeen: boolean }} Row */

/**
 * The nodes in view that stand for all below them: the largest are divided first, until there are
 * `WANTED`.
 *
 * @param {Store} store
 * @param {Spots} spots
 * @param {{
 *   k: number,
 *   px: (x: number, y: number) => [x: number, y: number],
 *   width: number,
 *   height: number,
 *   memory: Memory,
 * }} options
 */
function divided(store, spots, { k, px, width: w, height: h, memory }) {
  /** @type {Row[]} By size, the largest last. */
  const queue = [];
  /** @type {Row[]} */
  const found = [];
  const open = new Set();
  let seen = 0;
  /** @param {number} slot */
  const put = (slot) => {
    if (store.noise.has(store.id[slot])) return;
    const spot = spots.of(store, slot);
    const [x, y] = px(spot.x, spot.y);
    const around = 6 * spot.spread * k;
    if (x < -around || y < -around || x > w + around || y > h + around) return;
    const isSeen = x >= 0 && y >= 0 && x <= w && y <= h;
    if (isSeen) seen += 1;
    let [low, high] = [0, queue.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (queue[middle].spot.n < spot.n) low = middle + 1;
      else high = middle;
    }
    queue.splice(low, 0, { slot, spot, x, y, isSeen });
  };
  for (let slot = 0; slot < store.n && !queue.length; slot += 1) {
    if (store.parent[slot] === NONE) put(slot);
  }
  for (let visits = 0; visits < MOST_VISITS && seen + found.length < WANTED; visits += 1) {
    const row = queue.pop();
    if (!row) break;
    const { slot, spot, isSeen } = row;
    if (isSeen) seen -= 1;
    const kids = (store.kids[slot] ?? []).slice(0, MOST_BELOW);
    const wide = memory.open.has(store.id[slot]) ? STICKS * WIDE_PX : WIDE_PX;
    const isWide = store.parent[slot] === NONE || spot.spread * k >= wide;
    const isNumbered = store.numbered.has(store.id[slot]);
    if (kids.length && isWide && !isNumbered && spots.hasTimeFor(store, kids)) {
      open.add(store.id[slot]);
      for (const kid of kids) put(kid);
    } else if (isSeen) found.push(row);
  }
  memory.open = open;
  return [...found, ...queue.filter(({ isSeen }) => isSeen)];
}

/**
 * @param {Store} store
 * @param {number} slot
 */
const nameOf = (store, slot) => drawnName(calledName(store, slot));
