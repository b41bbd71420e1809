// The result of a classifier's evaluation: metrics with their errors, tables by level, size and class,
// confusions; beside a second classifier on the same rows, if one is chosen.

import { classifierMetrics, methods } from "../forms/catalogue.js";
import { usableDatasets } from "../forms/datasets.js";
import { evaluate, siblingOf, tablesOf } from "../net/classifier_evaluations.js";
import { aborted, hasStatus, problemOf } from "../net/problem.js";
import { get } from "../net/requests.js";
import * as router from "../router.js";
import { field, select } from "../ui/controls.js";
import { bdi, el, replace } from "../ui/dom.js";
import { count, moment, plural } from "../ui/format.js";
import { problemBox, waiting, warningBox } from "../ui/notices.js";
import {
  byGain,
  pairedClasses,
  pairedLevels,
  pairedSizes,
  pathsOf,
  sameLabels,
} from "./class_tables.js";
import {
  classSection,
  confusionSection,
  levelSection,
  metricSection,
  sizeSection,
} from "./classifier_sections.js";
import { dataName } from "./classifier_evaluation.js";

/** @import { ClassifierTables, Job, Method, Page, Tree } from "../net/answers.js" */
/** @import { Child } from "../ui/dom.js" */
/** @import { Option } from "../ui/controls.js" */

/**
 * @typedef {{ job: Job, name: string, tree: string, tables: Partial<ClassifierTables> }} Evaluated an
 *   evaluation with its requested tables, and the name of its classifier
 */

/** Larger trees are not loaded to match the classes of two classifiers by their paths. */
const MOST_LEAVES = 50_000;

/**
 * The cards of an evaluation. `against` is the job of that of a second classifier.
 *
 * @param {Job} job
 * @param {string | undefined} against
 * @param {AbortSignal} signal
 */
export function classifierResults(job, against, signal) {
  const element = el("div", { class: "stack loose" }, waiting());
  const load = async () => {
    try {
      const [own, list, { items: jobs }] = await Promise.all([
        evaluated(job, signal),
        methods(),
        /** @type {Promise<Page<Job>>} */ (
          get("/v1/jobs?status=succeeded&limit=200", { signal, quiet: true })
        ),
      ]);
      const other = await earlier(against, signal);
      await draw(own, other, { methods: list, jobs });
    } catch (error) {
      if (aborted(error)) return;
      replace(element, problemBox(problemOf(error), { retry: load }));
    }
  };

  /**
   * @param {Evaluated} own
   * @param {Evaluated | null} other
   * @param {{ methods: Method[], jobs: Job[] }} known
   */
  const draw = async (own, other, known) => {
    const [catalogue, paths, datasets] = await Promise.all([
      classifierMetrics(),
      pathsFor(own, other, signal),
      usableDatasets([job.inputs.labels].flat(), { signal }),
    ]);
    const { tables } = own;
    const names = other ? { own: own.name, other: other.name } : null;
    const context = { tree: own.tree, job: job.id, names };
    const classes = pairedClasses(tables.class ?? [], other?.tables.class ?? null, paths);
    if (other) classes.sort(byGain);
    const levels = pairedLevels(tables.level ?? [], other && (other.tables.level ?? []));
    replace(
      element,
      introduction(own, dataName(job, datasets)),
      comparisonCard(own, other, {
        candidates: candidates(known, own),
        onchosen: async (chosen, onfailed) => {
          try {
            const result = await secondEvaluation(chosen, job, signal);
            router.set({ against: result?.job.id ?? null });
            await draw(own, result, known);
          } catch (error) {
            if (!aborted(error)) onfailed(error);
          }
        },
      }),
      metricSection(job, other?.job ?? null, catalogue, { names, isSameTree: levels !== null }),
      tables.level &&
        (levels
          ? levelSection(levels, context)
          : levelSection(pairedLevels(tables.level, null) ?? [], {
              ...context,
              names: null,
              note: "The two classifiers have different trees, whose levels cannot be compared. To compare levels, train the second one with the same hierarchy as input.",
            })),
      tables.class_size &&
        sizeSection(pairedSizes(tables.class_size, other?.tables.class_size ?? null), context),
      tables.class && classSection(classes, context),
      tables.confusions && confusionSection(tables.confusions, context),
    );
  };
  load();
  return element;
}

/**
 * @param {Job} job of an evaluation that has succeeded
 * @param {AbortSignal} signal
 * @returns {Promise<Evaluated>}
 */
async function evaluated(job, signal) {
  const [tables, name] = await Promise.all([tablesOf(job.id, signal), classifierName(job, signal)]);
  return { job, name, tree: job.result?.tree ?? "", tables };
}

/**
 * The evaluation that an address names, or null.
 *
 * @param {string | undefined} id
 * @param {AbortSignal} signal
 */
async function earlier(id, signal) {
  if (!id?.startsWith("job_")) return null;
  try {
    /** @type {Job} */
    const job = await get(`/v1/jobs/${id}`, { signal, quiet: true });
    return job.result?.tables ? await evaluated(job, signal) : null;
  } catch (error) {
    if (!hasStatus(error, 404)) throw error;
    return null;
  }
}

/**
 * The name of the fit that an evaluation is of.
 *
 * @param {Job} job
 * @param {AbortSignal} signal
 */
