// The picture of a scene seen through a camera; the canvas and the files get the same.

import { INNER } from "../model/scene.js";
import { home } from "./camera.js";
import { errorLinks } from "./error_links.js";
import { crossing } from "./crossing_names.js";
import { branches, cutLine, dots, ring } from "./dendrogram.js";
import { cells } from "./icicle.js";
import { Ground, noMemory } from "./label_places.js";
import { inner, isSparse, roomFor, sizeFor, tips } from "./labels.js";
import { Picture } from "./picture.js";
import { fit, place as placed, seen } from "./place.js";

/** @import { ErrorLink } from "../model/errors.js" */
/** @import { Memory } from "./label_places.js" */
/** @import { Shape } from "../model/look.js" */
/** @import { Drawn } from "../model/scene.js" */
/** @import { Store } from "../model/store.js" */
/** @import { Theme } from "./palettes.js" */
/** @import { Camera, Frame, Place } from "./place.js" */
/** @import { Tint } from "./tint.js" */

const STRIP = 9;
/** Between the strips of items, px. */
const BETWEEN = 2;
const GAP = 4;
/** The most that labels above and below a circle take, as a share of its side; beside it is more room. */
const POLE = 0.125;
const SIDE = 0.19;
/** The same of a circle with few tips, whose names matter more than its size. */
const WHOLE = 0.27;
const WIDER = 1.2;
/** Letters along the radii of a circle may be this much taller than their distance on the ground. */
const TALL = 1.12;
/** The least room beside a rectangle, for labels that appear when zooming in, px. */
const LATER = 64;
/** With fewer labels of tips in view, inner nodes have the names of what is below them. */
const FEW = 15;
/** Names of nodes in view and of branches that cross it, where branches need theirs. */
const SOME = 30;
/** Widths of the arcs of folded tips, px, with labels beyond them and without. */
const THIN_ARC = 1.75;
const WIDE_ARC = 5;

/**
 * The distance of a ring from the tips, px.
 *
 * @param {number} rings within it
 */
const ringGap = (rings) => GAP + rings * (STRIP + BETWEEN);

/**
 * The frame of a scene in a window, with the space for its labels.
 *
 * @param {Store} store
 * @param {Drawn} scene
 * @param {{ shape: Shape, width: number, height: number, theme: Theme, banded: boolean, strips?: number, labels?: boolean }} options `strips`: the number of
 *   strips of items
 * @returns {ViewFrame}
 */
export function frameFor(
  store,
  scene,
  { shape, width, height, theme, banded, strips = 0, labels = true },
) {
  const rings = shape === "icicle" ? 0 : Number(banded) + strips;
  const strip = rings && ringGap(rings) - BETWEEN;
  if (shape === "circular") {
    return circleFor(store, scene, { width, height, theme, strip, named: labels && scene.n > 1 });
  }
  const spacing = (height - 36) / scene.tips;
  const size = sizeFor(spacing, theme.least);
  const most = Math.min(230, 0.3 * width);
  const named = labels && shape === "rectangular" && scene.n > 1;
  const options = { size, most, family: theme.family, merged: isSparse(spacing, theme.least) };
  // Beside a rectangle, labels that appear when zooming in have no other place.
  const room = named
    ? Math.max(roomFor(store, scene, { ...options, across: height - 36 }), LATER) + GAP + 2
    : 0;
  return {
    ...fit(shape, { width, height, room, strip: strip + (named ? 0 : 2), bend: 1 }),
    strip,
    room,
    most,
  };
}

/**
 * The frame of a circle. The room for labels and their size, which follows from the circumference,
 * depend on each other. Only the room above and below is reserved: beside the circle a window is
 * usually wider, and there the labels reach to its edge.
 *
 * @param {Store} store
 * @param {Drawn} scene
 * @param {{ width: number, height: number, theme: Theme, strip: number, named: boolean }} options
 * @returns {ViewFrame}
 */
function circleFor(store, scene, { width, height, theme, strip, named }) {
  const bend = crowded(scene) ? 0.75 : 1;
  // A window that is hardly wider than high has no more room beside the circle than above it.
  const share = width > WIDER * height ? POLE : SIDE;
  const pole = (scene.tips <= FEW ? WHOLE : share) * Math.min(width, height);
  let room = 0;
  /** @param {number} reserved */
  const fitted = (reserved) => {
    const bare = strip + (named ? GAP + 2 : 2);
    return fit("circular", { width, height, room: reserved, strip: bare, bend, inset: 8 });
  };
  for (let turn = 0; named && turn < 3; turn += 1) {
    const { across } = placed(fitted(room), home());
    const spacing = across / scene.tips;
    const size = sizeFor(TALL * spacing, theme.least);
    const merged = isSparse(TALL * spacing, theme.least);
    const options = { size, merged, most: pole, family: theme.family };
    room = Math.min(pole, roomFor(store, scene, { ...options, across }));
  }
  const most = scene.tips <= FEW ? Math.min(360, 0.36 * width) : Math.min(240, 0.3 * width);
  return { ...fitted(room), strip, room, most };
}

/**
 * Whether many nodes crowd around the root.
 *
 * @param {Drawn} options
 */
function crowded({ n, kind, v }) {
  let all = 0;
  let near = 0;
  for (let i = 0; i < n; i += 1) {
    if (kind[i] !== INNER) continue;
    all += 1;
    if (v[i] < 0.1) near += 1;
  }
  return all > 8 && near / all > 0.05;
}

