// Requests until they are answered.

import { ConnectionFailed, InputError, ProblemError } from "./errors.js";

/**
 * @typedef {Record<string, string | number | boolean | string[] | null | undefined>} Query
 *   what is null or undefined is left out
 * @typedef {{
 *   query?: Query,
 *   headers?: Record<string, string>,
 *   body?: BodyInit | null,
 *   signal?: AbortSignal,
 * }} Options
 */

const PASSING = new Set([429, 502, 503, 504]);
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;

/**
 * Wait, unless the signal is aborted meanwhile.
 *
 * @param {number} ms
 * @param {AbortSignal} [signal]
 * @returns {Promise<void>}
 */
export function sleep(ms, signal) {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}

/** A service, the key for it, and how hard a request is tried. */
export class Connection {
  /** @type {string | null} */
  #key;

  /**
   * @param {string | URL} url
   * @param {string | null} key
   * @param {number} retries how often a request is repeated after a refusal that passes (429, 502,
   *   503, 504) or a cut connection
   */
  constructor(url, key, retries) {
    const address = url instanceof URL ? url.href : url;
    // In a page an address may be a path of the page's own origin.
    const isPath = "location" in globalThis && /^(\/|$)/.test(address);
    if (typeof address !== "string" || !(isPath || /^https?:\/\/[^/]/i.test(address))) {
      throw new InputError(`'${url}' is no address; one looks like http://127.0.0.1:8000.`);
    }
    this.url = address.replace(/\/+$/, "");
    this.retries = retries;
    this.#key = key;
  }

  /**
   * The response to a request, if it is a success. Every request may be repeated: a POST has an
   * idempotency key.
   *
   * @param {string} method
   * @param {string} path
   * @param {Options} [options]
   * @returns {Promise<Response>}
   * @throws {ProblemError} @throws {ConnectionFailed} @throws the signal's reason
   */
  async send(method, path, { query, headers, body, signal } = {}) {
    const sent = new Headers(headers);
    if (this.#key !== null) sent.set("Authorization", `Bearer ${this.#key}`);
    if (method === "POST" && !sent.has("Idempotency-Key")) sent.set("Idempotency-Key", newKey());
    const address = this.url + path + inAddress(query);
    for (let attempt = 0; ; attempt += 1) {
      let pause =
        Math.min(FIRST_PAUSE_MS * 2 ** attempt, LONGEST_PAUSE_MS) * (0.5 + Math.random() / 2);
      try {
        const response = await fetch(address, { method, headers: sent, body, signal });
        if (response.ok) return response;
        if (method === "DELETE" && response.status === 404 && attempt > 0) return response;
        const failure = await refusal(response);
        const stated = Number(response.headers.get("Retry-After") ?? Number.NaN);
        if (!passes(failure, stated >= 0) || attempt >= this.retries) throw failure;
        if (stated >= 0) {
          pause = Math.min(stated * 1000 * (1 + Math.random() / 10), LONGEST_PAUSE_MS);
        }
      } catch (error) {
        if (error instanceof ProblemError || signal?.aborted) throw error;
        if (attempt >= this.retries) {
          throw new ConnectionFailed(`${this.url} cannot be reached.`, { cause: error });
        }
      }
      await sleep(pause, signal);
    }
  }

  /**
   * The JSON at an address.
   *
   * @template T
   * @param {string} path
   * @param {Query} [query]
   * @param {AbortSignal} [signal]
   * @returns {Promise<T>}
   */
  async read(path, query, signal) {
    const response = await this.send("GET", path, { query, signal });
    return response.json();
  }

  /**
   * What the POST of a JSON object gives.
   *
   * @param {string} path
   * @param {unknown} value
   * @param {Omit<Options, "body">} [options]
   * @returns {Promise<Response>}
   */
  post(path, value, { headers, ...options } = {}) {
    const body = JSON.stringify(value);
    return this.send("POST", path, {
      ...options,
      body,
      headers: { "Content-Type": "application/json", ...headers },
    });
  }
}

/** @param {Response} response @returns {Promise<ProblemError>} */
export async function refusal(response) {
  try {
    return new ProblemError(await response.json(), response.status);
  } catch {
    return new ProblemError({}, response.status);
  }
}

/**
 * Whether the same request may succeed later: not where a quota of what is kept is used up.
 *
 * @param {ProblemError} failure
 * @param {boolean} stated whether the service says when to try again
 */
function passes(failure, stated) {
  const quota = /** @type {{ what?: string } | undefined} */ (failure.problem.quota);
  if (quota?.what === "bytes" || quota?.what === "datasets") return false;
  return PASSING.has(failure.status) || (failure.status === 409 && stated);
}

/** @param {Query} [query] */
function inAddress(query = {}) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const each of [value].flat()) {
      if (each !== null && each !== undefined) search.append(name, String(each));
    }
  }
  return search.size ? `?${search}` : "";
}

/** A key that makes a POST repeatable: unlike all others; it need not be secret. */
export function newKey() {
  const part = () => Math.random().toString(36).slice(2);
  return `js-${Date.now().toString(36)}-${part()}${part()}`;
}
