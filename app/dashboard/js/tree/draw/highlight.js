// What is drawn over the picture: the node that is pointed at with its way to the root and all below
// it, the one that is chosen, and what is marked from outside.

import { INNER } from "../model/scene.js";
import { NONE } from "../model/store.js";
import { apex, stretch, stub } from "./dendrogram.js";
import { beside, titleOf } from "./labels.js";
import { paint, Picture } from "./picture.js";
import { ABOVE } from "./place.js";
import { clip } from "./text.js";

const SIZE = 12.5;

export function highlight(context, view, place) {
  const { scene, theme, hovered, looked } = view;
  if (!scene || scene.n === 0) return;
  const picture = new Picture(view.frame.width, view.frame.height);
  const chosen = looked.node === null ? NONE : view.rowOf(looked.node);
  if (view.linked)
    for (const id of view.linked) mark(picture, view, place, view.rowOf(id), theme.accent);
  if (chosen !== NONE) outline(picture, view, place, chosen, theme.text, 0.05);
  if (hovered !== NONE && hovered < scene.n)
    outline(picture, view, place, hovered, theme.accent, 0.1);
  if (chosen !== NONE) ringed(picture, view, place, chosen, theme);
  paint(context, picture, theme.family);
}

/** The way to the root, and the ground under all that lies below. */
function outline(picture, view, place, row, colour, alpha) {
  const { scene } = view;
  const { u, v, parent, left, right, kind } = scene;
  if (place.down) return cell(picture, scene, place, row, colour, alpha);
  const path = picture.stroke("strokes", colour, 2.2, { cap: "round" });
  for (let at = row; parent[at] >= 0; at = parent[at]) {
    const up = parent[at];
    stub(path, place, u[at], v[up], at === row ? apex(scene, place, at) : v[at]);
    stretch(path, place, v[up], u[at], u[up]);
  }
  if (scene.n === 1) return undefined;
  const from = kind[row] === INNER ? v[row] : v[Math.max(0, parent[row])];
  sector(
    picture.fill("areas", colour, alpha),
    place,
    left[row],
    right[row],
    Math.max(from, place.window.v0),
    6,
  );
  return undefined;
}

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

function cell(picture, scene, place, row, colour, alpha) {
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

function ringed(picture, view, place, row, theme) {
  const { scene } = view;
  if (place.down) return;
  const [x, y] = place.at(
    scene.u[row],
    scene.n === 1 ? (place.round ? 0 : 0.5) : apex(scene, place, row),
  );
  picture.fill("dots", theme.paper).dot(x, y, 6.5);
  picture.fill("front", theme.text).dot(x, y, 4);
  if (scene.kind[row] !== INNER && scene.n > 1) label(picture, view, place, row, theme);
}

/** The name of a tip over those beside it, which may have left no room for it. */
function label(picture, view, place, row, theme) {
  const { frame, store, scene } = view;
  if (!view.looked.labels) return;
  const text = clip(
    titleOf(store, scene, row),
    SIZE,
    Math.max(60, frame.most ?? 120),
    theme.family,
    600,
  );
  beside(picture, place, scene.u[row], frame.strip + 6, text, {
    size: SIZE,
    colour: theme.text,
    weight: 600,
    halo: theme.paper,
  });
}

function mark(picture, view, place, row, colour) {
  if (row === NONE) return;
  outline(picture, view, place, row, colour, 0.14);
}
