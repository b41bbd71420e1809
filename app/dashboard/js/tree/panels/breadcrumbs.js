// The path from the whole tree to the shown part.

import { button } from "../../ui/controls.js";
import { bdi, el, keep } from "../../ui/dom.js";
import { shortened } from "../../ui/format.js";

/** @import { TreeView } from "../draw/view.js" */

/** The number of named steps; earlier ones are left out. */
const NEAREST = 5;
/** The most characters of a step that has no name. */
const LONGEST = 36;

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
  const steps = el("ol");
  element.append(
    button("Up", {
      kind: "ghost small",
      iconName: "back",
      onclick: up,
      title: "One step up (Backspace)",
    }),
    steps,
  );
  /**
   * @param {number} id
   * @param {number} at
   * @param {boolean} isCut whether steps are left out after the first one
   * @returns {readonly [key: string, make: () => Element]}
   */
  const crumb = (id, at, isCut) => {
    const text =
      view.nameOf(id) ??
      (id === 0 ? "Whole tree" : shortened(view.calledOf(id) ?? `node ${id}`, LONGEST));
    const sign = at === 0 ? "" : at === 1 && isCut ? "› … ›" : "›";
    const isLast = id === look.root;
    const make = () =>
      el(
        "li",
        {},
        sign && el("span", { "aria-hidden": "true" }, sign),
        isLast
          ? el("span", { "aria-current": "true" }, bdi(text))
          : el(
              "button",
              { type: "button", class: "linklike", onclick: () => view.reroot(id) },
              bdi(text),
            ),
      );
    return [[id, sign, isLast, text].join(" "), make];
  };
  const draw = () => {
    element.hidden = look.root === 0;
    if (look.root === 0) return;
    const path = view.store.path(look.root);
    if (path[0] !== 0) path.unshift(0);
    const shown = [path[0], ...path.slice(1).slice(-NEAREST)];
    keep(
      steps,
      shown.map((id, at) => crumb(id, at, shown.length < path.length)),
    );
  };
  view.on("shown", draw);
  return Object.assign(element, { up });
}
