// The whole state of the page is in the address after `#`: `#/trees/tr_x?layout=circular`.

import { addressOf, parseAddress } from "./net/address.js";

/** @import { AddressValues, Params } from "./net/address.js" */

/**
 * The arguments and the result of a page: `unmount` ends it, `update` takes other parameters of the
 * same path.
 *
 * @typedef {{ params: Params, id: string }} PageContext `id`: the one in the path, or ""
 * @typedef {{ unmount: () => void, update?: (params: Params) => unknown }} Mounted
 * @typedef {{ mount: (root: HTMLElement, context: PageContext) => Promise<Mounted> }} PageModule
 */

/**
 * Why the address has changed: "own" (a page has replaced it), "navigate", or "history" (links, back,
 * forward).
 *
 * @typedef {"own" | "navigate" | "history"} Cause
 * @typedef {{ path: string, params: Params, cause: Cause }} Change
 */

const read = () => parseAddress(location.hash);

/** @type {Set<(change: Change) => unknown>} */
const listeners = new Set();
let current = read();

/** The path: "/trees/tr_x". */
export const path = () => current.path;

/** The parameters, all of them text: {layout: "circular", root: "5"}; a fresh object. */
export const params = () => ({ ...current.params });

/** The address of a place of the page, for links. */
export const href = addressOf;

/**
 * Go to a place. With `replace` the address changes without a step in the history, and the page that is
 * open stays: so a page writes down its own state.
 *
 * @param {string} to
 * @param {AddressValues} [values]
 * @param {{ replace?: boolean }} [options]
 */
export function navigate(to, values = {}, { replace = false } = {}) {
  const address = addressOf(to, values);
  if (address === (location.hash || "#/")) return;
  if (replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  notify(replace ? "own" : "navigate");
}

/**
 * Change some parameters of the current address; null removes one.
 *
 * @param {AddressValues} changes
 */
export function set(changes) {
  navigate(current.path, { ...current.params, ...changes }, { replace: true });
}

/**
 * Call `listener` after each change; returns a function that ends it.
 *
 * @param {(change: Change) => unknown} listener
 */
export function onchange(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** @param {Cause} cause */
function notify(cause) {
  current = read();
  for (const listener of [...listeners]) listener({ ...current, cause });
}

function followHistory() {
  const now = read();
  if (addressOf(now.path, now.params) !== addressOf(current.path, current.params)) {
    notify("history");
  }
}
addEventListener("hashchange", followHistory);
addEventListener("popstate", followHistory);
