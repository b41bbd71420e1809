// In a narrow window the side of the tree is a sheet over the lower part of the picture: its tabs stay, and
// what they show opens and closes.

import { button } from "../../ui/controls.js";
import { el, replace } from "../../ui/dom.js";
import { icon } from "../../ui/icons.js";

/** @import { sideTabs } from "./side_tabs.js" */

/** Narrower windows have the sheet, as in `tree.css`. */
const NARROW = matchMedia("(width < 68rem)");

/**
 * Make a side into a sheet; `open` it, or `follow` the look that an address describes. A click on the chosen tab
 * closes it, as Escape does.
 *
 * @param {HTMLElement} side
 * @param {ReturnType<typeof sideTabs>} tabs
 */
export function sideSheet(side, tabs) {
  const handle = button("", { kind: "ghost small icon-only sheet-handle" });
  const head = el("div", { class: "sheet-head" }, tabs.bar, handle);
  /** @param {boolean} isOpen */
  const set = (isOpen) => {
    side.dataset.sheet = isOpen ? "open" : "closed";
    replace(handle, icon(isOpen ? "down" : "up"));
    handle.setAttribute("aria-expanded", String(isOpen));
    handle.setAttribute("aria-label", isOpen ? "Close the panels" : "Open the panels");
  };
  const isOpen = () => side.dataset.sheet === "open";
  handle.addEventListener("click", () => set(!isOpen()));
  // Before the tab itself is chosen.
  tabs.bar.addEventListener(
    "click",
    ({ target }) => {
      const tab = target instanceof Element ? target.closest(".tree-tab") : null;
      if (!tab) return;
      set(!isOpen() || tab.getAttribute("aria-selected") !== "true");
      side.scrollTop = 0;
    },
    { capture: true },
  );
  side.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !NARROW.matches || !isOpen() || event.defaultPrevented) return;
    set(false);
    handle.focus();
  });
  set(false);
  side.prepend(head);
  return {
    open: () => set(true),
    /** @param {{ tab: string, node: number | null }} look */
    follow: ({ tab, node }) => (tab !== "explore" || node !== null) && set(true),
  };
}
