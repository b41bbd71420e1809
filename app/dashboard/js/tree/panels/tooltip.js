// What is said of the node under the pointer, and where in the tree the picture begins.

import { button, el, replace, said } from "../../ui/dom.js";
import { number, plural } from "../../ui/format.js";
import { categoryText } from "../draw/colouring.js";
import { INNER, LEAF } from "../model/scene.js";
import { NONE } from "../model/store.js";

const LONGEST = 160;
const NEAREST = 5;

export function nameOf(view, id) {
  const slot = view.store.slot(id);
  return slot === NONE ? null : view.store.name[slot] || null;
}

/** A note that follows the pointer. */
export function tip(view, stage) {
  const element = el("div", { class: "tree-tip", hidden: true });
  const write = (row) => {
    const { scene, store } = view;
    const { kind, leaves, size, height, slot, id } = scene;
    const isRest = slot[row] === NONE;
    const name = isRest ? null : store.name[slot[row]];
    const category = categoryText(view, row);
    const otherwise = isRest
      ? "Further children: click for more"
      : row === 0 && kind[row] === INNER
        ? "Root"
        : `Node ${id[row]}`;
    replace(
      element,
      el("strong", {}, name ? said(name.slice(0, LONGEST)) : otherwise),
      el(
        "span",
        {},
        kind[row] === LEAF
          ? plural(size[row], "point")
          : `${plural(leaves[row], "leaf", "leaves")}, ${plural(size[row], "point")}`,
        !isRest && `, height ${number(height[row])}`,
      ),
      category && el("span", {}, said(category)),
    );
  };
  view.addEventListener("hover", ({ detail: { row, x, y, same } }) => {
    const isShown = row !== NONE && x !== null;
    if (isShown && (!same || element.hidden)) write(row);
    element.hidden = !isShown;
    if (!isShown) return;
    const { clientWidth: w, clientHeight: h } = stage;
    const { offsetWidth: tw, offsetHeight: th } = element;
    const left = x + 16 + tw > w ? Math.max(4, x - 16 - tw) : x + 16;
    const top = y + 16 + th > h ? Math.max(4, y - 12 - th) : y + 16;
    element.style.setProperty(
      "transform",
      `translate(${Math.round(left)}px, ${Math.round(top)}px)`,
    );
  });
  return element;
}

/** The way from the whole tree to the part that is shown; empty for the whole. */
export function crumbs(view) {
  const { looked } = view;
  const element = el("nav", {
    class: "tree-crumbs",
    "aria-label": "Part of the tree",
    hidden: true,
  });
  const up = () => {
    const path = view.store.path(looked.root);
    if (path.length > 1) view.reroot(path.at(-2));
    else if (looked.root !== 0) view.reroot(0);
  };
  const step = (id, at, isCut) => {
    const text = said(nameOf(view, id) ?? (id === 0 ? "Whole tree" : `node ${id}`));
    return el(
      "li",
      {},
      at > 0 && el("span", { "aria-hidden": "true" }, at === 1 && isCut ? "› … ›" : "›"),
      id === looked.root
        ? el("span", { "aria-current": "true" }, text)
        : el("button", { type: "button", class: "linklike", onclick: () => view.reroot(id) }, text),
    );
  };
  const draw = () => {
    element.hidden = looked.root === 0;
    if (looked.root === 0) return replace(element);
    const path = view.store.path(looked.root);
    if (path[0] !== 0) path.unshift(0);
    const shown = [path[0], ...path.slice(1).slice(-NEAREST)];
    return replace(
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
        shown.map((id, at) => step(id, at, shown.length < path.length)),
      ),
    );
  };
  view.addEventListener("shown", draw);
  element.up = up;
  return element;
}
