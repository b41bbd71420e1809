// Labels that never overlap: the largest subtrees come first, each label in free space.

import { INNER, LEAF, REST, UNSEEN } from "../model/scene.js";
import { NONE } from "../model/store.js";
import { drawnLines, groups, MOST_WORDS, noMemory, priority, spaced } from "./label_places.js";
import { isGroup, nameOf, runsOf } from "./name_runs.js";
import { seen } from "./place.js";
import { drawnName, fitted, isolated, width } from "./text.js";

/** @import { Drawn } from "../model/scene.js" */
/** @import { Store } from "../model/store.js" */
/** @import { Theme } from "./palettes.js" */
/** @import { Picture, TextStyle } from "./picture.js" */
/** @import { Ground, Memory, Spot } from "./label_places.js" */
/** @import { Named, Run } from "./name_runs.js" */
/** @import { Place, RoundPlace, Visible } from "./place.js" */
/** @import { Tint } from "./tint.js" */

const SMALLEST = 7;
const SPARSE = 11;
/** The least width of a group that is divided, in font sizes. */
const LINES = 1.9;
/** A label of fewer letters than its name has at least this many, or it is left out. */
const FEWEST_LETTERS = 4;
/** Distance of a circle's labels from the edges of the picture, px. */
const EDGE = 4;
const LARGEST = 12.5;
/** With fewer names, folded tips that are narrower than a name have theirs. */
const FEWEST_WORDS = 15;
/** The most labels whose widths decide how much room there is. */
const MEASURED = 400;
/** A name of which letters were cut. */
const CUT = /(^|[^ ])…$/;
const NUMBER = /^\d+$/;
const LETTER = /[^\s…,]/;
const whole = new Intl.NumberFormat("en");

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
  const label = nameOf(store, scene, row);
  if (kind[row] === LEAF) return label || String(id[row]);
  if (kind[row] === INNER) return drawnName(store.name[slot[row]] ?? "");
  const leafCount = `${whole.format(leaves[row])} ${leaves[row] === 1 ? "leaf" : "leaves"}`;
  return label ? `${isolated(label)} · ${leafCount}` : leafCount;
}

/**
 * The font size of the tips' labels: as large as their spacing allows, in steps of half a px; if
 * that is too small to read, a larger size for some of them.
 *
 * @param {number} spacing
 * @param {number} [least] the smallest size, px
 */
export function sizeFor(spacing, least = SMALLEST) {
  const size = Math.floor(1.88 * spacing) / 2;
  return size < least ? SPARSE : Math.min(LARGEST, size);
}

/**
 * Whether tips are too close for a label each.
 *
 * @param {number} spacing px
 * @param {number} [least] the smallest size of a label, px
 */
export const isSparse = (spacing, least = SMALLEST) => Math.floor(1.88 * spacing) / 2 < least;

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
 * The groups of a crowded scene that are seen, the largest first.
 *
 * @param {Store} store
 * @param {Drawn} scene
 * @param {{ across: number, size: number, window?: Visible | null, memory?: Memory }} options `across`:
 *   px per unit of u
 */
export function groupsOf(store, scene, { across, size, window = null, memory = noMemory() }) {
  const { left, right, kind, id } = scene;
  const [low, high] = window ? extent(window.spans) : [0, 1];
  const rows = groups(scene, {
    width: (row) => (right[row] - left[row]) * across,
    isTip: (row) => kind[row] !== INNER || store.numbered.has(id[row]),
    isSeen: (row) => !window || seen(window, left[row], right[row]),
    id: (row) => id[row],
    least: LINES * size,
    all: (Math.min(1, high) - Math.max(0, low)) * across,
    memory,
  });
  /** @param {Run} run */
  const rank = ({ row, leaves }) => priority(memory, id[row], leaves);
  return runsOf(store, scene, rows).sort((a, b) => rank(b) - rank(a) || a.row - b.row);
}

/**
 * The width that the tips' labels need beyond the ground, px: nine tenths of them fit whole.
 *
 * @param {Store} store
 * @param {Drawn} scene
 * @param {{ size: number, most: number, family: string, merged?: boolean, across?: number }} options
 *   `merged`: as in `tips`, with `across`, the px per unit of u
 */
