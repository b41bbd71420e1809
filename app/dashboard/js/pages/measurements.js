// The measurements of a job: single values with their units, and curves.

import { readable } from "../forms/parameter_names.js";
import { lineChart } from "../ui/charts.js";
import { el } from "../ui/dom.js";
import { number } from "../ui/format.js";
import { table } from "../ui/tables.js";

/** @import { Job } from "../net/answers.js" */

const ERROR = "_standard_error";

/** @typedef {[title: string, meaning: string]} About a title, and a unit or what the value means */

/**
 * Values whose names do not explain them.
 *
 * @type {Record<string, About>}
 */
const ABOUT = {
  n_iter: ["Iterations", "of the best run"],
  bic: ["BIC", "lower is better"],
  aic: ["AIC", "lower is better"],
  objective_estimate: ["Objective", "estimated while the model changes"],
};
/** @type {Record<string, About>} */
const LIKELIHOODS = {
  log_likelihood: ["Log-likelihood", "nats, all fitted rows together"],
  held_out_log_likelihood: ["Held-out log-likelihood", "nats a row, higher is better"],
};
/**
 * For mixtures on the sphere: densities, so that logarithms may well be above 0.
 *
 * @type {Record<string, About>}
 */
const SPHERE = {
  ...LIKELIHOODS,
  objective: ["Lower bound", "nats, of the log evidence; runs are compared by it"],
  lower_bound: ["Lower bound", "nats, at the number of clusters found"],
  n_clusters: ["Number of clusters", "chosen or found"],
  kappa_min: ["Smallest concentration κ", "of the clusters"],
  kappa_max: ["Largest concentration κ", "of the clusters"],
  alpha: ["α", "of the weights' prior, at the end"],
  c0: ["C0", "how close the clusters' means lie, at the end"],
  first_c0: ["C0 of the first period", "at the end"],
  weight_sd: ["Step of log weights", "a period, standard deviation"],
  kappa_median: ["Median of the concentrations", "of their prior, at the end"],
  kappa_sigma: ["Spread of log concentrations", "standard deviation of their prior, at the end"],
  n_periods: ["Periods", ""],
};
const ON_SPHERE = new Set(["vmf", "bvmf", "hvmf", "tvmf"]);

/**
 * @param {string} name
 * @param {Job} job
 * @returns {About}
 */
function aboutOf(name, { method, params }) {
  const known = ON_SPHERE.has(method) ? SPHERE : LIKELIHOODS;
  if (name === "objective" && params.inference === "gibbs") {
    return ["Log joint density", "nats, mean of the chain; chains are compared by it"];
  }
  if (name === "c0" && method === "tvmf") return ["C0", "how close means stay in a period"];
  if (name === "c0" && method === "hvmf") return ["C0", "of the root's mean, as given"];
  return known[name] ?? ABOUT[name] ?? [readable(name), ""];
}

/**
 * The entries that are not the standard errors of others.
 *
 * @template T
 * @param {Record<string, T>} all
 */
const withoutErrors = (all) =>
  Object.entries(all).filter(
    ([name]) => !(name.endsWith(ERROR) && name.slice(0, -ERROR.length) in all),
  );

/**
 * A card with the metrics of `job`, each with its standard error; null where there are none.
 *
 * @param {Record<string, number | null>} metrics
 * @param {Job} job
 */
export function metricsCard(metrics, job) {
  const rows = withoutErrors(metrics);
  if (!rows.length) return null;
  return el(
    "section",
    { class: "card", "aria-labelledby": "metrics-title" },
    el("h2", { id: "metrics-title" }, "Metrics"),
    table({
      caption: "Values of the metrics",
      columns: [
        {
          label: "Metric",
          head: true,
          cell: ([name]) => {
            const [title, meaning] = aboutOf(name, job);
            return [
              title,
              " ",
              el("code", { class: "quiet" }, name),
              meaning && el("span", { class: "field-hint meaning" }, meaning),
            ];
          },
        },
        {
          label: "Value",
          numeric: true,
          cell: ([name, value]) => [
            el("span", { title: String(value) }, number(value)),
            metrics[name + ERROR] !== undefined &&
              el(
                "span",
                { class: "quiet", title: "Standard error" },
                ` ± ${number(metrics[name + ERROR])}`,
              ),
          ],
        },
      ],
      rows,
    }),
  );
}

/** Curves over the iterations of a fit; others run over numbers of clusters. */
const BY_STEP = new Set(["objective", "loss", "cost"]);
const EPOCHS = "_by_epoch";
/** A few numbers of clusters have one; the page of the tree shows them with its suggestions. */
const P_VALUE = "_p_value";

/**
 * A card with a drawing for each curve of more than one point; null where there are none.
 *
 * @param {Record<string, [x: number, y: number][]>} curves
 */
export function curvesCard(curves) {
  const shown = withoutErrors(curves).filter(
    ([name, points]) => points.length > 1 && !name.endsWith(P_VALUE),
  );
  if (!shown.length) return null;
  return el(
    "section",
    { class: "card", "aria-labelledby": "curves-title" },
    el("h2", { id: "curves-title" }, "Curves"),
    el(
      "div",
      { class: "charts" },
      shown.map(([name, points]) => {
        const isByEpoch = name.endsWith(EPOCHS);
        const plain = isByEpoch ? name.slice(0, -EPOCHS.length) : name;
        return lineChart({
          title: LIKELIHOODS[plain]?.[0] ?? ABOUT[plain]?.[0] ?? readable(plain),
          up: plain in LIKELIHOODS ? LIKELIHOODS[plain][1] : ABOUT[plain]?.[1],
          points,
          errors: curves[name + ERROR],
          across: isByEpoch ? "epoch" : BY_STEP.has(name) ? "iteration" : "number of clusters",
        });
      }),
    ),
  );
}
