// A new comparison: the data, the runs, how many seeds, which metrics.

import { methods, metrics } from "../forms/catalogue.js";
import { usableDatasets } from "../forms/datasets.js";
import { extrasForm } from "../forms/extras_form.js";
import { inputsForm } from "../forms/inputs_form.js";
import { metricsForm } from "../forms/metrics_form.js";
import { schemaForm } from "../forms/schema_form.js";
import { labelsOf } from "../forms/suggested_rows.js";
import { placeOf, Problem } from "../net/problem.js";
import { get, send } from "../net/requests.js";
import * as router from "../router.js";
import { asCheckbox, button, field, select } from "../ui/controls.js";
import { el, focusFirst, replace } from "../ui/dom.js";
import { plural } from "../ui/format.js";
import { problemBox } from "../ui/notices.js";

/** @import { Comparison, Method, ObjectSchema, Page, TreeSummary } from "../net/answers.js" */
/** @import { ExtrasForm } from "../forms/extras_form.js" */
/** @import { SchemaForm } from "../forms/schema_form.js" */
/** @import { Mounted, PageContext } from "../router.js" */

/**
 * @typedef {{
 *   method: Method,
 *   form: SchemaForm,
 *   extras: ExtrasForm,
 *   details: HTMLDetailsElement,
 *   element: HTMLElement,
 *   showError: (text: string | null) => void,
 * }} Run
 */

/** @type {ObjectSchema} */
const SEEDS = {
  properties: {
    seeds: {
      type: "integer",
      minimum: 1,
      maximum: 100,
      default: 5,
      description:
        "How often a method that draws is run, its seed one higher each time; others are run once.",
    },
  },
};
const DATA = ["features", "logits", "distances", "similarity"];
/** @type {Record<string, string[]>} */
const FIRST = { features: ["hac", "kmeans", "gmm"], logits: ["l2h", "class-tree"] };

/**
 * @param {HTMLElement} root
 * @param {PageContext} context
 * @returns {Promise<Mounted>}
 */
