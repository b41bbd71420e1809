// The result of a job: tree, metrics, curves, or why there is none.

import { hasStatus } from "../net/problem.js";
import * as router from "../router.js";
import { button } from "../ui/controls.js";
import { el, replace } from "../ui/dom.js";
import { download } from "../ui/downloads.js";
import { fetchedImage } from "../ui/images.js";
import { menu } from "../ui/menus.js";
import { problemBox, warningBox } from "../ui/notices.js";
import { classifierEvaluationCard } from "./classifier_evaluation.js";
import { classifierResults } from "./classifier_results.js";
import { clustersCard } from "./clusters_card.js";
import { curvesCard, metricsCard } from "./measurements.js";
import { comparisonId } from "./job_columns.js";
import { predictionCard, predictionsCard } from "./predictions.js";
import { treeDownloads } from "./tree_downloads.js";

/** @import { Params } from "../net/address.js" */
/** @import { Job } from "../net/answers.js" */
/** @import { Child } from "../ui/dom.js" */

/**
 * The cards of a job that has ended.
 *
 * @param {Job} job
 * @param {Params} params of the address
 * @param {AbortSignal} signal
 * @returns {Child}
 */
export function jobResult(job, params, signal) {
  if (job.status === "failed") return [problemBox(job.error ?? {}), warningBox(job.warnings)];
  if (job.status === "cancelled") {
    return el(
      "section",
      { class: "notice", role: "status" },
      el("h2", { class: "notice-title" }, "Cancelled"),
      el("p", {}, "The job was cancelled and left no result."),
    );
  }
  const { tree, model, metrics, curves, chosen, evaluation, tables } = job.result ?? {};
  const isFit = job.kind === "fit" && tree;
  const isOfClassifier = job.kind === "evaluate" && tables;
  if (isOfClassifier) return [warningBox(job.warnings), classifierResults(job, params.against, signal)]; // prettier-ignore
  return [
    warningBox(job.warnings),
    tree && treeCard(job, tree, model, signal),
    chosen && chosenLine(chosen),
    job.kind === "compare" && comparisonLink(job),
    job.kind === "evaluate" && metricsCard(evaluation?.metrics ?? {}, job),
    job.kind === "predict" && predictionsCard(job, signal),
    job.kind === "transform" && datasetLink(job),
    isFit && clustersCard(job, signal),
    el("div", { class: "halves" }, metricsCard(metrics ?? {}, job), curvesCard(curves ?? {})),
    isFit && model && predictionCard(job, model, signal),
    isFit && model && classifierEvaluationCard(job, model, signal),
  ];
}

/**
 * What was taken for parameters that were `auto`, and why.
 *
 * @param {NonNullable<import("../net/answers.js").Result["chosen"]>} chosen
 */
function chosenLine(chosen) {
  return el(
    "p",
    { class: "quiet", id: "chosen" },
    Object.entries(chosen).map(([parameter, { value, reason }]) => [
      el("code", {}, `${parameter} ${value}`),
      ` was taken. ${reason} `,
    ]),
  );
}

/**
 * @param {Job} job
 * @param {string} tree
 * @param {string | undefined} model
 * @param {AbortSignal} signal
 */
function treeCard(job, tree, model, signal) {
  const preview = el("div", { class: "preview" });
  const draw = () => drawPreview(preview, tree, signal);
  addEventListener("themechange", draw, { signal });
  draw();
  return el(
    "section",
    { class: "card tree-card", "aria-labelledby": "tree-title" },
    el(
      "div",
      { class: "stack" },
      el("h2", { id: "tree-title" }, "The tree"),
      el(
        "div",
        { class: "row" },
        el(
          "a",
          { class: "button primary large", href: router.href(`/trees/${tree}`), id: "open-tree" },
          "Open the tree",
        ),
        menu("Download", () => treeDownloads(tree, job.name), { iconName: "download" }),
      ),
      el(
        "p",
        { class: "row" },
        el("a", { href: router.href("/evaluations", { trees: tree }) }, "Evaluate the tree"),
        model &&
          button("Download the model", {
            kind: "small",
            iconName: "download",
            onclick: () => download(`/v1/models/${model}/content`, `${model}.safetensors`),
          }),
      ),
    ),
    preview,
  );
}

/**
 * A small picture in the page's colours, drawn by the service. The card also works without it.
 *
 * @param {HTMLElement} place
 * @param {string} tree
 * @param {AbortSignal} signal
 */
async function drawPreview(place, tree, signal) {
  const { theme } = document.documentElement.dataset;
  try {
    const path = `/v1/trees/${tree}.svg?px=440&theme=${theme}`;
    replace(place, await fetchedImage(path, { alt: "", class: "preview-picture" }, signal));
  } catch (error) {
    if (hasStatus(error, 404)) replace(place, el("p", { class: "quiet" }, "The tree was deleted."));
    else place.remove();
  }
}

/** @param {Job} job */
const datasetLink = ({ result }) =>
  el(
    "section",
    { class: "card" },
    el(
      "a",
      { class: "button primary", href: router.href(`/datasets/${result?.dataset}`) },
      "Open the transformed rows",
    ),
  );

/** @param {Job} job */
const comparisonLink = (job) =>
  el(
    "section",
    { class: "card" },
    el(
      "a",
      { class: "button primary", href: router.href(`/comparisons/${comparisonId(job)}`) },
      "Open the table",
    ),
  );
