// What moved in the tree since: a batch of new rows held against a reference.

import { drifts } from "../../net/drifts.js";
import { aborted, problemOf } from "../../net/problem.js";
import { field, optionElements } from "../../ui/controls.js";
import { bdi, el, replace, unique } from "../../ui/dom.js";
import { download } from "../../ui/downloads.js";
import { count, distinct, moment, percent, pText } from "../../ui/format.js";
import { fetchedImage } from "../../ui/images.js";
import { menu, saveEntries } from "../../ui/menus.js";
import { problemBox, warningBox } from "../../ui/notices.js";
import { table } from "../../ui/tables.js";
import {
  aspectsText,
  changeText,
  findingText,
  labelOf,
  promiseText,
  shareText,
} from "./drift_words.js";
import { foldedForm } from "./folded_form.js";
import { nodeLink } from "./node_link.js";

/** @import { Drift, DriftMove } from "../../net/answers.js" */
/** @import { Column } from "../../ui/tables.js" */
/** @import { TreeView } from "../draw/view.js" */
/** @import { Choose } from "./node_link.js" */

/** @type {[suffix: string, label: string][]} */
const FILES = [
  [".csv", "What moved (CSV)"],
  ["/nodes.csv", "All nodes (CSV)"],
  [".svg", "Picture (SVG)"],
  [".png", "Picture (PNG)"],
  [".pdf", "Picture (PDF)"],
];

/** The picture is drawn as wide as its place, px, and its labels are as large as the tree's, pt. */
const LEAST_PX = 280;
const PX_PER_MM = 96 / 25.4;
const PICTURE_PT = 8.5;

/**
 * The panel, hidden until `start`.
 *
 * @param {TreeView} view
 * @param {{
 *   onchoose: Choose,
 *   form: (done: (drift: Drift) => unknown) => Promise<HTMLElement>,
 *   onknown?: (finding: string | null) => unknown,
 * }} handlers `form` makes that of a new drift; `onknown`: what the shown one found
 */
export function driftPanel(view, { onchoose, form, onknown = () => {} }) {
  const { source, signal } = view;
  const title = unique("drift");
  /** @type {Drift[]} */
  let known = [];
  const chosen = el("select", { onchange: () => draw() });
  const time = el("input", { type: "range", min: "0", step: "1" });
  time.addEventListener("input", () => {
    chosen.value = inTime()[Number(time.value)]?.id ?? chosen.value;
    draw();
  });
  const timeRow = field("In time", time, { help: "From the first comparison to the newest." });
  const chosenRow = el(
    "div",
    { class: "grid inputs", hidden: true },
    field("Comparison", chosen),
    timeRow,
  );
  const body = el("div", { class: "stack" });
  const picture = el("div", {
    class: "drift-picture",
    role: "region",
    tabindex: "0",
    "aria-label": "Picture of what moved",
  });
  const making = foldedForm("A new comparison", form, (drift) => {
    known = [drift, ...known];
    offer();
    element.scrollIntoView({ block: "start" });
  });
  const current = () => known.find(({ id }) => id === chosen.value);
  /** The oldest first. */
  const inTime = () =>
    [...known].sort((a, b) => String(a.created_at).localeCompare(String(b.created_at)));
  /** @param {string} file */
  const save = (file) =>
    download(
      `${drifts.pathOf(chosen.value)}${file}`,
      `${view.fileName()}-drift${file.replace("/", "-")}`,
      { signal },
    );
  const saving = menu("Save", () => saveEntries(FILES, save), {
    iconName: "download",
    kind: "small",
    "aria-label": "Save what moved",
  });
  const element = el(
    "section",
    { class: "card tree-drift", "aria-labelledby": title, hidden: true },
    el("header", { class: "row apart" }, el("h2", { id: title }, "Drift"), saving),
    chosenRow,
    body,
    picture,
    making,
  );
  const draw = () => {
    const drift = current();
    time.value = String(inTime().findIndex(({ id }) => id === drift?.id));
    if (drift) {
      time.setAttribute("aria-valuetext", `${labelOf(drift)}, ${moment(drift.created_at)}`);
    }
    onknown(drift?.result ? findingText(drift.result) : null);
    replace(body, drift ? contents(drift, onchoose) : el("p", { class: "quiet" }, NONE));
    drawPicture();
  };
  const drawPicture = async () => {
    const drift = current();
    picture.hidden = !drift?.result?.n_moves;
    if (!drift || picture.hidden) return;
    const { theme } = document.documentElement.dataset;
    const width = Math.max(LEAST_PX, picture.clientWidth) / PX_PER_MM;
    try {
      const size = `width_mm=${width.toFixed(1)}&font_pt=${PICTURE_PT}&fonts=none`;
      const path = `${drifts.pathOf(drift.id)}.svg?${size}&theme=${theme}`;
      const image = await fetchedImage(path, { alt: PICTURE }, signal);
      if (current() === drift) replace(picture, image);
    } catch (error) {
      if (aborted(error) || current() !== drift) return;
      replace(picture, problemBox(problemOf(error), { level: "h3", retry: drawPicture }));
    }
  };
  const offer = () => {
    const options = known.map((drift) => ({
      value: drift.id,
      label: labelOf(drift),
      detail: moment(drift.created_at),
    }));
    replace(chosen, optionElements(distinct(options)));
    chosenRow.hidden = known.length < 2;
    time.max = String(known.length - 1);
    saving.hidden = known.length === 0;
    draw();
  };
  let isLoaded = false;
  const unfold = () => {
    if (isLoaded && !known.length && view.look.tab === "drift") making.openOnce();
  };
  view.on("look", unfold);
  const start = async () => {
    element.hidden = false;
    known = await drifts.of(source.tree, signal);
    isLoaded = true;
    offer();
    unfold();
  };
  addEventListener("themechange", drawPicture, { signal });
  return Object.assign(element, { start });
}

/**
 * @param {Drift} drift
 * @param {Choose} onchoose
 */
function contents({ result, warnings }, onchoose) {
  if (!result) return [];
  const { moves, n_moves: n } = result;
  return [
    el("p", {}, el("strong", {}, findingText(result))),
    el("p", { class: "quiet" }, `${aspectsText(result)} ${promiseText(result)}`),
    warningBox(warnings),
    n > 0 && moveTable(moves, onchoose),
    n > moves.length &&
      el("p", { class: "quiet" }, `The ${moves.length} surest of ${count(n)}; the file has all.`),
  ];
}

/**
 * @param {DriftMove[]} moves
 * @param {Choose} onchoose
 */
function moveTable(moves, onchoose) {
  /** @type {Column<DriftMove>[]} */
  const columns = [
    { label: "Node", head: true, cell: ({ node, name }) => nodeLink(node, name, onchoose) },
    { label: "Change", cell: changeText, sort: changeText },
    { label: "Before", numeric: true, cell: ({ before }) => percent(before) },
    { label: "After", numeric: true, cell: ({ after }) => percent(after) },
    { label: "What it is", cell: (move) => bdi(shareText(move)) },
    { label: "p", numeric: true, cell: ({ p_value: p }) => pText(p), sort: ({ p_value: p }) => p },
  ];
  const list = table({ caption: "What moved, the surest first", columns, rows: moves });
  list.classList.add("folds");
  return list;
}

const NONE =
  "Nothing has been compared yet. A batch of new rows and a reference show which nodes gained or lost " +
  "rows, where answers became less sure and, with labels, less pure.";
const PICTURE = "Each change from before to after, as in the table";
