// Items in words: values of nodes and of single items, steps of gradients, matches. Pure.

import { categoryAt, isCategory, isWhole, N_STEPS, rangeOf, shareAt } from "../model/items.js";
import { NONE } from "../model/store.js";

/** @import { ItemColumn } from "../../net/answers.js" */
/** @import { Condition, NodeMatrix } from "../model/items.js" */

const plain = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** @param {number} value */
function number(value) {
  const size = Math.abs(value);
  if (size >= 1e9 || (size > 0 && size < 1e-4)) return value.toExponential(3);
  return (size >= 1e4 || Number.isInteger(value) ? whole : plain).format(value);
}

/**
 * A value of a number or date of nodes as text.
 *
 * @param {ItemColumn} column
 * @param {number} value
 */
export const valueText = ({ kind }, value) =>
  kind === "date" ? new Date(value * 1000).toISOString().slice(0, 10) : number(value);

/**
 * What a node has in a column; "" for nothing.
 *
 * @param {ItemColumn} column
 * @param {NodeMatrix} matrix
 * @param {number} node
 */
export function nodeText(column, matrix, node) {
  const category = categoryAt(column, matrix, node);
  if (category === NONE) return "";
  if (!isCategory(column)) return valueText(column, matrix.values[node * matrix.shape[1]]);
  const text = column.categories?.[category]?.text ?? `category ${category + 1}`;
  return isWhole(matrix, node) ? text : `${Math.round(100 * shareAt(matrix, node))} % ${text}`;
}

/**
 * The steps of a gradient as text, from the least; where all values are equal each is that value.
 *
 * @param {ItemColumn} column
 */
export function stepTexts(column) {
  const range = rangeOf(column);
  if (!range) return [];
  const [low, high] = range;
  /** @param {number} step */
  const end = (step) => valueText(column, low + (high / N_STEPS - low / N_STEPS) * step);
  return Array.from({ length: N_STEPS }, (_, step) =>
    high > low ? `${end(step)} – ${end(step + 1)}` : valueText(column, low),
  );
}

/**
 * "37 of 1,200 items match".
 *
 * @param {NodeMatrix} matches
 */
export const matchText = ({ values }) => `${number(values[1])} of ${number(values[0])} items match`;

/**
 * A condition in words.
 *
 * @param {ItemColumn} column
 * @param {Condition} condition
 */
export function conditionWords({ name }, { equals, contains, low, high }) {
  const words = [
    equals && `is ${equals}`,
    contains && `contains ${contains}`,
    low && `from ${low}`,
    high && `to ${high}`,
  ];
  return `${name} ${words.filter(Boolean).join(" ")}`;
}

/**
 * The first values of an item for a note about it: texts, numbers, dates; images are left out.
 *
 * @param {ItemColumn[]} columns
 * @param {Record<string, unknown>} values
 * @param {number} most
 * @returns {[name: string, text: string][]}
 */
export function briefly(columns, values, most) {
  /** @type {[string, string][]} */
  const brief = [];
  for (const { name, kind } of columns) {
    if (brief.length === most) break;
    const value = values[name];
    if (kind === "image" || value === null || value === undefined) continue;
    brief.push([name, itemText(kind, value)]);
  }
  return brief;
}

/**
 * A value of an item as text.
 *
 * @param {string} kind
 * @param {unknown} value
 */
export function itemText(kind, value) {
  if (kind === "date") return String(value).replace("T00:00:00Z", "").replace("T", " ");
  return typeof value === "number" ? number(value) : String(value);
}
