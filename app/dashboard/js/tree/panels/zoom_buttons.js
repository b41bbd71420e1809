// The buttons that zoom a picture, for those who have no wheel.

import { button } from "../../ui/controls.js";
import { el } from "../../ui/dom.js";
import { drawnIcon } from "../../ui/icons.js";

const MINUS = "M5 12h14";
const WHOLE = "M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5";
const STEP = 1.6;

/**
 * @param {string} label of the group
 * @param {{ zoom: (factor: number) => unknown, whole: () => unknown }} picture
 */
export function zoomButtons(label, picture) {
  return el(
    "div",
    { class: "tree-zooms", role: "group", "aria-label": label },
    button("", {
      kind: "ghost small icon-only",
      iconName: "plus",
      "aria-label": "Zoom in",
      title: "Zoom in (+)",
      onclick: () => picture.zoom(STEP),
    }),
    iconButton("Zoom out", "Zoom out (-)", MINUS, () => picture.zoom(1 / STEP)),
    iconButton("Show the whole picture", "Whole picture (0)", WHOLE, () => picture.whole()),
  );
}

/**
 * @param {string} label
 * @param {string} title
 * @param {string} path of the icon
 * @param {() => unknown} onclick
 */
const iconButton = (label, title, path, onclick) =>
  el(
    "button",
    {
      type: "button",
      class: "button ghost small icon-only",
      "aria-label": label,
      title,
      onclick,
    },
    drawnIcon(path),
  );