export async function mount(root, { params }) {
  const ends = new AbortController();
  const { signal } = ends;
  const [list, catalogue] = await Promise.all([methods(), metrics()]);
  /** @type {Page<TreeSummary>} */
  const trees = await get("/v1/trees?limit=200", { signal, quiet: true });
  const values = Object.fromEntries([...DATA, "labels"].map((role) => [role, params[role]]));
  const datasets = await usableDatasets(Object.values(values).filter(Boolean), { signal });

  const roles = Object.fromEntries(
    [...DATA, "labels"].map((role) => [
      role,
      {
        required: false,
        many: false,
        description:
          role === "labels"
            ? "True classes, for the metrics only."
            : "For the methods that take it.",
      },
    ]),
  );
  const inputs = inputsForm(roles, {
    values,
    datasets,
    files: { signal },
    onchange: () => {
      suggestLabels();
      metricBoxes.draw();
    },
  });
  /** @type {string | undefined} */
  let last;
  // Once for the rows that were chosen, since a comparison needs no labels.
  const suggestLabels = () => {
    const { labels, ...chosen } = inputs.chosen();
    const known = inputs.datasets();
    const rows = known.find(({ id }) => Object.values(chosen).includes(id));
    if (rows?.id === last) return;
    last = rows?.id;
    const found = labels === undefined && rows ? labelsOf(known, rows) : null;
    if (found) inputs.suggest("labels", found.id, found.why);
  };
  const truth = select([["", "–"], ...trees.items.map(idAndName)], {
    onchange: () => metricBoxes.draw(),
  });
  const truthRow = field("True hierarchy", truth, {
    hint: "optional",
    help: "An imported tree, for the metrics only.",
  });
  const seeds = schemaForm(SEEDS);
  const metricBoxes = metricsForm(catalogue, {
    available: () => [
      ...Object.keys(inputs.read().inputs),
      ...(truth.value ? ["hierarchy"] : []),
      "measured",
    ],
  });
  const name = el("input", {
    type: "text",
    maxlength: 1000,
    autocomplete: "off",
    value: params.name ?? "",
  });
  const nameRow = field("Name of this comparison", name, { hint: "optional" });
  const keeps = el("input", { type: "checkbox", checked: true });
  const keepsRow = asCheckbox(
    field("Keep their trees", keeps, {
      help: "The table then shows a small tree of each run, which leads to the tree itself. They stay when the comparison is removed.",
    }),
  );
  const messages = el("div", { class: "stack", "aria-live": "polite" });
  const place = el("ol", { class: "runs" });
  /** @type {Run[]} */
  let runs = [];
  const adder = select(
    [["", "Add a run…"], ...byFamily(list.filter(({ available }) => available))],
    {
      "aria-label": "Add a run",
      onchange: async () => {
        const method = list.find(({ id }) => id === adder.value);
        adder.value = "";
        if (!method) return;
        const run = await add(method);
        run.details.open = true;
        run.element.scrollIntoView({ block: "nearest" });
        focusFirst(run.element, "summary");
      },
    },
  );
  const go = button("Run the comparison", { kind: "primary large", onclick: () => submit() });

  /** @param {Method} method */
  async function add(method) {
    const run = await newRun(method, () => {
      runs = runs.filter((other) => other !== run);
      run.element.remove();
      adder.focus();
    });
    runs.push(run);
    place.append(run.element);
    return run;
  }

  /**
   * The name that was typed, else that of the data and how many runs.
   *
   * @param {Record<string, unknown>} chosen
   */
  const nameOf = (chosen) => {
    const data = datasets.find(({ id }) => Object.values(chosen).includes(id))?.name;
    return name.value.trim() || (data && `${data}, ${plural(runs.length, "run")}`);
  };

  /** The request, and the first element that holds an error. */
  function read() {
    /** @type {HTMLElement | null} */
    let first = null;
    const { labels, ...chosen } = inputs.read().inputs;
    const { values: seedCount, errors: seedErrors } = seeds.read();
    if (Object.keys(seedErrors).length) first = seeds.element;
    const runBodies = runs.map((run) => {
      const { body, isValid } = readRun(run);
      if (!isValid) first ??= run.element;
      return body;
    });
    const ids = metricBoxes.read();
    const body = {
      inputs: chosen,
      runs: runBodies,
      ...seedCount,
      ...(labels ? { labels } : {}),
      ...(truth.value ? { hierarchy: truth.value } : {}),
      ...(ids ? { metrics: ids } : {}),
      ...(nameOf(chosen) ? { name: nameOf(chosen) } : {}),
      ...(keeps.checked ? { keep_trees: true } : {}),
    };
    return { body, first };
  }

  async function submit() {
    const { body, first } = read();
    const missing = [
      ...(Object.keys(body.inputs).length ? [] : ["Choose the data."]),
      ...(runs.length ? [] : ["Add a run."]),
    ];
    if (!missing.length && first) {
      focusFirst(first, "[aria-invalid]");
      missing.push("A field above needs to be corrected.");
    }
    replace(
      messages,
      missing.map((text) => el("p", { class: "field-wrong" }, text)),
    );
    if (missing.length) return;
    go.disabled = true;
    try {
      /** @type {Comparison} */
      const created = await send("POST", "/v1/comparisons", body);
      router.navigate(`/comparisons/${created.id}`);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      showProblem(error);
      replace(messages, problemBox(error, { level: "h3" }));
    } finally {
      go.disabled = false;
    }
  }

  /**
   * Show a problem at its fields.
   *
   * @param {Problem} problem
   */
  function showProblem(problem) {
    for (const error of problem.errors) {
      const { detail } = error;
      const pointer = placeOf(error);
      const [part, at] = pointer;
      if (part === "labels") inputs.setError(part, detail);
      else if (part === "inputs") inputs.setError(at, detail);
      else if (part === "seeds") seeds.setError("seeds", detail);
      else if (part === "hierarchy") truthRow.setError(detail);
      else if (part === "name") nameRow.setError(detail);
      else if (part === "runs" && typeof at === "number" && runs[at]) {
        showRunError(runs[at], pointer.slice(2), detail);
      }
    }
    focusFirst(root, "[aria-invalid]");
  }

  replace(
    root,
    el(
      "header",
      { class: "page-head" },
      el(
        "div",
        {},
        el(
          "p",
          { class: "eyebrow" },
          el("a", { href: router.href("/comparisons") }, "Comparisons"),
          " / New",
        ),
        el("h1", {}, "Compare methods"),
        el(
          "p",
          { class: "lead" },
          "Every run is fitted and measured with every seed; one table shows mean, spread and time.",
        ),
      ),
    ),
    el(
      "section",
      { class: "card stack", "aria-labelledby": "inputs-title" },
      el("h2", { id: "inputs-title" }, "Data"),
      inputs.element,
      truthRow,
    ),
    el(
      "section",
      { class: "card stack", "aria-labelledby": "runs-title" },
      el("h2", { id: "runs-title" }, "Runs"),
      place,
      adder,
    ),
    el(
      "section",
      { class: "card stack", "aria-labelledby": "how-title" },
      el("h2", { id: "how-title" }, "Options"),
      seeds.element,
      metricBoxes.element,
      keepsRow,
      nameRow,
    ),
    el("div", { class: "run-bar stack" }, messages, el("div", { class: "row end" }, go)),
  );
  const data = DATA.find((role) => values[role]) ?? "features";
  const first = params.methods?.split(",") ?? FIRST[data] ?? FIRST.features;
  for (const id of first) {
    const method = list.find((candidate) => candidate.id === id);
    if (method) await add(method);
  }
  suggestLabels();
  metricBoxes.draw();
  return { unmount: () => ends.abort() };
}

