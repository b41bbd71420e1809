// Nested cells: the width of a cell is its node's number of leaves, its height spans the branch.

import { INNER, LEAF, REST } from "../model/scene.js";
import { MOST_WORDS, spaced } from "./label_places.js";
import { groupsOf, runTitle, titleOf, namedRuns } from "./labels.js";
import { nameOf } from "./name_runs.js";
import { mix, on } from "./palettes.js";
import { ABOVE, seen } from "./place.js";
import { fitted, width } from "./text.js";

/** @import { Drawn } from "../model/scene.js" */
/** @import { Store } from "../model/store.js" */
/** @import { Memory } from "./label_places.js" */
/** @import { Theme } from "./palettes.js" */
/** @import { Picture } from "./picture.js" */
/** @import { FlatPlace } from "./place.js" */
/** @import { Tint } from "./tint.js" */

const FINE = 0.75;
const LEVELS = 6;
/** With fewer names in cells, what is narrow has its name upright at the ground. */
const FEW = 15;
/** The size of these names and the least room for one, px. */
const SMALL = 10;
/** The smallest names in cells, px. */
const LEAST = 9.5;
const SHORTEST = 30;
/** Between a name and the ground, px. */
const EDGE = 4;

/**
 * Cells and the names in them.
 *
 * @param {Picture} picture
 * @param {Store} store
 * @param {Drawn} scene
 * @param {FlatPlace} place
 * @param {Tint} tint
 * @param {{ theme: Theme, memory?: Memory }} options
 */
export function cells(picture, store, scene, place, tint, { theme, memory }) {
  const { n, kind, left, right, v, deep, end, parent } = scene;
  const { window } = place;
  const fillOf = fills(scene, tint, theme);
  /** @type {(string | undefined)[]} The first leaf of the last name above each cell, and in it. */
  const above = [];
  for (let i = 0; i < n;) {
    if (!seen(window, left[i], right[i])) {
      i = end[i];
      continue;
    }
    const from = parent[i] < 0 ? ABOVE : v[parent[i]];
    const x0 = Math.max(place.pu(left[i]), -8);
    const x1 = Math.min(place.pu(right[i]), picture.width + 8);
    const wide = (right[i] - left[i]) * place.across;
    const fine = wide < FINE;
    const to = fine ? deep[i] : v[i];
    picture.drawn += 1;
    if (to >= window.v0 && from <= window.v1) {
      const y0 = Math.max(place.pv(from), -8);
      const y1 = Math.min(place.pv(Math.max(to, from)), picture.height + 8);
      const gap = wide > 4 ? 1 : wide > 2 ? 0.5 : 0;
      const tall = Math.max(0.5, y1 - y0 - (y1 - y0 > 3 ? 1 : 0));
      const fill = fillOf(i);
      picture.fill("areas", fill).box(x0 + gap / 2, y0, Math.max(0.4, x1 - x0 - gap), tall);
      if (kind[i] > LEAF && to < 1) {
        below(picture, place, i, scene, fill, theme, x0 + gap / 2, x1 - x0 - gap, y1);
      }
      if (!fine) {
        const last = above[parent[i]];
        const box = { x: x0, y: y0, w: x1 - x0, h: kind[i] > LEAF ? place.pv(1) - y0 : tall };
        above[i] = name(picture, store, scene, i, { ...box, fill, theme, from: last }) ?? last;
      }
    }
    i = fine ? end[i] : i + 1;
  }
  if (picture.layers.texts.length < FEW) atGround(picture, store, scene, place, { theme, memory });
  return picture;
}

/**
 * The names of cells that are too narrow, upright at the ground, where nothing else is written: a tree
 * that takes off leaf after leaf has no others.
 *
 * @param {Picture} picture
 * @param {Store} store
 * @param {Drawn} scene
 * @param {FlatPlace} place
 * @param {{ theme: Theme, memory?: Memory }} options
 */
function atGround(picture, store, scene, place, { theme, memory }) {
  const { family } = theme;
  const { window, across } = place;
  const bottom = Math.min(place.pv(1), picture.height);
  const texts = picture.layers.texts.filter((item) => item.kind === "text");
  const written = texts.map((text) => boxOf(text, family));
  const names = new Set(texts.map(({ text, whole }) => whole || text));
  const all = [];
  const groups = groupsOf(store, scene, { across, size: SMALL, window, memory });
  for (const run of namedRuns(scene, groups, { across, size: SMALL }).runs) {
    const { row, from, to } = run;
    const x = place.pu((from + to) / 2);
    const up = scene.parent[row];
    const top = Math.max(0, place.pv(up < 0 ? ABOVE : scene.v[up]));
    const room = bottom - top - 2 * EDGE;
    if (x < SMALL || x > picture.width - SMALL || room < SHORTEST) continue;
    all.push({ run, x, room });
  }
  const apart = Math.max(1.3 * SMALL, picture.width / MOST_WORDS);
  const ranks = all.map((_, at) => -at);
  for (const at of spaced(
    all.map(({ x }) => x),
    ranks,
    apart,
  )) {
    const { run, x, room } = all[at];
    const title = runTitle(store, scene, run);
    const text = title && fitted(title, SMALL, room, family);
    if (!text || names.has(title) || (text !== title && (text.length < 4 || !run.name))) continue;
    const y = bottom - EDGE - width(text, SMALL, family);
    const style = { size: SMALL, turn: Math.PI / 2, colour: theme.text, halo: theme.paper };
    const [x0, y0, x1, y1] = boxOf({ ...style, x, y, text }, family);
    if (written.some(([a, b, c, d]) => x0 < c && a < x1 && y0 < d && b < y1)) continue;
    names.add(title);
    picture.text("texts", x, y, text, { ...style, whole: title });
  }
}

