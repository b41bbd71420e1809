// Text from users in a drawing: one clean line, measured, shortened between graphemes, and isolated
// in its direction.

import { readable, seen } from "../../net/names.js";
import { shortened } from "./label_places.js";

const LONGEST = 300;
const KEPT = 8000;
/** Room in px is rounded down to steps of so many, up to so many steps. */
const STEP = 4;
const MOST_STEPS = 500;
// eslint-disable-next-line no-control-regex -- control characters are what it looks for
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\ufeff]+/g;
// Marks that change the direction of the following text.
const TURNING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/**
 * One line without control characters, at most a few hundred letters.
 *
 * @param {string} text
 */
export function line(text) {
  const start = String(text).slice(0, LONGEST).replace(TURNING, "").replace(CONTROL, " ").trim();
  // Drop half of a surrogate pair at the cut.
  return /[\ud800-\udbff]$/.test(start) ? start.slice(0, -1) : start;
}

/**
 * `text` among other words: a right-to-left name does not affect the text beside it.
 *
 * @param {string} text
 */
export const isolated = (text) => `\u2068${text}\u2069`;

let pen = null;
let letters = null;
const widths = new Map();
/** @type {Map<string, string>} */
const fits = new Map();
/** @type {Map<string, string>} */
const names = new Map();

function context() {
  pen ??= new OffscreenCanvas(1, 1).getContext("2d");
  return pen;
}

/**
 * Width in px at `size` px; `weight` as in CSS. Cached, since every drawing needs it again.
 *
 * @param {string} text
 * @param {number} size
 * @param {string} family
 * @param {number} [weight]
 */
export function width(text, size, family, weight = 400) {
  const name = `${weight} ${family} ${text}`;
  let unit = widths.get(name);
  if (unit === undefined) {
    if (widths.size > KEPT) widths.clear();
    const pencil = context();
    pencil.font = `${weight} 20px ${family}`;
    unit = pencil.measureText(text).width / 20;
    widths.set(name, unit);
  }
  return unit * size;
}

/**
 * `text` cut to `room` px with an ellipsis; "" if not even a letter fits.
 *
 * @param {string} text
 * @param {number} size
 * @param {number} room
 * @param {string} family
 * @param {number} [weight]
 */
export function clip(text, size, room, family, weight = 400) {
  const whole = line(text);
  if (width(whole, size, family, weight) <= room) return whole;
  letters ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  const parts = Array.from(letters.segment(whole), (part) => part.segment);
  let low = 0;
  let high = parts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    const start = parts.slice(0, middle).join("").trimEnd();
    if (width(`${start}…`, size, family, weight) <= room) low = middle;
    else high = middle - 1;
  }
  return low > 0 ? `${parts.slice(0, low).join("").trimEnd()}…` : "";
}

/**
 * `text` cut to `room` px: parts of a list go before letters; "" if not even a letter fits. Cached,
 * for room in steps of a few px.
 *
 * @param {string} text
 * @param {number} size
 * @param {number} room
 * @param {string} family
 * @param {number} [weight]
 */
export function fitted(text, size, room, family, weight = 400) {
  const step = Math.min(MOST_STEPS, Math.floor(room / STEP));
  const name = `${weight} ${size} ${step} ${family} ${text}`;
  let short = fits.get(name);
  if (short === undefined) {
    if (fits.size > KEPT) fits.clear();
    short = shortened(
      line(text),
      step * STEP,
      (part) => width(part, size, family, weight),
      (part, left) => clip(part, size, left, family, weight),
    );
    fits.set(name, short);
  }
  return short;
}

/**
 * A name in a drawing: one line, readable. Cached.
 *
 * @param {string} name
 */
export function drawnName(name) {
  let text = names.get(name);
  if (text === undefined) {
    if (names.size > KEPT) names.clear();
    text = readable(line(seen(name)));
    names.set(name, text);
  }
  return text;
}
