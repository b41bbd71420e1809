// Labels that never overlap: the largest subtrees come first, each label in free space.

import { INNER, LEAF, REST, UNSEEN } from "../model/scene.js";
import { NONE } from "../model/store.js";
import { seen } from "./place.js";
import { clip, isolated, line, width } from "./text.js";

/** @import { Drawn } from "../model/scene.js" */
/** @import { Store } from "../model/store.js" */
/** @import { Theme } from "./palettes.js" */
/** @import { Picture, TextStyle } from "./picture.js" */
/** @import { Place, Visible } from "./place.js" */
/** @import { Tint } from "./tint.js" */

const SMALLEST = 6.5;
const SPARSE = 9;
const LARGEST = 12.5;
const CELL = 6;
const whole = new Intl.NumberFormat("en");

/** @typedef {{ name: (string | null)[] }} Named names by slot: a store, or a scene with its own */

/**
 * The label of a row; "" if there is none.
 *
 * @param {Named} store
 * @param {Drawn} scene
 * @param {number} row
 */
export function titleOf(store, scene, row) {
  const { kind, leaves, slot, id } = scene;
  if (kind[row] === REST) return `${whole.format(leaves[row])} more`;
  const name = slot[row] === NONE ? null : store.name[slot[row]];
  const label = name === null || name === undefined ? "" : line(name);
  if (kind[row] === LEAF) return label || (name === null ? String(id[row]) : "");
  if (kind[row] === INNER) return label;
  const leafCount = `${whole.format(leaves[row])} ${leaves[row] === 1 ? "leaf" : "leaves"}`;
  return label ? `${isolated(label)} · ${leafCount}` : leafCount;
}

/**
 * The font size of the tips' labels: as large as their spacing allows, in steps of half a px; if
 * that is too small to read, a larger size for some of them.
 *
 * @param {number} spacing
 */
export function sizeFor(spacing) {
  const size = Math.floor(1.88 * spacing) / 2;
  return size < SMALLEST ? SPARSE : Math.min(LARGEST, size);
}

/**
 * Rows in the order in which they get their labels: most leaves first, then most points.
 *
 * @param {Drawn} scene
 */
function ranked(scene) {
  scene.ranked ??= Uint32Array.from({ length: scene.n }, (_, row) => row).sort(
    (a, b) => scene.leaves[b] - scene.leaves[a] || scene.size[b] - scene.size[a] || a - b,
  );
  return scene.ranked;
}

/**
 * The width that the tips' labels need beyond the ground, px: nine tenths of them fit whole.
 *
 * @param {Named} store
 * @param {Drawn} scene
 * @param {{ size: number, most: number, family: string }} options
 */
export function roomFor(store, scene, { size, most, family }) {
  /** @type {number[]} */
  const wide = [];
  const order = ranked(scene);
  for (let at = 0; at < order.length && wide.length < 400; at += 1) {
    const row = order[at];
    if (scene.kind[row] === INNER) continue;
    if (scene.kind[row] === UNSEEN && scene.tips > 600) continue;
    const text = titleOf(store, scene, row);
    if (text) wide.push(Math.min(most, width(text, size, family)));
  }
  if (!wide.length) return 0;
  wide.sort((a, b) => a - b);
  return (
    Math.min(wide[wide.length - 1], Math.max(1.5 * wide[Math.floor(0.9 * (wide.length - 1))], 30)) +
    4
  );
}

/**
 * Labels of the tips, beyond the ground. Returns how many were written.
 *
 * @param {Picture} picture
 * @param {Store} store
 * @param {Drawn} scene
 * @param {Place} place
 * @param {Tint} tint
 * @param {{ room: number, gap: number, size: number, theme: Theme }} options
 */
export function tips(picture, store, scene, place, tint, { room, gap, size, theme }) {
  const { kind, left, right, u } = scene;
  const { window } = place;
  if (window.v1 < 0.9) return 0;
  const rows = visibleTips(scene, place, size);
  // A flag for each px of the visible ground.
  const [from, to] = extent(window.spans);
  const base = Math.max(0, from) * place.across;
  const length = Math.ceil(Math.min(1, to) * place.across - base) + 4 * size;
  if (!(length > 0)) return 0;
  const taken = new Uint8Array(Math.min(length, 400_000) + 1);
  let written = 0;
  for (const row of rows) {
    const at = u[row] * place.across - base;
    const start = Math.round(at - size * 0.52);
    const stop = Math.round(at + size * 0.52);
    // The number of leaves of a sliver is not informative.
    if (
      kind[row] === UNSEEN &&
      store.name[scene.slot[row]] === null &&
      (right[row] - left[row]) * place.across < size
    ) {
      continue;
    }
    if (stop < 0 || start > taken.length || occupied(taken, start, stop)) continue;
    const title = titleOf(store, scene, row);
    const text = clip(title, size, room, theme.family);
    if (!text) continue;
    taken.fill(1, Math.max(0, start), Math.max(0, stop));
    beside(picture, place, u[row], gap, text, {
      size,
      colour: tint.text[tint.branch[row]],
      whole: title,
    });
    written += 1;
  }
  return written;
}

/**
 * Those of `rows`, in their order of rank, that do not overlap between 0 and `length` px.
 *
 * @param {number[]} rows
 * @param {(row: number) => number} at
 * @param {number} length
 * @param {number} size
 */
