// Names on branches that cross the view where hardly a node and no ground is in it, or where tips stand too
// near each other for names: whoever has zoomed in between sees what leads where.

import { FOLDED, INNER, REST, UNSEEN } from "../model/scene.js";
import { NONE } from "../model/store.js";
import { drawnLines, within } from "./label_places.js";
import { nameOf } from "./name_runs.js";
import { seen } from "./place.js";
import { drawnName, fitted, width } from "./text.js";

/** @import { Drawn } from "../model/scene.js" */
/** @import { Store } from "../model/store.js" */
/** @import { Ground } from "./label_places.js" */
/** @import { Theme } from "./palettes.js" */
/** @import { Picture } from "./picture.js" */
/** @import { Place } from "./place.js" */
/** @import { Tint } from "./tint.js" */

/** Distance from the edge of the picture, and the least and most length of a name, px. */
const EDGE = 10;
const LEAST = 44;
const LONGEST = 220;
const FEWEST_LETTERS = 9;
/** From a branch to the middle of the letters beside it, in their size. */
const OFF = 0.8;
const NUMBER = /^\d+$/;
/** Branches that are tried for a place, most leaves first. */
const TRIED = 400;

/**
 * Write up to `most` of them; returns how many.
 *
 * @param {Picture} picture
 * @param {Store} store
 * @param {Drawn} scene
 * @param {Place} place
 * @param {Tint} tint
 * @param {{ theme: Theme, busy: Ground, most: number, size?: number, clear?: boolean, merged?: boolean }} options
 *   `merged`: tips have no names of their own at the ground
 */
export function crossing(
  picture,
  store,
  scene,
  place,
  tint,
  { theme, busy, most, size = 11, clear = false, merged = false },
) {
  const { n, kind, left, right, end, u, v, parent, leaves } = scene;
  const { v0, v1 } = place.window;
  const rows = [];
  const isPart = !place.window.spans.some(([from, to]) => from <= 0 && to >= 1);
  /** @param {number} row What is folded is drawn down to the ground. */
  const foot = (row) => (kind[row] === FOLDED || kind[row] === UNSEEN ? 1 : v[row]);
  /** @param {[x: number, y: number]} at A node in view has its name as a node. */
  const isInside = ([x, y]) => x >= 0 && y >= 0 && x <= picture.width && y <= picture.height;
  for (let row = 1; row < n;) {
    // A subtree that begins below the view, or lies beside it, has no branch in it.
    if (!seen(place.window, left[row], right[row]) || v[parent[row]] > v1) {
      row = end[row];
      continue;
    }
    const isNameless = merged && isPart && kind[row] !== INNER;
    if (foot(row) >= v0 && kind[row] !== REST && (isNameless || !isInside(place.at(u[row], foot(row))))) rows.push(row); // prettier-ignore
    row += 1;
  }
  rows.sort((a, b) => leaves[b] - leaves[a] || a - b);
  busy.lines ??= drawnLines(picture, busy);
  /** @type {Set<string>} */
  const begun = new Set(merged ? picture.layers.texts.map((item) => item.kind === "text" ? item.whole || item.text : "") : []); // prettier-ignore
  let written = 0;
  let tried = 0;
  for (const row of rows) {
    if (written >= most || tried >= TRIED) break;
    const from = place.at(u[row], Math.max(v[parent[row]], v0));
    const to = place.at(u[row], Math.min(foot(row), v1));
    const part = within(from, to, picture, EDGE);
    if (!part) continue;
    tried += 1;
    const name = branchName(store, scene, row);
    // Numbers of some rows among many say nothing, and a name is read once.
    if (!name || begun.has(name) || (merged && NUMBER.test(name))) continue;
    const [[ax, ay], [bx, by]] = part;
    const length = Math.hypot(bx - ax, by - ay);
    const text = length < LEAST ? "" : fitted(name, size, Math.min(LONGEST, length), theme.family);
    const w = text ? width(text, size, theme.family) : 0;
    // The first letters of a name alone say little.
    if (!text || (text !== name && text.length < FEWEST_LETTERS)) continue;
    const turn = Math.atan2(by - ay, bx - ax);
    const isFlipped = Math.cos(turn) < -1e-9;
    const upright = isFlipped ? turn + Math.PI : turn;
    const [dx, dy] = [(Math.cos(upright) * w) / 2, (Math.sin(upright) * w) / 2];
    // Along the branch, above or below it; on it where the screen has no other room.
    const off = OFF * size;
    const [ox, oy] = [off * Math.sin(upright), -off * Math.cos(upright)];
    /** @type {(at: readonly [x: number, y: number], isOver: boolean) => boolean} */
    const take = ([x, y], isOver) =>
      busy.takeAlong(x - dx, y - dy, x + dx, y + dy, isOver ? 1.3 * size : size, !isOver);
    const spare = Math.max(0, length - w) / 2;
    const places = [0, -0.5, 0.5, -1, 1].map((step) => {
      const t = 0.5 + (step * spare) / length;
      return /** @type {const} */ ([ax + t * (bx - ax), ay + t * (by - ay)]);
    });
    const free =
      places
        .flatMap(([x, y]) => [
          [x + ox, y + oy],
          [x - ox, y - oy],
        ]) // prettier-ignore
        .find(([x, y]) => take([x, y], false)) ??
      (clear ? undefined : places.find((at) => take(at, true)));
    if (!free) continue;
    const [x, y] = free;
    const colour = tint.text[tint.branch[row]];
    const style = { size, colour, turn: upright, halo: theme.paper, whole: name };
    picture.text("texts", x - dx, y - dy, text, style);
    begun.add(name);
    written += 1;
  }
  return written;
}

/**
 * @param {Store} store
 * @param {Drawn} scene
 * @param {number} row
 */
function branchName(store, scene, row) {
  if (scene.slot[row] === NONE) return "";
  return scene.kind[row] === INNER && store.name[scene.slot[row]]
    ? drawnName(store.name[scene.slot[row]] ?? "")
    : nameOf(store, scene, row);
}
