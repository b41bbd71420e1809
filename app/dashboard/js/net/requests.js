// The one way to the service: every call carries the key in a header (where there is one), turns
// what goes wrong into a `Problem`, and is written down for "copy as curl / Python".

import { seen, url } from "./connection.js";
import { aborted, AWAY, Problem } from "./problem.js";
import { askForKey, authorization, key } from "./session.js";

export { connection } from "./connection.js";
export { events, sleep } from "./events.js";
export { aborted, AWAY, Problem } from "./problem.js";
export { key } from "./session.js";
export { upload } from "./uploads.js";

const LOG_LENGTH = 200;

/**
 * The calls made, oldest first: {method, path, headers, body, file, status, answer}. `file` is
 * {name, size} where the body was a file; `answer` is the JSON answered, for a POST. Never the key.
 */
export const log = [];

/** Write a call down. */
export function note(entry) {
  log.push(entry);
  if (log.length > LOG_LENGTH) log.splice(0, log.length - LOG_LENGTH);
  return entry;
}

async function problemOf(response) {
  try {
    return new Problem(JSON.parse(await response.text()), response.status);
  } catch (error) {
    if (aborted(error)) throw error;
    const title = `The service answered ${response.status}`;
    return new Problem({ title, detail: response.statusText }, response.status);
  }
}

/** The answer as it is; Problem for any that is an error. Of a GET unless `method` says otherwise. */
export async function raw(
  path,
  { method = "GET", accept, headers = {}, body, signal, quiet = false, entry = {} } = {},
) {
  const shown = { ...(accept ? { Accept: accept } : {}), ...headers };
  Object.assign(entry, { method, path: String(path), headers: shown, at: Date.now() });
  if (!quiet) note(entry);
  for (;;) {
    const sent = key.get();
    let response;
    try {
      response = await fetch(url(path), {
        method,
        headers: { ...shown, ...authorization(path) },
        body,
        signal,
        cache: "no-store",
        credentials: "omit",
        redirect: "error",
      });
    } catch (error) {
      if (aborted(error) || signal?.aborted) throw error;
      seen(true);
      throw new Problem(AWAY);
    }
    seen(false);
    entry.status = response.status;
    if (response.ok) return response;
    const problem = await problemOf(response);
    if (response.status === 401 && (await askForKey(problem, sent))) continue;
    throw problem;
  }
}

/** What a JSON answer holds; null of an empty one. */
async function json(response) {
  const text = await response.text();
  return text ? JSON.parse(text) : null;
}

/** GET as JSON. `quiet` calls are not written down: looking again and again says nothing. */
export async function get(path, { signal, accept = "application/json", quiet } = {}) {
  return json(await raw(path, { signal, accept, quiet }));
}

/** Send `body` as JSON (none: undefined); the JSON answered, or null. */
export async function send(method, path, body, { headers = {}, signal } = {}) {
  const withBody = body === undefined ? {} : { "Content-Type": "application/json" };
  const entry = { body };
  const response = await raw(path, {
    method,
    headers: { ...withBody, ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal,
    entry,
  });
  entry.answer = await json(response);
  return entry.answer;
}

/** Get a file and hand it to the browser to be saved as `name`. */
export async function download(path, name, { accept, signal } = {}) {
  const response = await raw(path, { accept, signal });
  saveBlob(await response.blob(), name);
}

export function saveBlob(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
