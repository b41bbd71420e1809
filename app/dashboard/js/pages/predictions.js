// New rows placed by a fitted model: requested on its job's page, shown there or on the page of the job
// that it becomes.

import { methodOf, schemas } from "../forms/catalogue.js";
import { usableDatasets } from "../forms/datasets.js";
import { columnsFor, refusalOf } from "../forms/fitted_rows.js";
import { focusWrong, showProblem } from "../forms/form_problem.js";
import { inputsForm, rolesOf } from "../forms/inputs_form.js";
import { readable } from "../forms/parameter_names.js";
import { schemaForm } from "../forms/schema_form.js";
import { NEWEST, newRows } from "../forms/suggested_rows.js";
import { calledNames } from "../net/called_names.js";
import { aborted, hasStatus, problemOf } from "../net/problem.js";
import { fittedRows } from "../net/fitted_rows.js";
import { get, raw, send } from "../net/requests.js";
import * as router from "../router.js";
import { button } from "../ui/controls.js";
import { csvOf, rowsOf } from "../ui/csv.js";
import { bdi, bdiName, el, replace } from "../ui/dom.js";
import { download, saveBlob } from "../ui/downloads.js";
import { capitalized, count, number, plural, uncapitalized } from "../ui/format.js";
import { problemBox, waiting } from "../ui/notices.js";
import { STEPS } from "../ui/step_titles.js";
import { table } from "../ui/tables.js";
import { endName } from "./end_name.js";

/** @import { Job, Method, Model, Prediction } from "../net/answers.js" */
/** @import { Child } from "../ui/dom.js" */
/** @import { Column } from "../ui/tables.js" */

/** @typedef {string | number | null | undefined} Value */

/**
 * @typedef {NonNullable<Prediction["top"]>} Best
 * @typedef {{ id: number, name: string | null }} Named
 *
 * @typedef {{
 *   row: number,
 *   leaf: number,
 *   path: number[],
 *   probability: number,
 *   label?: string | null,
 *   node?: number,
 *   labels?: string[],
 *   top?: Best,
 *   nodes?: Named[],
 *   cluster?: { node: number | null, name: string | null },
 *   values: Value[],
 * }} Placed a row with its cluster, or with its labels, and the values of the method besides; `probability`
 *   is that of the end of the path
 *
 * @typedef {{ names: string[], rows: Placed[] }} Placings `names` of the values
 */

/** More rows than these become a job with its own page. */
const AT_ONCE = 5000;
const SHOWN = 100;
const PEEK_LENGTH = 1 << 18;
/** Columns that are shown in a way of their own. */
const OWN = new Set([
  ...["row", "leaf", "path", "probabilities", "node", "label", "labels", "top"],
  ...["nodes", "node_names", "depth", "n_classes", "mass"],
  ...["cluster", "cluster_node", "cluster_name"],
]);
/** What predictions of classifiers take besides the rows. */
const OPTIONS = ["top_k", "threshold", "confidence"];
/** @type {Record<string, string>} */
const TITLES = {
  in_sample: "In-sample",
  in_sample_rank: "Rank among known rows",
  log_likelihood: "Log-likelihood, nats",
};

/**
 * A card to place new rows with the model of `job`; hidden where it places none.
 *
 * @param {Job} job
 * @param {string} modelId
 * @param {AbortSignal} signal
 */
export function predictionCard(job, modelId, signal) {
  const element = el("section", {
    class: "card",
    "aria-labelledby": "placing-title",
    hidden: true,
  });
  const fill = async () => {
    const method = await methodOf(job.method);
    if (!method?.predicts) return;
    /** @type {Model} */
    const model = await get(`/v1/models/${modelId}`, { signal, quiet: true });
    const form = await predictionForm(method, model, { signal });
    element.hidden = false;
    replace(element, el("h2", { id: "placing-title" }, "Place new rows"), form);
  };
  fill().catch((error) => {
    if (!aborted(error) && !hasStatus(error, 404)) element.remove();
  });
  return element;
}

/**
 * The form of rows to be placed, with what was placed below it.
 *
 * @param {Method} method
 * @param {Model} model
 * @param {{ signal: AbortSignal, calibration?: () => string }} options `calibration`: the one by which rows
 *   are answered besides
 */
