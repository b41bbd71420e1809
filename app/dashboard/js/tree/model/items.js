// The items of a tree: their columns, what is known of nodes by them, and conditions. Pure.

import { NONE } from "./store.js";

/** @import { Attachment, ItemColumn } from "../../net/answers.js" */
/** @import { itemsSource } from "../../net/attachments.js" */

/**
 * @typedef {{ shape: number[], values: Float32Array | Float64Array | Int32Array }} NodeMatrix a row for each
 *   node, by id
 * @typedef {{
 *   attachment: Attachment,
 *   source: ReturnType<typeof itemsSource>,
 *   columns: ItemColumn[],
 *   values: Map<number, NodeMatrix>,
 *   strips: number[],
 *   matches: NodeMatrix | null,
 * }} Items what a view shows of an attachment. `values`: of the columns that were loaded; `strips`: the
 *   columns beside the tips, from the inside out; `matches`: of the conditions, if there are any
 *
 * @typedef {{ column: number, equals?: string, contains?: string, low?: string, high?: string }} Condition
 */

/** Steps of the gradient of numbers and dates. */
export const N_STEPS = 9;
/** The share from which a node has the category of all that lies under it. */
const ALL = 0.9995;

/** Whether a column has values of nodes: a strip, and colours.
 *
 * @param {ItemColumn} column
 */
export const hasNodes = (column) => column.of_nodes;

/** The most strips beside the tips, on the page as in pictures by the service. */
export const MOST_STRIPS = 8;

/**
 * The strips of a picture by the service; null for none.
 *
 * @param {{ attachment: { id: string }, strips: number[] } | null} items
 */
export const pictureStrips = (items) =>
  items?.strips.map((at) => `${items.attachment.id}.${at}`).join() || null;

/** @param {ItemColumn} column */
export const isCategory = (column) => column.kind === "category";

/**
 * The least and the largest value of a column of numbers or dates (in s since 1970); null for none.
 *
 * @param {ItemColumn} column
 * @returns {[low: number, high: number] | null}
 */
export function rangeOf({ kind, quantiles, first, last }) {
  if (kind === "number" && quantiles) return [quantiles[0], quantiles[quantiles.length - 1]];
  if (kind === "date" && first && last) return [Date.parse(first) / 1000, Date.parse(last) / 1000];
  return null;
}

/**
 * The category of a node in a column: its number, or the step of its value; -1 for none.
 *
 * @param {ItemColumn} column
 * @param {NodeMatrix} values
 * @param {number} node
 */
export function categoryAt(column, { values, shape }, node) {
  const value = node < 0 || node >= shape[0] ? NaN : values[node * shape[1]];
  if (Number.isNaN(value)) return NONE;
  if (isCategory(column)) return value;
  const range = rangeOf(column);
  return range ? stepOf(value, range) : NONE;
}

/**
 * The share of the category of a node among its items; 1 for a number.
 *
 * @param {NodeMatrix} values
 * @param {number} node
 */
export function shareAt({ values, shape }, node) {
  if (shape[1] < 2 || node < 0 || node >= shape[0]) return 1;
  const share = values[node * shape[1] + 1];
  return Number.isNaN(share) ? 1 : share;
}

/**
 * Whether all items under a node are of its category.
 *
 * @param {NodeMatrix} values
 * @param {number} node
 */
export const isWhole = (values, node) => shareAt(values, node) >= ALL;

/**
 * @param {number} value
 * @param {[low: number, high: number]} range
 */
export function stepOf(value, [low, high]) {
  if (!(high > low)) return Math.floor(N_STEPS / 2);
  // Halved, so that the difference of two finite numbers does not overflow.
  const share = (value / 2 - low / 2) / (high / 2 - low / 2);
  return Math.min(N_STEPS - 1, Math.max(0, Math.floor(share * N_STEPS)));
}

/**
 * Whether some item under a node matches; true where that is not known.
 *
 * @param {NodeMatrix | null} matches
 * @param {number} node
 */
export const isMatched = (matches, node) =>
  !matches ||
  node < 0 ||
  node >= matches.shape[0] ||
  matches.values[2 * node] === 0 ||
  matches.values[2 * node + 1] > 0;

/** The most conditions that are combined. */
export const MOST_CONDITIONS = 8;

const PARTS = /** @type {const} */ (["equals", "contains", "low", "high"]);
/** Between conditions in an address; within one it is encoded. */
const BETWEEN = ";";

/**
 * A condition as text of an address; "" for one that asks for nothing.
 *
 * @param {Condition} condition
 */
export function conditionText(condition) {
  const given = PARTS.filter((name) => condition[name]);
  if (!given.length) return "";
  const query = new URLSearchParams({ column: String(condition.column) });
  for (const name of given) query.set(name, String(condition[name]));
  return String(query);
}

/**
 * The condition in a text of `conditionText`; null for any other text.
 *
 * @param {string} text
 * @returns {Condition | null}
 */
function conditionIn(text) {
  const query = new URLSearchParams(text);
  const column = query.get("column");
  if (column === null || !/^\d{1,3}$/.test(column)) return null;
  /** @type {Condition} */
  const condition = { column: Number(column) };
  for (const name of PARTS) {
    const value = query.get(name);
    if (value) condition[name] = value.slice(0, 200);
  }
  return conditionText(condition) ? condition : null;
}

/**
 * Conditions as text of an address; "" for none.
 *
 * @param {readonly Condition[]} conditions
 */
export const conditionsText = (conditions) => conditions.map(conditionText).join(BETWEEN);

/**
 * The conditions in a text of `conditionsText`, each once; what cannot be read is left out.
 *
 * @param {string | null | undefined} text
 */
export const conditionsIn = (text) =>
  distinctConditions((text ?? "").split(BETWEEN).flatMap((part) => conditionIn(part) ?? [])).slice(
    0,
    MOST_CONDITIONS,
  );

/**
 * Conditions with another one: it takes the place of that on the same column, but for texts, of which an
 * item may contain several. One that asks for nothing only takes that place.
 *
 * @param {readonly Condition[]} conditions
 * @param {Condition} added
 */
export function withCondition(conditions, added) {
  const isFurther = added.contains !== undefined && added.contains !== "";
  const kept = conditions.filter(({ column }) => isFurther || column !== added.column);
  return distinctConditions(conditionText(added) ? [...kept, added] : kept);
}

/** @param {readonly Condition[]} conditions */
const distinctConditions = (conditions) => [
  ...new Map(conditions.map((condition) => [conditionText(condition), condition])).values(),
];

/**
 * Conditions as the service's query: those that must all hold.
 *
 * @param {readonly Condition[]} conditions
 */
export const matchesQuery = (conditions) =>
  String(
    new URLSearchParams(
      conditions.map(({ column, equals, contains, low, high }) => [
        "where",
        JSON.stringify({
          column,
          equals: equals ? [equals] : undefined,
          contains: contains || undefined,
          low: low || undefined,
          high: high || undefined,
        }),
      ]),
    ),
  );
