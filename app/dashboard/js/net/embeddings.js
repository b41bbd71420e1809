// Vectors of texts and images, where the operator has set an embedder.

import { follow } from "./jobs.js";
import { Problem } from "./problem.js";
import { get, send } from "./requests.js";

/** @import { EmbeddedRole } from "./embedded_role.js" */
/** @import { Job, JobStatus, Progress, Usage } from "./answers.js" */

/**
 * Whether the service has an embedder for a role.
 *
 * @param {EmbeddedRole} role
 * @param {AbortSignal} signal
 */
export async function embeds(role, signal) {
  /** @type {Usage} */
  const usage = await get("/v1/usage", { signal, quiet: true });
  return usage.embeds.includes(role);
}

/**
 * The id of the dataset of the vectors. Throws the Problem of a refusal or of a failed job.
 *
 * @param {string} dataset
 * @param {EmbeddedRole} role
 * @param {{ signal: AbortSignal, onprogress?: (status: JobStatus, progress: Progress) => unknown }} options
 */
export async function embedded(dataset, role, { signal, onprogress }) {
  /** @type {Job} */
  const job = await send(
    "POST",
    "/v1/embeddings",
    { inputs: { [role]: dataset } },
    { headers: { Prefer: "wait=0" }, signal },
  );
  const { status, error, result } = await follow(job.id, { signal, onprogress });
  if (status !== "succeeded") {
    throw new Problem(error ?? { title: `The embedding was ${status}.`, status: 409 });
  }
  return String(result?.dataset);
}
