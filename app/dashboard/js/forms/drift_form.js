// The form of a drift: two samples of rows, maybe their labels, and how many false discoveries are accepted.

import { drifts } from "../net/drifts.js";
import { fittedRows } from "../net/fitted_rows.js";
import { Problem } from "../net/problem.js";
import { button, field, select } from "../ui/controls.js";
import { el, replace } from "../ui/dom.js";
import { percent } from "../ui/format.js";
import { waiting } from "../ui/notices.js";
import { usableDatasets } from "./datasets.js";
import { columnsFor, refusalOf } from "./fitted_rows.js";
import { focusWrong, showProblem } from "./form_problem.js";
import { inputsForm, rolesOf } from "./inputs_form.js";
import { BEFORE_NEWEST, NEWEST, newRows } from "./suggested_rows.js";

/** @import { Drift, Method, Model } from "../net/answers.js" */
/** @import { Option } from "../ui/controls.js" */
/** @import { Role } from "./inputs_form.js" */

/** @type {Role} */
const LABELS = {
  required: false,
  many: false,
  description: "The label of each of these rows. With labels of both samples, purity is compared.",
};
/** @type {Option[]} */
const LEVELS = [0.01, 0.05, 0.1, 0.2].map((level) => [level, `at most ${percent(level)}`]);
const LEVEL =
  "The share of false ones among what is found. Where nothing has changed, it is the probability that " +
  "anything is found.";

/**
 * @param {Method} method
 * @param {Model} model
 * @param {{ tree: string, signal: AbortSignal, onmade: (drift: Drift) => unknown }} options
 */
export async function driftForm(method, model, { tree, signal, onmade }) {
  const [datasets, fitted] = await Promise.all([
    usableDatasets([], { signal }),
    fittedRows(model, signal),
  ]);
  const roles = { ...rolesOf(method, model), labels: LABELS };
  const refusal = refusalOf(fitted, { heldOut: true });
  const sample = () =>
    inputsForm(roles, {
      datasets,
      method: method.id,
      refusal,
      files: { signal, columns: (dataset, role) => columnsFor(fitted, dataset, role) },
    });
  const reference = sample();
  const batch = sample();
  const [newest, earlier] = newRows(datasets, { roles: model.inputs, fitted, refusal });
  if (earlier) {
    reference.suggest(model.inputs[0], earlier.id, BEFORE_NEWEST);
    batch.suggest(model.inputs[0], newest.id, NEWEST);
  }
  const level = select(LEVELS, { value: 0.05 });
  const results = el("div", { class: "stack", "aria-live": "polite" });
  const run = async () => {
    const samples = [reference.read(), batch.read()];
    replace(results);
    if (samples.some(({ errors }) => Object.keys(errors).length)) {
      focusWrong(reference.element, batch.element);
      return;
    }
    const [before, after] = samples.map(({ inputs: { labels, ...inputs } }) => ({
      inputs,
      ...(labels === undefined ? {} : { labels }),
    }));
    const bare = before.labels === undefined ? reference : batch;
    if ((before.labels === undefined) !== (after.labels === undefined)) {
      bare.setError(
        "labels",
        "Labels of one sample alone are chosen: choose them for both, or none.",
      );
      focusWrong(bare.element);
      return;
    }
    go.disabled = true;
    replace(results, waiting("Comparing…"));
    try {
      const body = { reference: before, batch: after, level: Number(level.value) };
      const drift = await drifts.make(tree, body, { signal });
      replace(results);
      onmade(drift);
    } catch (error) {
      const isOfBatch = error instanceof Problem && error.body.where?.sample === "batch";
      showProblem(error, results, { inputs: isOfBatch ? batch : reference });
    } finally {
      go.disabled = false;
    }
  };
  const go = button("Compare", { kind: "primary", onclick: () => run() });
  return el(
    "div",
    { class: "stack" },
    part("Reference", "Rows as they should be, that the model has not seen.", reference.element),
    part("Batch", "New rows.", batch.element),
    el("div", { class: "grid inputs" }, field("False discoveries", level, { help: LEVEL })),
    el("div", { class: "row" }, go),
    results,
  );
}

/**
 * @param {string} title
 * @param {string} text
 * @param {HTMLElement} inputs
 */
const part = (title, text, inputs) =>
  el(
    "fieldset",
    { class: "stack tight" },
    el("legend", {}, title),
    el("p", { class: "quiet" }, text),
    inputs,
  );
