// The side of the tree as tabs, one at a time, which the address keeps.

import { el, unique } from "../../ui/dom.js";
import { TABS } from "../model/look.js";

/** @import { Tab } from "../model/look.js" */
/** @import { TreeView } from "../draw/view.js" */

/**
 * The bar and the panels of the tabs; `place` puts panels into a tab, `draw` follows the look, `choose` shows
 * another one. A tab whose panels are all hidden is not offered.
 *
 * @param {TreeView} view
 * @param {HTMLElement} work the element whose columns follow the tab
 */
export function sideTabs(view, work) {
  const { look, signal } = view;
  const id = unique("tab");
  const panels = new Map(
    TABS.map(([tab]) => [
      tab,
      el("div", {
        class: "tree-tab-panel",
        role: "tabpanel",
        id: `${id}-${tab}-panel`,
        "aria-labelledby": `${id}-${tab}`,
        hidden: true,
      }),
    ]),
  );
  const buttons = TABS.map(([tab, label]) =>
    el(
      "button",
      {
        type: "button",
        class: "tree-tab",
        role: "tab",
        id: `${id}-${tab}`,
        "aria-controls": `${id}-${tab}-panel`,
        dataset: { tab },
        onclick: () => choose(tab),
        onkeydown: (/** @type {KeyboardEvent} */ event) => walk(event),
      },
      label,
    ),
  );
  const bar = el("div", { class: "tree-tabs", role: "tablist", "aria-label": "About the tree" }, buttons); // prettier-ignore

  /** @param {KeyboardEvent} event */
  const walk = (event) => {
    /** @type {Record<string, number>} */
    const steps = { ArrowRight: 1, ArrowLeft: -1 };
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    const shown = buttons.filter((button) => !button.hidden);
    const at = shown.findIndex((button) => button === event.currentTarget);
    const next = shown[(at + step + shown.length) % shown.length];
    next.click();
    next.focus();
  };
  const draw = () => {
    for (const button of buttons) {
      const panel = panels.get(/** @type {Tab} */ (button.dataset.tab));
      const isChosen = button.dataset.tab === look.tab;
      const isEmpty = [...(panel?.children ?? [])].every((child) => /** @type {HTMLElement} */ (child).hidden); // prettier-ignore
      button.hidden = isEmpty && !isChosen;
      button.setAttribute("aria-selected", String(isChosen));
      button.tabIndex = isChosen ? 0 : -1;
      if (panel) panel.hidden = !isChosen;
    }
    work.dataset.tab = look.tab;
  };
  /** @param {Tab} tab */
  const choose = (tab) => {
    if (tab === look.tab) return;
    look.tab = tab;
    draw();
    view.emit("look");
  };
  const watch = new MutationObserver(draw);
  signal.addEventListener("abort", () => watch.disconnect());
  /**
   * @param {Tab} tab
   * @param {(HTMLElement | null)[]} own
   */
  const place = (tab, ...own) => {
    const panel = panels.get(tab);
    for (const one of own) {
      if (!one) continue;
      panel?.append(one);
      watch.observe(one, { attributes: true, attributeFilter: ["hidden"] });
    }
    draw();
  };
  draw();
  return { bar, panels: [...panels.values()], place, draw, choose };
}
