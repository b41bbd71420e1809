// Which classes are taken for which, as the cells of a matrix.

import { mix, ramp } from "./palettes.js";

/** @import { Matrix } from "../model/matrix.js" */
/** @import { Subject } from "./matrix_view.js" */

/** The number of shades, the first of which is nothing. */
export const SHADES = 64;
/** A scale of shares has this ratio of the largest to the least that differs from smaller ones. */
export const RANGE = 1000;
/** The strength of a class that is always right. */
const OWN = 0.5;

/**
 * The shade of a share, by its logarithm, down to a thousandth of the largest.
 *
 * @param {number} share
 * @param {number} most
 */
export const shadeOf = (share, most) =>
  Math.min(
    SHADES - 1,
    Math.max(1, Math.round((SHADES - 1) * (1 + Math.log(share / most) / Math.log(RANGE)))),
  );

/**
 * @param {Matrix} matrix
 * @returns {Subject["paint"]}
 */
export const confusionCells = ({ cells, classes, most }) =>
  function paint(context, { left, top, width, height, window }, theme) {
    const [across, down] = [width / window.columns, height / window.rows];
    const [w, h] = [Math.max(1, across), Math.max(1, down)];
    /** @param {number} at */
    const x = (at) => left + (at - window.column) * across;
    /** @param {number} at */
    const y = (at) => top + (at - window.row) * down;
    /**
     * @param {number} row
     * @param {number} column
     */
    const isSeen = (row, column) =>
      row > window.row - 1 &&
      row < window.row + window.rows + 1 &&
      column > window.column - 1 &&
      column < window.column + window.columns + 1;
    for (const [at, { right }] of classes.entries()) {
      if (!isSeen(at, at)) continue;
      context.fillStyle = mix(theme.paper, theme.ink, OWN * (right ?? 0));
      context.fillRect(x(at), y(at), w, h);
    }
    const shades = ramp(theme, SHADES);
    // The largest last, so that it is seen where classes are smaller than a pixel.
    for (const { row, column, share } of cells) {
      if (!isSeen(row, column)) continue;
      context.fillStyle = shades[shadeOf(share, most)];
      context.fillRect(x(column), y(row), w, h);
    }
  };
