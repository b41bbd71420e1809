// The colouring of the tree, its palette, and the meaning of the colours.

import { aborted, isAway } from "../../net/problem.js";
import { field, optionElements, select } from "../../ui/controls.js";
import { toastError } from "../../ui/dialogs.js";
import { el, replace } from "../../ui/dom.js";
import { count, plural } from "../../ui/format.js";
import { byErrors, shownErrors, shownSupport } from "../draw/colouring.js";
import { MEASURES } from "../model/errors.js";
import { PALETTES } from "../model/look.js";
import { labelOption, labelsRows } from "../model/row_labels.js";
import { MOST_LEAVES, SUPPORT } from "../model/support.js";
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
 * @param {{
 *   onproblem: (error: unknown) => unknown,
 *   onchange: () => unknown,
 *   onchoose: (node: number) => unknown,
 *   labelFile?: (onready: (dataset: Dataset) => Promise<string | null>) => HTMLElement,
 * }} handlers `onchoose`: the node of a cluster in the legend; `labelFile` takes a file of labels in place,
 *   `onready` may say why it is not used
 */
export function colourPanel(view, { onproblem, onchange, onchoose, labelFile }) {
  const { look, source } = view;
  /** @type {Option[]} */
  let datasets = [];
  /** @type {Option[]} */
  let evaluations = [];
  /** @type {Option[]} */
  let columns = [];
  let isSupported = false;
  const options = () => {
    /** @type {Option[]} */
    const supported = isSupported || look.color === SUPPORT ? [[SUPPORT, "Support"]] : []; // prettier-ignore
    const known = [...OWN, ...supported, ...columns, ...datasets, ...evaluations];
    if (known.some(([value]) => value === look.color)) return known;
    return [...known, /** @type {Option} */ ([look.color, `${byErrors(look) ? "Errors" : "Labels"} of the link`])]; // prettier-ignore
  };
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
    onalone: (category, node) => {
      look.alone = category;
      view.recolour();
      key.draw();
      view.emit("look");
      if (category !== null && node !== undefined) onchoose(node);
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
      if (aborted(error)) return;
      draw();
      if (!isAway(error)) toastError(error);
    }
  };
  const measure = select(MEASURES, {
    onchange: () => {
      const chosen = MEASURES.find(([value]) => value === measure.value);
      look.measure = chosen?.[0] ?? "f1";
      look.alone = null;
      view.recolour();
      key.draw();
      view.emit("look");
    },
  });
  const links = el("input", {
    type: "checkbox",
    onchange: () => {
      look.links = links.checked;
      view.recolour();
      view.emit("look");
    },
  });
  const errorNote = el("p", { class: "quiet" });
  const errorRow = el(
    "div",
    { class: "stack tight tree-errors" },
    field("Measure", measure),
    el("label", { class: "check" }, links, "Draw the most frequent confusions"),
    errorNote,
  );
  const draw = () => {
    replace(color, optionElements(options(), look.color));
    palette.value = look.palette;
    const errors = shownErrors(view);
    errorRow.hidden = !errors;
    measure.value = look.measure;
    links.checked = look.links;
    replace(
      errorNote,
      "Each node: its rows, by whether they were given a label at or below it. A curve leads from the true label to a dot at the given one.",
      errors && !errors.isWhole && " This evaluation has no table of nodes: classes alone are coloured.", // prettier-ignore
      errors && [" ", el("a", { href: `#/jobs/${errors.job}` }, "The evaluation")],
    );
    key.draw();
  };
  /** @param {number} rows */
  const isLong = (rows) => rows === view.total.size || rows === view.total.leaves;
  /** @param {Dataset} dataset */
  const fits = (dataset) => labelsRows(dataset, isLong);
  const file = labelFile?.(async (dataset) => {
    if (!fits(dataset)) {
      const has = dataset.shape?.length === 1 ? `It has ${plural(dataset.shape[0], "row")}` : "It has several columns"; // prettier-ignore
      return `${has}; labels are one column with a row for each of the ${count(view.total.size)} points or ${count(view.total.leaves)} leaves.`;
    }
    datasets = [labelOption(dataset), ...datasets];
    await choose(dataset.id);
    return null;
  });
  const start = async () => {
    draw();
    try {
      const { items } = await source.datasets();
      /** @param {Dataset} dataset */
      const rank = (dataset) => Number(dataset.role !== "labels");
      const fitting = items.filter(fits).sort((a, b) => rank(a) - rank(b));
      datasets = fitting.map(labelOption);
    } catch (error) {
      if (!aborted(error)) onproblem(error);
    }
    draw();
  };
  /**
   * The errors or the support that a link names are loaded once the tree is shown; the tree is shown
   * without them if that fails.
   */
  const startNodes = async () => {
    if (!byErrors(look) && look.color !== SUPPORT) return;
    const { alone, color: linked } = look;
    await choose(linked);
    if (look.color !== linked) return;
    if (shownErrors(view) ?? shownSupport(view)) look.alone = alone;
    else look.color = "cut";
    view.recolour();
    draw();
  };
  /**
   * Offer the errors of evaluations too.
   *
   * @param {Option[]} found
   */
  const offer = (found) => {
    evaluations = found;
    draw();
  };
  /**
   * Offer the columns of items too.
   *
   * @param {Option[]} found
   */
  const offerColumns = (found) => {
    columns = found;
    draw();
  };
  /** Offer the support of the nodes too, if the tree is not so large that they cannot all be read. */
  const offerSupport = () => {
    isSupported = view.total.leaves <= MOST_LEAVES;
    draw();
  };
  view.on("drawn", () => key.draw());
  const element = el(
    "section",
    { class: "card tree-panel", "aria-labelledby": "colours-title" },
    el("h2", { id: "colours-title" }, "Colour"),
    el("div", { class: "tree-pair" }, field("By", color), field("Palette", palette)),
    file,
    errorRow,
    key,
  );
  return Object.assign(element, {
    start: () => Promise.all([start(), startNodes()]),
    draw,
    choose,
    offer,
    offerColumns,
    offerSupport,
  });
}
