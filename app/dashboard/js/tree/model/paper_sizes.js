// The sizes of figures for print, in millimetres, and how large they are in px of the screen.

/** @typedef {{ width: number, height: number | null }} PaperSize mm; no height: that of the view */

const INCH_MM = 25.4;
/** Pt in an inch. */
const INCH_PT = 72;
/** The size of most labels of the view, px. */
const LABEL_PX = 11;
/** The smallest labels of a figure: six sevenths of it, as of the pictures that the service lays out. */
export const LEAST_PX = 9.5;
export const LEAST_MM = 10;
export const MOST_MM = 2000;

/**
 * The names, labels and sizes of what figures are made for, and the points of their labels.
 *
 * @type {readonly { name: string, label: string, size: PaperSize, pt: number }[]}
 */
export const PAPERS = [
  { name: "single", label: "One column, 85 mm", size: { width: 85, height: null }, pt: 7 },
  { name: "double", label: "Two columns, 178 mm", size: { width: 178, height: null }, pt: 7 },
  { name: "a4", label: "A4 with margins, 170 × 247 mm", size: { width: 170, height: 247 }, pt: 8 },
  {
    name: "slide",
    label: "Slide 16:9, 338.7 × 190.5 mm",
    size: { width: 338.7, height: 190.5 },
    pt: 16,
  },
  { name: "poster", label: "Poster A0, 841 × 1189 mm", size: { width: 841, height: 1189 }, pt: 24 },
];

/** The most px that a preview has on a side, and the most dots an inch. */
const PREVIEW_PX = 1600;
const PREVIEW_DPI = 192;
const LEAST_DPI = 36;

/**
 * The dots an inch of a preview of paper.
 *
 * @param {PaperSize} paper
 */
export const previewDpi = ({ width, height }) =>
  Math.max(
    LEAST_DPI,
    Math.min(PREVIEW_DPI, Math.floor((PREVIEW_PX * INCH_MM) / Math.max(width, height ?? 0))),
  );

/** The most pixels of a PNG that the service makes. */
const MOST_PX = 20_971_520;

/**
 * The dots an inch of a PNG of paper: those that were chosen, or fewer where it would have too many pixels.
 *
 * @param {PaperSize} paper
 * @param {number} dpi
 * @param {number} ratio height by width, of paper without a height
 */
export function fileDpi({ width, height }, dpi, ratio) {
  const inches = (width / INCH_MM) * ((height ?? ratio * width) / INCH_MM);
  return Math.min(dpi, Math.floor(Math.sqrt(MOST_PX / inches) - 0.5));
}

/**
 * The size in px for which the view is laid out, so that its labels have `pt` points on paper.
 *
 * @param {PaperSize} paper
 * @param {number} pt
 * @param {{ width: number, height: number }} view px; for paper without a height
 */
export function layoutSize({ width, height }, pt, view) {
  const pxPerMm = (LABEL_PX * INCH_PT) / (pt * INCH_MM);
  const across = width * pxPerMm;
  const down = height === null ? (across * view.height) / view.width : height * pxPerMm;
  return { width: across, height: down };
}

/** A figure has room for words where it is so many times as wide as its letters are high. */
const LETTERS = 10;

/**
 * What is wrong with a width for words of `pt` points, or null.
 *
 * @param {number} mm
 * @param {number} pt
 */
export function tooNarrow(mm, pt) {
  const least = (LETTERS * pt * INCH_MM) / INCH_PT;
  if (mm >= least) return null;
  return `There is no room for words of ${pt} points: take ${Math.ceil(least * 10) / 10} mm at least, or smaller text.`;
}

/**
 * What is wrong with a length, or null.
 *
 * @param {number} mm
 */
export const wrongLength = (mm) =>
  mm >= LEAST_MM && mm <= MOST_MM ? null : `From ${LEAST_MM} to ${MOST_MM} mm.`;
