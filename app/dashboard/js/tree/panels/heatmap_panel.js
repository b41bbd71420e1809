// The clusters of the tree as the rows of a matrix: by their features, or by how far they are apart.

import { axesOf, heatmapOf, tileOf } from "../../net/heatmaps.js";
import { seen } from "../../net/names.js";
import { aborted, problemOf } from "../../net/problem.js";
import { button, field, optionElements, select } from "../../ui/controls.js";
import { bdiName, el, replace, unique } from "../../ui/dom.js";
import { download } from "../../ui/downloads.js";
import { number, plural } from "../../ui/format.js";
import { menu } from "../../ui/menus.js";
import { problemBox, waiting, warningBox } from "../../ui/notices.js";
import { HeatmapTiles, isDiverging, rampOf } from "../draw/heatmap_tiles.js";
import { MatrixView } from "../draw/matrix_view.js";
import { pageColours } from "../draw/palettes.js";
import { contextOf } from "../draw/stage.js";
import { choiceText, KINDS, MOST_ORDERED } from "../model/heatmap.js";
import { joinsOf, joinsOfMerges } from "../model/matrix.js";
import { printDialog, printQuery } from "./print_dialog.js";
import { printedPicture } from "./printed_picture.js";
import { putNear } from "./tooltip.js";
import { zoomButtons } from "./zoom_buttons.js";

/** @import { PrintOptions } from "./print_dialog.js" */
/** @import { Heatmap, HeatmapAxes, HeatmapResult } from "../../net/answers.js" */
/** @import { Option } from "../../ui/controls.js" */
/** @import { Spot, Subject } from "../draw/matrix_view.js" */
/** @import { Theme } from "../draw/palettes.js" */
/** @import { TreeView } from "../draw/view.js" */

/** @type {Option[]} */
const CHOICES = [
  ["mean", "Features: standardised means"],
  ["median", "Features: standardised medians"],
  ["raw", "Features: means as they are"],
  ["euclidean", "Distances: Euclidean, of means"],
  ["cosine", "Distances: cosine, of means"],
  ["cophenetic", "Distances: heights where clusters meet"],
];
const LEGEND = { width: 180, height: 12 };

/**
 * The panel; nothing is computed until it is requested, by the button or by the address.
 *
 * @param {TreeView} view
 * @param {{ onchoose: (node: number) => unknown }} handlers
 */