export function roomFor(store, scene, { size, most, family, merged = false, across = 0 }) {
  /** @type {number[]} */
  const wide = [];
  /** @param {string} text */
  const measure = (text) => {
    if (text) wide.push(Math.min(most, width(fitted(text, size, most, family), size, family)));
  };
  if (merged) {
    const { runs } = namedRuns(scene, groupsOf(store, scene, { across, size }), { across, size });
    for (const run of runs.slice(0, MEASURED)) measure(runTitle(store, scene, run));
  } else {
    const order = ranked(scene);
    for (let at = 0; at < order.length && wide.length < MEASURED; at += 1) {
      const row = order[at];
      if (scene.kind[row] === INNER) continue;
      if (scene.kind[row] === UNSEEN && scene.tips > 600) continue;
      measure(titleOf(store, scene, row));
    }
  }
  if (!wide.length) return 0;
  wide.sort((a, b) => a - b);
  return (
    Math.min(wide[wide.length - 1], Math.max(1.5 * wide[Math.floor(0.9 * (wide.length - 1))], 30)) +
    4
  );
}

/**
 * The label of a run: its name, and the number of its leaves where several rows or what is folded
 * have it; that of its tip, if it is one.
 *
 * @param {Named} store
 * @param {Drawn} scene
 * @param {Run} run
 */
export function runTitle(store, scene, { row, rows, leaves, name }) {
  if (!name) return scene.kind[row] > LEAF ? titleOf(store, scene, row) : "";
  if (rows > 1) return `${isolated(name)} · ${whole.format(leaves)}`;
  return scene.kind[row] === INNER ? name : titleOf(store, scene, row);
}

/**
 * Labels of the tips, beyond the ground. Returns how many were written.
 *
 * @param {Picture} picture
 * @param {Store} store
 * @param {Drawn} scene
 * @param {Place} place
 * @param {Tint} tint
 * @param {{
 *   room: number,
 *   gap: number,
 *   size: number,
 *   theme: Theme,
 *   merged?: boolean,
 *   memory?: Memory,
 * }} options `merged`: groups have labels, with arcs over them, and folded tips that are narrower than
 *   a label have none
 */
export function tips(
  picture,
  store,
  scene,
  place,
  tint,
  { room, gap, size, theme, merged = false, memory = noMemory() },
) {
  const { window } = place;
  if (window.v1 < 0.9) return 0;
  const across = place.round
    ? place.across + gap * (place.angle(1) - place.angle(0))
    : place.across;
  const half = (place.round && !merged ? 0.47 : 0.55) * size;
  const { runs, wide } = merged
    ? namedRuns(scene, groupsOf(store, scene, { across, size, window, memory }), { across, size })
    : single(store, scene, place, { across, size });
  const shown = new Set();
  // A flag for each px of the visible ground.
  const [low, high] = extent(window.spans);
  const base = Math.max(0, low) * across;
  const length = Math.ceil(Math.min(1, high) * across - base) + 4 * size;
  if (!(length > 0)) return 0;
  const taken = new Uint8Array(Math.min(length, 400_000) + 1);
  let written = 0;
  for (const [rank, run] of runs.entries()) {
    const { row, from, to } = run;
    const middle = run.rows === 1 && !isGroup(scene, run) ? scene.u[row] : (from + to) / 2;
    const at = middle * across - base;
    // Narrow ones, which are many, are spread over all of it.
    const reach = rank < wide ? half : Math.max(half, length / (2 * MOST_WORDS));
    const start = Math.ceil(at - reach);
    const stop = Math.floor(at + reach);
    if (merged && written >= MOST_WORDS) break;
    if (stop < 0 || start > taken.length || occupied(taken, start, stop)) continue;
    const title = merged ? runTitle(store, scene, run) : titleOf(store, scene, row);
    // Numbers of a few rows among many say nothing.
    if (!title || (merged && scene.leaves[0] === scene.size[0] && NUMBER.test(title))) continue;
    const space = place.round ? Math.min(room, toEdge(picture, place, middle, gap)) : room;
    const isListed = merged && isGroup(scene, run) && !store.name[scene.slot[row]];
    const text = fittedList(title, size, space, theme.family, isListed);
    if (!text || (text !== title && place.round && text.length < FEWEST_LETTERS)) continue;
    taken.fill(1, Math.max(0, start), Math.max(0, stop));
    const colour = tint.text[tint.branch[row]];
    if (merged && isGroup(scene, run)) arcOver(picture, place, run, gap, colour);
    beside(picture, place, middle, gap, text, { size, colour, whole: title });
    written += 1;
    shown.add(scene.id[row]);
  }
  if (merged) memory.shown = shown;
  return written;
}

