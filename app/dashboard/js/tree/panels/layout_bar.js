// How the tree is laid out: the shape, what heights show, labels.

import { select } from "../../ui/controls.js";
import { el } from "../../ui/dom.js";
import { drawnIcon } from "../../ui/icons.js";
import { SCALES } from "../model/scene.js";
import { home } from "../draw/camera.js";

/** @import { TreeView } from "../draw/view.js" */
/** @import { Shape } from "../model/look.js" */
/** @import { Scale } from "../model/scene.js" */

/** @type {[value: Shape, label: string, icon: string][]} */
const BUTTONS = [
  ["circular", "Circle", "M12 12V4M12 12l6.9 4M12 12l-6.9 4M12 3a9 9 0 100 18 9 9 0 000-18"],
  ["rectangular", "Rectangle", "M3 12h5M8 6v12M8 6h13M8 18h5M13 14v8M13 14h8M13 22h8"],
  ["icicle", "Icicle", "M3 4h18v5H3zM3 9h11v5H3zM14 9h7v5h-7zM3 14h5v6H3z"],
];
/** @type {Record<Scale, string>} */
const HEIGHTS = {
  auto: "Most readable",
  height: "As they are",
  sqrt: "Square roots",
  rank: "Ranks",
  depth: "Steps from the root",
  level: "Steps to the leaves",
};

/**
 * The bar; `draw` shows a look that was changed elsewhere.
 *
 * @param {TreeView} view
 */
export function layoutBar(view) {
  const { look } = view;
  /** @param {Shape} shape */
  const reshape = (shape) => {
    if (look.shape === shape) return;
    look.shape = shape;
    draw();
    view.show({ camera: home() });
  };
  const buttons = BUTTONS.map(([value, label, path]) =>
    el(
      "button",
      { type: "button", class: "segment", title: label, onclick: () => reshape(value) },
      drawnIcon(path),
      el("span", {}, label),
    ),
  );
  const heights = select(
    SCALES.map((scale) => [scale, HEIGHTS[scale]]),
    {
      onchange: () => {
        look.scale = SCALES.find((scale) => scale === heights.value) ?? "auto";
        view.show();
      },
    },
  );
  const labels = el("input", {
    type: "checkbox",
    onchange: () => {
      look.labels = labels.checked;
      view.show({ ms: 0 });
    },
  });
  const draw = () => {
    buttons.forEach((button, at) =>
      button.setAttribute("aria-pressed", String(BUTTONS[at][0] === look.shape)),
    );
    heights.value = look.scale;
    labels.checked = look.labels;
  };
  draw();
  const element = el(
    "div",
    { class: "tree-bar" },
    el("div", { class: "segments", role: "group", "aria-label": "Layout" }, buttons),
    el("label", { class: "tree-inline" }, el("span", {}, "Heights"), heights),
    el("label", { class: "check" }, labels, "Labels"),
  );
  return Object.assign(element, { draw });
}
