// Which classes are taken for which: as a matrix in the order of the tree, and the pairs that cost most.

import { aborted, problemOf } from "../../net/problem.js";
import { button, field, optionElements } from "../../ui/controls.js";
import { bdiName, el, replace, unique } from "../../ui/dom.js";
import { download } from "../../ui/downloads.js";
import { count, number, percent, plural } from "../../ui/format.js";
import { menu, saveEntries } from "../../ui/menus.js";
import { problemBox, waiting } from "../../ui/notices.js";
import { table } from "../../ui/tables.js";
import { confusionCells, RANGE, SHADES } from "../draw/confusion_cells.js";
import { MatrixView } from "../draw/matrix_view.js";
import { pageColours, ramp } from "../draw/palettes.js";
import { contextOf } from "../draw/stage.js";
import { joinsOf, matrixOf } from "../model/matrix.js";
import { printDialog, printQuery } from "./print_dialog.js";
import { printedPicture } from "./printed_picture.js";
import { putNear } from "./tooltip.js";

/** @import { PrintOptions } from "./print_dialog.js" */
/** @import { ConfusedClass, ConfusedPair, Confusions, Dataset } from "../../net/answers.js" */
/** @import { Option } from "../../ui/controls.js" */
/** @import { Column } from "../../ui/tables.js" */
/** @import { Spot } from "../draw/matrix_view.js" */
/** @import { Theme } from "../draw/palettes.js" */
/** @import { Matrix } from "../model/matrix.js" */
/** @import { TreeView } from "../draw/view.js" */
/** @import { QueryValues } from "../model/source.js" */

/** The most pairs of the list. */
const MOST = 12;
const OWN = "";
/** What lies above and below the panel in a window where it has just been opened, in px. */
const AROUND_PX = 216;
/** @type {[suffix: string, label: string][]} */
const FORMS = [
  ["csv", "All pairs (CSV)"],
  ["npy", "The matrix (npy)"],
];

/**
 * The panel, hidden until `start`: what the tree's method knows by itself, or what labels tell.
 *
 * @param {TreeView} view
 * @param {{
 *   onchoose: (node: number) => unknown,
 *   onpairs?: (pairs: ConfusedPair[]) => unknown,
 * }} handlers `onchoose`: the node where a pair meets; `onpairs`: those that are shown
 */
