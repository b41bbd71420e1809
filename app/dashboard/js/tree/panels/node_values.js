// What a method says of a node, whatever it is: numbers, texts, lists of them, weighted names.

import { el, said, table } from "../../ui/dom.js";
import { count, number, plural } from "../../ui/format.js";

const VALUES = 12;

/** A line of a list of facts. */
export const fact = (name, value) => [el("dt", {}, name), el("dd", {}, value)];

/** "parent_probability" -> "Parent probability". */
export const words = (name) => name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ");

/** One value, and not several. */
export const isPlain = (value) => value === null || typeof value !== "object";
/** A single value for people. */
export const plainly = (value) =>
  typeof value === "number" || value === null
    ? number(value)
    : typeof value === "boolean"
      ? value
        ? "yes"
        : "no"
      : said(value);

/** A number with the ends of its interval: "213.3, 95% from 210.2 to 216.3". */
export const spread = (value, low, high) =>
  low < high
    ? [number(value), el("span", { class: "quiet" }, ` · 95% ${number(low)} to ${number(high)}`)]
    : number(value);

/** A list or an object that a method gave, whatever it holds. */
export function listOf(value) {
  const entries = Array.isArray(value) ? value.map((one, at) => [at, one]) : Object.entries(value);
  if (!entries.length) return el("p", { class: "quiet" }, "none");
  const shown = entries.slice(0, VALUES);
  const rest = entries.length - shown.length;
  const more = rest > 0 && el("p", { class: "quiet" }, `and ${count(rest)} more`);
  if (Array.isArray(value) && shown.every(([, one]) => isPlain(one))) {
    const numbers = shown.every(([, one]) => typeof one === "number");
    return numbers && shown.length > 2
      ? [el("p", { class: "node-numbers" }, shown.map(([, one]) => number(one)).join("   ")), more]
      : [
          el(
            "ul",
            { class: "node-chips" },
            shown.map(([, one]) => el("li", {}, plainly(one))),
          ),
          more,
        ];
  }
  if (shown.every(([, one]) => isPair(one))) {
    return [bars(shown.map(([, one]) => pairOf(one))), more];
  }
  if (tellsFeatures(value)) return [featureTable(shown.map(([, one]) => one)), more];
  if (!Array.isArray(value) && shown.every(([, one]) => isPlain(one))) {
    if (shown.every(([, one]) => typeof one === "number")) return [bars(shown), more];
    return [
      el(
        "dl",
        { class: "facts" },
        shown.map(([name, one]) => fact(words(name), plainly(one))),
      ),
      more,
    ];
  }
  return el(
    "details",
    {},
    el("summary", {}, plural(entries.length, "value")),
    el("pre", { class: "listing" }, JSON.stringify(value, null, 1).slice(0, 4000)),
  );
}

const named = (one) => one?.feature ?? one?.term;

/** Whether it is a list of features with numbers: {feature: "red", weights: [0.4, -0.4], ...}. */
export const tellsFeatures = (value) =>
  Array.isArray(value) && value.length > 0 && value.every((one) => named(one) !== undefined);

/** A line a feature; a number for each child where the method gives as many. */
function featureTable(items) {
  const keys = Object.keys(items[0]).filter((key) => key !== "feature" && key !== "term");
  const columns = keys.flatMap((key) =>
    Array.isArray(items[0][key])
      ? items[0][key].map((_, at) => ({
          label: `${words(key.replace(/s$/, ""))} ${at + 1}`,
          numeric: true,
          cell: (one) => number(one[key]?.[at] ?? null),
        }))
      : [{ label: words(key), numeric: true, cell: (one) => plainly(one[key] ?? null) }],
  );
  return table({
    caption: "Features, the most telling first",
    columns: [
      { label: "Feature", head: true, cell: (one) => said(String(named(one))) },
      ...columns,
    ],
    rows: items,
  });
}

/** A name with a number: ["red", 0.4], {feature: "red", weight: 0.4}. */
function isPair(one) {
  if (isPlain(one)) return false;
  const values = Object.values(one);
  return (
    values.length === 2 &&
    values.filter((v) => typeof v === "number").length >= 1 &&
    values.every(isPlain)
  );
}

function pairOf(one) {
  const [a, b] = Object.values(one);
  return typeof b === "number" ? [a, b] : [b, a];
}

function bars(pairs) {
  const most = Math.max(...pairs.map(([, value]) => Math.abs(value)), 1e-300);
  return el(
    "ul",
    { class: "node-bars" },
    pairs.map(([name, value]) =>
      el(
        "li",
        {},
        said(String(name), { class: "node-bar-name" }),
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
