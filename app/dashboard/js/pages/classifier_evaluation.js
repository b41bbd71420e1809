// The card of a fitted classifier that evaluates it on rows whose labels are known.

import { methodOf } from "../forms/catalogue.js";
import { usableDatasets } from "../forms/datasets.js";
import { columnsFor, refusalOf } from "../forms/fitted_rows.js";
import { focusWrong, showProblem } from "../forms/form_problem.js";
import { inputsForm, rolesOf } from "../forms/inputs_form.js";
import { isLabelled } from "../forms/roles.js";
import { evaluate, evaluationsOf } from "../net/classifier_evaluations.js";
import { fittedRows } from "../net/fitted_rows.js";
import { aborted, hasStatus, problemOf } from "../net/problem.js";
import { get } from "../net/requests.js";
import * as router from "../router.js";
import { button } from "../ui/controls.js";
import { bdi, el, replace } from "../ui/dom.js";
import { ago, number } from "../ui/format.js";
import { problemBox, waiting } from "../ui/notices.js";

/** @import { Dataset, Job, Method, Model } from "../net/answers.js" */
/** @import { Fitted } from "../forms/fitted_rows.js" */
/** @import { Role } from "../forms/inputs_form.js" */

/** @type {Role} */
const LABELS = { required: true, many: false, description: "The true classes of these rows." };
const EARLIER = 5;

/**
 * A card to evaluate the model of `job`; hidden if it gives no labels.
 *
 * @param {Job} job
 * @param {string} modelId
 * @param {AbortSignal} signal
 */
export function classifierEvaluationCard(job, modelId, signal) {
  const title = el("h2", { id: "evaluating-title" }, "Evaluate this classifier");
  const element = el("section", {
    class: "card",
    "aria-labelledby": "evaluating-title",
    hidden: true,
  });
  const fill = async () => {
    const method = await methodOf(job.method);
    if (!method?.classifies) return;
    element.hidden = false;
    try {
      const [model, datasets, earlier, fitted] = await Promise.all([
        /** @type {Promise<Model>} */ (get(`/v1/models/${modelId}`, { signal, quiet: true })),
        usableDatasets([], { signal }),
        evaluationsOf({ method: job.method, model: modelId }, signal),
        fittedRows({ id: modelId }, signal),
      ]);
      replace(
        element,
        title,
        el(
          "div",
          { class: "stack" },
          evaluationForm(method, model, { datasets, fitted, signal }),
          earlier.length > 0 && earlierList(earlier, datasets),
        ),
      );
    } catch (error) {
      if (aborted(error)) return;
      if (hasStatus(error, 404)) element.remove();
      else replace(element, title, problemBox(problemOf(error), { level: "h3", retry: fill }));
    }
  };
  fill();
  return element;
}

/**
 * @param {Method} method
 * @param {Model} model
 * @param {{ datasets: Dataset[], fitted: Fitted, signal: AbortSignal }} options
 */
function evaluationForm(method, model, { datasets, fitted, signal }) {
  const inputs = inputsForm(
    { ...rolesOf(method, model), labels: LABELS },
    {
      datasets,
      method: method.id,
      refusal: refusalOf(fitted),
      files: { signal, columns: (dataset, role) => columnsFor(fitted, dataset, role) },
      onchange: () => chooseLabels(),
    },
  );
  const chooseLabels = () => {
    const { features, labels } = inputs.chosen();
    const dataset = inputs.datasets().find(({ id }) => id === features);
    if (dataset && isLabelled(dataset) && labels === undefined) {
      inputs.refresh(inputs.datasets(), { labels: dataset.id });
    }
  };
  const results = el("div", { class: "stack" });
  const run = async () => {
    const { inputs: chosen, errors } = inputs.read();
    replace(results);
    if (Object.keys(errors).length) {
      focusWrong(inputs.element);
      return;
    }
    go.disabled = true;
    replace(results, waiting("Evaluating…"));
    try {
      const job = await evaluate({ method: method.id, model: model.id }, chosen, { signal });
      router.navigate(`/jobs/${job.id}`);
    } catch (error) {
      showProblem(error, results, { inputs });
    } finally {
      go.disabled = false;
    }
  };
  const go = button("Evaluate", { kind: "primary", onclick: () => run() });
  return el(
    "div",
    { class: "stack" },
    el(
      "p",
      { class: "quiet" },
      "On rows whose labels are known and that it was not trained on: metrics with their errors, " +
        "results by level and by class, confusions, and the tree in the colours of the errors.",
    ),
    inputs.element,
    el("div", { class: "row" }, go),
    results,
  );
}

/**
 * @param {Job[]} jobs
 * @param {Dataset[]} datasets
 */
const earlierList = (jobs, datasets) =>
  el(
    "div",
    { class: "stack tight" },
    el("h3", {}, "Evaluations so far"),
    el(
      "ul",
      {},
      jobs
        .slice(0, EARLIER)
        .map((job) =>
          el(
            "li",
            {},
            el("a", { href: router.href(`/jobs/${job.id}`) }, bdi(dataName(job, datasets))),
            el("span", { class: "quiet" }, ` ${shortResult(job)}, ${ago(job.created_at)}`),
          ),
        ),
    ),
  );

/**
 * What the rows of an evaluation are called.
 *
 * @param {Job} job
 * @param {Dataset[]} datasets
 */
export function dataName(job, datasets) {
  const id = job.inputs.labels;
  if (typeof id !== "string" || id === "inline") return "labels in the request";
  return datasets.find((dataset) => dataset.id === id)?.name ?? id;
}

/** @param {Job} job */
function shortResult({ result }) {
  const { macro_f1: macro, micro_f1: micro } = result?.evaluation?.metrics ?? {};
  return `macro F1 ${number(macro)}, micro F1 ${number(micro)}`;
}