export function confusionsPanel(view, { onchoose, onpairs = () => {} }) {
  const { source, signal } = view;
  const title = unique("confusions");
  const summary = el("p", { class: "quiet" });
  const cautions = el("ul", { class: "quiet" });
  const tip = el("div", { class: "matrix-tip", role: "status", hidden: true });
  const place = el("div", { class: "matrix-place" });
  const legend = el("div", { class: "heatmap-legend" });
  const list = el("div");
  const trouble = el("div");
  /** @type {Confusions | null} */
  let shown = null;
  /** @type {Matrix | null} */
  let pairs = null;

  /** @param {Spot | null} spot */
  const tell = (spot) => {
    tip.hidden = !spot || !shown;
    if (!spot || !shown) {
      view.mark(null);
      return;
    }
    const [one, other] = [shown.classes[spot.row], shown.classes[spot.column]];
    replace(tip, ...spotText(one, other, pairs?.cellAt(spot.row, spot.column)?.pair, shown));
    putNear(tip, place, spot.x, spot.y);
    view.mark(one === other ? [one.node] : [one.node, other.node]);
  };
  const matrix = new MatrixView(place, {
    onspot: tell,
    onchoose: ({ row, column }) => {
      const cell = pairs?.cellAt(row, column);
      if (cell) onchoose(cell.pair.meet);
    },
    /** @returns {number} */
    height: () => innerHeight - AROUND_PX - (place.getBoundingClientRect().top - element.getBoundingClientRect().top), // prettier-ignore
    signal,
  });
  place.append(matrix.element, tip);

  const labels = el("select", { onchange: () => load() });
  const labelsRow = field("According to", labels);
  const paint = () => {
    if (!shown || !pairs) return;
    const { classes } = shown;
    const joins = joinsOf(view.store, classes);
    /** @param {number} at */
    const nameOf = (at) => classes[at].name ?? `${classes[at].node}`;
    const theme = pageColours(view.look.palette);
    replace(legend, ...legendOf(pairs.most, theme));
    matrix.show(
      {
        extent: { rows: classes.length, columns: classes.length },
        rowName: nameOf,
        columnName: nameOf,
        rowJoins: joins,
        columnJoins: joins,
        isSquare: true,
        paint: confusionCells(pairs),
      },
      theme,
    );
  };
  /** @param {Confusions} confusions */
  const show = (confusions) => {
    shown = confusions;
    pairs = matrixOf(confusions);
    const { warnings } = confusions;
    replace(trouble);
    replace(summary, summaryText(confusions));
    replace(cautions, ...warnings.map((warning) => el("li", {}, warning)));
    cautions.hidden = !warnings.length;
    matrix.element.setAttribute("aria-label", ALT);
    replace(list, pairTable(confusions, onchoose));
    content.hidden = !confusions.pairs.length;
    paint();
    onpairs(confusions.pairs);
  };
  const load = async () => {
    const wanted = labels.value;
    replace(trouble, waiting());
    try {
      const confusions = await source.confusions(wanted || null);
      if (wanted === labels.value) show(confusions);
    } catch (error) {
      if (aborted(error) || wanted !== labels.value) return;
      shown = null;
      content.hidden = true;
      replace(summary);
      replace(trouble, problemBox(problemOf(error), { level: "h3", retry: load }));
    }
  };
  const content = el(
    "div",
    { class: "matrix-content", hidden: true },
    el(
      "div",
      { class: "stack tight" },
      el(
        "div",
        { class: "row matrix-bar" },
        el(
          "div",
          { class: "row", role: "group", "aria-label": "Zoom of the matrix" },
          button("Closer", { kind: "small", onclick: () => matrix.zoom(1 / 2) }),
          button("Farther", { kind: "small", onclick: () => matrix.zoom(2) }),
          button("Whole", { kind: "small", onclick: () => matrix.whole() }),
        ),
        legend,
      ),
      place,
      el("p", { class: "quiet" }, "Rows are classes, columns what they are taken for; grey is the class itself, the darker the more of it is right."), // prettier-ignore
    ),
    el("div", { class: "stack tight" }, el("h3", {}, "What costs most"), list),
  );
  const element = el(
    "section",
    { class: "card tree-confusions", "aria-labelledby": title, hidden: true },
    el(
      "header",
      { class: "row apart" },
      el("h2", { id: title }, "What is taken for what"),
      menu(
        "Save",
        () => [
          { label: "Figure for print…", onselect: () => print() },
          ...saveEntries(FORMS, save),
        ],
        { iconName: "download", kind: "small", "aria-label": "Save what is taken for what" },
      ),
    ),
    labelsRow,
    trouble,
    content,
    summary,
    cautions,
  );

  /**
   * @param {string} suffix
   * @param {QueryValues} [values]
   */
  const save = (suffix, values) =>
    download(
      source.confusionsPath(suffix, labels.value || null, values),
      `${view.fileName()}-confusions.${suffix}`,
      { signal },
    );
  /** @param {PrintOptions} options */
  const printValues = (options) => {
    const { height_mm: _, ...values } = printQuery(options);
    return { ...values, palette: view.look.palette };
  };
  const print = () =>
    printDialog({
      title: "The matrix for print",
      hasHeight: false,
      save: (options) => save(options.form, printValues(options)),
      picture: (options, own) =>
        printedPicture(
          source.confusionsPath("png", labels.value || null, printValues(options)),
          own,
        ),
    });

  const start = async () => {
    const { items } = await source.datasets();
    /** @param {Dataset} dataset */
    const fits = ({ role, status, shape }) =>
      role === "labels" &&
      status === "ready" &&
      shape?.length === 1 &&
      shape[0] === view.total.size;
    /** @type {Option[]} */
    const choices = items.filter(fits).map(({ id, name }) => [id, name ?? id]);
    replace(labels, optionElements([[OWN, "The logits alone"], ...choices]));
    labelsRow.hidden = choices.length === 0;
    element.hidden = false;
    await load();
  };
  addEventListener("themechange", paint, { signal });
  let painted = view.look.palette;
  view.on("look", () => {
    if (painted === view.look.palette) return;
    painted = view.look.palette;
    paint();
  });
  return Object.assign(element, { start });
}

