// A run on the same features that learns from what the user knows, followed to its tree.

import { methods } from "../forms/catalogue.js";
import { fitting, labelOf } from "../forms/roles.js";
import { ENDED, follow } from "../net/jobs.js";
import { aborted, hasStatus, Problem, problemOf } from "../net/problem.js";
import { get, send } from "../net/requests.js";
import * as router from "../router.js";
import { button, field, optionElements, select } from "../ui/controls.js";
import { el, replace } from "../ui/dom.js";
import { count } from "../ui/format.js";
import { problemBox } from "../ui/notices.js";
import { progressPanel } from "../ui/progress.js";
import { newClusters } from "./model/statements.js";

/** @import { Dataset, Job, Tree } from "../net/answers.js" */
/** @import { TreeView } from "./draw/view.js" */
/** @import { Contradiction, Statement } from "./model/statements.js" */

/** @typedef {{ inputs: Record<string, string>, preprocess: Job["preprocess"] }} Source */

const FAMILY = "labelled";
const FIRST = "tcs";
const MOST = 10_000;
/** The value of the option that stands for the features of the tree's own job. */
const OWN = "own";

/**
 * The form: `start` once the tree is known, `draw` after each change, `settle` to forget what was
 * wrong.
 *
 * @param {TreeView} view
 * @param {{
 *   statements: () => Statement[],
 *   oncontradictions: (contradictions: Contradiction[]) => unknown,
 *   onjob: (job: string | null) => unknown,
 * }} handlers
 */
