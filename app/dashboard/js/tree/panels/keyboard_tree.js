// The tree for the keyboard and for screen readers: what lies around the current node, as a tree of
// items that are not seen, with the picture following.

import { el, replace, unique } from "../../ui/dom.js";
import { plural } from "../../ui/format.js";
import { line } from "../draw/text.js";
import { FOLDED, INNER, LEAF, REST, rows, UNSEEN } from "../model/scene.js";
import { NONE } from "../model/store.js";

const AROUND = 12;
const ABOVE = 12;
const PAN = 60;

/**
 * @param {object} view the TreeView
 * @param {object} own {search(), up(), say(text)}
 * @returns {HTMLElement} what takes the focus
 */
export function mirror(view, own) {
  const id = unique("tree");
  const element = el("div", {
    class: "tree-mirror",
    role: "tree",
    tabindex: "0",
    id,
    "aria-label": "The tree. Arrow keys walk it, Enter chooses a node, space folds or opens it.",
  });
  let row = 0;
  let isFocused = false;

  const draw = () => {
    const { scene } = view;
    if (!scene) return;
    row = Math.min(row, scene.n - 1);
    const items = around(scene, row);
    replace(
      element,
      items.map((at) => item(at)),
    );
    element.setAttribute("aria-activedescendant", `${id}-${row}`);
  };

  const item = (at) => {
    const { scene } = view;
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
        "aria-selected": String(scene.id[at] === view.looked.node),
        onclick: () => to(at, true),
      },
      told(view, at),
    );
  };

  const to = (next, isChosen = false) => {
    if (next === NONE || next === undefined) return;
    row = next;
    view.hover(row);
    draw();
    view.approach(row);
    if (isChosen) take();
  };
  const take = () => {
    if (view.scene.kind[row] === REST) view.open(view.scene.id[row]);
    else view.select(view.scene.id[row]);
  };

  const keys = {
    ArrowLeft: () => to(view.scene.parent[row]),
    ArrowRight: () => (view.scene.kind[row] === INNER ? to(row + 1) : undefined),
    ArrowDown: () => to(beside(view.scene, row, 1)),
    ArrowUp: () => to(beside(view.scene, row, -1)),
    Home: () => to(0),
    Enter: take,
    " ": () => fold(),
    "+": () => near(1.5),
    "=": () => near(1.5),
    "-": () => near(1 / 1.5),
    0: () => view.whole(),
    r: () => view.scene.kind[row] !== LEAF && view.reroot(view.scene.id[row]),
    Backspace: () => own.up(),
    "/": () => own.search(),
    Escape: () => view.select(null),
  };
  const fold = async () => {
    const one = view.scene.id[row];
    const opened = view.scene.kind[row] !== INNER;
    if (view.scene.kind[row] === LEAF) return;
    await view.toggle(one);
    stay(one < 0 ? -1 - one : one);
    own.say(opened ? "Opened." : "Folded.");
  };
  const near = (factor) => {
    const { place } = view.stage.picture ?? {};
    if (!place) return;
    const [x, y] = place.at(view.scene.u[row], view.scene.v[row]);
    const inside = isFocused && x > 0 && y > 0 && x < view.stage.width && y < view.stage.height;
    if (inside) view.zoom(factor, x, y);
    else view.zoom(factor);
  };
  const pans = {
    ArrowLeft: [PAN, 0],
    ArrowRight: [-PAN, 0],
    ArrowUp: [0, PAN],
    ArrowDown: [0, -PAN],
  };

  element.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !view.scene) return;
    const act =
      event.shiftKey && pans[event.key] ? () => view.pan(...pans[event.key]) : keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  element.addEventListener("focus", () => {
    isFocused = true;
    const chosen = view.looked.node === null ? NONE : view.rowOf(view.looked.node);
    if (chosen !== NONE) row = chosen;
    view.hover(row);
    draw();
  });
  element.addEventListener("blur", () => {
    isFocused = false;
    view.hover(NONE);
  });
  const stay = (one) => {
    row = rows(view.scene).get(one) ?? 0;
    if (isFocused) view.hover(row);
    draw();
  };
  view.addEventListener("shown", () => {
    const one = view.looked.node;
    row = one === null ? Math.min(row, view.scene.n - 1) : Math.max(0, view.rowOf(one));
    draw();
  });
  view.addEventListener("select", ({ detail }) => {
    const found = detail.id === null ? NONE : view.rowOf(detail.id);
    if (found !== NONE) row = found;
    draw();
  });
  return element;
}

/** What is read out of a row. */
export function told(view, row) {
  const { scene, store } = view;
  const { kind, leaves, size, slot, id } = scene;
  if (kind[row] === REST)
    return `${plural(leaves[row], "further leaf", "further leaves")}, not shown`;
  const name =
    line(store.name[slot[row]] ?? "") ||
    (id[row] === 0 ? "Root" : kind[row] === LEAF ? String(id[row]) : `Node ${id[row]}`);
  const much =
    kind[row] === LEAF ? plural(size[row], "point") : plural(leaves[row], "leaf", "leaves");
  const folded = kind[row] === FOLDED || kind[row] === UNSEEN ? ", folded" : "";
  return `${name}, ${much}${folded}`;
}

/** The ancestors of a row, what stands beside it, and its children; in drawing order. */
function around(scene, row) {
  const found = new Set([row]);
  let up = scene.parent[row];
  for (let step = 0; step < ABOVE && up >= 0; step += 1, up = scene.parent[up]) found.add(up);
  let before = row;
  let after = row;
  for (let step = 0; step < AROUND; step += 1) {
    before = before === NONE ? NONE : beside(scene, before, -1);
    after = after === NONE ? NONE : beside(scene, after, 1);
    if (before !== NONE) found.add(before);
    if (after !== NONE) found.add(after);
  }
  if (scene.kind[row] === INNER) {
    let child = row + 1;
    for (let step = 0; step < AROUND && child < scene.end[row]; step += 1, child = scene.end[child])
      found.add(child);
  }
  return [...found].sort((a, b) => a - b);
}

/** The next sibling, or the one before; NONE at the end. */
function beside(scene, row, step) {
  const up = scene.parent[row];
  if (up < 0) return NONE;
  if (step > 0) return scene.end[row] < scene.end[up] ? scene.end[row] : NONE;
  let before = NONE;
  for (let child = up + 1; child < row; child = scene.end[child]) before = child;
  return before;
}

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
