// Search by name, the hits with their way from the root; choosing one goes there.

import { button, el, replace, said, unique } from "../../ui/dom.js";
import { plural } from "../../ui/format.js";

const WAIT_MS = 160;
const WAY = 3;

/**
 * @param {object} own {source, signal, nameOf(id) -> text or null, go(id, path), onproblem(error)}
 * @returns {HTMLElement} with `.focusField()`
 */
export function finder({ source, signal, nameOf, go, onproblem }) {
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
  const status = el("p", { class: "find-said quiet", role: "status" });
  const more = el("div", { class: "find-more" });
  const panel = el("div", { class: "find-panel", hidden: true }, list, status, more);
  const element = el("div", { class: "find", role: "search" }, field, panel);
  let timer;
  let asking = null;
  let hits = [];
  let at = -1;

  const open = (yes) => {
    panel.hidden = !yes;
    field.setAttribute("aria-expanded", String(yes && hits.length > 0));
  };
  const choose = (hit) => {
    open(false);
    go(hit.node, hit.path);
  };
  const point = (next) => {
    at = Math.max(-1, Math.min(hits.length - 1, next));
    [...list.children].forEach((one, k) => one.setAttribute("aria-selected", String(k === at)));
    if (at >= 0) {
      field.setAttribute("aria-activedescendant", `${id}-${at}`);
      list.children[at].scrollIntoView({ block: "nearest" });
    } else field.removeAttribute("aria-activedescendant");
  };
  const row = (hit, k) =>
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
      said(hit.name.slice(0, 200)),
      el("span", { class: "quiet" }, way(hit)),
    );
  const way = (hit) => {
    const above = hit.path.slice(0, -1);
    const named = above.map(nameOf).filter(Boolean);
    if (named.length)
      return named.slice(-WAY).map((text, k) => [k > 0 && " › ", said(text.slice(0, 40))]);
    return above.length ? `${plural(above.length, "step")} below the root` : "the root";
  };
  const ask = async (cursor = null) => {
    const text = field.value.trim();
    asking?.abort();
    if (!text) {
      hits = [];
      open(false);
      return;
    }
    asking = new AbortController();
    const mine = asking;
    try {
      const found = await source.search(text, {
        cursor,
        signal: AbortSignal.any([signal, mine.signal]),
      });
      if (mine !== asking) return;
      hits = cursor ? [...hits, ...found.items] : found.items;
      replace(list, hits.map(row));
      replace(
        status,
        hits.length
          ? `${plural(hits.length, "node")}${found.next_cursor ? " so far" : ""}`
          : "No node has this in its name.",
      );
      replace(
        more,
        found.next_cursor &&
          button("More", { kind: "ghost small", onclick: () => ask(found.next_cursor) }),
      );
      open(true);
      if (!cursor) point(-1);
    } catch (error) {
      if (error?.name !== "AbortError") onproblem(error);
    }
  };
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => ask(), WAIT_MS);
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
  // The field keeps the focus: a click in the list is no leaving.
  panel.addEventListener("pointerdown", (event) => event.preventDefault());
  const outside = (event) => !element.contains(event.target) && open(false);
  document.addEventListener("pointerdown", outside);
  element.addEventListener("focusout", (event) => {
    if (event.relatedTarget && !element.contains(event.relatedTarget)) open(false);
  });
  signal.addEventListener("abort", () => {
    document.removeEventListener("pointerdown", outside);
    clearTimeout(timer);
  });
  element.focusField = () => field.focus();
  return element;
}
