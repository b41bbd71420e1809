// A note about the node under the pointer, which follows it.

import { bdi, bdiName, el, replace } from "../../ui/dom.js";
import { number, plural } from "../../ui/format.js";
import { categoryText, NOISE_TEXT } from "../draw/colouring.js";
import { leavesText } from "../model/cluster_names.js";
import { INNER, LEAF } from "../model/scene.js";
import { NONE } from "../model/store.js";
import { itemNote } from "./item_values.js";

/** @import { Hover, TreeView } from "../draw/view.js" */

const LONGEST = 160;

/**
 * @param {TreeView} view
 * @param {HTMLElement} stage
 */
export function tooltip(view, stage) {
  const element = el("div", { class: "tree-tip", hidden: true });
  const note = itemNote(view);
  /** @param {number} row */
  const write = (row) => {
    const { scene, store } = view;
    const { kind, leaves, size, height, slot, id } = scene;
    const isRest = slot[row] === NONE;
    const name = isRest ? null : store.name[slot[row]] || view.calledOf(id[row]);
    const category = categoryText(view, scene, row);
    const below = isRest || kind[row] === LEAF ? "" : leavesText(store, slot[row]);
    const isCluster = view.look.color === "cut" && view.byNode.has(id[row]);
    const relation = view.look.color !== "cut" ? "" : isCluster ? "cluster " : "in cluster ";
    const otherwise = isRest
      ? "Further children: click for more"
      : row === 0 && kind[row] === INNER
        ? "Root"
        : `Node ${id[row]}`;
    replace(
      element,
      el("strong", {}, name ? bdiName(name.slice(0, LONGEST)) : otherwise),
      el(
        "span",
        {},
        kind[row] === LEAF
          ? plural(size[row], "point")
          : `${plural(leaves[row], "leaf", "leaves")}, ${plural(size[row], "point")}`,
        !isRest && `, height ${number(height[row])}`,
      ),
      below && below !== name && el("span", {}, bdiName(below.slice(0, LONGEST))),
      category &&
        category !== below &&
        category !== name &&
        el("span", {}, category !== NOISE_TEXT && relation, bdi(category.slice(0, LONGEST))),
      note.element,
    );
    note.tell(isRest ? null : { node: id[row], isInner: kind[row] !== LEAF });
  };
  /** @param {Hover} hover */
  const follow = ({ row, x, y, same }) => {
    const wasHidden = element.hidden;
    element.hidden = row === NONE || x === null || y === null;
    if (row === NONE || x === null || y === null) {
      note.tell(null);
      return;
    }
    if (!same || wasHidden) write(row);
    putNear(element, stage, x, y);
  };
  view.on("hover", follow);
  return element;
}

/**
 * Put a tooltip beside a point of the stage, within it.
 *
 * @param {HTMLElement} element
 * @param {HTMLElement} stage
 * @param {number} x
 * @param {number} y
 */
export function putNear(element, stage, x, y) {
  const { clientWidth: width, clientHeight: height } = stage;
  const { offsetWidth: w, offsetHeight: h } = element;
  const left = x + 16 + w > width ? Math.max(4, x - 16 - w) : x + 16;
  const top = y + 16 + h > height ? Math.max(4, y - 12 - h) : y + 16;
  element.style.setProperty("transform", `translate(${Math.round(left)}px, ${Math.round(top)}px)`);
}