export function spaced(rows, at, length, size) {
  const taken = new Uint8Array(Math.ceil(length) + 1);
  return rows.filter((row) => {
    const middle = at(row);
    const start = Math.round(middle - size * 0.52);
    const stop = Math.round(middle + size * 0.52);
    if (stop < 0 || start > length || occupied(taken, start, stop)) return false;
    taken.fill(1, Math.max(0, start), Math.max(0, stop));
    return true;
  });
}

/** @param {Visible["spans"]} spans */
function extent(spans) {
  return [Math.min(...spans.map(([a]) => a)), Math.max(...spans.map(([, b]) => b))];
}

/**
 * @param {Uint8Array} taken
 * @param {number} start
 * @param {number} stop
 */
function occupied(taken, start, stop) {
  for (let at = Math.max(0, start); at < stop; at += 1) if (taken[at]) return true;
  return false;
}

/**
 * Rows of tips in the window, most leaves first; at most as many as there is space for labels.
 *
 * @param {Drawn} scene
 * @param {Place} place
 * @param {number} size
 */
function visibleTips(scene, place, size) {
  const { n, kind, left, right, end, leaves, size: points } = scene;
  const tipRows = [];
  const finest = size / 24;
  for (let i = 0; i < n;) {
    if (!seen(place.window, left[i], right[i]) || (right[i] - left[i]) * place.across < finest) {
      i = end[i];
      continue;
    }
    if (kind[i] !== INNER) tipRows.push(i);
    i += 1;
  }
  return tipRows.sort((a, b) => leaves[b] - leaves[a] || points[b] - points[a] || a - b);
}

/**
 * A text beyond the ground at u: along the radius of a circle, never upside down.
 *
 * @param {Picture} picture
 * @param {Place} place
 * @param {number} u
 * @param {number} gap
 * @param {string} text
 * @param {TextStyle} style
 */
export function beside(picture, place, u, gap, text, style) {
  const [x, y] = place.beyond(u, 1, gap);
  if (!place.round) {
    picture.text("texts", x, y, text, style);
    return;
  }
  const a = place.angle(u);
  const flipped = Math.cos(a) < -1e-9;
  picture.text("texts", x, y, text, {
    ...style,
    align: flipped ? "right" : "left",
    turn: flipped ? a + Math.PI : a,
  });
}

/**
 * Names of inner nodes, beside their nodes, where they do not overlap others and are in the window.
 *
 * @param {Picture} picture
 * @param {Store} store
 * @param {Drawn} scene
 * @param {Place} place
 * @param {Tint} tint
 * @param {{ theme: Theme, size?: number, clusters?: Set<number> | null, busy: Busy }} options
 */
export function inner(
  picture,
  store,
  scene,
  place,
  tint,
  { theme, size = 11, clusters = null, busy },
) {
  const { n, kind, left, right, end, u, v, slot } = scene;
  const candidates = [];
  for (let i = 1; i < n;) {
    const wide = (right[i] - left[i]) * place.across;
    if (!seen(place.window, left[i], right[i]) || wide < 2 * size) {
      i = end[i];
      continue;
    }
    if (kind[i] === INNER && slot[i] !== NONE && store.name[slot[i]]) candidates.push(i);
    i += 1;
  }
  /** @param {number} row */
  const first = (row) => (clusters?.has(scene.id[row]) ? 1 : 0);
  candidates.sort((a, b) => first(b) - first(a) || scene.leaves[b] - scene.leaves[a] || a - b);
  let written = 0;
  for (const row of candidates.slice(0, 400)) {
    const wide = (right[row] - left[row]) * place.acrossAt(v[row]);
    const name = store.name[slot[row]] ?? "";
    const text = clip(
      name,
      size,
      Math.min(150, Math.max(44, place.round ? wide : 150)),
      theme.family,
      600,
    );
    const w = width(text, size, theme.family, 600);
    if (!text || w < size) continue;
    const [x, y] = place.at(u[row], v[row]);
    const [tx, ty] = place.round ? [x - w / 2, y - size * 0.9] : [x - w - 5, y - size * 0.75];
    if (tx < 2 || ty < size || tx + w > picture.width - 2 || ty > picture.height - 2) continue;
    if (!busy.take(tx - 2, ty - size * 0.6, w + 4, size * 1.25)) continue;
    picture.text("texts", tx, ty, text, {
      size,
      colour: tint.text[tint.branch[row]],
      weight: 600,
      halo: theme.paper,
      whole: name,
    });
    written += 1;
  }
  return written;
}

/** The parts of the window that are written on, in cells of a few px. */
export class Busy {
  /**
   * @param {number} windowWidth
   * @param {number} windowHeight
   */
  constructor(windowWidth, windowHeight) {
    this.columns = Math.ceil(windowWidth / CELL) + 1;
    this.rows = Math.ceil(windowHeight / CELL) + 1;
    this.cells = new Uint8Array(this.columns * this.rows);
  }

  /**
   * Take a box; false if any part of it is taken already.
   *
   * @param {number} x
   * @param {number} y
   * @param {number} w
   * @param {number} h
   */
  take(x, y, w, h) {
    const x0 = Math.max(0, Math.floor(x / CELL));
    const x1 = Math.min(this.columns - 1, Math.floor((x + w) / CELL));
    const y0 = Math.max(0, Math.floor(y / CELL));
    const y1 = Math.min(this.rows - 1, Math.floor((y + h) / CELL));
    for (let row = y0; row <= y1; row += 1) {
      for (let column = x0; column <= x1; column += 1) {
        if (this.cells[row * this.columns + column]) return false;
      }
    }
    for (let row = y0; row <= y1; row += 1) {
      this.cells.fill(1, row * this.columns + x0, row * this.columns + x1 + 1);
    }
    return true;
  }
}
