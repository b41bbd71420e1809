// Evaluations side by side: a column for each, a row for each metric.

import * as router from "../router.js";
import { button } from "../ui/controls.js";
import { csvOf } from "../ui/csv.js";
import { bdi, el } from "../ui/dom.js";
import { saveBlob } from "../ui/downloads.js";
import { number } from "../ui/format.js";

/** @import { Evaluation, Metric } from "../net/answers.js" */
/** @import { Child } from "../ui/dom.js" */

/**
 * @typedef {Pick<Evaluation, "cut" | "metrics" | "standard_errors" | "warnings"> & {
 *   tree: string,
 *   name: string,
 *   against: string,
 * }} Measured an evaluation with its tree's id and name, and what the tree was measured against
 */

/**
 * The heading, the table, and its actions.
 *
 * @param {Measured[]} columns
 * @param {Metric[]} catalogue
 * @param {{ onremove: (column: Measured) => unknown, onclear: () => unknown }} handlers
 * @returns {Child}
 */
export function evaluationTable(columns, catalogue, { onremove, onclear }) {
  const heading = el("h2", { id: "results-title" }, "Results");
  if (!columns.length) {
    return [
      heading,
      el("p", { class: "quiet" }, "Results stand here side by side until this tab is closed."),
    ];
  }
  const ids = [...new Set(columns.flatMap((column) => Object.keys(column.metrics)))];
  const known = new Map(catalogue.map((metric) => [metric.id, metric]));
  const warnings = columns.flatMap(({ name, warnings: texts }) =>
    texts.map((text) => el("li", {}, bdi(name), ": ", bdi(text))),
  );
  return [
    heading,
    el(
      "div",
      {
        class: "table-place",
        tabindex: "0",
        role: "region",
        "aria-label": "Results side by side",
      },
      el(
        "table",
        { class: "results" },
        el(
          "caption",
          { class: "visually-hidden" },
          "Evaluations side by side; the best of each metric is marked",
        ),
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            el("th", { scope: "col" }, "Metric"),
            columns.map((column, at) => columnHead(column, at, () => onremove(column))),
          ),
        ),
        el(
          "tbody",
          {},
          ids.map((id) => metricRow(id, known.get(id), columns)),
        ),
      ),
    ),
    warnings.length > 0 && el("ul", { class: "quiet" }, warnings),
    el(
      "div",
      { class: "row" },
      button("Save as CSV", { iconName: "download", onclick: () => saveCsv(columns, ids) }),
      button("Clear", { onclick: () => onclear() }),
    ),
  ];
}

/**
 * @param {Measured} column
 * @param {number} at
 * @param {() => unknown} onremove
 */
function columnHead({ tree, name, against, cut }, at, onremove) {
  const cutText = Object.entries(cut ?? {})
    .map(([by, value]) => `${by} ${number(value)}`)
    .join(", ");
  return el(
    "th",
    { scope: "col", class: "numeric result-head" },
    el("a", { href: router.href(`/trees/${tree}`) }, bdi(name)),
    el("span", { class: "field-hint" }, bdi(against), cutText && ` · ${cutText}`),
    button("", {
      kind: "ghost small icon-only",
      iconName: "close",
      "aria-label": `Remove column ${at + 1}, ${name}`,
      onclick: onremove,
    }),
  );
}

/**
 * @param {string} id
 * @param {Metric | undefined} metric
 * @param {Measured[]} columns
 */
function metricRow(id, metric, columns) {
  const isLowerBetter = metric?.better === "lower";
  const values = columns.map((column) => column.metrics[id]);
  const best = bestOf(values, isLowerBetter);
  return el(
    "tr",
    {},
    el(
      "th",
      { scope: "row", title: metric?.definition },
      metric?.title ?? id,
      isLowerBetter && el("span", { class: "field-hint" }, " lower is better"),
    ),
    columns.map(({ standard_errors: errors }, at) => {
      const value = values[at];
      const isBest = best !== null && value === best;
      return el(
        "td",
        {
          class: `numeric${isBest ? " best" : ""}`,
          title: value === undefined ? "" : String(value),
        },
        number(value),
        errors[id] !== undefined && el("span", { class: "quiet" }, ` ± ${number(errors[id])}`),
        isBest && el("span", { class: "visually-hidden" }, " (best)"),
      );
    }),
  );
}

/**
 * The best of several values; null if there are fewer than two.
 *
 * @param {(number | null | undefined)[]} values
 * @param {boolean} isLowerBetter
 */
export function bestOf(values, isLowerBetter) {
  const known = values.filter((value) => typeof value === "number").filter(Number.isFinite);
  if (known.length < 2) return null;
  return isLowerBetter ? Math.min(...known) : Math.max(...known);
}

/**
 * @param {Measured[]} columns
 * @param {string[]} ids
 */
function saveCsv(columns, ids) {
  const lines = [
    ["metric", ...columns.map(({ name, against }) => `${name} against ${against}`)],
    ...ids.map((id) => [id, ...columns.map(({ metrics }) => metrics[id])]),
  ];
  saveBlob(csvOf(lines), "evaluations.csv");
}