export function runAgain(view, { statements, oncontradictions, onjob }) {
  const { source, signal } = view;
  /** @type {Source | null} */
  let own = null;
  let isTyped = false;
  let isRunning = false;
  const method = select([[FIRST, FIRST]]);
  const number = el("input", {
    type: "number",
    min: 1,
    max: MOST,
    step: 1,
    required: true,
    oninput: () => (isTyped = true),
  });
  const features = el("select", {});
  const featuresRow = field("Features", features);
  const place = el("div", { "aria-live": "polite" });
  const start = button("Run again", { kind: "primary", type: "submit", disabled: true });
  const form = el(
    "form",
    {
      class: "stack tight",
      onsubmit: (event) => {
        event.preventDefault();
        run();
      },
    },
    el("h3", {}, "Run again"),
    el("div", { class: "tree-pair" }, field("Method", method), field("New clusters", number)),
    featuresRow,
    el("div", { class: "row" }, start),
  );
  const element = el("section", { class: "stack tight", hidden: true }, form, place);

  const draw = () => {
    const given = statements();
    element.hidden = !given.length && !place.children.length;
    form.hidden = !given.length;
    if (!isTyped) {
      number.value = String(newClusters(given, view.cut?.n_clusters ?? given.length + 2));
    }
  };
  const settle = () => !isRunning && replace(place);
  /** @param {boolean} running */
  const setRunning = (running) => {
    isRunning = running;
    start.disabled = running || !features.options.length;
  };

  const run = async () => {
    settle();
    setRunning(true);
    try {
      /** @type {Dataset} */
      const labels = await send("POST", `/v1/trees/${source.tree}/labels`, {
        statements: statements(),
      });
      const job = await submit(labels.id);
      onjob(job.id);
      await watch(job);
    } catch (error) {
      complain(error);
    } finally {
      setRunning(false);
    }
  };

  /**
   * The job that learns from labels; these are removed if it is refused.
   *
   * @param {string} labels id
   * @returns {Promise<Job>}
   */
  const submit = async (labels) => {
    const chosen = features.value === OWN && own ? own : { inputs: { features: features.value } };
    try {
      return await send("POST", "/v1/jobs", {
        method: method.value,
        ...chosen,
        inputs: { ...chosen.inputs, labels },
        params: { n_clusters: Number(number.value) },
        name: `${view.title}, again`.slice(0, 1000),
      });
    } catch (error) {
      await send("DELETE", `/v1/datasets/${labels}`).catch(() => {});
      throw error;
    }
  };

  /** @param {Job} job */
  const watch = async (job) => {
    const panel = progressPanel(job.id, { oncancelled: () => {} });
    panel.show(job);
    replace(place, panel);
    draw();
    const done = ENDED.has(job.status)
      ? job
      : await follow(job.id, {
          signal,
          onprogress: (status, progress) => panel.show({ status, progress }),
        });
    if (signal.aborted) return;
    onjob(null);
    replace(place);
    if (done.status === "succeeded" && done.result?.tree) {
      router.navigate(`/trees/${done.result.tree}`);
    } else throw new Problem(done.error ?? { title: `The run was ${done.status}.`, status: 409 });
  };

  /** @param {unknown} error */
  const complain = (error) => {
    if (aborted(error) || signal.aborted) return;
    const problem = problemOf(error);
    const contradictions = error instanceof Problem && contradictionsIn(error.body);
    if (!contradictions) {
      replace(place, problemBox(problem, { level: "h4" }));
      return;
    }
    oncontradictions(contradictions);
    replace(
      place,
      problemBox(
        { title: "Statements contradict each other", detail: WHAT_TO_DO },
        { level: "h4" },
      ),
    );
  };

  /**
   * @param {Tree} head
   * @param {string | null} running a run that was not followed to its end
   */
  const begin = async (head, running) => {
    view.on("painted", draw);
    if (running) resume(running);
    try {
      const [all, page, ofTree] = await Promise.all([
        methods(),
        source.datasets(),
        sourceOf(head, signal),
      ]);
      const learning = all.filter(
        ({ family, params }) =>
          family === FAMILY && params.properties && "n_clusters" in params.properties,
      );
      replace(
        method,
        optionElements(
          learning.map(({ id, title }) => [id, `${id}: ${title}`]),
          FIRST,
        ),
      );
      own = ofTree;
      const fit = fitting(page.items, "features").filter(
        (dataset) => dataset.shape?.[0] === head.n_points,
      );
      const [used] = Object.values(own?.inputs ?? {});
      replace(
        features,
        optionElements([
          ...(own ? [/** @type {const} */ ([OWN, "This tree's"])] : []),
          ...fit
            .filter(({ id }) => id !== used)
            .map((dataset) => /** @type {const} */ ([dataset.id, labelOf(dataset)])),
        ]),
      );
      setRunning(isRunning);
      featuresRow.setError(
        !features.options.length &&
          `No dataset has the ${count(head.n_points)} rows of this tree; upload one first.`,
      );
    } catch (error) {
      complain(error);
    }
  };

  /** @param {string} id */
  const resume = async (id) => {
    try {
      /** @type {Job} */
      const job = await get(`/v1/jobs/${id}`, { signal, quiet: true });
      if (!ENDED.has(job.status)) {
        setRunning(true);
        await watch(job);
        return;
      }
      onjob(null);
      const tree = job.result?.tree;
      if (!tree) return;
      replace(
        place,
        el(
          "p",
          { class: "notice good" },
          "The run has ended: ",
          el("a", { href: router.href(`/trees/${tree}`) }, "the new tree"),
        ),
      );
      draw();
    } catch (error) {
      if (hasStatus(error, 404)) onjob(null);
      else complain(error);
    } finally {
      setRunning(false);
    }
  };
  return Object.assign(element, { draw, settle, start: begin });
}

/**
 * What the tree was made from, where that can be used again.
 *
 * @param {Tree} head
 * @param {AbortSignal} signal
 * @returns {Promise<Source | null>}
 */
async function sourceOf({ job: id }, signal) {
  if (!id) return null;
  try {
    /** @type {Job} */
    const { inputs, preprocess } = await get(`/v1/jobs/${id}`, { signal, quiet: true });
    const role = preprocess[0]?.step === "words" ? "documents" : "features";
    const dataset = inputs[role];
    return typeof dataset === "string" && dataset.startsWith("ds_")
      ? { inputs: { [role]: dataset }, preprocess }
      : null;
  } catch (error) {
    if (hasStatus(error, 404)) return null;
    throw error;
  }
}

/**
 * @param {object} body of a problem
 * @returns {Contradiction[] | null}
 */
const contradictionsIn = (body) =>
  "contradictions" in body ? /** @type {Contradiction[]} */ (body.contradictions) : null;

const WHAT_TO_DO = "Those concerned are marked above. Remove some of them, and run again.";
