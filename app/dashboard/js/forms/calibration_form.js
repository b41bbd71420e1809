// The form of a calibration: the rows held out, their labels, and what is to be promised.

import { calibrate } from "../net/calibrations.js";
import { fittedRows } from "../net/fitted_rows.js";
import { button } from "../ui/controls.js";
import { el, replace } from "../ui/dom.js";
import { waiting } from "../ui/notices.js";
import { schemas } from "./catalogue.js";
import { usableDatasets } from "./datasets.js";
import { columnsFor, isOfClasses, refusalOf } from "./fitted_rows.js";
import { focusWrong, showProblem } from "./form_problem.js";
import { inputsForm, rolesOf } from "./inputs_form.js";
import { schemaForm } from "./schema_form.js";
import { LABELLED, labelledRows, labelsOf, newRows } from "./suggested_rows.js";

/** @import { Calibration, Method, Model, Schema } from "../net/answers.js" */
/** @import { Role } from "./inputs_form.js" */
/** @import { Words } from "./schema_form.js" */

/** @type {Role} */
const LABELS = {
  required: true,
  many: false,
  description: "The class of each of these rows: the name of its leaf, or its number.",
};
/**
 * What is to be promised, in the order of the form; other promises are the API's.
 *
 * @type {Record<string, Partial<Schema>>}
 */
const TERMS = {
  alpha: { maximum: 0.99, description: "0.05 is once in twenty rows." },
  per: { description: "Parts and classes with too few rows have none." },
  answer: { description: "What is the least that holds the class." },
};
/** @type {Record<string, Words>} */
const WORDS = {
  alpha: { label: "How often an answer may miss the class" },
  per: {
    label: "For whom that holds",
    choices: {
      all: "All rows together",
      subtree: "Each part below the root",
      class: "Each class",
    },
  },
  answer: {
    label: "An answer is",
    choices: {
      node: "One node, as deep as may be",
      set: "A few nodes, as small as may be",
    },
  },
};

/**
 * @param {Method} method
 * @param {Model} model
 * @param {{ tree: string, signal: AbortSignal, onmade: (calibration: Calibration) => unknown }} options
 */
export async function calibrationForm(method, model, { tree, signal, onmade }) {
  const [datasets, { CalibrationRequest }, fitted] = await Promise.all([
    usableDatasets([], { signal }),
    schemas(),
    fittedRows(model, signal),
  ]);
  const properties = CalibrationRequest.properties ?? {};
  const refusal = refusalOf(fitted, { heldOut: true });
  const inputs = inputsForm(
    { ...rolesOf(method, model), labels: LABELS },
    {
      datasets,
      method: method.id,
      refusal,
      files: { signal, columns: (dataset, role) => columnsFor(fitted, dataset, role) },
      onchange: () => suggestLabels(),
    },
  );
  const isNamed = isOfClasses(method);
  const suggestLabels = () => {
    if (!isNamed) return;
    const { labels, ...chosen } = inputs.chosen();
    const known = inputs.datasets();
    const rows = known.find(({ id }) => Object.values(chosen).includes(id));
    const found = labels === undefined && rows ? labelsOf(known, rows) : null;
    if (found) inputs.suggest("labels", found.id, found.why);
  };
  const newest = newRows(datasets, { roles: model.inputs, fitted, refusal });
  const labelled = isNamed ? labelledRows(newest, datasets) : null;
  if (labelled) {
    inputs.suggest(model.inputs[0], labelled.id, LABELLED);
    inputs.suggest("labels", labelled.labels.id, labelled.labels.why);
  }
  const terms = schemaForm(
    {
      properties: Object.fromEntries(
        Object.entries(TERMS).map(([name, term]) => [name, { ...properties[name], ...term }]),
      ),
    },
    { words: WORDS },
  );
  const results = el("div", { class: "stack", "aria-live": "polite" });
  const run = async () => {
    const { inputs: chosen, errors } = inputs.read();
    const { values, errors: wrong } = terms.read();
    replace(results);
    if (Object.keys({ ...errors, ...wrong }).length) {
      focusWrong(inputs.element, terms.element);
      return;
    }
    const { labels, ...given } = chosen;
    go.disabled = true;
    replace(results, waiting("Calibrating…"));
    try {
      const calibration = await calibrate(tree, { ...values, inputs: given, labels }, { signal });
      replace(results);
      onmade(calibration);
    } catch (error) {
      showProblem(error, results, { inputs, params: terms });
    } finally {
      go.disabled = false;
    }
  };
  const go = button("Calibrate", { kind: "primary", onclick: () => run() });
  return el(
    "div",
    { class: "stack" },
    el(
      "p",
      { class: "quiet" },
      "From rows that the model has not seen, whose classes are known: how deep answers to new rows " +
        "may go and still hold the class as often as promised.",
    ),
    inputs.element,
    terms.element,
    el("div", { class: "row" }, go),
    results,
  );
}
