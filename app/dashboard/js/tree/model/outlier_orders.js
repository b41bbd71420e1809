// The orders in which the points of a node are listed. Pure.

/** @import { ItemOutlier } from "../../net/answers.js" */

/** @import { Option } from "../../ui/controls.js" */

/** @type {Record<string, string>} */
export const ORDERS = { far: "Farthest", near: "Nearest", doubt: "Most doubtful" };

/**
 * The orders that a node has: logits give no distances, and the root has no siblings.
 *
 * @param {string} basis
 * @param {boolean} isRoot
 * @returns {Option[]}
 */
export const ordersOf = (basis, isRoot) =>
  Object.entries(ORDERS).filter(([order]) =>
    basis === "logits" ? order === "doubt" : order !== "doubt" || !isRoot,
  );

/**
 * Whether a leaf is called as its row is: by its number, its id, or its value in the column that names it.
 *
 * @param {ItemOutlier} row
 * @param {string | undefined} column
 */
export const isCalledAsRow = (row, column) =>
  row.name === null ||
  [String(row.item), row.id, column !== undefined && row[column]].includes(row.name);
