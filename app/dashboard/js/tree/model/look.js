// The state of a view of a tree, and the address that describes it: a link opens the same view.

import { cutOf, cutText } from "./cut.js";
import { MEASURES } from "./errors.js";
import { choiceIn, choiceText } from "./heatmap.js";
import { conditionsIn, conditionsText, MOST_STRIPS } from "./items.js";
import { SCALES } from "./scene.js";

/** @import { Cut } from "./cut.js" */
/** @import { Measure } from "./errors.js" */
/** @import { Choice } from "./heatmap.js" */
/** @import { Scale } from "./scene.js" */

/** @typedef {"circular" | "rectangular" | "icicle"} Shape */

/** @type {readonly Shape[]} */
export const SHAPES = ["circular", "rectangular", "icicle"];

/** @typedef {"pca" | "umap" | "tsne" | "disc"} MapBy */

/** @type {readonly [value: MapBy, label: string][]} */
export const MAPS = [
  ["pca", "Principal components"],
  ["umap", "UMAP"],
  ["tsne", "t-SNE"],
  ["disc", "Poincaré disc"],
];

/** @type {readonly [value: string, label: string][]} */
export const PALETTES = [
  ["okabe-ito", "Okabe-Ito, 20 colours"],
  ["tol-muted", "Tol muted, 9"],
  ["tol-bright", "Tol bright, 6"],
  ["grey", "Greys, for print"],
];

/** @typedef {"explore" | "confusions" | "trust" | "drift" | "compare" | "edit"} Tab */

/** @type {readonly [value: Tab, label: string][]} */
export const TABS = [
  ["explore", "Explore"],
  ["confusions", "Confusions"],
  ["trust", "Trust"],
  ["drift", "Drift"],
  ["compare", "Compare"],
  ["edit", "Edit"],
];

/** @typedef {[k: number, kd: number, x: number, y: number]} PortableCamera see `portable` */

/**
 * @typedef {{
 *   shape: Shape,
 *   scale: Scale,
 *   palette: string,
 *   root: number,
 *   folded: Set<number>,
 *   color: string,
 *   cut: Cut | null,
 *   alone: number | null,
 *   node: number | null,
 *   camera: PortableCamera | null,
 *   labels: boolean,
 *   measure: Measure,
 *   links: boolean,
 *   map: MapBy | null,
 *   heatmap: Choice | null,
 *   names: string | null,
 *   items: string | null,
 *   strips: number[],
 *   where: string | null,
 *   edition: string | null,
 *   tab: Tab,
 * }} Look `root`, `folded` and `node` are ids; `color`: "cut", "none", "support", the id of a dataset of labels or of
 *   a classifier's evaluation, or "at_….2" for a column of items; `cut`: null for the first suggestion; `alone`: the one category that is
 *   coloured; `measure` and `links`: of errors; `map`: the one beside the tree; `heatmap`: the one below it;
 *   `names`: the id of a naming, null for their own; `items`: the id of what is attached; `strips`: its
 *   columns beside the tips; `where`: the conditions on them, as `conditionsText`; `edition`: the id of an edition,
 *   null for the tree itself; `tab`: of the side
 */

const NODE = /^\d{1,10}$/;
const MOST_FOLDED = 500;

/**
 * The look described by an address, with defaults for anything that cannot be read.
 *
 * @param {Record<string, string>} params
 * @returns {Look}
 */
export function readLook(params) {
  return {
    shape: choice(SHAPES, params.layout, "circular"),
    scale: choice(SCALES, params.heights, "auto"),
    palette: choice(
      PALETTES.map(([value]) => value),
      params.palette,
      "okabe-ito",
    ),
    root: nodeId(params.root) ?? 0,
    folded: new Set(
      (params.folded ?? "")
        .split(".")
        .filter((text) => NODE.test(text))
        .slice(0, MOST_FOLDED)
        .map(Number),
    ),
    color: /^(none|support|(ds|job)_[a-z0-9]{8,40}|at_[a-z0-9]{8,40}\.\d{1,3})$/.test(
      params.color ?? "",
    )
      ? params.color
      : "cut",
    cut: cutOf(params.cut),
    alone: nodeId(params.only),
    node: nodeId(params.node),
    camera: cameraIn(params.zoom),
    labels: params.labels !== "0",
    measure: choice(
      MEASURES.map(([value]) => value),
      params.measure,
      "f1",
    ),
    links: params.links !== "0",
    map: MAPS.find(([by]) => by === params.map)?.[0] ?? null,
    heatmap: choiceIn(params.heatmap),
    items: /^at_[a-z0-9]{8,40}$/.test(params.items ?? "") ? params.items : null,
    strips: stripsIn(params.strips),
    where: conditionsText(conditionsIn(params.where)) || null,
    names: /^nm_[a-z0-9]{8,40}$/.test(params.names ?? "") ? params.names : null,
    tab: choice(
      TABS.map(([value]) => value),
      params.tab,
      choiceIn(params.heatmap) ? "compare" : "explore",
    ),
    edition: /^ed_[a-z0-9]{8,60}$/.test(params.edition ?? "") ? params.edition : null,
  };
}

/**
 * @template {string} T
 * @param {readonly T[]} choices
 * @param {string | undefined} text
 * @param {T} otherwise
 */
const choice = (choices, text, otherwise) => choices.find((value) => value === text) ?? otherwise;

/** @param {string | undefined} text */
const nodeId = (text) => (text !== undefined && NODE.test(text) ? Number(text) : null);

/** @param {string | undefined} text */
const stripsIn = (text) =>
  [
    ...new Set(
      (text ?? "")
        .split(".")
        .filter((part) => /^\d{1,3}$/.test(part))
        .map(Number),
    ),
  ].slice(0, MOST_STRIPS);

/**
 * @param {string | undefined} text
 * @returns {PortableCamera | null}
 */
function cameraIn(text) {
  const numbers = (text ?? "").split(",").map(Number);
  const [k, kd, x, y] = numbers;
  return numbers.length === 4 && numbers.every(Number.isFinite) && k > 0 && kd > 0
    ? [k, kd, x, y]
    : null;
}

/**
 * The parameters of the address that describe a look; null for defaults.
 *
 * @param {Look} look
 */
export function writeLook(look) {
  return {
    layout: look.shape === "circular" ? null : look.shape,
    heights: look.scale === "auto" ? null : look.scale,
    palette: look.palette === "okabe-ito" ? null : look.palette,
    root: look.root || null,
    folded: [...look.folded].slice(0, MOST_FOLDED).join("."),
    color: look.color === "cut" ? null : look.color,
    cut: cutText(look.cut),
    only: look.alone === null ? null : String(look.alone),
    node: look.node === null ? null : String(look.node),
    zoom: look.camera && !isHome(look.camera) ? look.camera.join(",") : null,
    labels: look.labels ? null : "0",
    measure: look.measure === "f1" ? null : look.measure,
    links: look.links ? null : "0",
    map: look.map,
    heatmap: choiceText(look.heatmap),
    names: look.names,
    items: look.items,
    strips: look.strips.join(".") || null,
    where: look.where,
    edition: look.edition,
    tab: look.tab === (look.heatmap ? "compare" : "explore") ? null : look.tab,
  };
}

/** @param {PortableCamera} camera */
const isHome = ([k, kd, x, y]) =>
  k === 1 && kd === 1 && Math.abs(x - 0.5) < 1e-4 && Math.abs(y - 0.5) < 1e-4;