/**
 * The colours and the shares that they stand for.
 *
 * @param {number} most
 * @param {Theme} theme
 */
function legendOf(most, theme) {
  if (!most) return [];
  const canvas = el("canvas", { class: "heatmap-ramp", "aria-hidden": "true" });
  Object.assign(canvas, { width: 3 * SHADES, height: 12 });
  const context = contextOf(canvas);
  for (const [at, colour] of ramp(theme, SHADES).entries()) {
    context.fillStyle = colour;
    context.fillRect(3 * at, 0, 3, 12);
  }
  return [
    el("span", {}, `≤ ${number(100 * (most / RANGE))} %`),
    canvas,
    el("span", {}, percent(most)),
    el("span", { class: "quiet" }, "of the class, by its logarithm"),
  ];
}

/** @param {Confusions} confusions */
function summaryText({ source, n_rows: nRows, right, rest, pairs, n_pairs: nPairs }) {
  const own = right === null ? "" : `${percent(right)} `;
  const known =
    pairs.length < nPairs
      ? ` The ${plural(pairs.length, "largest pair")} of ${count(nPairs)} are shown.`
      : "";
  const unknown =
    rest / nRows >= 5e-5 ? ` ${percent(rest / nRows)} are not known pair by pair.` : "";
  return source === "labels"
    ? `${own}of ${plural(nRows, "row")} lie in the leaf of their own class.${known}`
    : `From the logits alone: of the probability of ${plural(nRows, "row")}, ${own}are on the class ` +
        `with the largest logit.${unknown}${known}`;
}

/**
 * @param {Confusions} confusions
 * @param {(node: number) => unknown} onchoose
 */
function pairTable({ pairs }, onchoose) {
  /** @type {Column<ConfusedPair>[]} */
  const columns = [
    { label: "Class", head: true, cell: ({ node, name }) => bdiName(name ?? `${node}`) },
    {
      label: "Taken for",
      cell: ({ taken_for: other, taken_for_name: name }) => bdiName(name ?? `${other}`),
    },
    {
      label: "Share",
      numeric: true,
      cell: ({ share }) => (share === null ? "–" : percent(share)),
    },
    {
      label: "Node over both",
      numeric: true,
      cell: ({ meet }) =>
        el(
          "button",
          { type: "button", class: "linklike", onclick: () => onchoose(meet) },
          `${meet}`,
        ),
    },
  ];
  return table({ caption: "The pairs that cost most", columns, rows: pairs.slice(0, MOST) });
}

/**
 * @param {ConfusedClass} one
 * @param {ConfusedClass} other
 * @param {ConfusedPair | undefined} pair
 * @param {Confusions} confusions
 */
function spotText(one, other, pair, { source, pairs, n_pairs: nPairs }) {
  /** @param {ConfusedClass} either */
  const nameOf = ({ name, node }) => bdiName(name ?? `node ${node}`);
  const rows = source === "labels" ? "rows" : "probability";
  if (one === other) {
    return [
      el("strong", {}, nameOf(one)),
      el("span", {}, one.right === null ? "no rows" : `${percent(one.right)} of its ${rows} on it`),
    ];
  }
  const share = pair?.share;
  const unknown = pairs.length < nPairs ? "less than is shown" : "none known";
  return [
    el("strong", {}, nameOf(one), " taken for ", nameOf(other)),
    el("span", {}, share ? `${percent(share)} of its ${rows}; they meet at height ${number(pair.height)}` : unknown), // prettier-ignore
  ];
}

const ALT =
  "A matrix of the classes in the order of the tree: each row is a class, each column what it is " +
  "taken for, the darker the more. The pairs that cost most are in the table; save the rest to read " +
  "it. Arrows go from cell to cell, with Shift they move the picture, Enter shows the node where the two " +
  "meet; plus and minus zoom, 0 shows all.";
