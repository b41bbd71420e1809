// Trees measured against labels, features or another tree; the results stay side by side.

import { metrics } from "../forms/catalogue.js";
import { usableDatasets } from "../forms/datasets.js";
import { inputsForm } from "../forms/inputs_form.js";
import { metricsForm } from "../forms/metrics_form.js";
import { ENDED, follow } from "../net/jobs.js";
import { aborted, hasStatus, placeOf, Problem } from "../net/problem.js";
import { get, send } from "../net/requests.js";
import * as router from "../router.js";
import { button, field, select } from "../ui/controls.js";
import { toast } from "../ui/dialogs.js";
import { bdi, el, replace } from "../ui/dom.js";
import { moment, plural, treeTitle } from "../ui/format.js";
import { problemBox } from "../ui/notices.js";
import { evaluationTable } from "./evaluation_table.js";

/** @import { Evaluation, Job, Page, TreeSummary } from "../net/answers.js" */
/** @import { InputValue, Role } from "../forms/inputs_form.js" */
/** @import { Mounted, PageContext } from "../router.js" */
/** @import { Measured } from "./evaluation_table.js" */

const STORED = "umbel.evaluations";
/** @type {Record<string, Role>} */
const ROLES = {
  labels: { required: false, many: false, description: "The true class of every input row." },
  features: {
    required: false,
    many: false,
    description: "The rows' features, for the metrics without labels.",
  },
  distances: { required: false, many: false, description: "Pairwise distances of the rows." },
  similarity: { required: false, many: false, description: "Pairwise similarities of the rows." },
};
/** @type {Record<string, Role>} */
const NEW_ROWS = {
  features: { required: false, many: false, description: "For trees of features." },
  logits: { required: false, many: false, description: "For trees of logits." },
};
/** What the address calls the new rows, whose roles are also those to measure against. */
const NEW = "new_";
const CUTS = ["k", "height", "level"];

/**
 * @param {HTMLElement} root
 * @param {PageContext} context
 * @returns {Promise<Mounted>}
 */
