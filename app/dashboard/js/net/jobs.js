// Jobs until they end: their events as a stream.

import { events } from "./events.js";
import { get } from "./requests.js";

/** @import { Job, JobStatus, Progress } from "./answers.js" */

/** @type {ReadonlySet<string>} */
export const ENDED = new Set(["succeeded", "failed", "cancelled"]);

/**
 * Ids of the jobs that the run form of this page has started and that open their trees when they end.
 *
 * @type {Set<string>}
 */
export const started = new Set();

/**
 * Follow a job until it ends; resolves to the whole job. Throws the Problem of a job that is gone.
 *
 * @param {string} jobId
 * @param {{
 *   signal?: AbortSignal,
 *   onprogress?: (status: JobStatus, progress: Progress) => unknown,
 *   onlog?: (line: string) => unknown,
 * }} [options]
 * @returns {Promise<Job>}
 */
export async function follow(jobId, { signal, onprogress, onlog } = {}) {
  for await (const { event, data } of events(`/v1/jobs/${jobId}/events`, { signal })) {
    if (event === "progress") {
      const progress = /** @type {Progress & { status: JobStatus }} */ (data);
      onprogress?.(progress.status, progress);
    } else if (event === "log") onlog?.(/** @type {{ line: string }} */ (data).line);
    else if (event === "done") return /** @type {Job} */ (data);
  }
  return get(`/v1/jobs/${jobId}`, { signal });
}