export async function predictionForm(method, model, { signal, calibration }) {
  const [datasets, fitted] = await Promise.all([
    usableDatasets([], { signal }),
    fittedRows(model, signal),
  ]);
  const inputs = inputsForm(rolesOf(method, model), {
    datasets,
    method: method.id,
    refusal: refusalOf(fitted),
    files: { signal, columns: (dataset, role) => columnsFor(fitted, dataset, role) },
  });
  const refusal = refusalOf(fitted, { heldOut: true });
  const [newest] = newRows(datasets, { roles: model.inputs, fitted, refusal });
  if (newest) inputs.suggest(model.inputs[0], newest.id, NEWEST);
  const options = method.classifies ? await optionsForm() : null;
  const results = el("div", { class: "stack" });
  const place = async () => {
    const { inputs: chosen, errors } = inputs.read();
    const { values = {}, errors: wrong = {} } = options?.read() ?? {};
    replace(results);
    if (Object.keys({ ...errors, ...wrong }).length) {
      focusWrong(inputs.element, options?.element);
      return;
    }
    const isLong = Object.values(chosen)
      .map((id) => inputs.datasets().find((dataset) => dataset.id === id)?.shape?.[0] ?? Infinity)
      .some((rows) => rows > AT_ONCE);
    go.disabled = true;
    replace(results, waiting("Placing…"));
    try {
      /** @type {{ items: Prediction[] } | Job} */
      const answer = await send(
        "POST",
        `/v1/models/${model.id}/predictions`,
        { inputs: chosen, ...values, ...(calibration?.() ? { calibration: calibration() } : {}) },
        { headers: { Prefer: `wait=${isLong ? 0 : 20}` }, signal },
      );
      if ("items" in answer) replace(results, await inlineResults(answer.items, model, signal));
      else router.navigate(`/jobs/${answer.id}`);
    } catch (error) {
      showProblem(error, results, { inputs, params: options });
    } finally {
      go.disabled = false;
    }
  };
  const go = button("Place them", { kind: "primary", onclick: () => place() });
  return el(
    "div",
    { class: "stack" },
    thresholdText(model),
    model.preprocess.length > 0 &&
      el(
        "p",
        { class: "quiet" },
        "They are prepared as the fitted rows were: ",
        model.preprocess.map(({ step }) => uncapitalized(STEPS[step] ?? step)).join(", then "),
        ".",
      ),
    inputs.element,
    options?.element,
    el("div", { class: "row" }, go),
    results,
  );
}

/** The form of `OPTIONS`, made from the API's own document. */
async function optionsForm() {
  const { properties = {} } = (await schemas()).PredictionRequest;
  return schemaForm({
    properties: Object.fromEntries(
      OPTIONS.map((name) => {
        const description = properties[name].description?.replace(/^Classifiers only: /, "");
        return [name, { ...properties[name], description: capitalized(description ?? "") }];
      }),
    ),
  });
}

/**
 * The likelihood from which a row is in-sample; null if the method does not decide.
 *
 * @param {Model} model
 */
function thresholdText({ stages, params }) {
  const { level, threshold } = stages.at(0)?.facts ?? {};
  if (typeof level !== "number" || typeof threshold !== "number") return null;
  const isHeldOut = typeof params.held_out === "number" && params.held_out > 0;
  const rows = isHeldOut ? "held out from the fit" : "that were fitted";
  return el(
    "p",
    { class: "quiet" },
    "Each row gets its cluster and how probable that is. A row is in-sample if its log-likelihood is " +
      `${number(threshold)} nats or more, as for ${number(100 * level)} % of the rows ${rows}.`,
  );
}

/**
 * @param {Prediction[]} items
 * @param {Model} model
 * @param {AbortSignal} signal
 * @returns {Promise<Child>}
 */