export async function mount(root, { params }) {
  const ends = new AbortController();
  const { signal } = ends;
  const wanted = (params.trees ?? "").split(",").filter((id) => id.startsWith("tr_"));
  const [catalogue, trees] = await Promise.all([metrics(), treesWith(wanted, signal)]);
  const values = Object.fromEntries(Object.keys(ROLES).map((role) => [role, params[role]]));
  const newValues = Object.fromEntries(
    Object.keys(NEW_ROWS).map((role) => [role, params[NEW + role]]),
  );
  const named = [...Object.values(values), ...Object.values(newValues)].filter(Boolean);
  const datasets = await usableDatasets(named, { signal });

  let columns = storedColumns();
  const chosen = new Set(wanted);
  const treeBoxes = el(
    "div",
    { class: "choices", role: "group", "aria-labelledby": "trees-title", tabindex: "0" },
    trees.length === 0 && el("p", { class: "quiet" }, "No trees yet."),
    trees.map((tree) =>
      el(
        "label",
        { class: "check" },
        el("input", {
          type: "checkbox",
          value: tree.id,
          checked: chosen.has(tree.id),
          onchange: (event) => {
            if (event.currentTarget.checked) chosen.add(tree.id);
            else chosen.delete(tree.id);
            remember();
          },
        }),
        el(
          "span",
          {},
          bdi(treeTitle(tree)),
          el(
            "span",
            { class: "quiet" },
            ` ${plural(tree.n_leaves, "leaf", "leaves")}, ${moment(tree.created_at)}`,
          ),
        ),
      ),
    ),
  );
  const inputs = inputsForm(ROLES, {
    values,
    datasets,
    files: { signal },
    onchange: () => inputsChanged(),
  });
  const newRows = inputsForm(NEW_ROWS, {
    values: newValues,
    datasets,
    files: { signal },
    onchange: () => remember(),
  });
  const newRowsPart = el(
    "details",
    { class: "more", open: Object.values(newValues).some(Boolean) },
    el("summary", {}, "On new rows, which were not in the fit"),
    el(
      "p",
      { class: "field-help" },
      "The tree's model places them first. Labels and all else below are then of these rows.",
    ),
    newRows.element,
  );
  /** @type {[string, string][]} */
  const treeOptions = [["", "–"], ...trees.map((tree) => pair(tree.id, treeTitle(tree)))];
  const truth = select(treeOptions, {
    value: params.hierarchy,
    onchange: () => inputsChanged(),
  });
  const truthRow = field("Another tree", truth, {
    help: "A true hierarchy whose leaves are named by the labels, or a tree over the same rows.",
    hint: "optional",
  });
  const cutKind = select(
    [
      ["", "As the service chooses"],
      ["k", "A number of clusters"],
      ["height", "At a height"],
      ["level", "At a depth"],
    ],
    {
      value: CUTS.find((by) => params[by] !== undefined),
      onchange: () => {
        cutRow.hidden = !cutKind.value;
        remember();
      },
    },
  );
  const cutValue = el("input", {
    type: "text",
    inputmode: "decimal",
    value: params[cutKind.value] ?? "",
    onchange: () => remember(),
  });
  const cutRow = field("Value of the cut", cutValue);
  cutRow.hidden = !cutKind.value;
  const metricBoxes = metricsForm(catalogue, {
    chosen: (params.metrics ?? "").split(",").filter(Boolean),
    available: () => rolesGiven(),
    onchange: () => remember(),
  });
  const messages = el("div", { class: "stack", "aria-live": "polite" });
  const go = button("Measure", { kind: "primary large", onclick: () => run() });
  const results = el("section", { class: "stack", "aria-labelledby": "results-title" });

  /** The roles that metrics may need. */
  function rolesGiven() {
    const roles = Object.keys(inputs.read().inputs);
    if (truth.value) roles.push("hierarchy");
    return roles.length ? [...roles, "measured"] : [];
  }
  function inputsChanged() {
    metricBoxes.draw();
    remember();
  }
  function remember() {
    if (signal.aborted) return;
    router.navigate(
      "/evaluations",
      {
        trees: [...chosen].join(","),
        ...datasetsOf(inputs.read().inputs),
        ...datasetsOf(newRows.read().inputs, NEW),
        hierarchy: truth.value,
        metrics: metricBoxes.read()?.join(","),
        ...(cutKind.value ? { [cutKind.value]: cutValue.value } : {}),
      },
      { replace: true },
    );
  }

  function requestBody() {
    const ids = metricBoxes.read();
    const placed = newRows.read().inputs;
    return {
      ...inputs.read().inputs,
      ...(Object.keys(placed).length ? { inputs: placed } : {}),
      ...(truth.value ? { hierarchy: truth.value } : {}),
      ...(ids ? { metrics: ids } : {}),
      ...(cutKind.value ? { cut: { [cutKind.value]: Number(cutValue.value) } } : {}),
    };
  }

  /** What is missing, as sentences. */
  function gaps() {
    const isCutGiven = cutValue.value.trim() !== "" && Number.isFinite(Number(cutValue.value));
    const isCutMissing = cutKind.value !== "" && !isCutGiven;
    cutRow.setError(isCutMissing ? "Enter a number." : null);
    return [
      ...(chosen.size ? [] : ["Choose a tree."]),
      ...(rolesGiven().length
        ? []
        : ["Choose what to measure against: labels, features or another tree."]),
      ...(isCutMissing ? ["The cut needs a number."] : []),
    ];
  }

  async function run() {
    const missing = gaps();
    replace(
      messages,
      missing.map((text) => el("p", { class: "field-wrong" }, text)),
    );
    if (missing.length) return;
    go.disabled = true;
    const body = requestBody();
    for (const id of chosen) {
      const tree = trees.find((candidate) => candidate.id === id);
      if (!tree) continue;
      try {
        const evaluation = await evaluate(id, body, signal);
        showColumns([...columns, columnOf(tree, body, evaluation)]);
      } catch (error) {
        if (aborted(error) || signal.aborted) return;
        if (!(error instanceof Problem)) throw error;
        showProblem(error);
        messages.append(el("p", {}, bdi(treeTitle(tree)), ":"), problemBox(error, { level: "h3" }));
      }
    }
    go.disabled = false;
    results.scrollIntoView({ block: "nearest" });
  }

  /**
   * Show a problem at its fields.
   *
   * @param {Problem} problem
   */
  function showProblem({ body, detail, errors }) {
    const { parameter, role } = body.where ?? {};
    if (parameter && CUTS.includes(parameter)) cutRow.setError(detail);
    if (role) (newRows.read().inputs[role] ? newRows : inputs).setError(role, detail);
    for (const error of errors) {
      const { detail: text } = error;
      const [part, key] = placeOf(error);
      if (part === "cut") cutRow.setError(text);
      else if (part === "inputs") newRows.setError(key, text);
      else if (part === "hierarchy") truthRow.setError(text);
      else inputs.setError(key ?? part, text);
    }
  }

  /**
   * @param {TreeSummary} tree
   * @param {Record<string, unknown>} body of the request
   * @param {Evaluation} evaluation
   * @returns {Measured}
   */
  function columnOf(tree, body, evaluation) {
    const labels = datasets.find((dataset) => dataset.id === body.labels);
    const roles = Object.keys(body).filter((role) => role in ROLES || role === "hierarchy");
    const against = labels?.name ?? roles.join(", ");
    const { placed } = evaluation;
    return {
      tree: tree.id,
      name: treeTitle(tree),
      against: placed ? `${against}, ${plural(placed.n_rows, "new row")}` : against,
      cut: evaluation.cut,
      metrics: evaluation.metrics,
      standard_errors: evaluation.standard_errors,
      warnings: evaluation.warnings,
    };
  }

  function draw() {
    replace(
      results,
      evaluationTable(columns, catalogue, {
        onremove: (removed) => showColumns(columns.filter((column) => column !== removed)),
        onclear: () => showColumns([]),
      }),
    );
  }

  /** @param {Measured[]} next */
  function showColumns(next) {
    columns = next;
    storeColumns(columns);
    draw();
  }

  replace(
    root,
    el(
      "header",
      { class: "page-head" },
      el(
        "div",
        {},
        el("h1", {}, "Evaluate"),
        el(
          "p",
          { class: "lead" },
          "How good is a tree? Measure one or several against what is known, and keep the results side by side.",
        ),
      ),
    ),
    el(
      "section",
      { class: "card stack loose", "aria-label": "What to measure" },
      el("div", { class: "stack tight" }, el("h2", { id: "trees-title" }, "Trees"), treeBoxes),
      newRowsPart,
      el("div", { class: "stack" }, el("h2", {}, "Against"), inputs.element, truthRow),
      el("div", { class: "grid" }, field("Clusters for the flat metrics", cutKind), cutRow),
      metricBoxes.element,
      messages,
      el("div", { class: "row end" }, go),
    ),
    results,
  );
  draw();
  return { unmount: () => ends.abort() };
}

