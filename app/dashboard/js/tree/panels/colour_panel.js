// The colouring of the tree, its palette, and the meaning of the colours.

import { aborted, isAway } from "../../net/problem.js";
import { field, optionElements, select } from "../../ui/controls.js";
import { toastError } from "../../ui/dialogs.js";
import { el, replace } from "../../ui/dom.js";
import { PALETTES } from "../model/look.js";
import { legend } from "./legend.js";

/** @import { Dataset } from "../../net/answers.js" */
/** @import { Option } from "../../ui/controls.js" */
/** @import { TreeView } from "../draw/view.js" */

/** @type {Option[]} */
const OWN = [
  ["cut", "Clusters of the cut"],
  ["none", "Nothing"],
];

/**
 * The panel: `start` once the tree is shown, `draw` for a look that was changed elsewhere, `choose`
 * colours by something else.
 *
 * @param {TreeView} view
 * @param {{ onproblem: (error: unknown) => unknown, onchange: () => unknown }} handlers
 */
export function colourPanel(view, { onproblem, onchange }) {
  const { look, source } = view;
  let options = OWN;
  const color = el("select");
  color.addEventListener("change", () => choose(color.value));
  const palette = select(PALETTES, {
    onchange: () => {
      look.palette = palette.value;
      view.repaint();
      draw();
      onchange();
      view.emit("look");
    },
  });
  const key = legend(view, {
    onalone: (category) => {
      look.alone = category;
      view.recolour();
      key.draw();
      view.emit("look");
    },
    onpoint: (node) => view.mark(node === null ? null : [node]),
  });
  /**
   * @param {string} value
   * @returns {Promise<void>}
   */
  const choose = async (value) => {
    try {
      await view.setColor(value);
      draw();
      onchange();
    } catch (error) {
      draw();
      if (!aborted(error) && !isAway(error)) toastError(error);
    }
  };
  const draw = () => {
    replace(color, optionElements(options, look.color));
    palette.value = look.palette;
    key.draw();
  };
  /**
   * Labels that fit: one for each row, or for each leaf.
   *
   * @param {Dataset} dataset
   */
  const fits = ({ role, status, shape }) =>
    (role === "labels" || role === "names" || role === null) &&
    status === "ready" &&
    shape?.length === 1 &&
    (shape[0] === view.total.size || shape[0] === view.total.leaves);
  const start = async () => {
    draw();
    try {
      const { items } = await source.datasets();
      /** @param {Dataset} dataset */
      const rank = (dataset) => Number(dataset.role !== "labels");
      const fitting = items.filter(fits).sort((a, b) => rank(a) - rank(b));
      options = [...OWN, ...fitting.map(labelled)];
    } catch (error) {
      if (!aborted(error)) onproblem(error);
    }
    if (!options.some(([value]) => value === look.color)) {
      options = [...options, [look.color, "Labels of the link"]];
    }
    draw();
  };
  view.on("drawn", () => key.draw());
  const element = el(
    "section",
    { class: "card tree-panel", "aria-labelledby": "colours-title" },
    el("h2", { id: "colours-title" }, "Colour"),
    el("div", { class: "tree-pair" }, field("By", color), field("Palette", palette)),
    key,
  );
  return Object.assign(element, { start, draw, choose });
}

/**
 * @param {Dataset} dataset
 * @returns {Option}
 */
const labelled = ({ id, name }) => [id, name ?? id];