/**
 * The box of a text that is written from the left, or downwards.
 *
 * @param {{ x: number, y: number, text: string, size: number, turn?: number }} text
 * @param {string} family
 * @returns {[left: number, top: number, right: number, bottom: number]}
 */
function boxOf({ x, y, text, size, turn }, family) {
  const [long, half] = [width(text, size, family), 0.6 * size];
  return turn ? [x - half, y, x + half, y + long] : [x, y - half, x + long, y + half];
}

/**
 * A folded subtree continues below its cell, paler.
 *
 * @param {Picture} picture
 * @param {FlatPlace} place
 * @param {number} i
 * @param {Drawn} scene
 * @param {string} fill
 * @param {Theme} theme
 * @param {number} x
 * @param {number} w
 * @param {number} y
 */
function below(picture, place, i, scene, fill, theme, x, w, y) {
  const bottom = Math.min(place.pv(1), picture.height + 8);
  if (bottom - y < 1 || w <= 0) return;
  picture
    .fill("back", mix(fill, theme.paper, scene.kind[i] === REST ? 0.8 : 0.55))
    .box(x, y, Math.max(0.4, w), bottom - y);
}

/**
 * @param {Drawn} scene
 * @param {Tint} tint
 * @param {Theme} theme
 */
function fills(scene, tint, theme) {
  const { kind, v } = scene;
  /** @type {Map<number, string>} */
  const known = new Map();
  /** @type {(row: number) => string} */
  return (i) => {
    const isLeaf = kind[i] === LEAF;
    const level = isLeaf ? 0 : Math.round((1 - Math.min(1, Math.max(0, v[i]))) * LEVELS);
    const index = kind[i] === INNER ? tint.branch[i] : tint.band[i];
    const key = index * 64 + level * 2 + Number(isLeaf);
    let shade = known.get(key);
    if (shade !== undefined) return shade;
    const colour = tint.colours[index];
    if (tint.by === "none") {
      shade = mix(theme.bare, theme.paper, isLeaf ? 0.72 : 0.15 + 0.1 * (LEVELS - level));
    } else if (colour === theme.ink) shade = mix(theme.shared, theme.paper, 0.1 * (LEVELS - level));
    else shade = mix(colour, theme.paper, isLeaf ? 0.1 : 0.12 + 0.06 * (LEVELS - level));
    known.set(key, shade);
    return shade;
  };
}

/**
 * The name in a cell, along the tall side of one that is too narrow for it. Returns its first leaf;
 * nothing where there is no room, and where it begins as the name above it: it would say nothing new.
 *
 * @param {Picture} picture
 * @param {Store} store
 * @param {Drawn} scene
 * @param {number} i
 * @param {{
 *   x: number,
 *   y: number,
 *   w: number,
 *   h: number,
 *   fill: string,
 *   theme: Theme,
 *   from: string | undefined,
 * }} options
 */
function name(picture, store, scene, i, { x, y, w, h, fill, theme, from }) {
  const { kind, slot } = scene;
  const own = slot[i] >= 0 && store.name[slot[i]];
  const title = titleOf(store, scene, i) || (i > 0 && nameOf(store, scene, i));
  if (!title) return undefined;
  const [first] = title.split(", ", 1);
  if (!own && first === from && kind[i] === INNER) return undefined;
  const flat = Math.min(12, Math.max(LEAST, h * 0.72));
  const upright = h > 1.3 * w && (w < 46 || width(title, flat, theme.family) > w - 8);
  const [room, thick] = upright ? [h - 8, w] : [w - 8, h];
  if (thick < 10.5 || room < 16) return undefined;
  const size = Math.min(12, Math.max(LEAST, thick * 0.72));
  const text = fitted(title, size, room, theme.family);
  // A truncated number would be wrong.
  const isNumber =
    !own &&
    !store.called?.[slot[i]] &&
    !store.common?.[slot[i]] &&
    !store.numbered.has(scene.id[i]);
  if (!text || (text !== title && (text.length < 4 || isNumber))) return undefined;
  const style = { size, colour: on(fill, theme), whole: title };
  // Folded: the text may be on the paler part, which is closer to the page's colour.
  if (kind[i] > LEAF) style.colour = theme.text;
  if (upright) picture.text("texts", x + w / 2, y + 5, text, { ...style, turn: Math.PI / 2 });
  else picture.text("texts", x + 5, y + Math.min(h / 2, 11), text, style);
  return first;
}
