// A field that finds datasets or trees by their names on the service, where a list holds the newest alone.

import { aborted } from "../net/problem.js";
import { get } from "../net/requests.js";
import { toastError } from "../ui/dialogs.js";
import { el, replace } from "../ui/dom.js";
import { plural } from "../ui/format.js";

/** @import { Page } from "../net/answers.js" */

/** A list of more than this many is searched rather than read. */
export const MANY = 20;
const WAIT_MS = 250;
const MOST = 50;
/** The most pages of one search: each looks through a bounded number of entries. */
const MOST_PAGES = 20;

/**
 * All of the service that have each word in their name, tags or method, the newest first, `most` at most.
 * `onpart` gets what is found so far where the search goes on.
 *
 * @template Item
 * @param {string} path
 * @param {string} words
 * @param {AbortSignal} [signal]
 * @param {{ most?: number, onpart?: (items: Item[]) => unknown }} [options]
 * @returns {Promise<Item[]>}
 */
export async function found(path, words, signal, { most = MOST, onpart } = {}) {
  /** @type {Item[]} */
  const items = [];
  let cursor = "";
  for (let at = 0; at < MOST_PAGES && items.length < most; at += 1) {
    const query = new URLSearchParams({ q: words.slice(0, 200), limit: `${most}` });
    if (cursor) query.set("cursor", cursor);
    /** @type {Page<Item>} */
    const page = await get(`${path}?${query}`, { signal, quiet: true });
    items.push(...page.items);
    if (!page.next_cursor) break;
    cursor = page.next_cursor;
    if (items.length) onpart?.(items.slice(0, most));
  }
  return items.slice(0, most);
}

/**
 * The field; what it finds is given to `onfound`, and null once it is empty.
 *
 * @template Item
 * @param {{
 *   path: string,
 *   label: string,
 *   noun: string,
 *   onfound: (items: Item[] | null) => string | void,
 *   signal?: AbortSignal,
 * }} options `noun`: of one item; `onfound` may say more about what was found
 */
export function finder({ path, label, noun, onfound, signal }) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  /** @type {AbortController | null} */
  let request = null;
  const status = el("span", { class: "quiet", role: "status" });
  const search = async () => {
    request?.abort();
    const own = new AbortController();
    request = own;
    const words = input.value.trim();
    if (!words) {
      replace(status);
      onfound(null);
      return;
    }
    try {
      const either = signal ? AbortSignal.any([signal, own.signal]) : own.signal;
      /** @type {Item[]} */
      const items = await found(path, words, either, { onpart: onfound });
      const more = onfound(items);
      const number = items.length < MOST ? plural(items.length, noun) : `The newest ${MOST}`;
      replace(status, `${number} found${more ? `, ${more}` : ""}`);
    } catch (error) {
      if (!aborted(error)) toastError(error);
    }
  };
  const input = el("input", {
    type: "search",
    "aria-label": label,
    placeholder: label,
    autocomplete: "off",
    spellcheck: "false",
    maxlength: 200,
    oninput: () => {
      clearTimeout(timer);
      timer = setTimeout(search, WAIT_MS);
    },
  });
  return el("div", { class: "row finder" }, input, status);
}