/**
 * A run with its forms, folded.
 *
 * @param {Method} method
 * @param {() => unknown} onremove
 * @returns {Promise<Run>}
 */
async function newRun(method, onremove) {
  const form = schemaForm(method.params, { skip: ["seed"], waiting: method.waiting });
  const extras = await extrasForm(method, { only: ["preprocess", "then"] });
  const error = el("p", { class: "field-wrong", hidden: true });
  const details = el(
    "details",
    {},
    el(
      "summary",
      {},
      el("strong", {}, method.title),
      " ",
      el("code", { class: "quiet" }, method.id),
    ),
    el("div", { class: "stack" }, !form.isEmpty && form.element, extras.element),
  );
  const element = el(
    "li",
    { class: "run" },
    details,
    button("", {
      kind: "ghost small icon-only",
      iconName: "close",
      "aria-label": `Remove the run of ${method.title}`,
      onclick: onremove,
    }),
    error,
  );
  /** @param {string | null} text */
  const showError = (text) => {
    replace(error, text);
    error.hidden = !text;
  };
  return { method, form, extras, details, element, showError };
}

/**
 * The request of a run; its errors are shown.
 *
 * @param {Run} run
 */
function readRun({ method, form, extras, details, showError }) {
  showError(null);
  const { values, errors } = form.read();
  const { fields, errors: extraErrors } = extras.read();
  for (const { pointer, text } of extraErrors) extras.setError(pointer, text);
  const isValid = Object.keys(errors).length === 0 && extraErrors.length === 0;
  if (!isValid) details.open = true;
  const params = Object.keys(values).length ? { params: values } : {};
  return { body: { method: method.id, ...params, ...fields }, isValid };
}

/**
 * @param {Run} run
 * @param {(string | number)[]} pointer within the run
 * @param {string} detail
 */
function showRunError({ form, extras, details, showError }, pointer, detail) {
  details.open = true;
  const row =
    pointer[0] === "params" ? form.setError(pointer[1], detail) : extras.setError(pointer, detail);
  if (!row) showError(detail);
}

/**
 * @param {TreeSummary} tree
 * @returns {[string, string]}
 */
const idAndName = ({ id, name }) => [id, name ?? id];

/**
 * @param {Method[]} list
 * @returns {[string, string][]}
 */
const byFamily = (list) =>
  [...list]
    .sort((a, b) => a.family.localeCompare(b.family) || a.title.localeCompare(b.title))
    .map(({ id, title, family }) => [id, `${title} (${family})`]);
