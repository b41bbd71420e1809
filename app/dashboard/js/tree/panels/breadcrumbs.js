// The path from the whole tree to the shown part.

import { button } from "../../ui/controls.js";
import { bdi, el, replace } from "../../ui/dom.js";

/** @import { TreeView } from "../draw/view.js" */

/** The number of named steps; earlier ones are left out. */
const NEAREST = 5;

/**
 * The breadcrumbs, hidden for the whole tree; `up` goes one step up.
 *
 * @param {TreeView} view
 */
export function breadcrumbs(view) {
  const { look } = view;
  const element = el("nav", {
    class: "tree-crumbs",
    "aria-label": "Part of the tree",
    hidden: true,
  });
  const up = () => {
    const parent = view.store.path(look.root).at(-2);
    if (parent !== undefined) view.reroot(parent);
    else if (look.root !== 0) view.reroot(0);
  };
  /**
   * @param {number} id
   * @param {number} at
   * @param {boolean} isCut whether steps are left out after the first one
   */
  const crumb = (id, at, isCut) => {
    const text = bdi(view.nameOf(id) ?? (id === 0 ? "Whole tree" : `node ${id}`));
    return el(
      "li",
      {},
      at > 0 && el("span", { "aria-hidden": "true" }, at === 1 && isCut ? "› … ›" : "›"),
      id === look.root
        ? el("span", { "aria-current": "true" }, text)
        : el("button", { type: "button", class: "linklike", onclick: () => view.reroot(id) }, text),
    );
  };
  const draw = () => {
    element.hidden = look.root === 0;
    replace(element);
    if (look.root === 0) return;
    const path = view.store.path(look.root);
    if (path[0] !== 0) path.unshift(0);
    const shown = [path[0], ...path.slice(1).slice(-NEAREST)];
    replace(
      element,
      button("Up", {
        kind: "ghost small",
        iconName: "back",
        onclick: up,
        title: "One step up (Backspace)",
      }),
      el(
        "ol",
        {},
        shown.map((id, at) => crumb(id, at, shown.length < path.length)),
      ),
    );
  };
  view.on("shown", draw);
  return Object.assign(element, { up });
}
