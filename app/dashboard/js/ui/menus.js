// A button with a menu, and tabs; both operated by the arrow keys as screen readers expect.

import { waitsFor } from "../net/waiting.js";
import { button } from "./controls.js";
import { append, el, replace, unique } from "./dom.js";

/** @import { ButtonOptions } from "./controls.js" */
/** @import { Child } from "./dom.js" */

/**
 * @typedef {{
 *   label: string,
 *   onselect?: () => unknown,
 *   href?: string,
 *   danger?: boolean,
 *   disabled?: boolean,
 * }} MenuItem
 */

/** @type {WeakMap<Element, () => MenuItem[]>} The entries of a menu by the button that opens it. */
export const entriesOf = new WeakMap();

/**
 * A button that opens a menu. `items` may be a function that is called each time it opens.
 *
 * @param {string} label
 * @param {MenuItem[] | (() => MenuItem[])} items
 * @param {ButtonOptions} [options]
 */
export function menu(label, items, { kind = "", iconName, ...attributes } = {}) {
  const id = unique("menu");
  // In the top layer, so that no scrolling container clips it.
  const list = el("ul", {
    class: "menu",
    role: "menu",
    id,
    popover: "manual",
    "aria-label": label || attributes["aria-label"],
  });
  const opener = button(label, {
    kind,
    iconName,
    "aria-haspopup": "menu",
    "aria-expanded": "false",
    "aria-controls": id,
    onclick: () => (isOpen ? shut() : open()),
    ...attributes,
  });
  const current = () => (typeof items === "function" ? items() : items);
  entriesOf.set(opener, current);
  /** @returns {HTMLElement[]} */
  const enabled = () =>
    [...list.querySelectorAll('[role="menuitem"]:not([aria-disabled="true"])').values()].filter(
      (item) => item instanceof HTMLElement,
    );
  let isOpen = false;
  /** @param {Event} event */
  const shutOutside = (event) => {
    if (!(event.target instanceof Node && place.contains(event.target))) shut(false);
  };
  /** @param {Event} event */
  const shutOnScroll = (event) => {
    if (!(event.target instanceof Node && list.contains(event.target))) shut(false);
  };
  const open = () => {
    replace(list, current().map(entry));
    isOpen = true;
    list.showPopover();
    putBeside(list, opener.getBoundingClientRect());
    opener.setAttribute("aria-expanded", "true");
    enabled()[0]?.focus();
    document.addEventListener("pointerdown", shutOutside, true);
    addEventListener("scroll", shutOnScroll, true);
  };
  const shut = (focus = true) => {
    if (!isOpen) return;
    isOpen = false;
    if (list.isConnected) list.hidePopover();
    opener.setAttribute("aria-expanded", "false");
    document.removeEventListener("pointerdown", shutOutside, true);
    removeEventListener("scroll", shutOnScroll, true);
    if (focus) opener.focus();
  };
  /** @param {MenuItem} item */
  const entry = ({ label: text, onselect, href, danger, disabled }) => {
    const common = {
      role: "menuitem",
      tabindex: "-1",
      class: danger ? "danger" : "",
      "aria-disabled": disabled ? "true" : null,
      onclick: () => {
        if (disabled) return;
        shut();
        onselect?.();
      },
    };
    return el(
      "li",
      { role: "none" },
      href && !disabled
        ? el("a", { ...common, href }, text)
        : el("button", { ...common, type: "button" }, text),
    );
  };
  const place = el("div", { class: "menu-place" }, opener, list);
  place.addEventListener("keydown", (event) => {
    if (!isOpen) {
      if (event.key === "ArrowDown" && event.target === opener) {
        event.preventDefault();
        open();
      }
      return;
    }
    const entries = enabled();
    const at = entries.findIndex((item) => item === document.activeElement);
    const next = new Map([
      ["ArrowDown", at + 1],
      ["ArrowUp", at - 1],
      ["Home", 0],
      ["End", entries.length - 1],
    ]).get(event.key);
    if (next !== undefined) {
      event.preventDefault();
      entries[(next + entries.length) % entries.length]?.focus();
    } else if (event.key === "Escape") {
      event.stopPropagation();
      event.preventDefault();
      shut();
    } else if (event.key === "Tab") {
      shut(false);
    }
  });
  return place;
}

/**
 * Entries that save something in several forms, each named by the suffix of its file. A form that waits for
 * a package cannot be chosen.
 *
 * @param {readonly (readonly [suffix: string, label: string])[]} forms
 * @param {(suffix: string) => unknown} save
 * @returns {MenuItem[]}
 */
export const saveEntries = (forms, save) =>
  forms.map(([suffix, label]) => {
    const waits = waitsFor("form", suffix.split(".").at(-1));
    return {
      label: waits ? `${label}: ${waits}` : label,
      disabled: Boolean(waits),
      onselect: () => save(suffix),
    };
  });

/**
 * Put `list` below `opener`, or above it if there is no room; never beyond the edges.
 *
 * @param {HTMLElement} list
 * @param {DOMRect} opener
 */
function putBeside(list, opener) {
  const { offsetWidth: width, offsetHeight: height } = list;
  const left = Math.max(8, Math.min(opener.right - width, innerWidth - width - 8));
  const below = opener.bottom + 4;
  const top = below + height > innerHeight - 8 ? Math.max(8, opener.top - height - 4) : below;
  list.style.setProperty("left", `${left}px`);
  list.style.setProperty("top", `${top}px`);
}

/**
 * Tabs; the first one is open.
 *
 * @param {string} label
 * @param {{ label: string, body: () => Child }[]} pages
 */
export function tabs(label, pages) {
  const panel = el("div", {
    role: "tabpanel",
    class: "tabpanel",
    id: unique("panel"),
    tabindex: "0",
  });
  const heads = pages.map(({ label: text }, page) =>
    el(
      "button",
      {
        type: "button",
        role: "tab",
        id: unique("tab"),
        class: "tab",
        "aria-controls": panel.id,
        onclick: () => show(page),
      },
      text,
    ),
  );
  /** @param {number} page */
  const show = (page) => {
    heads.forEach((head, at) => {
      head.setAttribute("aria-selected", String(at === page));
      head.tabIndex = at === page ? 0 : -1;
    });
    panel.setAttribute("aria-labelledby", heads[page].id);
    replace(panel, pages[page].body());
  };
  const list = el("div", { role: "tablist", class: "tablist", "aria-label": label }, heads);
  list.addEventListener("keydown", (event) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    event.preventDefault();
    const at = heads.findIndex((head) => head === document.activeElement);
    const next = (at + step + heads.length) % heads.length;
    show(next);
    heads[next].focus();
  });
  show(0);
  return append(el("div", { class: "tabs" }), list, panel);
}
