// Where the tree is cut into clusters: a slider over their number or over heights, the cuts that the
// service suggests, and the sizes of the clusters.

import { aborted, hasStatus } from "../../net/problem.js";
import { button } from "../../ui/controls.js";
import { el, keep, replace, svg, unique } from "../../ui/dom.js";
import { download } from "../../ui/downloads.js";
import { count, number, plural } from "../../ui/format.js";
import { menu } from "../../ui/menus.js";
import { clusterColours } from "../draw/palettes.js";
import { cutTables } from "./cut_tables.js";
import {
  balancedCount,
  clustersAt,
  criterionText,
  cutHere,
  cutter,
  cutText,
  heightOf,
  rankedLevels,
  sliderPosition,
} from "../model/cut.js";

/** @import { Level } from "../../net/answers.js" */
/** @import { TreeView } from "../draw/view.js" */
/** @import { Cut, CutClusters, Cutter } from "../model/cut.js" */

/** @typedef {"k" | "height"} Way */

const STEPS = 1000;
const WAIT_MS = 90;
const BARS = 60;
/** Multiples of a few clusters that are tried where no suggestion is balanced. */
const FEW = [1, 2, 4];
const UNBALANCED = "In every suggested cut one cluster has most of the points.";
const FORMS = [
  ["CSV", "csv"],
  ["NumPy (npy)", "npy"],
  ["JSON", "json"],
  ["Arrow", "arrow"],
];
/** @type {Record<string, string>} */
const CRITERIA = {
  gap: "the heights leave a gap here",
  silhouette: "clusters are compact and apart",
  modularity: "most confusions lie within",
};
/** @param {Level} level */
const chance = ({ p_value: p }) => `p = ${number(p)} without structure`;
/** @type {readonly Way[]} */
const WAYS = ["k", "height"];

/**
 * The panel: `start` once the first view is shown, `choose` another cut, `draw` it in other colours.
 *
 * @param {TreeView} view
 * @param {{ onproblem: (error: unknown) => unknown, rows?: boolean, onname?: (k: number) => unknown }} handlers
 *   `rows`: whether the clusters of rows can be read; `onname` names so many clusters
 */
