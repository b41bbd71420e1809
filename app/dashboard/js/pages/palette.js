// The palette: whatever can be reached, by a few letters. Pages, what the open page offers, trees, data, jobs
// and comparisons by name, and nodes of the open tree.

import { found } from "../forms/finder.js";
import { aborted, messageOf } from "../net/problem.js";
import { get } from "../net/requests.js";
import * as router from "../router.js";
import { dialog } from "../ui/dialogs.js";
import { bdi, el, replace, unique } from "../ui/dom.js";
import { ago, capitalized, plural } from "../ui/format.js";
import { placeAgain, ranked } from "./choice_order.js";
import { KINDS } from "./job_words.js";
import { choicesOf } from "./page_choices.js";

/** @import { Hit, Page } from "../net/answers.js" */
/** @import { Choice } from "./page_choices.js" */

/** @typedef {{ id: string, name: string | null, kind?: string, created_at: string }} Named */

const WAIT_MS = 140;
const MOST_LOCAL = 12;
const MOST_FOUND = 6;
/** What is found by name: the path of its list, that of its page, and what one is called. */
const LISTS = [
  ["/v1/trees", "/trees", "Tree"],
  ["/v1/datasets", "/datasets", "Data"],
  ["/v1/jobs", "/jobs", "Job"],
  ["/v1/comparisons", "/comparisons", "Comparison"],
];
const LONGEST = 80;
/** Two trees on one page: the open one and another. */
const BESIDE = "Beside this tree";
/** What the palette, and the button that opens it, are called. */
const TITLE = "Go to";

let isOpen = false;

/**
 * Open the palette.
 *
 * @param {HTMLElement} main of the page
 * @param {HTMLElement} top the bar above it
 * @param {[path: string, label: string][]} places pages
 */
export function openPalette(main, top, places) {
  if (isOpen) return;
  isOpen = true;
  const ends = new AbortController();
  const id = unique("palette");
  const own = [
    ...choicesOf(main),
    ...choicesOf(top)
      .filter(({ label }) => label !== TITLE)
      .map((choice) => ({ ...choice, about: "Everywhere" })),
    ...places.map(([path, label]) => ({ label, about: "Page", go: () => router.navigate(path) })),
    { label: "API documentation", about: "Page", go: () => location.assign("docs") },
  ];
  /** @type {Choice[]} */
  let shown = [];
  let at = 0;
  /** @type {AbortController | null} */
  let request = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const field = el("input", {
    type: "text",
    role: "combobox",
    "aria-label": TITLE,
    "aria-expanded": "true",
    "aria-autocomplete": "list",
    "aria-controls": `${id}-list`,
    placeholder: "A page, a tree, data, a job, a panel, a node…",
    autocomplete: "off",
    spellcheck: "false",
    maxlength: 200,
  });
  const list = el("div", { class: "palette-list", id: `${id}-list`, role: "listbox", "aria-label": "Places" }); // prettier-ignore
  const status = el("p", { class: "quiet", role: "status" });
  const { element, close, closed } = dialog({
    title: TITLE,
    body: el("div", { class: "stack tight palette" }, field, list, status),
    onsubmit: () => (choose(at), false),
  });
  closed.then(() => {
    isOpen = false;
    clearTimeout(timer);
    ends.abort();
    request?.abort();
  });

  /** @param {number} place */
  const choose = (place) => {
    const choice = shown[place];
    if (!choice) return;
    close();
    // The dialog first gives the focus back.
    closed.then(() => choice.go());
  };
  /** @param {number} next */
  const point = (next) => {
    at = shown.length ? (next + shown.length) % shown.length : 0;
    [...list.children].forEach((option, k) => option.setAttribute("aria-selected", String(k === at))); // prettier-ignore
    const option = list.children[at];
    if (option) {
      field.setAttribute("aria-activedescendant", option.id);
      option.scrollIntoView({ block: "nearest" });
    } else field.removeAttribute("aria-activedescendant");
  };
  /**
   * @param {Choice[]} choices
   * @param {string} text
   */
  const draw = (choices, text) => {
    // What the arrows chose stays chosen where others come before it.
    if (at > 0) at = placeAgain(shown, at, choices);
    shown = choices;
    replace(
      list,
      choices.map(({ label, about }, k) =>
        el(
          "div",
          {
            role: "option",
            id: `${id}-${k}`,
            class: "find-hit",
            "aria-selected": "false",
            onclick: () => choose(k),
            onpointermove: () => k !== at && point(k),
          },
          bdi(label.slice(0, LONGEST)),
          el("span", { class: "quiet" }, bdi(about.slice(0, LONGEST))),
        ),
      ),
    );
    field.setAttribute("aria-expanded", String(choices.length > 0));
    replace(status, text);
    point(Math.min(at, Math.max(0, choices.length - 1)));
  };
  const search = async () => {
    request?.abort();
    const current = new AbortController();
    request = current;
    const signal = AbortSignal.any([current.signal, ends.signal]);
    const words = field.value.trim();
    const here = ranked(own, words).slice(0, MOST_LOCAL);
    draw(here, words ? "Searching…" : "");
    if (!words) return;
    /** @type {Choice[][]} In the order of the sources, which answer when they can. */
    const lists = [];
    let failure = "";
    /**
     * @param {number} k
     * @param {Choice[]} some
     */
    const take = (k, some) => {
      lists[k] = some;
      if (!signal.aborted) draw([...here, ...lists.flatMap((part) => part ?? [])], "Searching…");
    };
    const sources = [
      nodesOf(words, signal),
      ...LISTS.map((one, k) => itemsOf(one, words, signal, (some) => take(k + 1, some))),
    ];
    await Promise.all(
      sources.map(async (source, k) => {
        try {
          take(k, await source);
        } catch (error) {
          if (!aborted(error)) failure = messageOf(error);
        }
      }),
    );
    if (signal.aborted) return;
    replace(status, failure || (shown.length ? plural(shown.length, "place") : "Nothing has this in its name.")); // prettier-ignore
  };
  field.addEventListener("input", () => {
    at = 0;
    clearTimeout(timer);
    timer = setTimeout(search, WAIT_MS);
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      point(at + (event.key === "ArrowDown" ? 1 : -1));
    }
  });
  element.classList.add("palette-dialog");
  field.focus();
  search();
}

