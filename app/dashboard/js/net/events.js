// Server-sent events by fetch, since only that can send the key in a header.

import { connection, report } from "./connection.js";
import { parseEvents } from "./event_stream.js";
import { aborted, Problem } from "./problem.js";
import { raw } from "./requests.js";
import { sleep } from "./timers.js";

/** @import { ServerEvent } from "./event_stream.js" */

const SILENT_MS = 45_000; // The service sends a heartbeat every 15 s.

/**
 * The events of `path` in order. A stream that was cut is resumed after the last event
 * received, with growing pauses; then comes {event: "away", data: {pause_ms}} and, once the service
 * is back, {event: "back"}. Ends after an event `done`; throws the Problem of an answer that is one
 * (404: deleted meanwhile).
 *
 * @param {string} path
 * @param {{ signal?: AbortSignal }} [options]
 * @returns {AsyncGenerator<ServerEvent>}
 */
export async function* events(path, { signal } = {}) {
  /** @type {string | null} */
  let last = null;
  let failures = 0;
  let isCut = false;
  for (;;) {
    signal?.throwIfAborted();
    try {
      for await (const received of stream(path, last, signal)) {
        failures = 0;
        if (isCut) {
          isCut = false;
          yield { event: "back", id: last, data: null };
        }
        if (received.event === "open") continue;
        last = received.id ?? last;
        yield received;
        if (received.event === "done") return;
      }
    } catch (error) {
      if (aborted(error) || signal?.aborted) throw error;
      if (error instanceof Problem && !error.away && error.status < 500) throw error;
    }
    failures += 1;
    const pause = Math.min(250 * 2 ** (failures - 1), 8000) * (0.75 + Math.random() / 2);
    if (failures > 1 || connection.away) {
      isCut = true;
      yield { event: "away", id: last, data: { pause_ms: pause } };
    }
    await sleep(pause, signal);
  }
}

/**
 * One connection: first {event: "open"}, then its events until it ends or is silent for too long.
 *
 * @param {string} path
 * @param {string | null} last id of the last event received
 * @param {AbortSignal | undefined} signal
 * @returns {AsyncGenerator<ServerEvent>}
 */
async function* stream(path, last, signal) {
  const cut = new AbortController();
  const stop = () => cut.abort(signal?.reason);
  signal?.addEventListener("abort", stop);
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const keepAlive = () => {
    clearTimeout(timer);
    timer = setTimeout(() => cut.abort(new TypeError("silent")), SILENT_MS);
  };
  try {
    const response = await raw(path, {
      accept: "text/event-stream",
      headers: last ? { "Last-Event-ID": last } : {},
      signal: cut.signal,
      quiet: Boolean(last),
    });
    yield { event: "open", id: null, data: null };
    keepAlive();
    yield* parseEvents(pieces(response, keepAlive));
  } catch (error) {
    if (error instanceof TypeError) report(true);
    throw error;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
    cut.abort();
  }
}

/**
 * The text of a response as it arrives.
 *
 * @param {Response} response
 * @param {() => void} onpiece
 */
async function* pieces(response, onpiece) {
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    onpiece();
    yield value;
  }
}
