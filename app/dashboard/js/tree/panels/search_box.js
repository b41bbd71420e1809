// Search by name, or by meaning where the service has an embedder, with the path of each hit from the
// root; choosing a hit goes there.

import { aborted, hasStatus } from "../../net/problem.js";
import { button } from "../../ui/controls.js";
import { bdi, el, replace, unique } from "../../ui/dom.js";
import { plural } from "../../ui/format.js";

/** @import { Attachment, Hit } from "../../net/answers.js" */
/** @import { Child } from "../../ui/dom.js" */
/** @import { TreeView } from "../draw/view.js" */

const WAIT_MS = 160;
const ANCESTORS = 3;

/**
 * The box; `focusField` puts the cursor into it.
 *
 * @param {TreeView} view
 * @param {{
 *   onchoose: (id: number, path: number[]) => unknown,
 *   onproblem: (error: unknown) => unknown,
 *   embeds?: () => Promise<boolean>,
 *   texts?: () => Promise<Attachment | null>,
 * }} handlers `embeds` says whether a search by meaning is offered, `texts` whose texts it looks through
 *   beside the names
 */
export function searchBox(
  view,
  { onchoose, onproblem, embeds = async () => false, texts = async () => null },
) {
  const { source, signal } = view;
  const id = unique("find");
  const field = el("input", {
    type: "search",
    id,
    placeholder: "Find a node",
    "aria-label": "Find a node by its name",
    role: "combobox",
    "aria-expanded": "false",
    "aria-autocomplete": "list",
    "aria-controls": `${id}-hits`,
    autocomplete: "off",
    spellcheck: "false",
    maxlength: 200,
  });
  const list = el("div", {
    class: "find-hits",
    id: `${id}-hits`,
    role: "listbox",
    "aria-label": "Nodes found",
  });
  const status = el("p", { class: "find-status quiet", role: "status" });
  const more = el("div", { class: "find-more" });
  const panel = el("div", { class: "find-panel", hidden: true }, list, status, more);
  const element = el("div", { class: "find", role: "search" }, field, panel);
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  /** @type {AbortController | null} */
  let request = null;
  /** @type {Hit[]} */
  let hits = [];
  let at = -1;
  /** @type {Attachment | null} Whose texts the search by meaning looks through. */
  let attached = null;
  /** @type {Promise<boolean> | null} */
  let offered = null;

  /** @param {boolean} isOpen */
  const open = (isOpen) => {
    panel.hidden = !isOpen;
    field.setAttribute("aria-expanded", String(isOpen && hits.length > 0));
  };
  /** @param {Hit} hit */
  const choose = (hit) => {
    open(false);
    onchoose(hit.node, hit.path);
  };
  /** @param {number} next */
  const point = (next) => {
    at = Math.max(-1, Math.min(hits.length - 1, next));
    [...list.children].forEach((option, k) =>
      option.setAttribute("aria-selected", String(k === at)),
    );
    if (at >= 0) {
      field.setAttribute("aria-activedescendant", `${id}-${at}`);
      list.children[at].scrollIntoView({ block: "nearest" });
    } else field.removeAttribute("aria-activedescendant");
  };
  /**
   * @param {Hit} hit
   * @param {number} k
   */
  const option = (hit, k) =>
    el(
      "div",
      {
        role: "option",
        id: `${id}-${k}`,
        class: "find-hit",
        "aria-selected": "false",
        onclick: () => choose(hit),
        onpointerenter: () => point(k),
      },
      bdi((hit.name ?? view.calledOf(hit.node) ?? `Node ${hit.node}`).slice(0, 200)),
      hit.text && hit.text !== hit.name && el("span", { class: "find-text" }, bdi(hit.text)),
      el("span", { class: "quiet" }, way(hit)),
    );
  /**
   * @param {Hit} hit
   * @returns {Child}
   */
  const way = (hit) => {
    const above = hit.path.slice(0, -1);
    const named = above.flatMap((ancestor) => view.nameOf(ancestor) ?? []);
    if (named.length) {
      return named.slice(-ANCESTORS).map((text, k) => [k > 0 && " › ", bdi(text.slice(0, 40))]);
    }
    return above.length ? `${plural(above.length, "step")} below the root` : "the root";
  };
  const nearestText = () =>
    attached
      ? `, by names and ${attached.name ?? "items"}, the nearest in meaning first`
      : ", the nearest in meaning first";
  /**
   * @param {string} text
   * @param {string | null} cursor
   * @param {"meaning" | null} by
   * @param {AbortSignal} own
   */
  const found = async (text, cursor, by, own) => {
    if (!by || !attached) return source.search(text, { cursor, by, signal: own });
    try {
      return await source.search(text, { cursor, by, items: attached.id, signal: own });
    } catch (error) {
      // Items are of the tree as it was made: where an edition moved nodes, names alone are searched.
      if (!hasStatus(error, 422)) throw error;
      attached = null;
      return source.search(text, { cursor, by, signal: own });
    }
  };
  /**
   * @param {string | null} [cursor]
   * @param {"meaning" | null} [by]
   */
  const search = async (cursor = null, by = null) => {
    const text = field.value.trim();
    request?.abort();
    if (!text) {
      hits = [];
      open(false);
      return;
    }
    const current = new AbortController();
    request = current;
    try {
      if (by && !cursor) attached = await texts().catch(() => null);
      if (current !== request) return;
      const answer = await found(text, cursor, by, AbortSignal.any([signal, current.signal]));
      if (current !== request) return;
      const { items, next_cursor: next } = answer;
      hits = cursor ? [...hits, ...items] : items;
      replace(list, hits.map(option));
      replace(
        status,
        hits.length
          ? `${plural(hits.length, "node")}${by ? nearestText() : ""}${next ? " so far" : ""}`
          : "No node has this in its name.",
      );
      const following =
        next && button("More", { kind: "ghost small", onclick: () => search(next, by) });
      replace(more, following);
      open(true);
      if (!cursor) point(-1);
      offered ??= embeds().catch(() => false);
      if (by || !(await offered) || current !== request) return;
      const byMeaning = () => search(null, "meaning");
      replace(more, following, button("By meaning", { kind: "ghost small", onclick: byMeaning }));
    } catch (error) {
      if (!aborted(error)) onproblem(error);
    }
  };
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => search(), WAIT_MS);
  });
  field.addEventListener("focus", () => hits.length && open(true));
  field.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      point(at + (event.key === "ArrowDown" ? 1 : -1));
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (hits.length) choose(hits[Math.max(0, at)]);
    } else if (event.key === "Escape") {
      open(false);
    }
  });
  // The field keeps the focus when an entry of the list is clicked.
  panel.addEventListener("pointerdown", (event) => event.preventDefault());
  document.addEventListener(
    "pointerdown",
    (event) => {
      if (!(event.target instanceof Node && element.contains(event.target))) open(false);
    },
    { signal },
  );
  element.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget instanceof Node && !element.contains(relatedTarget)) open(false);
  });
  signal.addEventListener("abort", () => clearTimeout(timer));
  return Object.assign(element, { focusField: () => field.focus() });
}