/**
 * @typedef {Frame & { strip: number, room: number, most: number }} ViewFrame with the widths of the ring
 *   of colours and of the labels, px, and the most that labels may take
 *
 * @typedef {{ v: number | null, clusters: Set<number> | null }} CutMarks the line of a cut, where heights
 *   have places, and its nodes by id, where they are few
 */

/**
 * The picture.
 *
 * @param {{
 *   store: Store,
 *   scene: Drawn,
 *   frame: ViewFrame,
 *   camera: Camera,
 *   theme: Theme,
 *   tint: Tint,
 *   cut?: CutMarks | null,
 *   links?: ErrorLink[],
 *   labels?: boolean,
 *   memory?: Memory,
 *   clear?: boolean,
 * }} view `memory`: the names that were shown before, which stay; `clear`: no name lies on a branch
 */
export function compose({
  store,
  scene,
  frame,
  camera,
  theme,
  tint,
  cut = null,
  links = [],
  labels = true,
  memory = noMemory(),
  clear = false,
}) {
  const place = placed(frame, camera);
  const picture = new Picture(frame.width, frame.height);
  picture.place = place;
  if (scene.n > 1 && frame.shape === "icicle") {
    if (!place.round) cells(picture, store, scene, place, tint, { theme, memory });
    if (typeof cut?.v === "number") cutLine(picture, place, cut.v, theme.text);
    if (links.length) errorLinks(picture, scene, place, links, theme.text);
    return picture;
  }
  const spacing = spacingOf(scene, place);
  const base = Math.min(1.25, Math.max(0.55, 0.3 * spacing));
  branches(picture, scene, place, tint, {
    base,
    guides: labels && spacing > 2.5 ? theme.guide : null,
  });
  dots(picture, scene, place, tint, {
    leaves: spacing >= 5 && !tint.banded,
    clusters: cut?.clusters,
    paper: theme.paper,
  });
  if (tint.banded) ring(picture, scene, place, tint, { gap: GAP, strip: STRIP });
  for (const [at, own] of (tint.strips ?? []).entries()) {
    const gap = ringGap(at + Number(tint.banded));
    ring(picture, scene, place, own, { gap, strip: STRIP });
  }
  if (typeof cut?.v === "number") cutLine(picture, place, cut.v, theme.muted);
  if (links.length) errorLinks(picture, scene, place, links, theme.text);
  if (labels && scene.n > 1) {
    const gap = frame.strip + GAP + 2;
    const tall = place.round ? TALL : 1;
    const merged = isSparse(tall * spacing, theme.least);
    const size = sizeFor(tall * spacing, theme.least);
    const room = place.round ? frame.most : frame.room - GAP - 2;
    const options = { room, gap, size, theme, merged, memory };
    const written = tips(picture, store, scene, place, tint, options);
    // Narrow folded tips have no labels: an arc shows that there is more below them.
    if (place.round && merged && !frame.strip) {
      const strip = frame.room > 0 ? THIN_ARC : WIDE_ARC;
      ring(picture, scene, place, tint, { gap: 0.5, strip, folded: true });
    }
    const busy = new Ground(frame.width, frame.height);
    const own = {
      theme,
      clusters: cut?.clusters,
      busy,
      all: written < FEW,
      numbered: !merged,
      clear,
    };
    inner(picture, store, scene, place, tint, own);
    // Labels at the ground count where the ground is in view.
    const named = picture.layers.texts.filter((text) => isInside(text, frame)).length;
    if (named < FEW) {
      crossing(picture, store, scene, place, tint, {
        theme,
        busy,
        most: SOME - named,
        clear,
        merged,
      });
    }
  }
  if (scene.n === 1) alone(picture, store, scene, place, theme);
  return picture;
}

/**
 * @param {object} item
 * @param {{ width: number, height: number }} frame
 */
const isInside = (item, { width, height }) =>
  "x" in item && Number(item.x) >= 0 && Number(item.x) <= width &&
  "y" in item && Number(item.y) >= 0 && Number(item.y) <= height; // prettier-ignore

/**
 * The distance of neighbouring tips, px, among visible ones.
 *
 * @param {Drawn} options
 * @param {Place} place
 */
function spacingOf({ n, kind, left, right, end }, place) {
  let count = 0;
  let wide = 0;
  for (let i = 0; i < n;) {
    if (!seen(place.window, left[i], right[i])) {
      i = end[i];
      continue;
    }
    const px = (right[i] - left[i]) * place.across;
    if (kind[i] === INNER && px >= 1) {
      i += 1;
      continue;
    }
    count += 1;
    wide += px;
    i = end[i];
  }
  return wide / Math.max(1, count);
}

/**
 * @param {Picture} picture
 * @param {Store} store
 * @param {Drawn} scene
 * @param {Place} place
 * @param {Theme} theme
 */
function alone(picture, store, scene, place, theme) {
  const [x, y] = place.at(0.5, place.round ? 0 : 0.5);
  const name = store.name[scene.slot[0]];
  const text = name === null || name === undefined || name === "" ? "one node" : name;
  picture.text("texts", x, y + 24, String(text).slice(0, 80), {
    size: 14,
    colour: theme.text,
    align: "center",
    whole: text,
  });
}
