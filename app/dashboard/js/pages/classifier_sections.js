// The sections of a classifier's evaluation: each a table with its CSV file.

import * as router from "../router.js";
import { button } from "../ui/controls.js";
import { csvOf } from "../ui/csv.js";
import { bdiName, el } from "../ui/dom.js";
import { saveBlob } from "../ui/downloads.js";
import { count, plural } from "../ui/format.js";
import { table } from "../ui/tables.js";
import { difference, gains } from "./class_tables.js";

/** @import { ClassRow, Confusion, Job, LevelRow, Metric, SizeRow } from "../net/answers.js" */
/** @import { Child } from "../ui/dom.js" */
/** @import { Column } from "../ui/tables.js" */
/** @import { Pair } from "./class_tables.js" */

/**
 * @typedef {{ own: string, other: string }} Names of two classifiers
 * @typedef {{ tree: string, job: string, names: Names | null, note?: Child }} Context the tree of the first
 *   classifier, the job of its evaluation, and the names of both if there are two
 * @typedef {number | null | undefined} Share from 0 to 1
 */

/** Longer tables are scrolled, and of very long ones a part is shown. */
const FEW = 15;
const MOST = 500;

/** Metrics that depend on the hierarchy. */
const OF_TREE = new Set(["hierarchical_f1", "hierarchical_loss"]);

/** @param {Share} value */
const share = (value) => (typeof value === "number" ? value.toFixed(3) : "–");

/** @param {Share} value */
const signed = (value) => {
  if (typeof value !== "number") return "–";
  const text = Math.abs(value).toFixed(3);
  return Number(text) === 0 ? text : `${value > 0 ? "+" : "−"}${text}`;
};

/**
 * @param {Share} value
 * @param {{ isLowerBetter?: boolean }} [options]
 */
function gainText(value, { isLowerBetter = false } = {}) {
  const isBetter = typeof value === "number" && (isLowerBetter ? value < 0 : value > 0);
  const isWorse = typeof value === "number" && (isLowerBetter ? value > 0 : value < 0);
  return el("span", { class: isBetter ? "is-gain" : isWorse ? "is-loss" : "" }, signed(value));
}

/**
 * What the letters of the columns mean.
 *
 * @param {Names | null} names
 */
const legend = (names) =>
  names &&
  el(
    "p",
    { class: "quiet" },
    el("strong", {}, "A"),
    " is ",
    bdiName(names.own),
    ", ",
    el("strong", {}, "B"),
    " is ",
    bdiName(names.other),
    "; A − B above 0: A is higher.",
  );

/**
 * @param {string} id
 * @param {string} title
 * @param {{ explained?: Child, list: HTMLElement, csv: () => unknown[][], file: string }} content
 */
function section(id, title, { explained, list, csv, file }) {
  list.classList.add("folds");
  return el(
    "section",
    { class: "card", "aria-labelledby": id },
    el("h2", { id }, title),
    el(
      "div",
      { class: "stack" },
      explained,
      list,
      el(
        "div",
        { class: "row" },
        button(`${title} as CSV`, {
          kind: "small",
          iconName: "download",
          onclick: () => saveBlob(csvOf(csv()), file),
        }),
      ),
    ),
  );
}

/**
 * The columns of a share: of one classifier, or of both with the difference.
 *
 * @template Row
 * @param {string} label
 * @param {(row: Row) => Share} of
 * @param {Names | null} names
 * @returns {Column<Pair<Row>>[]}
 */
function shareColumns(label, of, names) {
  /** @param {Pair<Row>} pair */
  const other = (pair) => (pair.other ? of(pair.other) : null);
  /** @param {Pair<Row>} pair */
  const gain = (pair) => difference(of(pair.own), other(pair));
  /** @type {(title: string, value: (pair: Pair<Row>) => Share) => Column<Pair<Row>>} */
  const column = (title, value) => ({
    label: title,
    numeric: true,
    sort: value,
    cell: (pair) => share(value(pair)),
  });
  if (!names) return [column(label, ({ own }) => of(own))];
  return [
    column(`${label}, A`, ({ own }) => of(own)),
    column(`${label}, B`, other),
    { label: "A − B", numeric: true, sort: gain, cell: (pair) => gainText(gain(pair)) },
  ];
}

/**
 * @template Row
 * @param {string} label
 * @param {(row: Row) => number} of
 * @returns {Column<Pair<Row>>}
 */
const countColumn = (label, of) => ({
  label,
  numeric: true,
  sort: ({ own }) => of(own),
  cell: ({ own }) => count(of(own)),
});

/**
 * The rows of a file: fields of the first classifier, then the compared fields of both.
 *
 * @template Row
 * @param {Pair<Row>[]} pairs
 * @param {(keyof Row & string)[]} names
 * @param {(keyof Row & string)[]} compared the names that both have
 * @param {boolean} hasOther
 * @returns {unknown[][]}
 */