async function classifierName({ method, result }, signal) {
  try {
    /** @type {Job} */
    const fit = await get(`/v1/jobs/${siblingOf(result?.model ?? "", "job")}`, {
      signal,
      quiet: true,
    });
    return fit.name ?? method;
  } catch (error) {
    if (!hasStatus(error, 404)) throw error;
    return method;
  }
}

/**
 * The evaluation of another classifier on the rows of `job`; null if none is chosen.
 *
 * @param {Job | null} fit
 * @param {Job} job
 * @param {AbortSignal} signal
 */
async function secondEvaluation(fit, job, signal) {
  const model = fit?.result?.model;
  if (!fit || !model) return null;
  return evaluated(await evaluate({ method: fit.method, model }, job.inputs, { signal }), signal);
}

/**
 * The other classifiers.
 *
 * @param {{ methods: Method[], jobs: Job[] }} known
 * @param {Evaluated} own
 */
function candidates({ methods: list, jobs }, { job }) {
  const classifying = new Set(list.filter((method) => method.classifies).map(({ id }) => id));
  return jobs.filter(
    ({ kind, method, result }) =>
      kind === "fit" &&
      classifying.has(method) &&
      result?.model &&
      result.model !== job.result?.model,
  );
}

/**
 * The paths of the nodes of both trees, if classes cannot be matched by their labels.
 *
 * @param {Evaluated} own
 * @param {Evaluated | null} other
 * @param {AbortSignal} signal
 */
async function pathsFor(own, other, signal) {
  const none = { own: new Map(), other: new Map() };
  if (!other || sameLabels(own.tables, other.tables)) return none;
  const [a, b] = await Promise.all([own, other].map(({ tree }) => treePaths(tree, signal)));
  return { own: a, other: b };
}

/**
 * The path of names of each node; none if the tree is gone or very large.
 *
 * @param {string} tree
 * @param {AbortSignal} signal
 */
async function treePaths(tree, signal) {
  const path = `/v1/trees/${tree}.json`;
  try {
    /** @type {Tree} */
    const head = await get(`${path}?depth=0`, { signal, quiet: true });
    if (head.n_leaves > MOST_LEAVES) return new Map();
    /** @type {Tree} */
    const whole = await get(path, { signal, quiet: true });
    return pathsOf(whole.nodes);
  } catch (error) {
    if (!hasStatus(error, 404)) throw error;
    return new Map();
  }
}

/**
 * What was evaluated, and the way to its tree.
 *
 * @param {Evaluated} own
 * @param {string} data
 * @returns {Child}
 */
const introduction = ({ job, name, tree }, data) =>
  el(
    "section",
    { class: "card stack", "aria-label": "What was evaluated" },
    el(
      "p",
      {},
      el(
        "a",
        { href: router.href(`/jobs/${siblingOf(job.result?.model ?? "", "job")}`) },
        bdi(name),
      ),
      " on ",
      bdi(data),
      `, ${plural(job.result?.evaluation?.n_rows ?? 0, "labelled row")}.`,
    ),
    el(
      "div",
      { class: "row" },
      el(
        "a",
        { class: "button primary", href: router.href(`/trees/${tree}`, { color: job.id }) },
        "Errors on the tree",
      ),
    ),
  );

/**
 * The choice of a second classifier.
 *
 * @param {Evaluated} own
 * @param {Evaluated | null} other
 * @param {{
 *   candidates: Job[],
 *   onchosen: (job: Job | null, onfailed: (error: unknown) => void) => Promise<void>,
 * }} options
 */
function comparisonCard({ job }, other, { candidates: jobs, onchosen }) {
  const isInline = Object.values(job.inputs).includes("inline");
  const place = el("div", {});
  const value = other && siblingOf(other.job.result?.model ?? "", "job");
  /** @type {Option[]} */
  const options = [
    ["", jobs.length ? "–" : "There is no other classifier yet"],
    ...jobs.map(
      (fit) =>
        /** @type {const} */ ([fit.id, `${fit.name ?? fit.method} · ${moment(fit.created_at)}`]),
    ),
  ];
  if (value && !jobs.some(({ id }) => id === value)) options.push([value, other.name]);
  const list = select(options, {
    value,
    disabled: isInline,
    onchange: async () => {
      const chosen = jobs.find(({ id }) => id === list.value) ?? null;
      list.disabled = true;
      replace(place, waiting("Evaluating it on the same rows…"));
      await onchosen(chosen, (error) => {
        list.disabled = false;
        replace(place, problemBox(problemOf(error), { level: "h3" }));
      });
    },
  });
  const differs = other && other.job.result?.evaluation?.n_rows !== job.result?.evaluation?.n_rows;
  return el(
    "section",
    { class: "card", "aria-labelledby": "against-title" },
    el("h2", { id: "against-title" }, "Beside another classifier"),
    el(
      "div",
      { class: "stack" },
      field("Compare with", list, {
        help: isInline
          ? "The rows of this evaluation were given in its request and cannot be used again."
          : "It is evaluated on the same rows. The tables then show both, and which classes gain.",
      }),
      place,
      other &&
        warningBox([
          ...(other.job.warnings ?? []),
          ...(differs
            ? [`It was evaluated on ${count(other.job.result?.evaluation?.n_rows ?? 0)} rows.`]
            : []),
        ]),
    ),
  );
}
