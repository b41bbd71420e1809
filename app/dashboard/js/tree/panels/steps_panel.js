// How a tree was learned: the trees that its fit had on its way, as a slider that plays, beside the
// curve of their costs.

import { aborted, hasStatus, problemOf } from "../../net/problem.js";
import { get } from "../../net/requests.js";
import { lineChart } from "../../ui/charts.js";
import { field } from "../../ui/controls.js";
import { el, replace, unique } from "../../ui/dom.js";
import { count, number, plural } from "../../ui/format.js";
import { fetchedImage } from "../../ui/images.js";
import { problemBox } from "../../ui/notices.js";
import { followed } from "../model/grown.js";

/** @import { Steps } from "../../net/answers.js" */
/** @import { TreeView } from "../draw/view.js" */

const PICTURE_MM = 110;
const PICTURE_PX = Math.round((PICTURE_MM * 96) / 25.4);
/** The size of its words, pt. */
const PICTURE_PT = 8;
const PLAY_MS = 1200;

/**
 * The panel, hidden unless the tree's fit kept steps.
 *
 * @param {TreeView} view
 */
export function stepsPanel(view) {
  const { signal } = view;
  const title = unique("steps");
  /** @type {Steps["items"]} The earliest first, the last one the tree itself. */
  let items = [];
  const time = el("input", { type: "range", min: "0", step: "1" });
  const play = el("button", { type: "button", class: "button" }, "Play");
  const text = el("p", { "aria-live": "polite" });
  const picture = el("div", { class: "table-tree" });
  const curve = el("div", {});
  const element = el(
    "section",
    { class: "card stack tree-steps", "aria-labelledby": title, hidden: true },
    el("h2", { id: title }, "How it was learned"),
    field("Step", time, { help: "Colours show the clusters of the result." }),
    el("div", { class: "row" }, play, text),
    el("div", { class: "step-pictures" }, picture, curve),
  );
  /** @type {ReturnType<typeof setInterval> | undefined} */
  let timer;
  const stop = () => {
    clearInterval(timer);
    timer = undefined;
    replace(play, "Play");
  };
  signal.addEventListener("abort", stop);
  time.addEventListener("input", () => {
    stop();
    draw();
  });
  play.addEventListener("click", () => {
    if (timer !== undefined) {
      stop();
      return;
    }
    if (Number(time.value) === items.length - 1) time.value = "0";
    replace(play, "Pause");
    draw();
    timer = setInterval(() => {
      time.value = String(Number(time.value) + 1);
      draw();
      if (Number(time.value) === items.length - 1) stop();
    }, PLAY_MS);
  });
  const draw = () => {
    const at = Number(time.value);
    const { step, cost, n_leaves } = items[at];
    const isLast = at === items.length - 1;
    const words = `After ${plural(step, "step")}: cost ${number(cost)}, ${count(n_leaves)} leaves${isLast ? ", the result" : ""}.`;
    time.setAttribute("aria-valuetext", `${at + 1} of ${items.length}: ${words}`);
    replace(text, words);
    drawPicture(at);
  };
  /** @param {number} at */
  const drawPicture = async (at) => {
    const isCurrent = () => at === Number(time.value) && !signal.aborted;
    const theme = document.documentElement.dataset.theme === "dark" ? "&theme=dark" : "";
    const plain = `/v1/trees/${view.source.tree}.svg?step=${at}&width_mm=${PICTURE_MM}&font_pt=${PICTURE_PT}&fonts=none${theme}`;
    const attributes = {
      alt: `The tree after ${plural(items[at].step, "step")}`,
      width: `${PICTURE_PX}`,
    };
    // A tree of few leaves has no such clusters.
    const { n_leaves: most } = items[items.length - 1];
    for (const path of [...followed(most).map((k) => `${plain}&color_by=cluster:${k}`), plain]) {
      try {
        const image = await fetchedImage(path, attributes, signal);
        if (isCurrent()) replace(picture, image);
        return;
      } catch {
        if (!isCurrent()) return;
      }
    }
    replace(picture);
  };
  const start = async () => {
    try {
      /** @type {Steps} */
      const answer = await get(`/v1/trees/${view.source.tree}/steps`, { signal, quiet: true });
      items = answer.items;
    } catch (error) {
      if (aborted(error) || hasStatus(error, 404) || hasStatus(error, 403)) return;
      element.hidden = false;
      replace(text, problemBox(problemOf(error), { level: "h3", retry: start }));
      return;
    }
    element.hidden = items.length < 2;
    if (element.hidden) return;
    /** @type {[number, number][]} */
    const points = items.map(({ step, cost }) => [step, cost]);
    replace(curve, lineChart({ title: "Cost of the tree by steps", points, across: "steps" }));
    time.max = String(items.length - 1);
    time.value = time.max;
    draw();
  };
  start();
  return element;
}
