// The highlights over the picture: the node under the pointer with its path to the root and its
// subtree, the selected node, and nodes that are marked from outside.

import { INNER } from "../model/scene.js";
import { NONE } from "../model/store.js";
import { apex, stretch, stub } from "./dendrogram.js";
import { beside, titleOf } from "./labels.js";
import { paint, Picture } from "./picture.js";
import { ABOVE } from "./place.js";
import { clip } from "./text.js";

/** @import { Look } from "../model/look.js" */
/** @import { Drawn } from "../model/scene.js" */
/** @import { Store } from "../model/store.js" */
/** @import { ViewFrame } from "./composition.js" */
/** @import { Theme } from "./palettes.js" */
/** @import { Path, Pen } from "./picture.js" */
/** @import { FlatPlace, Place } from "./place.js" */

/**
 * @typedef {{
 *   scene: Drawn,
 *   store: Store,
 *   theme: Theme,
 *   look: Look,
 *   frame: ViewFrame,
 *   hovered: number,
 *   marked: number[] | null,
 *   rowOf: (id: number) => number,
 * }} Highlighted `hovered`: a row; `marked`: ids
 */

const SIZE = 12.5;

/**
 * Paint it.
 *
 * @param {Pen} context
 * @param {Highlighted} view
 * @param {Place} place
 */
export function highlight(context, view, place) {
  const { scene, theme, hovered, look } = view;
  if (scene.n === 0) return;
  const picture = new Picture(view.frame.width, view.frame.height);
  const selected = look.node === null ? NONE : view.rowOf(look.node);
  for (const id of view.marked ?? []) {
    const row = view.rowOf(id);
    if (row !== NONE) outline(picture, scene, place, row, theme.accent, 0.14);
  }
  if (selected !== NONE) outline(picture, scene, place, selected, theme.text, 0.05);
  if (hovered !== NONE && hovered < scene.n) {
    outline(picture, scene, place, hovered, theme.accent, 0.1);
  }
  if (selected !== NONE) ring(picture, view, place, selected);
  paint(context, picture, theme.family);
}

/**
 * The path to the root, and the area of the subtree.
 *
 * @param {Picture} picture
 * @param {Drawn} scene
 * @param {Place} place
 * @param {number} row
 * @param {string} colour
 * @param {number} alpha
 */
function outline(picture, scene, place, row, colour, alpha) {
  if (place.down) {
    cells(picture, scene, place, row, colour, alpha);
    return;
  }
  const { u, v, parent, left, right, kind } = scene;
  const path = picture.stroke("strokes", colour, 2.2, { cap: "round" });
  for (let at = row; parent[at] >= 0; at = parent[at]) {
    const up = parent[at];
    stub(path, place, u[at], v[up], at === row ? apex(scene, place, at) : v[at]);
    stretch(path, place, v[up], u[at], u[up]);
  }
  if (scene.n === 1) return;
  const from = kind[row] === INNER ? v[row] : v[Math.max(0, parent[row])];
  const area = picture.fill("areas", colour, alpha);
  sector(area, place, left[row], right[row], Math.max(from, place.window.v0), 6);
}

/**
 * @param {Path} path
 * @param {Place} place
 * @param {number} left
 * @param {number} right
 * @param {number} v
 * @param {number} beyond px past the ground
 */
function sector(path, place, left, right, v, beyond) {
  let [a, b] = [left, right];
  const { spans, v1 } = place.window;
  if (spans.length === 1) [a, b] = [Math.max(a, spans[0][0] - 0.1), Math.min(b, spans[0][1] + 0.1)];
  if (a >= b || v > v1) return;
  place.move(path, a, v);
  path.line(...place.beyond(a, 1, beyond));
  place.arc(path, 1, a, b, beyond);
  place.line(path, b, v);
  place.arc(path, v, b, a);
  path.close();
}

/**
 * The same in an icicle: the cells from the node to the root.
 *
 * @param {Picture} picture
 * @param {Drawn} scene
 * @param {FlatPlace} place
 * @param {number} row
 * @param {string} colour
 * @param {number} alpha
 */
function cells(picture, scene, place, row, colour, alpha) {
  const { parent, left, right, v } = scene;
  for (let at = row; at >= 0; at = parent[at]) {
    const from = parent[at] < 0 ? ABOVE : v[parent[at]];
    const x0 = Math.max(-4, place.pu(left[at]));
    const x1 = Math.min(picture.width + 4, place.pu(right[at]));
    const [y0, y1] = [place.pv(from), place.pv(v[at])];
    const path = picture.stroke("strokes", colour, at === row ? 2.2 : 1.2);
    path.box(x0, Math.max(-4, y0), x1 - x0, Math.min(y1, picture.height + 4) - Math.max(-4, y0));
    if (at === row) picture.fill("areas", colour, alpha * 2).box(x0, y0, x1 - x0, place.pv(1) - y0);
  }
}

/**
 * The mark of the selected node.
 *
 * @param {Picture} picture
 * @param {Highlighted} view
 * @param {Place} place
 * @param {number} row
 */
function ring(picture, view, place, row) {
  const { scene, theme } = view;
  if (place.down) return;
  const v = scene.n === 1 ? (place.round ? 0 : 0.5) : apex(scene, place, row);
  const [x, y] = place.at(scene.u[row], v);
  picture.fill("dots", theme.paper).dot(x, y, 6.5);
  picture.fill("front", theme.text).dot(x, y, 4);
  if (scene.kind[row] !== INNER && scene.n > 1) label(picture, view, place, row);
}

/**
 * The name of a tip, over its neighbours' names, which may have left no room for it.
 *
 * @param {Picture} picture
 * @param {Highlighted} view
 * @param {Place} place
 * @param {number} row
 */
function label(picture, { frame, store, scene, look, theme }, place, row) {
  if (!look.labels) return;
  const title = titleOf(store, scene, row);
  const text = clip(title, SIZE, Math.max(60, frame.most), theme.family, 600);
  beside(picture, place, scene.u[row], frame.strip + 6, text, {
    size: SIZE,
    colour: theme.text,
    weight: 600,
    halo: theme.paper,
  });
}