/**
 * A name cut to `room` px; another of the leaves that it lists stands for the first where that is too long.
 *
 * @param {string} title
 * @param {number} size
 * @param {number} room
 * @param {string} family
 * @param {boolean} isListed whether it lists leaves
 */
function fittedList(title, size, room, family, isListed) {
  const text = fitted(title, size, room, family);
  if (!isListed || !CUT.test(text)) return text;
  const other = fitted(`${title}, …`, size, room, family);
  // A list may be cut to nothing but the signs that it goes on.
  return LETTER.test(other) ? other : text;
}

/**
 * The runs of a crowded scene that have names, and how many of them are wide enough for one each: folded
 * tips that are narrower have theirs only where there would be hardly a word.
 *
 * @param {Drawn} scene
 * @param {Run[]} runs in the order of their rank
 * @param {{ across: number, size: number }} options
 * @returns {{ runs: Run[], wide: number }}
 */
export function namedRuns(scene, runs, { across, size }) {
  /** @param {Run} run */
  const isSliver = ({ row, rows, from, to }) =>
    (to - from) * across < size && (rows > 1 || scene.kind[row] > LEAF);
  const wide = runs.filter((run) => !isSliver(run));
  if (wide.length >= FEWEST_WORDS) return { runs: wide, wide: wide.length };
  const narrow = runs.filter((run) => isSliver(run) && run.name && scene.kind[run.row] !== REST);
  return { runs: [...wide, ...narrow], wide: wide.length };
}

/**
 * The visible tips as runs; narrow ones without a name have only the number of their leaves, and none.
 *
 * @param {Store} store
 * @param {Drawn} scene
 * @param {Place} place
 * @param {{ across: number, size: number }} options
 * @returns {{ runs: Run[], wide: number }}
 */
function single(store, scene, place, { across, size }) {
  const { kind, slot, left, right, leaves } = scene;
  const runs = [];
  for (const row of visibleTips(scene, place, size)) {
    const [from, to] = [left[row], right[row]];
    const isNarrow = (to - from) * across < size;
    if (isNarrow && kind[row] === UNSEEN && store.name[slot[row]] === null) continue;
    runs.push({ row, rows: 1, from, to, leaves: leaves[row], name: "" });
  }
  return { runs, wide: runs.length };
}

/**
 * An arc between the ground and a label, over what the label names.
 *
 * @param {Picture} picture
 * @param {Place} place
 * @param {Run} run
 * @param {number} gap
 * @param {string} colour
 */
function arcOver(picture, place, { from, to }, gap, colour) {
  const inset = Math.min(0.2 * (to - from), 1.5 / place.across);
  const path = picture.stroke("front", colour, 1.5);
  const px = gap - 3;
  for (const [a, b] of place.window.spans) {
    const [start, stop] = [Math.max(from + inset, a), Math.min(to - inset, b)];
    if (start >= stop) continue;
    path.move(...place.beyond(start, 1, px));
    place.arc(path, 1, start, stop, px);
  }
}

/**
 * The length along the radius at u, from `gap` beyond the ground to the edge of the picture, px.
 *
 * @param {Picture} picture
 * @param {RoundPlace} place
 * @param {number} u
 * @param {number} gap
 */
function toEdge(picture, place, u, gap) {
  const [x, y] = place.beyond(u, 1, gap);
  const a = place.angle(u);
  /** @type {(at: number, step: number, length: number) => number} */
  const along = (at, step, length) => {
    if (Math.abs(step) < 1e-9) return Infinity;
    return ((step > 0 ? length - EDGE : EDGE) - at) / step;
  };
  return Math.min(along(x, Math.cos(a), picture.width), along(y, Math.sin(a), picture.height));
}

/**
 * The ones of `rows`, in their order of rank, that do not overlap between 0 and `length` px.
 *
 * @param {number[]} rows
 * @param {(row: number) => number} at
 * @param {number} length
 * @param {number} size
 */