export function heatmapPanel(view, { onchoose }) {
  const { source, signal } = view;
  const title = unique("heatmap");
  /** @type {{ id: string, axes: HeatmapAxes, tiles: HeatmapTiles } | null} */
  let shown = null;
  /** @type {string | null} The choice of the look that was drawn last. */
  let drawn = null;
  /** Counts the requests, so that an earlier one is not shown after a later one. */
  let latest = 0;

  const trouble = el("div", { role: "status" });
  const cautions = el("div");
  const facts = el("p", { class: "quiet" });
  const legend = el("div", { class: "heatmap-legend" });
  const tip = el("div", { class: "matrix-tip", role: "status", hidden: true });
  const place = el("div", { class: "matrix-place" });

  /** @param {Spot | null} spot */
  const tell = (spot) => {
    tip.hidden = !spot || !shown;
    if (!spot || !shown) {
      view.mark(null);
      return;
    }
    const { axes, tiles } = shown;
    replace(tip, spotText(spot, axes, tiles));
    putNear(tip, place, spot.x, spot.y);
    const nodes = [rowAt(tiles, spot.row), ...(axes.columns ? [] : [spot.column])].map(
      (at) => axes.rows.node[at],
    );
    view.mark([...new Set(nodes)]);
  };
  const matrix = new MatrixView(place, {
    onspot: tell,
    onchoose: ({ row }) => shown && onchoose(shown.axes.rows.node[rowAt(shown.tiles, row)]),
    signal,
  });
  place.append(matrix.element, tip);

  const order = select([], { onchange: () => reorder() });
  const orderRow = field("Sort by", order);
  /** @param {HeatmapAxes} axes */
  const offerOrder = ({ rows: { node }, columns }) => {
    orderRow.hidden = !columns || node.length * columns.name.length > MOST_ORDERED;
    /** @type {Option[]} */
    const columnOptions = (columns?.name ?? []).map((name, at) => [at, seen(name)]);
    replace(order, optionElements([["", "The tree"], ...columnOptions], ""));
  };
  const reorder = async () => {
    if (!shown) return;
    const { id, tiles } = shown;
    try {
      await tiles.orderBy(order.value === "" ? null : Number(order.value));
    } catch (error) {
      if (aborted(error)) return;
      order.value = "";
      replace(trouble, problemBox(problemOf(error), { level: "h3", retry: reorder }));
    }
    if (shown?.id !== id) return;
    replace(facts, factsText(tiles.result, order.value && order.selectedOptions[0].text));
    paint();
  };
  const kind = select(CHOICES, { value: "mean" });
  const rows = el("select");
  const offerRows = () => {
    const { cut } = view.look;
    const text =
      cut && (cut.k === undefined ? `height ${number(cut.height)}` : `${cut.k} clusters`);
    const { value } = rows;
    replace(
      rows,
      text && el("option", { value: "cut" }, `The cut: ${text}`),
      el("option", { value: "leaves" }, "The leaves"),
    );
    rows.value = value === "leaves" || !text ? "leaves" : "cut";
  };
  const draw = async () => {
    latest += 1;
    const own = latest;
    /** @param {string} [stage] */
    const wait = (stage) => own === latest && replace(trouble, waiting(stage && `${stage}…`));
    wait();
    try {
      const cut = rows.value === "cut" ? view.look.cut : null;
      const terms = { ...KINDS[kind.value], cut };
      const heatmap = await heatmapOf(source.tree, terms, { signal, onstage: wait });
      const axes = await axesOf(heatmap.id, signal);
      if (own !== latest) return;
      replace(trouble);
      show(heatmap, axes);
    } catch (error) {
      if (aborted(error) || own !== latest) return;
      hide();
      replace(trouble, problemBox(problemOf(error), { level: "h3", retry: draw }));
    }
  };
  /**
   * @param {Heatmap} heatmap
   * @param {HeatmapAxes} axes
   */
  const show = (heatmap, axes) => {
    const { result } = heatmap;
    if (!result) return;
    const tiles = new HeatmapTiles(result, {
      load: (tile) => tileOf(heatmap.id, tile, signal),
      onloaded: () => {
        matrix.draw();
        // What is pointed at may have its value now.
        tell(matrix.spot);
      },
      onproblem: (error) =>
        !aborted(error) && replace(trouble, problemBox(problemOf(error), { level: "h3" })),
    });
    shown = { id: heatmap.id, axes, tiles };
    content.hidden = false;
    saving.hidden = false;
    matrix.element.setAttribute("aria-label", altText(result));
    offerOrder(axes);
    replace(facts, factsText(result));
    replace(cautions, warningBox(heatmap.warnings));
    matrix.subject = null;
    paint();
  };
  const paint = () => {
    if (!shown) return;
    const theme = pageColours(view.look.palette);
    const { axes, tiles } = shown;
    matrix.show(subjectOf(view, axes, tiles), theme);
    replace(legend, legendOf(tiles.result, theme));
  };

  const hide = () => {
    latest += 1;
    shown = null;
    content.hidden = true;
    saving.hidden = true;
    replace(trouble);
    view.mark(null);
  };
  /** Draw what the look has, once its cut is known. */
  const follow = () => {
    const { heatmap, cut } = view.look;
    if (choiceText(heatmap) === drawn || (heatmap?.rows === "cut" && !cut)) return;
    drawn = choiceText(heatmap);
    if (!heatmap) {
      hide();
      return;
    }
    offerRows();
    kind.value = heatmap.kind;
    rows.value = heatmap.rows;
    draw();
  };
  const choose = () => {
    view.look.heatmap = { kind: kind.value, rows: rows.value === "cut" ? "cut" : "leaves" };
    // It may be drawn already, of another cut.
    drawn = null;
    view.emit("look");
  };
  /** @param {PrintOptions} options */
  const printPath = (options) => {
    const values = { ...printQuery(options), palette: view.look.palette };
    return source.heatmapPath(shown?.id ?? "", options.form, values);
  };
  const print = () =>
    printDialog({
      title: "The matrix for print",
      picture: (options, own) => printedPicture(printPath(options), own),
      save: async (options) => {
        await download(printPath(options), `${view.fileName()}-matrix.${options.form}`, { signal });
      },
    });
  const saving = el(
    "div",
    { hidden: true },
    menu("Save", [{ label: "Figure for print…", onselect: print }], {
      iconName: "download",
      kind: "small",
      "aria-label": "Save the matrix",
    }),
  );

  const content = el(
    "div",
    { class: "stack tight", hidden: true },
    el(
      "div",
      { class: "row apart" },
      legend,
      orderRow,
      zoomButtons("Zoom of the matrix", {
        zoom: (factor) => matrix.zoom(1 / factor),
        whole: () => matrix.whole(),
      }),
    ),
    place,
    facts,
    cautions,
  );
  const element = el(
    "section",
    { class: "card tree-heatmap", "aria-labelledby": title },
    el("header", { class: "row apart" }, el("h2", { id: title }, "Clusters as a matrix"), saving),
    el(
      "div",
      { class: "row heatmap-terms" },
      field("Show", kind),
      field("Rows", rows),
      button("Draw it", { onclick: choose }),
    ),
    trouble,
    content,
  );
  offerRows();
  follow();
  addEventListener("themechange", paint, { signal });
  let painted = view.look.palette;
  view.on("look", () => {
    offerRows();
    follow();
    if (painted === view.look.palette) return;
    painted = view.look.palette;
    paint();
  });
  return Object.assign(element, { follow });
}