async function inlineResults(items, model, signal) {
  const nodes = await calledNames(model.tree, signal);
  const names = Object.keys(items[0] ?? {}).filter((name) => !OWN.has(name));
  const rows = items.map((item, row) => placedOf(item, row, names));
  const save = () =>
    saveBlob(csvOf(csvRows(items, rows, names, nodes)), `${model.id}-predictions.csv`);
  return [
    countText({ names, rows }),
    rowTable({ names, rows }, model.tree, nodes),
    rows.length > SHOWN &&
      el("p", { class: "quiet" }, `The first ${SHOWN} of ${count(rows.length)}.`),
    el(
      "div",
      { class: "row" },
      button("Save as CSV", { kind: "small", iconName: "download", onclick: save }),
    ),
  ];
}

/**
 * @param {Prediction} item
 * @param {number} row
 * @param {string[]} names
 * @returns {Placed}
 */
function placedOf(item, row, names) {
  const { leaf, path, probabilities, label, node, labels, top, nodes, node_names: called } = item;
  const { cluster_name: title = null, cluster_node: end = null } = item;
  const values = new Map(/** @type {[string, Value][]} */ (Object.entries(item)));
  return {
    ...{ row, leaf, path, probability: probabilities[probabilities.length - 1] },
    ...(labels ? { label, node: node ?? leaf, labels, top: top ?? [] } : {}),
    ...(nodes ? { nodes: nodes.map((id, at) => ({ id, name: called?.[at] ?? null })) } : {}),
    ...("cluster" in item ? { cluster: { node: end, name: title } } : {}),
    values: names.map((name) => values.get(name)),
  };
}

/**
 * The rows of a file; of a classifier with the columns of the service's own CSV.
 *
 * @param {Prediction[]} items
 * @param {Placed[]} rows
 * @param {string[]} names
 * @param {Map<number, string>} called names by id
 */
function csvRows(items, rows, names, called) {
  const answer = items[0]?.nodes ? ["nodes", "node_names"] : [];
  /** @param {Placed} placed */
  const answered = ({ nodes = [] }) =>
    answer.length
      ? [nodes.map(({ id }) => id).join(" "), JSON.stringify(nodes.map(({ name }) => name))]
      : [];
  if (!items[0]?.labels) {
    return [
      ["row", "leaf", "name", "probability", ...answer, ...names],
      ...rows.map((placed) => {
        const { row, leaf, probability, values } = placed;
        return [row, leaf, calledBy(called, placed), probability, ...answered(placed), ...values];
      }),
    ];
  }
  const own = ["node", "label", "labels", ...(items[0].top ? ["top"] : [])];
  return [
    ["row", "leaf", "path", "probabilities", ...own, ...answer, ...names],
    ...items.map(({ leaf, path, probabilities, node, label, labels, top }, at) => [
      ...[at, leaf, path.join(" "), probabilities.join(" "), node, label, JSON.stringify(labels)],
      ...(top ? [JSON.stringify(top)] : []),
      ...answered(rows[at]),
      ...rows[at].values,
    ]),
  ];
}

/**
 * What a row's cluster is called.
 *
 * @param {Map<number, string>} nodes names by id
 * @param {Placed} placed
 */
const calledBy = (nodes, { path, cluster }) =>
  (cluster?.node !== undefined && nodes.get(cluster.node ?? -1)) ||
  cluster?.name ||
  endName(nodes, path);

/**
 * The number of rows, and of in-sample rows if the method decides.
 *
 * @param {Placings} placings
 */
function countText({ names, rows }) {
  const at = names.indexOf("in_sample");
  const isDecided = at >= 0 && rows.length > 0;
  const inside = rows.filter(({ values }) => values[at] === 1).length;
  const share = number((100 * inside) / rows.length);
  return el(
    "p",
    { role: "status" },
    plural(rows.length, "row"),
    isDecided ? `, ${count(inside)} of them in-sample (${share} %).` : " placed.",
    names.map((name, column) => {
      const sentence = sentenceOf(rows, column);
      return sentence && [` ${TITLES[name] ?? readable(name)}: ${sentence}`];
    }),
  );
}

/**
 * The first rows as a table.
 *
 * @param {Placings} placings
 * @param {string} tree
 * @param {Map<number, string>} nodes names by id
 */
