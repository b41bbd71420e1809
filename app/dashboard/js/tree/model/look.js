// What is looked at, and the address that says it: a link opens the same view.

import { PALETTES } from "../draw/palettes.js";
import { SHAPES } from "../draw/place.js";
import { SCALES } from "./scene.js";

const NODE = /^\d{1,10}$/;
const MOST_FOLDED = 500;

/**
 * @typedef {object} Looked
 * shape, scale, palette; root: id; folded: Set of ids; color: "cut", "none" or a dataset's id;
 * cut: {k} or {height} or null (the first that is suggested); alone: category or null;
 * node: id or null; camera: portable numbers or null; labels: whether there are labels
 */

/** @returns {Looked} */
export function read(params) {
  const one = (name, among, otherwise) => (among.includes(params[name]) ? params[name] : otherwise);
  const id = (text) => (NODE.test(text ?? "") ? Number(text) : null);
  const numbers = (params.zoom ?? "").split(",").map(Number);
  return {
    shape: one("layout", SHAPES, "circular"),
    scale: one("heights", SCALES, "auto"),
    palette: one(
      "palette",
      PALETTES.map(([value]) => value),
      "okabe-ito",
    ),
    root: id(params.root) ?? 0,
    folded: new Set(
      (params.folded ?? "")
        .split(".")
        .filter((text) => NODE.test(text))
        .slice(0, MOST_FOLDED)
        .map(Number),
    ),
    color: /^(none|ds_[a-z0-9]{8,40})$/.test(params.color ?? "") ? params.color : "cut",
    cut: cutOf(params.cut),
    alone: id(params.only),
    node: id(params.node),
    camera:
      numbers.length === 4 && numbers.every(Number.isFinite) && numbers[0] > 0 && numbers[1] > 0
        ? numbers
        : null,
    labels: params.labels !== "0",
  };
}

/** "k:7" or "height:2.5" as a cut; null for anything else. */
export function cutOf(text) {
  const [by, value] = (text ?? "").split(":");
  const number = Number(value);
  if (value === undefined || value === "" || !Number.isFinite(number)) return null;
  if (by === "k" && Number.isInteger(number) && number >= 1) return { k: number };
  if (by === "height") return { height: number };
  return null;
}

export const cutText = (cut) =>
  cut === null ? null : cut.k === undefined ? `height:${cut.height}` : `k:${cut.k}`;

/** @param {Looked} looked */
export function write(looked) {
  const plain = looked.camera && looked.camera[0] === 1 && looked.camera[1] === 1;
  return {
    layout: looked.shape === "circular" ? null : looked.shape,
    heights: looked.scale === "auto" ? null : looked.scale,
    palette: looked.palette === "okabe-ito" ? null : looked.palette,
    root: looked.root || null,
    folded: [...looked.folded].slice(0, MOST_FOLDED).join("."),
    color: looked.color === "cut" ? null : looked.color,
    cut: cutText(looked.cut),
    only: looked.alone === null ? null : String(looked.alone),
    node: looked.node === null ? null : String(looked.node),
    zoom: looked.camera && !(plain && isCentred(looked.camera)) ? looked.camera.join(",") : null,
    labels: looked.labels ? null : "0",
  };
}

const isCentred = ([, , x, y]) => Math.abs(x - 0.5) < 1e-4 && Math.abs(y - 0.5) < 1e-4;