/**
 * @param {TreeView} view
 * @param {HeatmapAxes} axes
 * @param {HeatmapTiles} tiles
 * @returns {Subject}
 */
function subjectOf(view, { rows, columns }, tiles) {
  const joins = joinsOf(
    view.store,
    rows.node.map((node) => ({ node })),
  );
  /** @param {number} at a row of the tree's order */
  const nameOf = (at) =>
    rows.name[at] ?? rows.id?.[at] ?? view.calledOf(rows.node[at]) ?? `Node ${rows.node[at]}`;
  /** @param {number} at */
  const rowName = (at) => nameOf(rowAt(tiles, at));
  return {
    extent: tiles.extent,
    rowName,
    columnName: columns ? (at) => columns.name[at] : rowName,
    rowJoins: tiles.order ? null : joins,
    columnJoins: columns ? joinsOfMerges(columns.name.length, columns.merges) : joins,
    isSquare: !columns,
    paint: (context, frame, theme) => tiles.paint(context, frame, theme),
  };
}

/**
 * @param {Spot} spot
 * @param {HeatmapAxes} axes
 * @param {HeatmapTiles} tiles
 */
function spotText({ row: place, column }, { rows, columns }, tiles) {
  const row = rowAt(tiles, place);
  /** @param {number} at */
  const rowName = (at) => bdiName(rows.name[at] ?? rows.id?.[at] ?? `Node ${rows.node[at]}`);
  const known = tiles.at(row, column);
  const isAverage = known && known.rows * known.columns > 1;
  const average = known && [known.rows > 1 && plural(known.rows, "row"), known.columns > 1 && plural(known.columns, "column")].filter(Boolean).join(" and "); // prettier-ignore
  const own = known?.value;
  const value = own === null ? "no value" : own === undefined ? "…" : `${isAverage ? "about " : ""}${number(own)}`; // prettier-ignore
  return [
    el("strong", {}, rowName(row), columns ? ": " : " and ", columns ? bdiName(columns.name[column]) : rowName(column)), // prettier-ignore
    el("span", {}, value, isAverage && own !== null ? `, the average of ${average}` : ""),
    el("span", {}, plural(rows.size[row], "point")),
    columns &&
      el(
        "span",
        {},
        `over all: mean ${number(columns.mean[column])}, deviation ${number(columns.deviation[column])}`,
      ),
  ];
}

/**
 * The colours and the values that they stand for.
 *
 * @param {HeatmapResult} result
 * @param {Theme} theme
 */
function legendOf(result, theme) {
  const canvas = el("canvas", { class: "heatmap-ramp", "aria-hidden": "true" });
  Object.assign(canvas, LEGEND);
  const context = contextOf(canvas);
  for (const [at, colour] of rampOf(result, theme, LEGEND.width).entries()) {
    context.fillStyle = colour;
    context.fillRect(at, 0, 1, LEGEND.height);
  }
  const [low, high] = [result.shown_low, result.shown_high];
  return [
    el("span", {}, result.low < low ? `≤ ${number(low)}` : number(low)),
    canvas,
    el("span", {}, result.high > high ? `≥ ${number(high)}` : number(high)),
    el("span", { class: "quiet" }, scaleText(result)),
    typeof result.missing === "number" && el("span", { class: "quiet" }, "grey: no value"),
  ];
}

/** @param {HeatmapResult} result */
function scaleText(result) {
  if (isDiverging(result)) return "standard deviations from the mean of the column";
  if (result.what === "features") return "mean of the column";
  return result.metric === "cophenetic" ? "height at which both meet" : `${result.metric ?? ""} distance`; // prettier-ignore
}

/**
 * The row of the tree's order that is shown at a place.
 *
 * @param {HeatmapTiles} tiles
 * @param {number} place
 */
const rowAt = ({ order }, place) => order?.[place] ?? place;

/**
 * @param {HeatmapResult} result
 * @param {string} [ordered] by which column rows are ordered
 */
function factsText({ what, n_rows: nRows, n_columns: nColumns }, ordered) {
  if (ordered) {
    return (
      `${plural(nRows, "row")} by ${ordered}, from the highest × ${plural(nColumns, "column")} ` +
      "in the order of their tree. A figure for print has the rows in the order of the tree."
    );
  }
  const order = what === "features" ? "both in the order of their trees" : "in the order of the tree"; // prettier-ignore
  return `${plural(nRows, "row")} × ${plural(nColumns, "column")}, ${order}.`;
}

/** @param {HeatmapResult} result */
const altText = (result) =>
  `A matrix of ${plural(result.n_rows, "row")} in the order of the tree and ` +
  `${plural(result.n_columns, "column")}: ${scaleText(result)}. Arrows go from cell to cell, with ` +
  "Shift they move the picture, Enter shows the node; plus and minus zoom, 0 shows all.";
