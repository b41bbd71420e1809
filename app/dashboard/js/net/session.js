// The key that this tab uses, and the header that carries it.

/** @import { Problem } from "./problem.js" */
/** @typedef {(problem: Problem) => Promise<string | null>} KeyPrompt */

const STORED = "umbel.key";
const SIGNED_IN = "umbel_signed_in=1";

/** @type {string | null} */
let inMemory = null;
/** @type {string | null} The token of the link that this page was opened by. */
let link = null;
/** @type {KeyPrompt | null} */
let prompt = null;
/** @type {Promise<string | null> | null} */
let pending = null;

export const key = {
  get() {
    if (link !== null) return link;
    try {
      return sessionStorage.getItem(STORED) ?? inMemory;
    } catch {
      return inMemory;
    }
  },
  /** @param {string} value */
  set(value) {
    inMemory = value;
    try {
      sessionStorage.setItem(STORED, value);
    } catch {
      // Then it is kept only in memory, until the page is reloaded.
    }
    dispatchEvent(new CustomEvent("keychange"));
  },
  forget() {
    inMemory = null;
    try {
      sessionStorage.removeItem(STORED);
    } catch {
      // Nothing was stored.
    }
    dispatchEvent(new CustomEvent("keychange"));
  },
  /**
   * Send the token of a link in the place of any key, until the page is left; it is stored nowhere.
   *
   * @param {string} token
   */
  useLink(token) {
    link = token;
  },
  /**
   * The function that asks the user for a key; it resolves to the key, or to null.
   *
   * @param {KeyPrompt} show
   */
  setPrompt(show) {
    prompt = show;
  },
};

/**
 * Ask the user for a key, once for all waiting calls; resolves to whether it differs from `sent`.
 *
 * @param {Problem} problem why one is needed
 * @param {string | null} sent the key that was refused
 */
export async function renewKey(problem, sent) {
  if (!prompt) return false;
  if (key.get() !== sent) return true; // Another call has obtained one meanwhile.
  pending ??= prompt(problem).finally(() => {
    pending = null;
  });
  const entered = await pending;
  if (!entered) return false;
  if (key.get() !== entered) key.set(entered);
  return true;
}

/**
 * The header with the key, for paths that need one: the page's own files do not.
 *
 * @param {string} path
 * @returns {Record<string, string>}
 */
export function authorization(path) {
  const current = key.get();
  return current && /^\/?v1\//.test(path) ? { Authorization: `Bearer ${current}` } : {};
}

/** Whether somebody has signed in with this browser: the session itself is not for scripts. */
export function signedIn() {
  return link === null && document.cookie.split("; ").includes(SIGNED_IN);
}
