// The datasets that a model was fitted to.

import { siblingOf } from "./classifier_evaluations.js";
import { hasStatus } from "./problem.js";
import { get } from "./requests.js";

/** @import { Dataset, Job, Model } from "./answers.js" */
/** @typedef {Record<string, Dataset[]>} FittedDatasets by role; none where they are gone */

/**
 * The datasets that a model was fitted to.
 *
 * @param {Pick<Model, "id">} model
 * @param {AbortSignal} signal
 * @returns {Promise<FittedDatasets>}
 */
export async function fittedRows({ id }, signal) {
  const options = { signal, quiet: true };
  /** @type {Job | null} */
  const job = await known(get(`/v1/jobs/${siblingOf(id, "job")}`, options));
  const entries = Object.entries(job?.inputs ?? {}).map(async ([role, value]) => {
    const ids = [value].flat().filter((one) => typeof one === "string" && one.startsWith("ds_"));
    const datasets = await Promise.all(
      ids.map((one) => known(get(`/v1/datasets/${one}`, options))),
    );
    return /** @type {const} */ ([role, datasets.filter((dataset) => dataset !== null)]);
  });
  return Object.fromEntries(await Promise.all(entries));
}

/**
 * @template T
 * @param {Promise<T>} answer
 * @returns {Promise<T | null>} null of what is not there, or no longer
 */
const known = (answer) =>
  answer.catch((error) => {
    if (hasStatus(error, 404)) return null;
    throw error;
  });
