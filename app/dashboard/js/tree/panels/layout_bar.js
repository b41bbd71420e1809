// How the tree is laid out: the shape, what heights show, labels.

import { el, select, svg } from "../../ui/dom.js";

const SHAPES = [
  ["circular", "Circle", "M12 12V4M12 12l6.9 4M12 12l-6.9 4M12 3a9 9 0 100 18 9 9 0 000-18"],
  ["rectangular", "Rectangle", "M3 12h5M8 6v12M8 6h13M8 18h5M13 14v8M13 14h8M13 22h8"],
  ["icicle", "Icicle", "M3 4h18v5H3zM3 9h11v5H3zM14 9h7v5h-7zM3 14h5v6H3z"],
];
const HEIGHTS = [
  ["auto", "What reads best"],
  ["height", "As they are"],
  ["sqrt", "Square roots"],
  ["rank", "Ranks"],
  ["depth", "Steps from the root"],
  ["level", "Steps to the leaves"],
];

/** An icon from a path of 24 x 24. */
export const drawing = (d) =>
  svg(
    "svg",
    { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true", focusable: "false" },
    svg("path", { d }),
  );

/** @returns {HTMLElement} with `.draw()`, for when something else has changed what is looked at */
export function shapesBar(view) {
  const { looked } = view;
  const reshape = (shape) => {
    if (looked.shape === shape) return;
    looked.shape = shape;
    draw();
    view.show({ camera: { k: 1, kd: 1, x: 0, y: 0 } });
  };
  const buttons = SHAPES.map(([value, label, path]) =>
    el(
      "button",
      { type: "button", class: "segment", onclick: () => reshape(value) },
      drawing(path),
      el("span", {}, label),
    ),
  );
  const heights = select(HEIGHTS, {
    onchange: () => {
      looked.scale = heights.value;
      view.show();
    },
  });
  const labels = el("input", {
    type: "checkbox",
    onchange: () => {
      looked.labels = labels.checked;
      view.show({ ms: 0 });
    },
  });
  const draw = () => {
    buttons.forEach((one, at) =>
      one.setAttribute("aria-pressed", String(SHAPES[at][0] === looked.shape)),
    );
    heights.value = looked.scale;
    labels.checked = looked.labels;
  };
  draw();
  const element = el(
    "div",
    { class: "tree-bar" },
    el("div", { class: "segments", role: "group", "aria-label": "Layout" }, buttons),
    el("label", { class: "tree-inline" }, el("span", {}, "Heights"), heights),
    el("label", { class: "check" }, labels, "Labels"),
  );
  element.draw = draw;
  return element;
}
