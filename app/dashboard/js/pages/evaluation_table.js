// Evaluations side by side: a column each, a row for each metric.

import { saveBlob } from "../net/requests.js";
import { csvOf } from "../ui/csv.js";
import { button, el, said } from "../ui/dom.js";
import { number } from "../ui/format.js";

/** The heading, the table of all `columns`, and what can be done with it. */
export function evaluationTable(columns, catalogue, { router, onremove, onclear }) {
  const ids = [...new Set(columns.flatMap((one) => Object.keys(one.metrics)))];
  const about = new Map(catalogue.map((one) => [one.id, one]));
  const warnings = columns.flatMap((one) => one.warnings.map((text) => [one, text]));
  return [
    el("h2", { id: "results-title" }, "Results"),
    columns.length === 0
      ? el(
          "p",
          { class: "quiet" },
          "What is measured stands here, side by side, until this tab is closed.",
        )
      : [
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
                  columns.map((one, at) => columnHead(one, at, { router, onremove })),
                ),
              ),
              el(
                "tbody",
                {},
                ids.map((id) => metricRow(id, about.get(id), columns)),
              ),
            ),
          ),
          warnings.length > 0 &&
            el(
              "ul",
              { class: "quiet" },
              warnings.map(([one, text]) => el("li", {}, said(one.name), ": ", said(text))),
            ),
          el(
            "div",
            { class: "row" },
            button("Save as CSV", { iconName: "download", onclick: () => saveCsv(columns, ids) }),
            button("Clear", { onclick: onclear }),
          ),
        ],
  ];
}

function columnHead(one, at, { router, onremove }) {
  const cut =
    one.cut &&
    Object.entries(one.cut)
      .map(([name, value]) => `${name} ${number(value)}`)
      .join(", ");
  return el(
    "th",
    { scope: "col", class: "numeric result-head" },
    el("a", { href: router.href(`/trees/${one.tree}`) }, said(one.name)),
    el("span", { class: "field-hint" }, said(one.against), cut && ` · ${cut}`),
    button("", {
      kind: "ghost small icon-only",
      iconName: "close",
      "aria-label": `Take column ${at + 1}, ${one.name}, away`,
      onclick: () => onremove(one),
    }),
  );
}

function metricRow(id, metric, columns) {
  const sign = metric?.better === "lower" ? -1 : 1;
  const found = columns.map((one) => one.metrics[id]).filter((value) => Number.isFinite(value));
  const best = found.length > 1 ? Math.max(...found.map((value) => sign * value)) : NaN;
  return el(
    "tr",
    {},
    el(
      "th",
      { scope: "row", title: metric?.definition },
      metric?.title ?? id,
      metric?.better === "lower" && el("span", { class: "field-hint" }, " lower is better"),
    ),
    columns.map((one) => {
      const value = one.metrics[id];
      const isBest = sign * value === best;
      const error = one.standard_errors[id];
      return el(
        "td",
        {
          class: `numeric${isBest ? " best" : ""}`,
          title: value === undefined ? "" : String(value),
        },
        number(value),
        error !== undefined && el("span", { class: "quiet" }, ` ± ${number(error)}`),
        isBest && el("span", { class: "visually-hidden" }, " (best)"),
      );
    }),
  );
}

function saveCsv(columns, ids) {
  const lines = [
    ["metric", ...columns.map((one) => `${one.name} against ${one.against}`)],
    ...ids.map((id) => [id, ...columns.map((one) => one.metrics[id])]),
  ];
  saveBlob(csvOf(lines), "evaluations.csv");
}
