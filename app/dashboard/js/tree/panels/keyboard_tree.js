// The tree for the keyboard and for screen readers: the surroundings of the current node as a tree
// of invisible items, which the picture follows.

import { el, replace, unique } from "../../ui/dom.js";
import { plural } from "../../ui/format.js";
import { FOLDED, INNER, LEAF, REST, UNSEEN } from "../model/scene.js";
import { NONE } from "../model/store.js";
import { drawnName, line } from "../draw/text.js";
import { calledName } from "../model/cluster_names.js";

/** @import { TreeView } from "../draw/view.js" */
/** @import { Drawn, Scene } from "../model/scene.js" */
/** @import { Store } from "../model/store.js" */

const AROUND = 12;
const ABOVE = 12;
const PAN = 60;

/**
 * The element that takes the focus.
 *
 * @param {TreeView} view
 * @param {{ onsearch: () => unknown, onup: () => unknown, onname?: () => unknown, say: (text: string) => unknown }} handlers
 *   `onname`: the node that is selected shall have another name; none where names stay
 */
export function keyboardTree(view, { onsearch, onup, onname, say }) {
  const id = unique("tree");
  const element = el("div", {
    class: "tree-mirror",
    role: "tree",
    tabindex: "0",
    id,
    "aria-label": `The tree. Arrow keys walk it, Enter selects a node, ${onname ? "F2 names it, " : ""}space folds or opens it.`,
  });
  let row = 0;
  // The rows of nodes change with each scene: what is current is kept by its id.
  let current = 0;
  /** @type {number | null} */
  let selected = null;
  let isFocused = false;

  const draw = () => {
    const { scene } = view;
    if (!scene.n) return;
    row = Math.min(row, scene.n - 1);
    current = scene.id[row];
    replace(element, rowsAround(scene, row).map(item));
    element.setAttribute("aria-activedescendant", `${id}-${row}`);
  };

  const toSelected = () => {
    selected = view.look.node;
    const at = selected === null ? NONE : view.rowOf(selected);
    if (at !== NONE) row = at;
  };

  /** @param {number} at */
  const item = (at) => {
    const { scene, look, store } = view;
    const { kind, depth } = scene;
    const [place, among] = position(scene, at);
    return el(
      "div",
      {
        role: "treeitem",
        id: `${id}-${at}`,
        "aria-level": String(depth[at] + 1),
        "aria-posinset": String(place),
        "aria-setsize": String(among),
        "aria-expanded": kind[at] === LEAF ? null : String(kind[at] === INNER),
        "aria-selected": String(scene.id[at] === look.node),
        onclick: () => {
          moveTo(at);
          take();
        },
      },
      rowText(scene, store, at),
    );
  };

  /** @param {number} next */
  const moveTo = (next) => {
    if (next === NONE) return;
    row = next;
    view.hover(row);
    draw();
    view.approach(row);
  };
  const take = () => {
    if (view.scene.kind[row] === REST) view.open(view.scene.id[row]);
    else view.select(view.scene.id[row]);
  };
  const fold = async () => {
    const node = view.scene.id[row];
    const isOpening = view.scene.kind[row] !== INNER;
    if (view.scene.kind[row] === LEAF) return;
    await view.toggle(node);
    if (isFocused) view.hover(row);
    draw();
    say(isOpening ? "Opened." : "Folded.");
  };
  /** @param {number} factor */
  const zoom = (factor) => {
    const place = view.stage.picture?.place;
    if (!place) return;
    const [x, y] = place.at(view.scene.u[row], view.scene.v[row]);
    const isInside = isFocused && x > 0 && y > 0 && x < view.stage.width && y < view.stage.height;
    if (isInside) view.zoom(factor, x, y);
    else view.zoom(factor);
  };

  /** @type {Record<string, () => unknown>} */
  const keys = {
    ArrowLeft: () => moveTo(view.scene.parent[row]),
    ArrowRight: () => view.scene.kind[row] === INNER && moveTo(row + 1),
    ArrowDown: () => moveTo(sibling(view.scene, row, 1)),
    ArrowUp: () => moveTo(sibling(view.scene, row, -1)),
    Home: () => moveTo(0),
    Enter: take,
    F2: () => {
      // What stands for several nodes has no name.
      if (!onname || view.scene.kind[row] === REST) return;
      take();
      onname();
    },
    " ": fold,
    "+": () => zoom(1.5),
    "=": () => zoom(1.5),
    "-": () => zoom(1 / 1.5),
    0: () => view.whole(),
    r: () => view.scene.kind[row] !== LEAF && view.reroot(view.scene.id[row]),
    Backspace: onup,
    "/": onsearch,
    Escape: () => view.select(null),
  };
  /** @type {Record<string, () => unknown>} */
  const shiftKeys = {
    ...keys,
    ArrowLeft: () => view.pan(PAN, 0),
    ArrowRight: () => view.pan(-PAN, 0),
    ArrowUp: () => view.pan(0, PAN),
    ArrowDown: () => view.pan(0, -PAN),
  };

  element.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !view.scene.n) return;
    const bound = event.shiftKey ? shiftKeys : keys;
    if (!Object.hasOwn(bound, event.key)) return;
    event.preventDefault();
    bound[event.key]();
  });
  element.addEventListener("focus", () => {
    isFocused = true;
    toSelected();
    view.hover(row);
    draw();
  });
  element.addEventListener("blur", () => {
    isFocused = false;
    view.hover(NONE);
  });
  view.on("shown", () => {
    // What is loaded while one walks moves nobody; what is selected elsewhere does.
    let at = view.rowOf(current);
    if (at === NONE && current < 0) at = view.rowOf(-1 - current);
    row = Math.max(0, at);
    if (at === NONE || view.look.node !== selected) toSelected();
    draw();
  });
  view.on("select", () => {
    toSelected();
    draw();
  });
  return element;
}