/**
 * The inputs without those that are typed in, which the address does not keep.
 *
 * @param {Record<string, InputValue>} inputs
 * @param {string} [lead] what the names in the address begin with
 */
const datasetsOf = (inputs, lead = "") =>
  Object.fromEntries(
    Object.entries(inputs)
      .filter(([, value]) => typeof value === "string")
      .map(([role, value]) => [lead + role, value]),
  );

/**
 * @param {string} value
 * @param {string} label
 * @returns {[string, string]}
 */
const pair = (value, label) => [value, label];

/**
 * The newest 200 trees, and also the trees in `ids`.
 *
 * @param {string[]} ids
 * @param {AbortSignal} signal
 */
async function treesWith(ids, signal) {
  /** @type {Page<TreeSummary>} */
  const { items: trees } = await get("/v1/trees?limit=200", { signal, quiet: true });
  for (const id of ids.filter((wanted) => !trees.some((tree) => tree.id === wanted))) {
    try {
      trees.push(await get(`/v1/trees/${id}?depth=0`, { signal, quiet: true }));
    } catch (error) {
      if (!hasStatus(error, 404)) throw error;
      toast("One of the trees in the address no longer exists.");
    }
  }
  return trees;
}

/**
 * The evaluation of a tree, even if it takes longer and becomes a job.
 *
 * @param {string} tree
 * @param {object} body
 * @param {AbortSignal} signal
 * @returns {Promise<Evaluation>}
 */
async function evaluate(tree, body, signal) {
  /** @type {Evaluation | Job} */
  const answer = await send("POST", `/v1/trees/${tree}/evaluations`, body, { signal });
  if (!("status" in answer)) return answer;
  const job = ENDED.has(answer.status) ? answer : await follow(answer.id, { signal });
  const evaluation = job.result?.evaluation;
  if (job.status !== "succeeded" || !evaluation) {
    throw new Problem(job.error ?? { title: `The evaluation was ${job.status}` });
  }
  return evaluation;
}

/** @returns {Measured[]} */
function storedColumns() {
  try {
    const stored = JSON.parse(sessionStorage.getItem(STORED) ?? "[]");
    return Array.isArray(stored) ? stored : [];
  } catch {
    return [];
  }
}

/** @param {Measured[]} columns */
function storeColumns(columns) {
  try {
    sessionStorage.setItem(STORED, JSON.stringify(columns));
  } catch {
    // Then they stay on the page until it is left.
  }
}
