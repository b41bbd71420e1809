// A button with a menu, and tabs; both worked by the arrow keys as screen readers expect.

import { append, button, el, replace, unique } from "./dom.js";

/**
 * A button that opens a menu. `items`: [{label, onselect, href, danger, disabled}], or a function
 * that gives them when it opens.
 */
export function menu(label, items, { kind = "", iconName, ...attrs } = {}) {
  const id = unique("menu");
  // In the top layer, so that no scrolling place around it cuts it off.
  const list = el("ul", {
    class: "menu",
    role: "menu",
    id,
    popover: "manual",
    "aria-label": label || attrs["aria-label"],
  });
  const opener = button(label, {
    kind,
    iconName,
    "aria-haspopup": "menu",
    "aria-expanded": "false",
    "aria-controls": id,
    onclick: () => (isOpen ? shut() : open()),
    ...attrs,
  });
  const all = () => [...list.querySelectorAll('[role="menuitem"]:not([aria-disabled="true"])')];
  let isOpen = false;
  const outside = (event) => {
    if (!place.contains(event.target)) shut(false);
  };
  const scrolled = (event) => {
    if (!list.contains(event.target)) shut(false);
  };
  const open = () => {
    const given = typeof items === "function" ? items() : items;
    replace(
      list,
      given.map((item) => entry(item)),
    );
    isOpen = true;
    list.showPopover();
    beside(list, opener.getBoundingClientRect());
    opener.setAttribute("aria-expanded", "true");
    all()[0]?.focus();
    document.addEventListener("pointerdown", outside, true);
    addEventListener("scroll", scrolled, true);
  };
  const shut = (focus = true) => {
    if (!isOpen) return;
    isOpen = false;
    if (list.isConnected) list.hidePopover();
    opener.setAttribute("aria-expanded", "false");
    document.removeEventListener("pointerdown", outside, true);
    removeEventListener("scroll", scrolled, true);
    if (focus) opener.focus();
  };
  const entry = ({ label: text, onselect, href, danger, disabled }) => {
    const attrs = {
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
        ? el("a", { ...attrs, href }, text)
        : el("button", { ...attrs, type: "button" }, text),
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
    const found = all();
    const at = found.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: found.length - 1 }[event.key];
    if (to !== undefined) {
      event.preventDefault();
      found[(to + found.length) % found.length]?.focus();
    } else if (event.key === "Escape") {
      event.stopPropagation();
      event.preventDefault();
      shut();
    } else if (event.key === "Tab") {
      shut(false);
    }
  });
  place.button = opener;
  return place;
}

/** Below the opener, or above where there is no room; never past the edges. */
function beside(list, from) {
  const { offsetWidth: width, offsetHeight: height } = list;
  const left = Math.max(8, Math.min(from.right - width, innerWidth - width - 8));
  const below = from.bottom + 4;
  const top = below + height > innerHeight - 8 ? Math.max(8, from.top - height - 4) : below;
  list.style.setProperty("left", `${left}px`);
  list.style.setProperty("top", `${top}px`);
}

/** Tabs: [{label, body: () => node}]; the first one is open. */
export function tabs(label, pages) {
  const panel = el("div", {
    role: "tabpanel",
    class: "tabpanel",
    id: unique("panel"),
    tabindex: "0",
  });
  const heads = pages.map(({ label: text }, number) =>
    el(
      "button",
      {
        type: "button",
        role: "tab",
        id: unique("tab"),
        class: "tab",
        "aria-controls": panel.id,
        onclick: () => show(number),
      },
      text,
    ),
  );
  const show = (number) => {
    heads.forEach((head, at) => {
      head.setAttribute("aria-selected", String(at === number));
      head.tabIndex = at === number ? 0 : -1;
    });
    panel.setAttribute("aria-labelledby", heads[number].id);
    replace(panel, pages[number].body());
  };
  const list = el("div", { role: "tablist", class: "tablist", "aria-label": label }, heads);
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const to = (heads.indexOf(document.activeElement) + step + heads.length) % heads.length;
    show(to);
    heads[to].focus();
  });
  show(0);
  return append(el("div", { class: "tabs" }), list, panel);
}
