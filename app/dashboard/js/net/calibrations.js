// Calibrations of a tree: made from rows held out, and what they found.

import { get } from "./requests.js";
import { treeJobs } from "./tree_jobs.js";

/** @import { Calibration, PairNeed, SelectiveCurve, Suspect } from "./answers.js" */
/** @import { TreeJobs } from "./tree_jobs.js" */

/** @type {TreeJobs<Calibration>} */
const calibrations = treeJobs("calibration");

export const { of: calibrationsOf, make: calibrate, pathOf } = calibrations;

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
