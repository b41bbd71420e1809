// Jobs: submitted, followed to their end by events, and cancelled where the caller stops waiting.

import { sleep } from "./connection.js";
import { JobCancelled, ProblemError, UmbelError, WaitTimeout } from "./errors.js";

/** @import { components } from "contract" */
/** @import { Connection } from "./connection.js" */
/** @import { Progress } from "./dataset.js" */
/** @typedef {components["schemas"]["JobBody"]} JobBody */
/**
 * @typedef {{ waitSeconds?: number, onProgress?: Progress, signal?: AbortSignal }} Waiting
 *   `waitSeconds`: the most; then WaitTimeout, and the job goes on. `signal`: where it is aborted, the
 *   job is cancelled.
 */
/** @typedef {{ event: string, id: string | null, data: any }} ServerEvent */

const ENDED = new Set(["succeeded", "failed", "cancelled"]);
/** The service sends a heartbeat every 15 s. */
const SILENT_MS = 45_000;

/** The longest time of a timer, 24 days; one of a longer time ends at once. */
const LONGEST_MS = 2 ** 31 - 1;

/**
 * The job once it has succeeded. It is cancelled where the signal is aborted or `onProgress` throws.
 *
 * @param {Connection} connection
 * @param {string} job
 * @param {Waiting} waiting
 * @returns {Promise<JobBody>}
 * @throws {ProblemError} if it failed @throws {JobCancelled} @throws {WaitTimeout}
 */
export async function followed(connection, job, { waitSeconds, onProgress, signal }) {
  const limit = new AbortController();
  const stop = () => limit.abort(signal?.reason);
  if (signal?.aborted) stop();
  signal?.addEventListener("abort", stop, { once: true });
  const timer =
    waitSeconds === undefined || waitSeconds * 1000 > LONGEST_MS
      ? undefined
      : setTimeout(() => limit.abort(new WaitTimeout(job, waitSeconds)), waitSeconds * 1000);
  try {
    return succeeded(await untilEnded(connection, job, onProgress, limit.signal));
  } catch (error) {
    const isOver = error instanceof UmbelError && !signal?.aborted;
    if (!isOver) await cancelled(connection, job).catch(() => undefined);
    throw error;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
  }
}

/** @param {Connection} connection @param {string} job */
export function cancelled(connection, job) {
  return connection.send("POST", `/v1/jobs/${job}/cancel`);
}

/**
 * The job itself.
 *
 * @param {JobBody} job
 * @throws {ProblemError} if it failed @throws {JobCancelled}
 */
export function succeeded(job) {
  if (job.status === "failed") throw new ProblemError(job.error ?? {}, 500, job.id);
  if (job.status === "cancelled") throw new JobCancelled(job.id);
  return job;
}

/**
 * @param {Connection} connection
 * @param {string} job
 * @param {Progress | undefined} onProgress
 * @param {AbortSignal} signal
 * @returns {Promise<JobBody>}
 */
async function untilEnded(connection, job, onProgress, signal) {
  /** @type {string | null} */
  let last = null;
  let cuts = 0;
  for (;;) {
    let isCalling = false;
    try {
      for await (const { event, id, data } of events(connection, job, last, signal)) {
        cuts = 0;
        last = id ?? last;
        if (event === "done") return data;
        if (event !== "progress") continue;
        isCalling = true;
        onProgress?.(data.fraction ?? 0, data.message ?? data.stage ?? "");
        isCalling = false;
      }
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (isCalling || (error instanceof ProblemError && error.status < 500)) throw error;
    }
    // A stream that was cut is resumed after its last event.
    cuts += 1;
    await sleep(Math.min(250 * 2 ** (cuts - 1), 8000) * (0.5 + Math.random() / 2), signal);
    /** @type {JobBody} */
    const now = await connection.read(`/v1/jobs/${job}`, {}, signal);
    if (ENDED.has(now.status)) return now;
  }
}

/**
 * The events of one stream, until it ends, is cut, or is silent for too long.
 *
 * @param {Connection} connection
 * @param {string} job
 * @param {string | null} last id of the last event received
 * @param {AbortSignal} signal
 * @returns {AsyncGenerator<ServerEvent>}
 */
async function* events(connection, job, last, signal) {
  const cut = new AbortController();
  const stop = () => cut.abort(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const keepAlive = () => {
    clearTimeout(timer);
    timer = setTimeout(() => cut.abort(new Error("silent")), SILENT_MS);
  };
  try {
    const headers = {
      Accept: "text/event-stream",
      ...(last === null ? {} : { "Last-Event-ID": last }),
    };
    const response = await connection.send("GET", `/v1/jobs/${job}/events`, {
      headers,
      signal: cut.signal,
    });
    if (!response.body) return;
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      keepAlive();
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + value).replaceAll("\r\n", "\n").split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        const event = eventOf(block);
        if (event) yield event;
      }
    }
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
    cut.abort();
  }
}

/**
 * The event in a block of lines; null if it has no data, as a heartbeat.
 *
 * @param {string} block
 * @returns {ServerEvent | null}
 */
export function eventOf(block) {
  let event = "message";
  /** @type {string | null} */
  let id = null;
  const data = [];
  for (const line of block.split("\n")) {
    const [, field, value] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (field === "event") event = value ?? "";
    else if (field === "id") id = value ?? "";
    else if (field === "data") data.push(value);
  }
  return data.length ? { event, id, data: JSON.parse(data.join("\n")) } : null;
}
