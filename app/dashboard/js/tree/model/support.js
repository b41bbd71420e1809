// The support of nodes, as colours: how often their clusters come back. Pure.

import { NONE } from "./store.js";

/** @import { TreeNode } from "../../net/answers.js" */

/** Support by node, of those that have some. @typedef {Map<number, number>} Support */

/** The colour of a tree by its support, as in the address. */
export const SUPPORT = "support";
/** The most leaves of a tree whose nodes are all requested. */
export const MOST_LEAVES = 20_000;

/** The least support of each category but the first. */
const BOUNDS = [0.5, 0.7, 0.8, 0.9, 0.95];
export const N_CATEGORIES = BOUNDS.length + 1;

/**
 * @param {readonly TreeNode[]} nodes
 * @returns {Support}
 */
export function supportIn(nodes) {
  /** @type {Support} */
  const support = new Map();
  for (const { id, support: value } of nodes) {
    if (typeof value === "number") support.set(id, value);
  }
  return support;
}

/**
 * The category of a node, 0 for the least support; -1 without any.
 *
 * @param {number | undefined} value
 */
export const categoryOf = (value) =>
  value === undefined ? NONE : BOUNDS.filter((bound) => value >= bound - 1e-9).length;

/**
 * "80–90 %".
 *
 * @param {number} category
 */
export const categoryName = (category) =>
  `${[0, ...BOUNDS].map(inPercent)[category]}–${[...BOUNDS, 1].map(inPercent)[category]} %`;

/**
 * A node's support in words; "" without support.
 *
 * @param {number | undefined} value
 */
export const supportText = (value) =>
  value === undefined ? "" : `support ${Math.round(1000 * value) / 10} %`;

/** @param {number} value */
const inPercent = (value) => Math.round(100 * value);
