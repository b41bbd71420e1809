// What happened to a job and what can be done next, in words. Pure.

import { ago, plural } from "../ui/format.js";
import { plainText } from "../ui/notices.js";

/** @import { Job } from "../net/answers.js" */

/** @type {Record<string, string>} What a kind of job is called. */
export const KINDS = {
  fit: "run",
  predict: "prediction",
  transform: "transformation",
  evaluate: "evaluation",
  compare: "comparison",
  consensus: "consensus",
  calibrate: "calibration",
  drift: "drift",
  heatmap: "heatmap",
  map: "map",
  name: "naming",
  import: "import",
};
const MOST_LETTERS = 90;

/**
 * Whether the service failed rather than what it was given, so that the same may succeed another time; what
 * is damaged in the store stays so.
 *
 * @param {Pick<Job, "error">} job
 */
export const isPassing = ({ error }) =>
  (error?.status ?? 0) >= 500 && !error?.type?.endsWith("/damaged");

/** @type {Record<string, (name: string) => string>} */
const PAUSED = {
  lane: (name) => `jobs of this kind (${name})`,
  tenant: () => "all jobs of this account",
  method: (name) => `the method ${name}`,
  worker: (name) => `the worker ${name}`,
};

/**
 * Why a queued job waits, where somebody paused it; else "".
 *
 * @param {Pick<Job, "paused">} job
 */
export function pausedText({ paused }) {
  if (!paused) return "";
  const what = (PAUSED[paused.scope] ?? ((name) => name))(paused.name);
  const reason = paused.reason ? `: ${paused.reason.replace(/\.$/, "")}` : "";
  return `The operator paused ${what} ${ago(paused.since)}${reason}. The job goes on when that ends.`;
}

/**
 * What was tried before, in one line; "" where the job ran once.
 *
 * @param {Pick<Job, "retry" | "given_up">} job
 */
export function triesText({ retry, given_up: givenUp }) {
  const last = retry ?? givenUp.at(-1);
  if (!last) return "";
  const tries = Math.max(givenUp.length, 1);
  const why = last.error?.detail ?? last.error?.title ?? "its worker was lost";
  if (tries === 1) return `Attempt ${last.attempt} was given up: ${why}`;
  return `${plural(tries, "attempt was", "attempts were")} given up, the last: ${why}`;
}

/**
 * The reason of a failure, short, for a list; "" for other jobs.
 *
 * @param {Pick<Job, "status" | "error">} job
 */
export function reasonText({ status, error }) {
  if (status !== "failed" || !error) return "";
  const text = plainText(error.detail || error.title || "");
  const isShort = text.length <= MOST_LETTERS;
  return isShort ? text : `${text.slice(0, MOST_LETTERS).replace(/\s+\S*$/u, "")} …`;
}
