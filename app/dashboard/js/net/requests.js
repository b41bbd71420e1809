// The one way to the service: every call carries the key in a header (where there is one), throws a
// `Problem` when it fails, and is written down for "Copy as code".

import { report, url } from "./connection.js";
import { note } from "./log.js";
import { aborted, AWAY, Problem } from "./problem.js";
import { authorization, key, renewKey, signedIn } from "./session.js";

/** @import { Page } from "./answers.js" */
/** @import { Call } from "./log.js" */

/**
 * The raw response. Throws the Problem of a failure.
 *
 * @param {string} path
 * @param {{
 *   method?: string,
 *   accept?: string,
 *   headers?: Record<string, string>,
 *   body?: string,
 *   signal?: AbortSignal,
 *   quiet?: boolean,
 *   call?: Partial<Call>,
 * }} [options] `quiet`: the call is not written down; `call`: what is written down of it besides
 */
export async function raw(
  path,
  { method = "GET", accept, headers = {}, body, signal, quiet = false, call = {} } = {},
) {
  const shown = { ...(accept ? { Accept: accept } : {}), ...headers };
  const entry = Object.assign(call, { method, path, headers: shown, at: Date.now() });
  if (!quiet) note(entry);
  for (;;) {
    const sent = key.get();
    const response = await sentRequest(path, {
      method,
      headers: { ...shown, ...authorization(path) },
      body,
      signal,
    });
    entry.status = response.status;
    if (response.ok) return response;
    const problem = await problemIn(response);
    if (response.status === 401 && (await renewKey(problem, sent))) continue;
    throw problem;
  }
}

/**
 * @param {string} path
 * @param {RequestInit} request
 */
async function sentRequest(path, request) {
  try {
    const response = await fetch(url(path), {
      ...request,
      cache: "no-store",
      // The cookie of who has signed in.
      credentials: signedIn() ? "same-origin" : "omit",
      redirect: "error",
    });
    report(false);
    return response;
  } catch (error) {
    if (aborted(error) || request.signal?.aborted) throw error;
    report(true);
    throw new Problem(AWAY);
  }
}

/** @param {Response} response */
async function problemIn(response) {
  try {
    return new Problem(JSON.parse(await response.text()), response.status);
  } catch (error) {
    if (aborted(error)) throw error;
    const title = `The service answered ${response.status}`;
    return new Problem({ title, detail: response.statusText }, response.status);
  }
}

/**
 * The JSON of an answer; null for an empty one.
 *
 * @param {Response} response
 */
async function json(response) {
  const text = await response.text();
  return text ? JSON.parse(text) : null;
}

/**
 * GET as JSON, of the type that the API's document gives for the path. `quiet` calls are not written
 * down: polling is not worth repeating.
 *
 * @template T
 * @param {string} path
 * @param {{ signal?: AbortSignal, accept?: string, quiet?: boolean }} [options]
 * @returns {Promise<T>}
 */
export async function get(path, { signal, accept = "application/json", quiet } = {}) {
  return json(await raw(path, { signal, accept, quiet }));
}

/**
 * A list over all of its pages: the first page, with the items of the others after its own.
 *
 * @template Item
 * @param {string} path without a query
 * @param {{ signal?: AbortSignal }} [options]
 * @returns {Promise<Page<Item>>}
 */
export async function whole(path, { signal } = {}) {
  /** @type {Page<Item>} */
  const first = await get(`${path}?limit=200`, { signal, quiet: true });
  let cursor = first.next_cursor;
  while (cursor) {
    const query = new URLSearchParams({ limit: "200", cursor });
    /** @type {Page<Item>} */
    const page = await get(`${path}?${query}`, { signal, quiet: true });
    first.items.push(...page.items);
    cursor = page.next_cursor;
  }
  return first;
}

/**
 * Send `body` as JSON (none: undefined); the JSON answered, or null.
 *
 * @template T
 * @param {"POST" | "PATCH" | "DELETE"} method
 * @param {string} path
 * @param {unknown} [body]
 * @param {{ headers?: Record<string, string>, signal?: AbortSignal }} [options]
 * @returns {Promise<T>}
 */
export async function send(method, path, body, { headers = {}, signal } = {}) {
  const hasBody = body !== undefined;
  /** @type {Partial<Call>} */
  const call = { body };
  const response = await raw(path, {
    method,
    headers: { ...(hasBody ? { "Content-Type": "application/json" } : {}), ...headers },
    body: hasBody ? JSON.stringify(body) : undefined,
    signal,
    call,
  });
  const answer = await json(response);
  call.answer = answer;
  return answer;
}