function rowTable({ names, rows }, tree, nodes) {
  /** @param {number} node */
  const nameOf = (node) => nodes.get(node) || (node === 0 ? "root" : `node ${node}`);
  /** @type {(node: number, text: string) => HTMLElement} */
  const link = (node, text) =>
    el("a", { href: router.href(`/trees/${tree}`, { node: String(node) }) }, bdi(text));
  /** @type {Column<Placed>} */
  const place = {
    label: "Cluster",
    sort: (placed) => calledBy(nodes, placed),
    cell: (placed) => link(placed.cluster?.node ?? placed.leaf, calledBy(nodes, placed)),
  };
  const isClassified = rows[0]?.labels !== undefined;
  /** @type {Column<Placed>} */
  const promised = {
    label: "As promised",
    cell: (placed) =>
      placed.nodes?.map(({ id, name }, at) => [at > 0 && ", ", link(id, name ?? nameOf(id))]),
  };
  const list = table({
    caption: "New rows and where they lie",
    columns: [
      { label: "Row", numeric: true, head: true, sort: ({ row }) => row, cell: ({ row }) => row },
      ...(isClassified ? labelColumns(rows, { nameOf, link }) : [place]),
      ...(rows[0]?.nodes ? [promised] : []),
      {
        label: "Probability",
        numeric: true,
        sort: ({ probability }) => probability,
        cell: ({ probability }) => number(probability),
      },
      ...(isClassified ? pathColumns(rows, { nameOf, link }) : []),
      ...names
        .map((name, at) => ({ name, at }))
        .filter(({ at }) => sentenceOf(rows, at) === null)
        .map(({ name, at }) => valueColumn(name, at, typeof rows[0]?.values[at] === "number")),
    ],
    rows: rows.slice(0, SHOWN),
  });
  list.classList.add("long");
  return list;
}

/**
 * @typedef {{
 *   nameOf: (node: number) => string,
 *   link: (node: number, text: string) => HTMLElement,
 * }} Linked how nodes are named and linked
 */

/**
 * The labels of a row; also where its path ends, if that is above the leaf of its best class.
 *
 * @param {Placed[]} rows
 * @param {Linked} named
 * @returns {Column<Placed>[]}
 */
function labelColumns(rows, { nameOf, link }) {
  const isEach = rows.every(({ labels = [] }) => labels.length === 1);
  /** @type {Column<Placed>} */
  const given = {
    label: isEach ? "Label" : "Labels",
    sort: ({ labels = [] }) => labels.join(", "),
    cell: ({ leaf, labels = [] }) => {
      if (!labels.length) return "none";
      return labels.length === 1
        ? link(leaf, labels[0])
        : labels.map((text, at) => [at > 0 && ", ", bdiName(text)]);
    },
  };
  if (rows.every(({ leaf, node }) => leaf === node)) return [given];
  /** @type {Column<Placed>} */
  const end = {
    label: "Path ends at",
    sort: ({ label }) => label,
    cell: ({ node = 0, label }) => link(node, label ?? nameOf(node)),
  };
  return [given, end];
}

/**
 * The way to a row's label where the tree has levels, and its best classes where they were requested.
 *
 * @param {Placed[]} rows
 * @param {Linked} named
 * @returns {Column<Placed>[]}
 */
function pathColumns(rows, { nameOf, link }) {
  /** @type {Column<Placed>[]} */
  const columns = [];
  if (rows.some(({ path }) => path.length > 2)) {
    columns.push({
      label: "Path",
      cell: ({ path }) =>
        path.slice(1).map((node, at) => [at > 0 && " › ", link(node, nameOf(node))]),
    });
  }
  if (rows.some(({ top }) => top?.length)) {
    columns.push({
      label: "Best classes",
      class: "cluster-terms",
      cell: ({ top = [] }) =>
        top.map((best, at) => [
          at > 0 && ", ",
          link(best.node, best.label),
          ` ${best.probability.toFixed(2)}`,
        ]),
    });
  }
  return columns;
}

/**
 * A sentence that every row has as the same value, which stands once above the table; else null.
 *
 * @param {Placed[]} rows
 * @param {number} at
 */
function sentenceOf(rows, at) {
  const value = rows[0]?.values[at];
  const isSentence = typeof value === "string" && value.endsWith(".");
  return isSentence && rows.every(({ values }) => values[at] === value) ? value : null;
}

/**
 * @param {string} name
 * @param {number} at
 * @param {boolean} isNumeric
 */