function csvRows(pairs, names, compared, hasOther) {
  const added = hasOther ? compared.flatMap((name) => [`${name}_b`, `${name}_a_minus_b`]) : [];
  return [
    [...names, ...added],
    ...pairs.map(({ own, other }) => [
      ...names.map((name) => own[name]),
      ...(hasOther
        ? compared.flatMap((name) => {
            const [a, b] = [own[name], other?.[name]].map((value) => /** @type {Share} */ (value));
            return [b, difference(a, b)];
          })
        : []),
    ]),
  ];
}

/**
 * The metrics with their standard errors and intervals.
 *
 * @param {Job} job
 * @param {Job | null} other
 * @param {Metric[]} catalogue
 * @param {{ names: Names | null, isSameTree: boolean }} options `isSameTree`: whether both have the same
 *   hierarchy
 */
export function metricSection(job, other, catalogue, { names, isSameTree }) {
  const known = new Map(catalogue.map((metric) => [metric.id, metric]));
  const own = job.result?.evaluation;
  const second = other?.result?.evaluation ?? null;
  const rows = Object.entries(own?.metrics ?? {});
  /** @typedef {(typeof rows)[number]} Row */
  /** @type {(evaluation: typeof own | null, suffix: string) => Column<Row>[]} */
  const values = (evaluation, suffix) => [
    {
      label: `Value${suffix}`,
      numeric: true,
      cell: ([id]) =>
        el(
          "span",
          { class: "one-line", title: String(evaluation?.metrics[id] ?? "") },
          share(evaluation?.metrics[id]),
          evaluation?.standard_errors[id] !== undefined &&
            el(
              "span",
              { class: "quiet", title: "Standard error" },
              ` ± ${share(evaluation.standard_errors[id])}`,
            ),
        ),
    },
    {
      label: `95% interval${suffix}`,
      numeric: true,
      cell: ([id]) => {
        const [low, high] = evaluation?.intervals?.[id] ?? [];
        return el("span", { class: "one-line" }, low === undefined ? "–" : `${share(low)} to ${share(high)}`); // prettier-ignore
      },
    },
  ];
  /** @param {Row} row */
  const gain = ([id, value]) =>
    isSameTree || !OF_TREE.has(id) ? difference(value, second?.metrics[id]) : null;
  const list = table({
    caption: "Values of the metrics",
    columns: [
      {
        label: "Metric",
        head: true,
        cell: ([id]) => [
          known.get(id)?.title ?? id,
          el(
            "span",
            { class: "field-hint meaning", title: known.get(id)?.definition },
            known.get(id)?.better === "lower" ? "lower is better" : "higher is better",
          ),
        ],
      },
      ...values(own, names ? ", A" : ""),
      .../** @type {Column<Row>[]} */ (
        names
          ? [
              ...values(second, ", B"),
              {
                label: "A − B",
                numeric: true,
                cell: (row) =>
                  gainText(gain(row), { isLowerBetter: known.get(row[0])?.better === "lower" }),
              },
            ]
          : []
      ),
    ],
    rows,
  });
  return section("metrics-title", "Metrics", {
    explained: [
      legend(names),
      el(
        "p",
        { class: "quiet" },
        "Standard errors and intervals are by bootstrap over the rows, for each classifier alone.",
        names &&
          !isSameTree &&
          " Hierarchical F1 and loss depend on the tree and cannot be compared here.",
      ),
    ],
    list,
    file: `${job.id}-metrics.csv`,
    csv: () => {
      const fields = ["metric", "value", "standard_error", "low", "high"];
      const ends = names ? ["value_b", "standard_error_b", "low_b", "high_b", "a_minus_b"] : [];
      /** @type {(evaluation: typeof own | null, id: string) => unknown[]} */
      const of = (evaluation, id) => [
        evaluation?.metrics[id],
        evaluation?.standard_errors[id],
        ...(evaluation?.intervals?.[id] ?? [null, null]),
      ];
      return [
        [...fields, ...ends],
        ...rows.map((row) => [
          row[0],
          ...of(own, row[0]),
          ...(names ? [...of(second, row[0]), gain(row)] : []),
        ]),
      ];
    },
  });
}

/**
 * F1 over the nodes of each level.
 *
 * @param {Pair<LevelRow>[]} pairs
 * @param {Context} context
 */
export function levelSection(pairs, { job, names, note }) {
  const list = table({
    caption: "F1 by level",
    columns: [
      {
        label: "Level",
        head: true,
        sort: ({ own }) => own.level,
        cell: ({ own }) => own.level,
      },
      countColumn("Nodes", (row) => row.n_nodes),
      countColumn("Labels there", (row) => row.support),
      ...shareColumns("Macro F1", (row) => row.macro_f1, names),
      ...shareColumns("Micro F1", (row) => row.micro_f1, names),
    ],
    rows: pairs,
  });
  /** @type {(keyof LevelRow)[]} */
  const fields = ["level", "n_nodes", "n_occurring", "support", "macro_f1", "micro_f1"];
  return section("levels-title", "By level", {
    explained: [
      legend(names),
      el(
        "p",
        { class: "quiet" },
        "Level 0 is the root. A row counts for every node on the path to its label. ",
        note,
      ),
    ],
    list,
    file: `${job}-levels.csv`,
    csv: () => csvRows(pairs, fields, ["macro_f1", "micro_f1"], names !== null),
  });
}

