// The orders in which the points of a node are listed. Pure.

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