/**
 * A row as read out.
 *
 * @param {Drawn} scene
 * @param {Store} store
 * @param {number} row
 */
export function rowText({ kind, leaves, size, slot, id }, store, row) {
  if (kind[row] === REST) {
    return `${plural(leaves[row], "further leaf", "further leaves")}, not shown`;
  }
  const name =
    line(store.name[slot[row]] ?? "") ||
    (id[row] > 0 && kind[row] !== LEAF && drawnName(calledName(store, slot[row]))) ||
    (id[row] === 0 ? "Root" : kind[row] === LEAF ? String(id[row]) : `Node ${id[row]}`);
  const extent =
    kind[row] === LEAF ? plural(size[row], "point") : plural(leaves[row], "leaf", "leaves");
  const folded = kind[row] === FOLDED || kind[row] === UNSEEN ? ", folded" : "";
  return `${name}, ${extent}${folded}`;
}

/**
 * The ancestors of a row, the siblings beside it, and its children; in drawing order.
 *
 * @param {Scene} scene
 * @param {number} row
 */
export function rowsAround(scene, row) {
  const around = new Set([row]);
  let up = scene.parent[row];
  for (let step = 0; step < ABOVE && up >= 0; step += 1, up = scene.parent[up]) around.add(up);
  let before = row;
  let after = row;
  for (let step = 0; step < AROUND; step += 1) {
    before = before === NONE ? NONE : sibling(scene, before, -1);
    after = after === NONE ? NONE : sibling(scene, after, 1);
    if (before !== NONE) around.add(before);
    if (after !== NONE) around.add(after);
  }
  if (scene.kind[row] === INNER) {
    let child = row + 1;
    for (
      let step = 0;
      step < AROUND && child < scene.end[row];
      step += 1, child = scene.end[child]
    ) {
      around.add(child);
    }
  }
  return [...around].sort((a, b) => a - b);
}

/**
 * The next sibling, or the previous one; NONE at the end.
 *
 * @param {Scene} scene
 * @param {number} row
 * @param {1 | -1} step
 */
function sibling(scene, row, step) {
  const up = scene.parent[row];
  if (up < 0) return NONE;
  if (step > 0) return scene.end[row] < scene.end[up] ? scene.end[row] : NONE;
  let before = NONE;
  for (let child = up + 1; child < row; child = scene.end[child]) before = child;
  return before;
}

/**
 * The position of a row among its siblings, from 1, and their number.
 *
 * @param {Scene} scene
 * @param {number} row
 */
function position(scene, row) {
  const up = scene.parent[row];
  if (up < 0) return [1, 1];
  let place = 0;
  let among = 0;
  for (let child = up + 1; child < scene.end[up]; child = scene.end[child]) {
    among += 1;
    if (child === row) place = among;
  }
  return [place, among];
}
