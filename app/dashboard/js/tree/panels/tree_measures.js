// Two trees measured against the same labels, in one table.

import { ENDED } from "../../net/jobs.js";
import { aborted, Problem, problemOf } from "../../net/problem.js";
import { get, send } from "../../net/requests.js";
import { sleep } from "../../net/timers.js";
import { button, field, optionElements } from "../../ui/controls.js";
import { bdi, el, replace } from "../../ui/dom.js";
import { number } from "../../ui/format.js";
import { problemBox, waiting } from "../../ui/notices.js";
import { table } from "../../ui/tables.js";

/** @import { Dataset, Evaluation, Job, Page } from "../../net/answers.js" */

/**
 * The card; `draw` lists the labels that fit the trees as they are now.
 *
 * @param {{
 *   pair: () => { left: string, right: string, points: number | undefined },
 *   labels: string | null,
 *   signal: AbortSignal,
 *   onlabels: (labels: string) => unknown,
 * }} options `pair`: the trees' ids and how many points they have; `labels`: the dataset in the address
 */
export function treeMeasures({ pair, labels: initial, signal, onlabels }) {
  const body = el("div", { class: "stack" });
  const labels = el("select", {});
  const run = button("Measure both", { onclick: () => measure() });
  const element = el(
    "section",
    { class: "card tree-panel", "aria-labelledby": "measures-title" },
    el("h2", { id: "measures-title" }, "Evaluations"),
    el(
      "div",
      { class: "stack" },
      field("Against the labels", labels),
      el("div", { class: "row" }, run),
      body,
    ),
  );
  let chosen = initial;
  const draw = async () => {
    const { points } = pair();
    try {
      /** @type {Page<Dataset>} */
      const { items } = await get("/v1/datasets?limit=200", { signal, quiet: true });
      const fitting = items.filter(
        ({ status, shape, role, tree }) =>
          status === "ready" &&
          // Statements about a tree label some of its points only.
          !tree &&
          shape?.length === 1 &&
          (shape[0] === points || points === 1) &&
          role !== "names",
      );
      replace(
        labels,
        optionElements(
          fitting.map(({ id, name }) => [id, name ?? id]),
          chosen,
        ),
      );
      run.disabled = fitting.length === 0;
      if (!fitting.length) {
        replace(
          body,
          el("p", { class: "quiet" }, "There is no dataset with one label for each of the points."),
        );
      }
    } catch (error) {
      if (!aborted(error)) replace(body, problemBox(problemOf(error), { level: "h3" }));
    }
  };
  const measure = async () => {
    chosen = labels.value;
    onlabels(chosen);
    replace(body, waiting("Measuring…"));
    const { left, right } = pair();
    try {
      const [ofLeft, ofRight] = await Promise.all(
        [left, right].map((tree) => evaluate(tree, labels.value, signal)),
      );
      const names = new Set([...Object.keys(ofLeft.metrics), ...Object.keys(ofRight.metrics)]);
      const warnings = new Set([...ofLeft.warnings, ...ofRight.warnings]);
      replace(
        body,
        table({
          caption: "Metrics of both trees",
          columns: [
            { label: "Metric", head: true, cell: (name) => name.replaceAll("_", " ") },
            { label: "Left", numeric: true, cell: (name) => number(ofLeft.metrics[name]) },
            { label: "Right", numeric: true, cell: (name) => number(ofRight.metrics[name]) },
          ],
          rows: [...names],
        }),
        [...warnings].slice(0, 4).map((text) => el("p", { class: "quiet" }, bdi(text))),
      );
    } catch (error) {
      if (!aborted(error)) {
        replace(body, problemBox(problemOf(error), { level: "h3", retry: measure }));
      }
    }
  };
  return { element, draw };
}

/**
 * The evaluation of a tree, which may come as a job that is not finished yet.
 *
 * @param {string} tree
 * @param {string} labels
 * @param {AbortSignal} signal
 * @returns {Promise<Pick<Evaluation, "metrics" | "warnings">>}
 */
async function evaluate(tree, labels, signal) {
  /** @type {Evaluation | Job} */
  const answer = await send(
    "POST",
    `/v1/trees/${tree}/evaluations`,
    { labels },
    { signal, headers: { Prefer: "wait=20" } },
  );
  if ("metrics" in answer) return answer;
  let job = answer;
  while (!ENDED.has(job.status)) {
    await sleep(400, signal);
    job = await get(`/v1/jobs/${job.id}`, { signal, quiet: true });
  }
  if (job.status !== "succeeded") {
    throw new Problem(job.error ?? { title: `The evaluation was ${job.status}` });
  }
  return job.result?.evaluation ?? { metrics: {}, warnings: [] };
}
