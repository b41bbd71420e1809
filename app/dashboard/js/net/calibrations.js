// Calibrations of a tree: made from rows held out, and what they found.

import { follow } from "./jobs.js";
import { Problem } from "./problem.js";
import { get, send } from "./requests.js";

/** @import { Calibration, JobStatus, Page, PairNeed, Progress, SelectiveCurve, Suspect } from "./answers.js" */

/**
 * The finished calibrations of a tree among the newest 200, the newest first.
 *
 * @param {string} tree
 * @param {AbortSignal} signal
 * @returns {Promise<Calibration[]>}
 */
export async function calibrationsOf(tree, signal) {
  /** @type {Page<Calibration>} */
  const { items } = await get("/v1/calibrations?status=succeeded&limit=200", {
    signal,
    quiet: true,
  });
  return items.filter((one) => one.tree === tree);
}

/**
 * Calibrate a tree; resolves to the calibration that has succeeded. Throws the Problem of a refusal or of
 * a failed job.
 *
 * @param {string} tree
 * @param {Record<string, unknown>} body
 * @param {{ signal: AbortSignal, onprogress?: (status: JobStatus, progress: Progress) => unknown }} options
 * @returns {Promise<Calibration>}
 */
export async function calibrate(tree, body, { signal, onprogress }) {
  /** @type {Calibration} */
  const answer = await send("POST", `/v1/trees/${tree}/calibrations`, body, {
    headers: { Prefer: "wait=20" },
    signal,
  });
  if (answer.status === "succeeded") return answer;
  const { status, error } = await follow(answer.job, { signal, onprogress });
  if (status !== "succeeded") {
    throw new Problem(error ?? { title: `The calibration was ${status}.`, status: 409 });
  }
  return get(pathOf(answer.id), { signal, quiet: true });
}

/**
 * What a calibration found: its curve, the rows whose labels look wrong, the pairs that need more data.
 *
 * @param {string} id
 * @param {AbortSignal} signal
 * @returns {Promise<{ curve: SelectiveCurve, suspects: Suspect[], pairs: PairNeed[] }>}
 */
export async function foundBy(id, signal) {
  const options = { signal, quiet: true };
  const [curve, suspects, pairs] = await Promise.all([
    get(`${pathOf(id)}/curve.json`, options),
    get(`${pathOf(id)}/suspects.json`, options),
    get(`${pathOf(id)}/pairs.json`, options),
  ]);
  return { curve, suspects: suspects.items, pairs: pairs.items };
}

/** @param {string} id */
export const pathOf = (id) => `/v1/calibrations/${id}`;