function valueColumn(name, at, isNumeric) {
  const isDecision = name === "in_sample";
  return {
    label: TITLES[name] ?? readable(name),
    numeric: !isDecision && isNumeric,
    /** @param {Placed} placed */
    sort: ({ values }) => values[at],
    /** @param {Placed} placed */
    cell: ({ values }) => {
      const value = values[at];
      if (isDecision) return value === 1 ? "yes" : "no";
      return typeof value === "string" ? bdi(value) : number(value);
    },
  };
}

/**
 * A card with the result of a job of predictions: its first rows, and all of them as files.
 *
 * @param {Job} job
 * @param {AbortSignal} signal
 */
export function predictionsCard(job, signal) {
  const path = `/v1/jobs/${job.id}/predictions`;
  const place = el("div", { class: "stack" }, waiting());
  /** @type {(suffix: string, accept: string) => Promise<void>} */
  const save = (suffix, accept) => download(path, `${job.id}.${suffix}`, { accept, signal });
  const draw = async () => {
    const tree = job.result?.tree ?? "";
    try {
      const [{ placings, isWhole }, nodes] = await Promise.all([
        firstRows(path, signal),
        calledNames(tree, signal),
      ]);
      const isCut = !isWhole || placings.rows.length > SHOWN;
      replace(
        place,
        isWhole && countText(placings),
        rowTable(placings, tree, nodes),
        isCut && el("p", { class: "quiet" }, "The first rows of it."),
      );
    } catch (error) {
      if (!aborted(error)) {
        replace(place, problemBox(problemOf(error), { level: "h3", retry: draw }));
      }
    }
  };
  draw();
  return el(
    "section",
    { class: "card", "aria-labelledby": "placed-title" },
    el("h2", { id: "placed-title" }, "Where the rows lie"),
    el(
      "div",
      { class: "stack" },
      place,
      el(
        "div",
        { class: "row" },
        button("Download as CSV", { iconName: "download", onclick: () => save("csv", "text/csv") }),
        button("Download as JSON", {
          iconName: "download",
          onclick: () => save("json", "application/json"),
        }),
      ),
    ),
  );
}

/**
 * The first rows of a response of any length.
 *
 * @param {string} path
 * @param {AbortSignal} signal
 */
async function firstRows(path, signal) {
  const response = await raw(path, { accept: "text/csv", signal, quiet: true });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  let isWhole = !reader;
  while (reader && text.length < PEEK_LENGTH && !isWhole) {
    const { value, done } = await reader.read();
    isWhole = done;
    text += value ?? "";
  }
  if (!isWhole) {
    await reader?.cancel();
    text = text.slice(0, text.lastIndexOf("\n"));
  }
  return { placings: placingsIn(text), isWhole };
}

/**
 * The rows of predictions as CSV: row, leaf, path, probabilities along the path, values.
 *
 * @param {string} text
 * @returns {Placings}
 */
export function placingsIn(text) {
  const [head = [], ...lines] = rowsOf(text);
  const names = head.filter((name) => !OWN.has(name));
  const isClassified = head.includes("labels");
  /** @type {(field: string) => Value} */
  const value = (field) => (field !== "" && Number.isFinite(Number(field)) ? Number(field) : field);
  return {
    names,
    rows: lines.map((fields) => {
      const of = Object.fromEntries(head.map((name, at) => [name, fields[at]]));
      return {
        row: Number(of.row),
        leaf: Number(of.leaf),
        path: of.path.split(" ").map(Number),
        probability: Number(of.probabilities.split(" ").at(-1)),
        ...(isClassified ? classified(of) : {}),
        ...(head.includes("cluster") ? { cluster: clusterIn(of) } : {}),
        values: names.map((name) => value(of[name])),
      };
    }),
  };
}

/** @param {Record<string, string>} of the fields of a row */
const classified = ({ node, label, labels, top }) => ({
  node: Number(node),
  label: label || null,
  labels: JSON.parse(labels),
  top: top ? JSON.parse(top) : [],
});

/** @param {Record<string, string>} of the fields of a row */
const clusterIn = ({ cluster_node: node, cluster_name: name }) => ({
  node: node ? Number(node) : null,
  name: name || null,
});