export function apart(rows, at, length, size) {
  const within = rows.filter((row) => at(row) > -size && at(row) < length + size);
  const rank = within.map((_, place) => -place);
  return spaced(within.map(at), rank, 1.04 * size).map((place) => within[place]);
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
 * Names of inner nodes, beside their nodes, where they lie on no branch and no other name and are in the
 * window; the names that nodes were given come first, and are led out by a line where there is no room.
 *
 * @param {Picture} picture
 * @param {Store} store
 * @param {Drawn} scene
 * @param {Place} place
 * @param {Tint} tint
 * @param {{
 *   theme: Theme,
 *   size?: number,
 *   clusters?: Set<number> | null,
 *   busy: Ground,
 *   all?: boolean,
 *   numbered?: boolean,
 *   clear?: boolean,
 * }} options `clear`: no name lies on a branch; `all`: nodes without a name have one after what is below them; `numbered`: clusters without
 *   one have their numbers
 */
export function inner(
  picture,
  store,
  scene,
  place,
  tint,
  { theme, size = 11, clusters = null, busy, all = false, numbered = false, clear = false },
) {
  const { n, kind, left, right, end, u, v, slot } = scene;
  const { v0, v1 } = place.window;
  const candidates = [];
  for (let i = 1; i < n;) {
    const wide = (right[i] - left[i]) * place.across;
    if (!seen(place.window, left[i], right[i]) || wide < 2 * size) {
      i = end[i];
      continue;
    }
    const isInView = v[i] >= v0 && v[i] <= v1 && kind[i] === INNER && slot[i] !== NONE;
    const isCalled =
      (all && store.called[slot[i]]) || (numbered && store.numbered.has(scene.id[i]));
    if (isInView && (store.name[slot[i]] || isCalled)) candidates.push(i);
    i += 1;
  }
  /** @param {number} row */
  const first = (row) => (store.name[slot[row]] ? 2 : 0) + (clusters?.has(scene.id[row]) ? 1 : 0);
  /** @type {Set<string>} The first leaves of names: one above another says the same. */
  const begun = new Set();
  candidates.sort((a, b) => first(b) - first(a) || scene.leaves[b] - scene.leaves[a] || a - b);
  let written = 0;
  for (const row of candidates.slice(0, 400)) {
    if (written >= MOST_WORDS) break;
    const wide = (right[row] - left[row]) * place.acrossAt(v[row]);
    const name = nameOf(store, scene, row);
    const [leaf] = name.split(", ", 1);
    if (!store.name[slot[row]] && begun.has(leaf)) continue;
    const isGiven = Boolean(store.name[slot[row]]);
    const room = place.round && !isGiven ? Math.min(150, Math.max(44, wide)) : 150;
    const text = fitted(name, size, room, theme.family, 600);
    const w = width(text, size, theme.family, 600);
    // The first letters of a name alone say nothing, and part of one that nobody gave little.
    const isCut = isGiven ? text.length < FEWEST_LETTERS : CUT.test(text);
    if (!text || w < size || (text !== name && isCut)) continue;
    const tall = 0.6 * size;
    busy.lines ??= drawnLines(picture, busy);
    const node = place.at(u[row], v[row]);
    /** @param {Spot} at */
    const isInside = (at) =>
      !isBeyond(place, [at.left, at.left + w], [at.middle - tall, at.middle + tall]);
    const options = { isRound: place.round, isInside };
    // On the screen a name that somebody gave is seen, though over branches.
    const spot =
      busy.name(...node, w, size, { ...options, isLed: isGiven }) ??
      (isGiven && !clear ? busy.name(...node, w, size, { ...options, isOver: true }) : null);
    if (!spot) continue;
    const { led } = spot;
    begun.add(leaf);
    const colour = tint.text[tint.branch[row]];
    if (led) {
      const path = picture.stroke("front", colour, 0.75);
      path.move(...node);
      path.line(...led);
    }
    picture.text("texts", spot.left, spot.middle, text, {
      size,
      colour,
      weight: 600,
      halo: theme.paper,
      whole: name,
    });
    written += 1;
  }
  return written;
}

/**
 * Whether a corner of a box is beyond the ground, where tips have their labels.
 *
 * @param {Place} place
 * @param {number[]} across
 * @param {number[]} down
 */
const isBeyond = (place, across, down) =>
  across.some((x) => down.some((y) => place.invert(x, y).v > 1));
