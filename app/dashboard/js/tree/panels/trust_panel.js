// How far answers of the tree can be trusted: calibrations from rows held out, what they promise and
// found, and what merging classes would gain.

import { calibrationsOf, foundBy, pathOf } from "../../net/calibrations.js";
import { aborted, problemOf } from "../../net/problem.js";
import { lineChart } from "../../ui/charts.js";
import { field, optionElements } from "../../ui/controls.js";
import { el, replace, unique } from "../../ui/dom.js";
import { download } from "../../ui/downloads.js";
import { number, percent, plural } from "../../ui/format.js";
import { menu, saveEntries } from "../../ui/menus.js";
import { problemBox, waiting, warningBox } from "../../ui/notices.js";
import { foldedForm } from "./folded_form.js";
import { mergeFigures, pairTable, suspectTable } from "./trust_tables.js";
import { curvePoints, depthText, labelOf, promiseText, stepAt } from "./trust_words.js";

/** @import { Calibration } from "../../net/answers.js" */
/** @import { TreeView } from "../draw/view.js" */

/** @type {[suffix: string, label: string][]} */
const FILES = [
  ["curve.csv", "Curve (CSV)"],
  ["curve.svg", "Curve (SVG)"],
  ["curve.pdf", "Curve (PDF)"],
  ["curve.png", "Curve (PNG)"],
  ["groups.csv", "Thresholds (CSV)"],
  ["suspects.csv", "Labels that look wrong (CSV)"],
  ["pairs.csv", "Pairs that need more data (CSV)"],
];

/**
 * The panel, hidden until `start`.
 *
 * @param {TreeView} view
 * @param {{
 *   onchoose: (node: number) => unknown,
 *   form: (done: (calibration: Calibration) => unknown) => Promise<HTMLElement>,
 *   placing: (calibration: () => string) => Promise<HTMLElement>,
 *   onknown?: (promise: string | null, isOfClasses: boolean) => unknown,
 * }} handlers `onchoose`: a node to be shown; `onknown`: what the shown calibration promises, and
 *   whether leaves are classes; `form` makes
 *   that of a new calibration; `placing` that of new rows to be placed as the chosen one promises
 */
export function trustPanel(view, { onchoose, form, placing, onknown = () => {} }) {
  const { source, signal } = view;
  const title = unique("trust");
  /** @type {Calibration[]} */
  let known = [];
  const chosen = el("select", { onchange: () => show() });
  const chosenRow = field("Calibration", chosen);
  const body = el("div", { class: "stack" });
  const merging = el("div", { class: "stack tight", hidden: true });
  const making = foldedForm("A new calibration", form, (calibration) => {
    known = [calibration, ...known];
    draw();
    unfold();
    element.scrollIntoView({ block: "start" });
  });
  const place = foldedForm(
    "Place new rows",
    () => placing(() => chosen.value),
    () => {},
  );
  let isLoaded = false;
  let isOfClasses = true;
  const unfold = () => {
    // Rows are placed as a calibration promises; in groups that are no classes, without one.
    const isPlacing = known.length > 0 || !isOfClasses;
    place.hidden = !isPlacing;
    if (isLoaded && view.look.tab === "trust") (isPlacing ? place : making).openOnce();
  };
  view.on("look", unfold);
  const current = () => known.find(({ id }) => id === chosen.value);
  const save = menu(
    "Save",
    () =>
      saveEntries(FILES, (file) =>
        download(`${pathOf(chosen.value)}/${file}`, `${view.fileName()}-${file}`, { signal }),
      ),
    { iconName: "download", kind: "small", "aria-label": "Save what the calibration found" },
  );
  const element = el(
    "section",
    { class: "card tree-trust", "aria-labelledby": title, hidden: true },
    el("header", { class: "row apart" }, el("h2", { id: title }, "Trust"), save),
    chosenRow,
    body,
    place,
    making,
    merging,
  );
  const show = async () => {
    const calibration = current();
    if (!calibration?.result) return;
    replace(body, waiting());
    try {
      const found = await foundBy(calibration.id, signal);
      if (current() === calibration) replace(body, ...contents(calibration, found, onchoose));
    } catch (error) {
      if (aborted(error) || current() !== calibration) return;
      replace(body, problemBox(problemOf(error), { level: "h3", retry: show }));
    }
  };
  const draw = () => {
    replace(chosen, optionElements(known.map((one) => [one.id, labelOf(one)])));
    chosenRow.hidden = known.length < 2;
    save.hidden = known.length === 0;
    const result = current()?.result;
    onknown(result ? promiseText(result) : null, isOfClasses);
    if (known.length) return show();
    replace(body, el("p", { class: "quiet" }, isOfClasses ? NONE : NO_CLASSES));
    return null;
  };
  const merge = async () => {
    const heading = el("h3", {}, "What merging classes would gain");
    try {
      const merges = await source.merges();
      const saving = menu(
        "Save",
        [
          {
            label: "All steps (CSV)",
            onselect: () =>
              download(source.mergesPath, `${view.fileName()}-merges.csv`, { signal }),
          },
        ],
        { iconName: "download", kind: "small", "aria-label": "Save what merging classes gains" },
      );
      replace(
        merging,
        el("div", { class: "row apart" }, heading, saving),
        el("p", { class: "quiet" }, MERGING),
        warningBox(merges.warnings),
        el("div", { class: "trust-pair" }, mergeFigures(merges, onchoose)),
      );
    } catch (error) {
      if (aborted(error)) return;
      replace(merging, heading, problemBox(problemOf(error), { level: "h4", retry: merge }));
    }
    merging.hidden = false;
  };

  /** @param {{ predicts: boolean, confuses: boolean, ofClasses: boolean }} method what the tree's method can do */
  const start = async ({ predicts, confuses, ofClasses }) => {
    isOfClasses = ofClasses;
    element.hidden = !predicts && !confuses;
    making.hidden = !predicts;
    place.hidden = true;
    if (confuses) merge();
    if (!predicts) {
      chosenRow.hidden = true;
      save.hidden = true;
      return;
    }
    known = await calibrationsOf(source.tree, signal);
    isLoaded = true;
    draw();
    unfold();
  };
  return Object.assign(element, { start });
}