export function cutPanel(view, { onproblem, rows = true, onname }) {
  const { source, look, signal } = view;
  const sliderId = unique("cut");
  /** @type {Way} */
  let way = look.cut?.height === undefined ? "k" : "height";
  /** @type {Level[]} */
  let levels = [];
  /** @type {number | null} The number of clusters that stands out most. */
  let suggested = null;
  /** @type {Cutter | null} For cuts computed here; null if the service makes them. */
  let local = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  /** @type {AbortController | null} */
  let request = null;

  const slider = el("input", {
    type: "range",
    id: sliderId,
    min: 0,
    max: STEPS,
    step: 1,
    value: 0,
    class: "cut-slider",
    oninput: () => chooseSlider(),
  });
  const typed = el("input", {
    type: "number",
    class: "cut-number",
    "aria-label": "Number of clusters",
    min: 1,
    step: 1,
    onchange: () => chooseTyped(),
  });
  const marks = el("div", { class: "cut-marks", role: "group", "aria-label": "Suggested cuts" });
  const noLevel = el("p", { class: "quiet cut-none", hidden: true });
  const summary = el("p", { class: "cut-summary", role: "status" });
  const bars = el("div", { class: "cut-bars" });
  const warnings = el("p", { class: "quiet" });
  const openTables = () =>
    look.cut &&
    cutTables(view, look.cut, {
      file: (what) => `${fileOf(what)}.csv`,
      saveLeaves: () => save("csv", "leaves"),
      onname,
    });
  const segments = WAYS.map((value) =>
    el(
      "button",
      { type: "button", class: "segment", onclick: () => cutBy(value) },
      value === "k" ? "Clusters" : "Height",
    ),
  );
  const downloads = menu(
    "Assignments",
    () => [
      ...FORMS.map(([label, suffix]) => ({ label, onselect: () => save(suffix) })),
      { label: "A line for each leaf (CSV)", onselect: () => save("csv", "leaves") },
    ],
    { kind: "small", iconName: "download" },
  );
  const element = el(
    "section",
    { class: "card tree-panel", "aria-labelledby": `${sliderId}-title` },
    el(
      "header",
      { class: "row apart" },
      el("h2", { id: `${sliderId}-title` }, "Cut"),
      el("div", { class: "segments", role: "group", "aria-label": "Cut by" }, segments),
    ),
    el(
      "div",
      { class: "cut-line" },
      el("label", { for: sliderId, class: "visually-hidden" }, "Where the tree is cut"),
      slider,
      typed,
    ),
    marks,
    noLevel,
    summary,
    bars,
    warnings,
    rows &&
      el(
        "div",
        { class: "row" },
        button("Table", { kind: "small", title: "Clusters as a table", onclick: openTables }),
        downloads,
      ),
  );

  // --- positions of the slider -------------------------------------------------------------------

  const leaves = () => local?.nLeaves || Math.max(1, view.total.leaves - noiseLeaves());
  const noiseLeaves = () =>
    [...view.store.noise].filter((id) => view.store.leaves[view.store.slot(id)] === 1).length;
  const lowest = () => view.store.low;
  const highest = () => view.total.height;
  /** @param {number} at */
  const heightAt = (at) =>
    // Heights run as in the picture: the root at the left, like one cluster.
    view.wholeAxis?.of(at / STEPS) ?? highest() - (at / STEPS) * (highest() - lowest());
  /** @param {number} height */
  const positionOf = (height) =>
    (view.wholeAxis?.at(height) ?? (highest() - height) / (highest() - lowest() || 1)) * STEPS;

  /** @param {Way} value */
  const setWay = (value) => {
    way = value;
    segments.forEach((segment, at) =>
      segment.setAttribute("aria-pressed", String(WAYS[at] === way)),
    );
  };
  setWay(way);

  const placeSlider = () => {
    const { cut } = look;
    if (!cut) return;
    const isCount = cut.k !== undefined;
    const at = isCount ? STEPS * sliderPosition(cut.k, leaves()) : positionOf(cut.height);
    slider.value = String(Math.round(at));
    slider.setAttribute(
      "aria-valuetext",
      isCount ? plural(cut.k, "cluster") : `height ${number(cut.height)}`,
    );
    typed.value = isCount ? String(cut.k) : String(Number(cut.height.toPrecision(5)));
    typed.step = isCount ? "1" : "any";
    typed.setAttribute("aria-label", isCount ? "Number of clusters" : "Height of the cut");
  };
  /**
   * @param {number} k
   * @returns {Cut}
   */
  const ofCount = (k) => ({ k: Math.max(1, Math.min(leaves(), Math.round(k))) });

  const chooseSlider = () => {
    const at = Number(slider.value);
    const cut = way === "k" ? ofCount(clustersAt(at / STEPS, leaves())) : { height: heightAt(at) };
    choose(cut, { moved: true });
  };
  const chooseTyped = () => {
    const value = Number(typed.value);
    if (typed.value === "" || !Number.isFinite(value)) placeSlider();
    else choose(way === "k" ? ofCount(value) : { height: value });
  };
  /** @param {Way} value */
  const cutBy = (value) => {
    if (value === way) return;
    const height = heightOf(view.cut);
    const n = view.cut?.n_clusters ?? 2;
    setWay(value);
    choose(value === "k" ? { k: n } : { height: height ?? (n <= 1 ? highest() : lowest()) });
  };

  // --- the cut -----------------------------------------------------------------------------------

  /**
   * @param {Cut} cut
   * @param {{ moved?: boolean }} [options] `moved`: by the slider, which may move on
   */
  const choose = (cut, { moved = false } = {}) => {
    const isSame = cutText(cut) === cutText(look.cut);
    if (isSame && view.cut) {
      placeSlider();
      return;
    }
    if (look.cut && look.color === "cut" && !isSame) look.alone = null;
    look.cut = cut;
    const chosen = cut.k === undefined ? "height" : "k";
    if (chosen !== way) setWay(chosen);
    placeSlider();
    view.emit("look");
    make(cut, moved ? WAIT_MS : 0);
  };

  /**
   * @param {Cut} cut
   * @param {number} waitMs
   */
  const make = (cut, waitMs) => {
    if (local) {
      show(cutHere(local, cut));
      return;
    }
    clearTimeout(timer);
    timer = setTimeout(() => load(cut), waitMs);
  };

  /** @param {Cut} cut */
  const load = async (cut) => {
    request?.abort();
    request = new AbortController();
    const either = AbortSignal.any([request.signal, signal]);
    try {
      show({ ...(await source.cut(cut, either)), cut });
      await view.deepenCut(either);
    } catch (error) {
      if (!aborted(error)) onproblem(error);
    }
  };

  /** @param {CutClusters} cut */
  const show = (cut) => {
    view.setCut(cut);
    draw();
  };

  const start = async () => {
    local = view.store.complete ? cutter(view.store) : null;
    typed.max = String(leaves());
    if (look.cut) choose({ ...look.cut });
    let reason = "";
    try {
      const answer = await source.levels();
      levels = answer.levels;
      reason = answer.reason ?? UNBALANCED;
    } catch (error) {
      if (aborted(error)) return;
      if (!hasStatus(error, 404)) onproblem(error);
    }
    drawMarks();
    let k = null;
    try {
      const counts = [...new Set(rankedLevels(levels).map((one) => one.k))];
      k = await balancedCount(counts, shareOf);
    } catch (error) {
      if (aborted(error)) return;
      onproblem(error);
    }
    suggested = k;
    if (!look.cut) {
      // Meanwhile the user may have chosen one.
      if (look.cut) return;
      if (k === null) {
        replace(noLevel, `No level stands out. ${reason}`);
        noLevel.hidden = false;
        k = await fallback();
      }
      // A cut that the user has not chosen is not part of the address.
      view.suggestedCut = cutText({ k });
      choose({ k });
    }
  };

  /**
   * The share of the points in the largest of k clusters.
   *
   * @param {number} k
   */
  const shareOf = async (k) => {
    const largest = local ? cutHere(local, { k }).largest : await source.largest(k);
    return largest / Math.max(1, view.total.size);
  };

  /** Without suggestions: a few clusters, if possible balanced, rather than the whole tree as one. */
  const fallback = async () => {
    const few = Math.min(leaves(), 12, Math.max(2, Math.round(Math.sqrt(leaves() / 2))));
    if (!local) return few;
    const here = local;
    const balanced = await balancedCount(
      FEW.map((factor) => Math.min(leaves(), few * factor)),
      (k) => cutHere(here, { k }).largest / Math.max(1, view.total.size),
    );
    if (balanced !== null) return balanced;
    const isWhole = cutHere(here, { k: few }).n_clusters === 1;
    return (isWhole && here.counts.find((clusters) => clusters > 1)) || few;
  };

  const drawMarks = () => {
    keep(
      marks,
      levels.map((level) => {
        const { k, criterion, score } = level;
        const mark = () =>
          button(`${count(k)} · ${criterionText(criterion)}`, {
            kind: "ghost small cut-mark",
            title: `${CRITERIA[criterion] ?? criterion}: ${number(score)}; ${chance(level)}`,
            onclick: () => choose({ k }),
          });
        return [[k, criterion, score, level.p_value].join(" "), mark];
      }),
    );
    marks.hidden = levels.length === 0;
  };

  /** @param {string} what */
  const fileOf = (what) => {
    const cut = (cutText(look.cut) ?? "leaves").replace(":", "-");
    return `${view.fileName()}-${cut}${what && `-${what}`}`;
  };
  /**
   * @param {string} suffix
   * @param {"leaves"} [of] a line for each leaf
   */
  const save = (suffix, of) => {
    const name = `${fileOf(of ?? "")}.${suffix}`;
    return download(source.assignmentsPath(look.cut, suffix, of), name, { signal });
  };

  const draw = () => {
    const { cut } = view;
    if (!cut) return;
    placeSlider();
    const { n_clusters: n, n_noise: noise, smallest, median, largest } = cut;
    replace(
      summary,
      el("strong", {}, plural(n, "cluster")),
      n > 1 &&
        (smallest === largest
          ? ` of ${plural(smallest, "point")} each`
          : ` of ${count(smallest)} to ${count(largest)} points, half of them up to ${count(Math.round(median))}`),
      noise > 0 && `, and ${plural(noise, "point")} of noise`,
    );
    replace(warnings, cut.warnings.join(" "));
    warnings.hidden = !cut.warnings.length;
    drawBars(cut);
    [...marks.children].forEach((mark, at) =>
      mark.setAttribute("aria-pressed", String(levels[at]?.k === look.cut?.k)),
    );
  };

  /** @param {CutClusters} cut */
  const drawBars = (cut) => {
    const list = cut.clusters.slice(0, BARS);
    const most = Math.max(1, ...list.map((cluster) => cluster.size));
    const wide = 300 / Math.max(12, list.length);
    const colour = clusterColours(view.theme, cut);
    const boxes = list.map((cluster, at) => {
      const tall = Math.max(1.5, (44 * cluster.size) / most);
      return svg("rect", {
        x: (at * wide + 0.5).toFixed(2),
        y: (46 - tall).toFixed(2),
        width: Math.max(0.8, wide - 1).toFixed(2),
        height: tall.toFixed(2),
        rx: Math.min(1.5, wide / 4).toFixed(2),
        fill: colour(cluster.category),
      });
    });
    const more = cut.n_clusters - list.length;
    const label = `Sizes of the ${plural(list.length, "largest cluster", "largest clusters")}, from ${count(most)} points`;
    const picture = svg(
      "svg",
      { viewBox: "0 0 300 47", role: "img", "aria-label": label, preserveAspectRatio: "none" },
      boxes,
    );
    picture.addEventListener("pointermove", (event) => {
      const at = Math.floor(((event.offsetX / picture.clientWidth) * 300) / wide);
      view.mark(list[at] ? [list[at].node] : null);
    });
    picture.addEventListener("pointerleave", () => view.mark(null));
    replace(
      bars,
      picture,
      more > 0 && el("span", { class: "quiet" }, `and ${count(more)} smaller`),
    );
  };
  view.on("painted", draw);
  view.on("named", () => look.cut && make(look.cut, 0));
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    request?.abort();
  });
  /** The level that stands out most among those that leave no cluster with almost all; null if none does. */
  const level = () => levels.find(({ k }) => k === suggested) ?? null;
  return Object.assign(element, { start, draw, choose, level });
}
