// The values of any kind that a method reports for a node: numbers, texts, lists of them, weighted
// names.

import { bdi, bdiName, el } from "../../ui/dom.js";
import { count, number, plural } from "../../ui/format.js";
import { table } from "../../ui/tables.js";

/** @import { Child } from "../../ui/dom.js" */
/** @import { Column } from "../../ui/tables.js" */

/** @typedef {string | number | boolean | null | undefined} Plain one value, and not several */
/** @typedef {{ feature?: unknown, term?: unknown, [name: string]: unknown }} Feature */

const VALUES = 12;

/**
 * A line of a list of facts.
 *
 * @param {string} name
 * @param {Child} value
 */
export const fact = (name, value) => [el("dt", {}, name), el("dd", {}, value)];

/**
 * "parent_probability" -> "Parent probability".
 *
 * @param {string} name
 */
export const words = (name) => name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ");

/**
 * Whether it is one value, and not several.
 *
 * @param {unknown} value
 * @returns {value is Plain}
 */
export const isPlain = (value) => value === null || typeof value !== "object";

/**
 * A single value as text.
 *
 * @param {Plain} value
 */
export function plainText(value) {
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "string" ? bdi(value) : number(value);
}

/**
 * A number with the ends of its interval: "213.3 · 95% 210.2 to 216.3".
 *
 * @param {unknown} value
 * @param {unknown} low
 * @param {unknown} high
 * @returns {Child}
 */
export const withInterval = (value, low, high) =>
  typeof low === "number" && typeof high === "number" && low < high
    ? [number(value), el("span", { class: "quiet" }, ` · 95% ${number(low)} to ${number(high)}`)]
    : number(value);

/**
 * A list or an object of any content from a method.
 *
 * @param {unknown} value
 * @returns {Child}
 */
export function valueList(value) {
  const all = Object.entries(/** @type {object} */ (value));
  if (!all.length) return el("p", { class: "quiet" }, "none");
  const shown = all.slice(0, VALUES);
  const items = shown.map(([, item]) => item);
  const rest = all.length - shown.length;
  const more = rest > 0 && el("p", { class: "quiet" }, `and ${count(rest)} more`);
  if (items.every(isPlain)) {
    const numbers = items.filter((item) => typeof item === "number");
    const isNumeric = numbers.length === items.length;
    if (!Array.isArray(value)) return [isNumeric ? bars(shown) : facts(shown), more];
    return [
      isNumeric && numbers.length > 2
        ? el("p", { class: "node-numbers" }, numbers.map(number).join("   "))
        : chips(items),
      more,
    ];
  }
  if (items.every(isPair)) return [bars(items.map(pairOf)), more];
  if (isFeatures(value)) return [featureTable(value.slice(0, VALUES)), more];
  return el(
    "details",
    {},
    el("summary", {}, plural(all.length, "value")),
    el("pre", { class: "listing" }, JSON.stringify(value, null, 1).slice(0, 4000)),
  );
}

/** @param {Plain[]} items */
const chips = (items) =>
  el(
    "ul",
    { class: "node-chips" },
    items.map((item) => el("li", {}, plainText(item))),
  );

/** @param {[name: string, value: Plain][]} entries */
const facts = (entries) =>
  el(
    "dl",
    { class: "facts" },
    entries.map(([name, item]) => fact(words(name), plainText(item))),
  );

/** @param {Feature} item */
const nameIn = (item) => item.feature ?? item.term;

/**
 * Whether it is a list of features with numbers: {feature: "red", weights: [0.4, -0.4], ...}.
 *
 * @param {unknown} value
 * @returns {value is Feature[]}
 */
export const isFeatures = (value) =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((item) => !isPlain(item) && nameIn(/** @type {Feature} */ (item)) !== undefined);

/**
 * A line per feature, with a number for each child if the method gives them.
 *
 * @param {Feature[]} items
 */
function featureTable(items) {
  const keys = Object.keys(items[0]).filter((key) => key !== "feature" && key !== "term");
  return table({
    caption: "Features, the most distinctive first",
    columns: [
      { label: "Feature", head: true, cell: (item) => bdiName(String(nameIn(item))) },
      ...keys.flatMap((key) => featureColumns(key, items[0][key])),
    ],
    rows: items,
  });
}

/**
 * The columns of one key: several if its first value is a list.
 *
 * @param {string} key
 * @param {unknown} first
 * @returns {Column<Feature>[]}
 */
function featureColumns(key, first) {
  if (!Array.isArray(first)) {
    /** @param {Feature} item */
    const cell = ({ [key]: value }) => (isPlain(value) ? plainText(value) : "–");
    return [{ label: words(key), numeric: true, cell }];
  }
  return first.map((_, at) => ({
    label: `${words(key.replace(/s$/, ""))} ${at + 1}`,
    numeric: true,
    cell: ({ [key]: values }) => number(Array.isArray(values) ? values[at] : null),
  }));
}

/**
 * Whether it is a name with a number: ["red", 0.4], {feature: "red", weight: 0.4}.
 *
 * @param {unknown} item
 */
function isPair(item) {
  if (isPlain(item)) return false;
  const values = Object.values(/** @type {object} */ (item));
  return (
    values.length === 2 &&
    values.some((value) => typeof value === "number") &&
    values.every(isPlain)
  );
}

/**
 * @param {object} item
 * @returns {[name: Plain, value: number]}
 */
function pairOf(item) {
  const [a, b] = Object.values(item);
  return typeof b === "number" ? [a, b] : [b, a];
}

/** @param {[name: Plain, value: number][]} pairs */
function bars(pairs) {
  const most = Math.max(...pairs.map(([, value]) => Math.abs(value)), 1e-300);
  return el(
    "ul",
    { class: "node-bars" },
    pairs.map(([name, value]) =>
      el(
        "li",
        {},
        bdiName(String(name), { class: "node-bar-name" }),
        el(
          "span",
          { class: "node-bar" },
          el("span", {
            class: value < 0 ? "is-negative" : "",
            style: { width: `${Math.max(1, (100 * Math.abs(value)) / most)}%` },
          }),
        ),
        el("span", { class: "numeric" }, number(value)),
      ),
    ),
  );
}