/**
 * @param {Calibration} calibration
 * @param {Awaited<ReturnType<typeof foundBy>>} found
 * @param {(node: number) => unknown} onchoose
 */
function contents({ result, warnings }, { curve, suspects, pairs }, onchoose) {
  if (!result) return [];
  const step = stepAt(curve);
  const depth = step && result.loss === "miss" ? depthText(step, curve.steps[0]) : null;
  const fit = result.likelihood
    ? `, a temperature of ${number(result.temperature)} by ${plural(result.n_temperature, "other row")}`
    : `, at a temperature of ${number(result.temperature)}`;
  return [
    el("p", {}, el("strong", {}, promiseText(result))),
    el(
      "p",
      { class: "quiet" },
      `Set by ${plural(result.n_rows, "row")}${fit}; for new rows like these. `,
      depth,
    ),
    warningBox(warnings),
    el(
      "div",
      { class: "trust-pair" },
      lineChart({
        title: "How often answers are wrong",
        points: curvePoints(curve.steps),
        across: "how much they tell: 0 the root, 1 a class",
        up: "share of rows, by every threshold",
      }),
      el(
        "div",
        { class: "stack tight" },
        el("h3", {}, "Labels that look wrong"),
        el("p", { class: "quiet" }, suspectText(suspects.length, result.n_rows + result.n_temperature)), // prettier-ignore
        suspectTable(suspects, onchoose),
      ),
    ),
    el(
      "div",
      { class: "stack tight" },
      el("h3", {}, "Pairs that need more data"),
      el("p", { class: "quiet" }, PAIRS),
      pairTable(pairs, onchoose),
    ),
  ];
}

/**
 * @param {number} n
 * @param {number} nRows
 */
const suspectText = (n, nRows) =>
  `${percent(n / nRows)} of the rows: another class is as probable as in the rows labelled so. The likeliest errors come first.`;

const NO_CLASSES =
  "The leaves of this tree are groups that the method found, not classes. New rows can be placed in them, " +
  "and colours by labels show how the groups agree with these. A calibration needs labels that are numbers " +
  "or names of leaves.";
const NONE =
  "Nothing is known yet of how far its answers can be trusted. Rows that the model has not seen, with " +
  "their classes, tell.";
const PAIRS =
  "What is confused of them beyond what stays. Where classes overlap, the model's probabilities expect " +
  "confusions, and a classifier that learns from these rows cannot avoid them: that part stays.";
const MERGING =
  "If all classes under a node were one, rows that are taken for another of them would be right, and what " +
  "tells them apart would be lost.";
