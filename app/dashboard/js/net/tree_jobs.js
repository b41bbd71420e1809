// What is made from a tree by a job and has its own list: calibrations, drifts, namings.

import { follow } from "./jobs.js";
import { Problem } from "./problem.js";
import { get, send } from "./requests.js";

/** @import { JobStatus, Page, Progress } from "./answers.js" */

/**
 * @typedef {{ signal: AbortSignal, onprogress?: (status: JobStatus, progress: Progress) => unknown }} MakeOptions
 * @typedef {{ id: string, job: string, tree: string | null, status: JobStatus }} TreeJob
 */

/**
 * @template {TreeJob} Made
 * @typedef {{
 *   pathOf: (id: string) => string,
 *   of: (tree: string, signal: AbortSignal) => Promise<Made[]>,
 *   make: (tree: string, body: Record<string, unknown>, options: MakeOptions) => Promise<Made>,
 * }} TreeJobs `of`: the newest 200 finished ones of a tree, the newest first; `make` resolves to
 *   one that has succeeded, and throws the Problem of a refusal or of a failed job
 */

/**
 * @template {TreeJob} Made
 * @param {string} noun what one is called
 * @returns {TreeJobs<Made>}
 */
export function treeJobs(noun) {
  /** @param {string} id */
  const pathOf = (id) => `/v1/${noun}s/${id}`;
  return {
    pathOf,
    async of(tree, signal) {
      /** @type {Page<Made>} */
      const { items } = await get(`/v1/${noun}s?tree=${tree}&status=succeeded&limit=200`, {
        signal,
        quiet: true,
      });
      return items;
    },
    async make(tree, body, { signal, onprogress }) {
      /** @type {Made} */
      const answer = await send("POST", `/v1/trees/${tree}/${noun}s`, body, {
        headers: { Prefer: "wait=20" },
        signal,
      });
      if (answer.status === "succeeded") return answer;
      const { status, error } = await follow(answer.job, { signal, onprogress });
      if (status !== "succeeded") {
        throw new Problem(error ?? { title: `The ${noun} was ${status}.`, status: 409 });
      }
      return get(pathOf(answer.id), { signal, quiet: true });
    },
  };
}
