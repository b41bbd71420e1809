// What a job has measured: single values with what they are in, and curves.

import { readable } from "../forms/schema_form.js";
import { lineChart } from "../ui/charts.js";
import { el, table } from "../ui/dom.js";
import { number } from "../ui/format.js";

const ERROR = "_standard_error";

/** What values are, where their names do not say it: [title, unit or meaning]. */
const ABOUT = {
  n_iter: ["Iterations", "of the run that serves"],
  bic: ["BIC", "lower is better"],
  aic: ["AIC", "lower is better"],
  objective_estimate: ["Objective", "estimated on the way, the model moving on"],
};
const LIKELIHOODS = {
  log_likelihood: ["Log-likelihood", "nats, all fitted rows together"],
  held_out_log_likelihood: ["Held-out log-likelihood", "nats a row, higher is better"],
};
/** Of mixtures on the sphere: densities, so that logarithms may well be above 0. */
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

function aboutOf(name, job) {
  const known = ON_SPHERE.has(job?.method) ? SPHERE : LIKELIHOODS;
  if (name === "objective" && job?.params?.inference === "gibbs")
    return ["Log joint density", "nats, mean of the chain; chains are compared by it"];
  if (name === "c0" && job?.method === "tvmf") return ["C0", "how close means stay in a period"];
  if (name === "c0" && job?.method === "hvmf") return ["C0", "of the root's mean, as given"];
  return known[name] ?? ABOUT[name] ?? [readable(name), ""];
}

/** A card with the metrics of `job`; null of none. Standard errors stand beside what they are of. */
export function metricsCard(metrics, job) {
  const all = metrics ?? {};
  const rows = Object.entries(all).filter(
    ([name]) => !(name.endsWith(ERROR) && name.slice(0, -ERROR.length) in all),
  );
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
            all[name + ERROR] !== undefined &&
              el(
                "span",
                { class: "quiet", title: "Standard error" },
                ` ± ${number(all[name + ERROR])}`,
              ),
          ],
        },
      ],
      rows,
    }),
  );
}

/** Curves of a fit's progress; others run over numbers of clusters. */
const BY_STEP = new Set(["objective", "loss", "cost"]);
const EPOCHS = "_by_epoch";

/** A card with a drawing for each curve of more than one point; null of none. */
export function curvesCard(curves) {
  const all = curves ?? {};
  const found = Object.entries(all).filter(
    ([name, points]) =>
      points.length > 1 && !(name.endsWith(ERROR) && name.slice(0, -ERROR.length) in all),
  );
  if (!found.length) return null;
  return el(
    "section",
    { class: "card", "aria-labelledby": "curves-title" },
    el("h2", { id: "curves-title" }, "Curves"),
    el(
      "div",
      { class: "charts" },
      found.map(([name, points]) => {
        const byEpoch = name.endsWith(EPOCHS);
        const plain = byEpoch ? name.slice(0, -EPOCHS.length) : name;
        return lineChart({
          title: LIKELIHOODS[plain]?.[0] ?? ABOUT[plain]?.[0] ?? readable(plain),
          up: plain in LIKELIHOODS ? LIKELIHOODS[plain][1] : ABOUT[plain]?.[1],
          points,
          errors: all[name + ERROR],
          across: byEpoch ? "epoch" : BY_STEP.has(name) ? "iteration" : "number of clusters",
        });
      }),
    ),
  );
}
