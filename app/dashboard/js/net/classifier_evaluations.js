// Evaluations of classifiers: jobs whose results are metrics and tables.

import { ENDED, follow } from "./jobs.js";
import { Problem } from "./problem.js";
import { get, send } from "./requests.js";

/** @import { ClassifierEvaluation, ClassifierTables, Job, JobStatus, Page, Progress } from "./answers.js" */

/** The tables that the page shows, and the one that it colours trees by. */
const BY = ["level", "class_size", "class", "confusions", "node"];

/**
 * The id of the job, the tree or the model that belongs with another of them.
 *
 * @param {string} id
 * @param {"job" | "tr" | "md"} prefix
 */
export const siblingOf = (id, prefix) => id.replace(/^[a-z]+_/, `${prefix}_`);

/**
 * The finished evaluations of a classifier, the newest first.
 *
 * @param {{ method: string, model: string }} classifier
 * @param {AbortSignal} signal
 * @returns {Promise<Job[]>}
 */
export async function evaluationsOf({ method, model }, signal) {
  const query = `status=succeeded&method=${encodeURIComponent(method)}&limit=200`;
  /** @type {Page<Job>} */
  const { items } = await get(`/v1/jobs?${query}`, { signal, quiet: true });
  return items.filter(({ kind, result }) => kind === "evaluate" && result?.model === model);
}

/**
 * The tables that an evaluation was to make.
 *
 * @param {string} jobId
 * @param {AbortSignal} signal
 * @returns {Promise<Partial<ClassifierTables>>}
 */
export const tablesOf = (jobId, signal) => get(`/v1/jobs/${jobId}/tables`, { signal, quiet: true });

/**
 * Evaluate a classifier; resolves to the job that has succeeded. Throws the Problem of a refusal or of a
 * failed job.
 *
 * @param {{ method: string, model: string }} classifier
 * @param {Record<string, unknown>} inputs by role, with the labels
 * @param {{ signal: AbortSignal, onprogress?: (status: JobStatus, progress: Progress) => unknown }} options
 * @returns {Promise<Job>}
 */
export async function evaluate(classifier, { labels, ...inputs }, { signal, onprogress }) {
  /** @type {ClassifierEvaluation | Job} */
  const answer = await send(
    "POST",
    `/v1/models/${classifier.model}/evaluations`,
    { inputs, labels, by: BY },
    { headers: { Prefer: "wait=0" }, signal },
  );
  // If the request was repeated after a failure of the network, its job may have ended: then the answer
  // is the result, and its job the newest one.
  if (!("status" in answer)) return (await evaluationsOf(classifier, signal))[0];
  const job = ENDED.has(answer.status) ? answer : await follow(answer.id, { signal, onprogress });
  if (job.status === "succeeded") return job;
  throw new Problem(job.error ?? { title: `The evaluation was ${job.status}.`, status: 409 });
}