/**
 * @param {string[]} list of LISTS
 * @param {string} words
 * @param {AbortSignal} signal
 * @param {(choices: Choice[]) => unknown} onpart
 * @returns {Promise<Choice[]>}
 */
async function itemsOf([path, page, about], words, signal, onpart) {
  const left = page === "/trees" ? openTree() : null;
  /** @param {Named[]} items */
  const choices = (items) => {
    /** @type {(named: Named, about: string, address: string) => Choice} */
    const choice = ({ id, name, kind = "", created_at: created }, kindOf, address) => ({
      label: name ?? (kind in KINDS ? `${capitalized(KINDS[kind])}, ${ago(created)}` : id),
      about: kindOf,
      go: () => router.navigate(address),
    });
    const others = left ? items.filter(({ id }) => id !== left) : [];
    return [
      ...items.map((item) => choice(item, about, `${page}/${item.id}`)),
      ...others.map((item) => choice(item, BESIDE, `/compare?left=${left}&right=${item.id}`)),
    ];
  };
  const options = { most: MOST_FOUND, onpart: (/** @type {Named[]} */ items) => onpart(choices(items)) }; // prettier-ignore
  return choices(await found(path, words, signal, options));
}

/** The id of the open tree; null where another page is open. */
function openTree() {
  const [, first, tree] = router.path().split("/");
  return first === "trees" && tree ? tree : null;
}

/**
 * Nodes of the open tree.
 *
 * @param {string} words
 * @param {AbortSignal} signal
 * @returns {Promise<Choice[]>}
 */
async function nodesOf(words, signal) {
  const tree = openTree();
  if (!tree) return [];
  const { names, edition } = router.params();
  const query = new URLSearchParams({ q: words, limit: `${MOST_FOUND}` });
  if (names) query.set("names", names);
  if (edition) query.set("edition", edition);
  /** @type {Page<Hit>} */
  const { items } = await get(`/v1/trees/${tree}/search?${query}`, { signal, quiet: true });
  return items.map(({ name, node, path }) => ({
    label: name,
    about: "Node of this tree",
    go: () => dispatchEvent(new CustomEvent("nodewish", { detail: { node, path } })),
  }));
}
