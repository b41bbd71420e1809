// Names for the nodes of a tree, from what the rows under them have in common.

import { get } from "./requests.js";
import { treeJobs } from "./tree_jobs.js";

/** @import { Naming, Usage } from "./answers.js" */
/** @import { TreeJobs } from "./tree_jobs.js" */

/** @type {TreeJobs<Naming>} */
export const namings = treeJobs("naming");

/**
 * Whether the service has a language model that phrases names.
 *
 * @param {AbortSignal} signal
 */
export async function phrases(signal) {
  /** @type {Usage} */
  const usage = await get("/v1/usage", { signal, quiet: true });
  return usage.phrases;
}