/**
 * F1 over classes of about the same number of training examples.
 *
 * @param {Pair<SizeRow>[]} pairs
 * @param {Context} context
 */
export function sizeSection(pairs, { job, names }) {
  const list = table({
    caption: "F1 by size of class",
    columns: [
      {
        label: "Training examples",
        head: true,
        cell: ({ own }) => own.training_examples,
      },
      countColumn("Classes", (row) => row.n_classes),
      countColumn("Rows", (row) => row.support),
      ...shareColumns("Macro F1", (row) => row.macro_f1, names),
      ...shareColumns("Micro F1", (row) => row.micro_f1, names),
    ],
    rows: pairs,
  });
  /** @type {(keyof SizeRow)[]} */
  const fields = ["training_examples", "n_classes", "n_occurring", "support", "macro_f1", "micro_f1"]; // prettier-ignore
  return section("sizes-title", "By size of class", {
    explained: legend(names),
    list,
    file: `${job}-sizes.csv`,
    csv: () => csvRows(pairs, fields, ["macro_f1", "micro_f1"], names !== null),
  });
}

/**
 * Precision, recall and F1 of every class.
 *
 * @param {Pair<ClassRow>[]} pairs
 * @param {Context} context
 */
export function classSection(pairs, { tree, job, names }) {
  const list = table({
    caption: "F1 by class",
    columns: [
      {
        label: "Class",
        head: true,
        sort: ({ own }) => own.label,
        cell: ({ own }) => nodeLink(own.label, own.node, { tree, job }),
      },
      countColumn("Training examples", (row) => row.training_examples),
      countColumn("Rows", (row) => row.support),
      countColumn("Given", (row) => row.n_given),
      ...(names
        ? []
        : [
            ...shareColumns("Precision", (/** @type {ClassRow} */ row) => row.precision, null),
            ...shareColumns("Recall", (/** @type {ClassRow} */ row) => row.recall, null),
          ]),
      ...shareColumns("F1", (row) => row.f1, names),
    ],
    rows: pairs,
    most: MOST,
  });
  list.classList.toggle("long", pairs.length > FEW);
  /** @type {(keyof ClassRow)[]} */
  const fields = ["label", "node", "training_examples", "support", "n_given", "precision", "recall", "f1"]; // prettier-ignore
  const { n, higher, lower, same } = gains(pairs);
  return section("classes-title", names ? "Which classes gain" : "By class", {
    explained: names && [
      legend(names),
      el(
        "p",
        { role: "status" },
        `F1 of both is known for ${plural(n, "class", "classes")}: ${count(higher)} higher by A, ${count(lower)} lower, ${count(same)} the same.`,
        pairs.length > n &&
          ` ${plural(pairs.length - n, "class", "classes")} cannot be compared: they do not occur, or B does not know them.`,
      ),
    ],
    list,
    file: `${job}-classes.csv`,
    csv: () => csvRows(pairs, fields, ["precision", "recall", "f1"], names !== null),
  });
}

/**
 * The most frequent confusions.
 *
 * @param {Confusion[]} confusions
 * @param {Context} context
 */
export function confusionSection(confusions, { tree, job, names }) {
  const list = table({
    caption: "The most frequent confusions",
    columns: [
      {
        label: "True",
        head: true,
        sort: (row) => row.true,
        cell: (row) => nodeLink(row.true, row.true_node, { tree, job }),
      },
      {
        label: "Given",
        sort: (row) => row.predicted,
        cell: (row) =>
          row.predicted === null
            ? el("span", { class: "quiet" }, "none")
            : nodeLink(row.predicted, row.predicted_node, { tree, job }),
      },
      {
        label: "Times",
        numeric: true,
        sort: (row) => row.count,
        cell: (row) => count(row.count),
      },
    ],
    rows: confusions,
    empty: "No row was given a wrong label.",
  });
  list.classList.toggle("long", confusions.length > FEW);
  return section("confusions-title", "Confusions", {
    explained: [
      names && legend(names),
      el(
        "p",
        { class: "quiet" },
        `True labels that were missed${names ? " by A" : ""}, with the most probable wrong label of the row.`,
      ),
    ],
    list,
    file: `${job}-confusions.csv`,
    csv: () => [
      ["true", "true_node", "predicted", "predicted_node", "count"],
      ...confusions.map((row) => [
        row.true,
        row.true_node,
        row.predicted,
        row.predicted_node,
        row.count,
      ]),
    ],
  });
}

/**
 * A label, linked to its node in the tree in the colours of the errors.
 *
 * @param {string} label
 * @param {number | null} node
 * @param {{ tree: string, job: string }} place
 */
const nodeLink = (label, node, { tree, job }) =>
  node === null
    ? bdiName(label)
    : el(
        "a",
        { href: router.href(`/trees/${tree}`, { color: job, node: String(node) }) },
        bdiName(label),
      );
