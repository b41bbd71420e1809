// Which classes are taken for which, as the cells of a matrix.

import { mix } from "./palettes.js";

/** @import { Matrix } from "../model/matrix.js" */
/** @import { Subject } from "./matrix_view.js" */

/** Number of shades; a share has that of its square root. */
const SHADES = 32;

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
    context.fillStyle = theme.shared;
    for (const at of classes.keys()) if (isSeen(at, at)) context.fillRect(x(at), y(at), w, h);
    const shades = Array.from({ length: SHADES }, (_, at) =>
      mix(theme.paper, theme.series[0], (at + 1) / SHADES),
    );
    // The largest last, so that it is seen where classes are smaller than a pixel.
    for (const { row, column, share } of cells) {
      if (!isSeen(row, column)) continue;
      context.fillStyle = shades[Math.ceil(SHADES * Math.sqrt(share / most)) - 1];
      context.fillRect(x(column), y(row), w, h);
    }
  };
