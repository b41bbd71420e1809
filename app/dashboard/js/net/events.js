// Server-sent events by fetch, since only that can send the key in a header.

import { connection, seen } from "./connection.js";
import { aborted, Problem } from "./problem.js";
import { raw } from "./requests.js";

const SILENT_MS = 45_000; // The service sends a sign of life every 15 s.

/**
 * Server-sent events of `path`, one {event, id, data} after the other (data is parsed JSON). A cut
 * stream is taken up again after the last event seen, with growing pauses; what is yielded then is
 * {event: "away", data: {pause_ms}} and, once it is there again, {event: "back"}. Ends after an
 * event `done`; throws the Problem of an answer that is one (404: deleted meanwhile).
 */
export async function* events(path, { signal } = {}) {
  let last = null;
  let failures = 0;
  let isCut = false;
  for (;;) {
    signal?.throwIfAborted();
    try {
      for await (const found of stream(path, last, signal)) {
        failures = 0;
        if (isCut) {
          isCut = false;
          yield { event: "back", id: last, data: null };
        }
        if (found.event === "open") continue;
        last = found.id ?? last;
        yield found;
        if (found.event === "done") return;
      }
    } catch (error) {
      if (aborted(error) || signal?.aborted) throw error;
      const passing = !(error instanceof Problem) || error.away || error.status >= 500;
      if (!passing) throw error;
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

/** One connection: first {event: "open"}, then its events until it ends or is silent too long. */
async function* stream(path, last, signal) {
  const cut = new AbortController();
  const stop = () => cut.abort(signal.reason);
  signal?.addEventListener("abort", stop);
  let timer;
  const alive = () => {
    clearTimeout(timer);
    timer = setTimeout(() => cut.abort(new TypeError("silent")), SILENT_MS);
  };
  try {
    const headers = last ? { "Last-Event-ID": last } : {};
    const response = await raw(path, {
      accept: "text/event-stream",
      headers,
      signal: cut.signal,
      quiet: Boolean(last),
    });
    yield { event: "open", id: null, data: null };
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    alive();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      alive();
      const blocks = (rest + value).replaceAll("\r\n", "\n").split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) {
        const found = parse(block);
        if (found) yield found;
      }
    }
  } catch (error) {
    if (error instanceof TypeError) seen(true);
    throw error;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
    cut.abort();
  }
}

function parse(block) {
  const found = { event: "message", id: null, data: null };
  const lines = [];
  for (const line of block.split("\n")) {
    const cut = line.indexOf(":");
    if (cut === 0) continue;
    const field = cut < 0 ? line : line.slice(0, cut);
    const value = cut < 0 ? "" : line.slice(cut + 1).replace(/^ /, "");
    if (field === "data") lines.push(value);
    else if (field === "event" || field === "id") found[field] = value;
  }
  if (!lines.length) return null;
  found.data = JSON.parse(lines.join("\n"));
  return found;
}

/** Wait; rejects when `signal` says so. */
export function sleep(ms, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
