// Where the tree is cut into clusters: a slider over their number or over heights, the cuts that the
// service suggests, and what the clusters are like.

import { button, el, menu, replace, svg, toast, unique } from "../../ui/dom.js";
import { count, number, plural } from "../../ui/format.js";
import { deepen } from "../draw/colouring.js";
import { colourOf } from "../draw/tint.js";
import { cutHere, cutter, heightOf } from "../model/cut.js";
import { cutText } from "../model/look.js";

const STEPS = 1000;
const WAIT_MS = 90;
const BARS = 60;
const FORMS = [
  ["CSV", "csv"],
  ["NumPy (npy)", "npy"],
  ["JSON", "json"],
  ["Arrow", "arrow"],
];
const CRITERIA = {
  gap: "the heights leave a gap here",
  silhouette: "clusters are compact and apart",
  modularity: "most confusions lie within",
  support: "clusters come back when resampled",
};

/**
 * @param {object} view the TreeView
 * @param {object} own {api, onproblem(error)}
 * @returns {HTMLElement} with `.start()` once the first view is there, `.draw()`
 */
export function cutPanel(view, { api, onproblem }) {
  const { source, looked, signal } = view;
  const sliderId = unique("cut");
  let by = looked.cut?.height === undefined ? "k" : "height";
  let levels = [];
  let own = null; // What local cuts need; null where the service is asked.
  let timer;
  let asking = null;

  const slider = el("input", {
    type: "range",
    id: sliderId,
    min: 0,
    max: STEPS,
    step: 1,
    value: 0,
    class: "cut-slider",
    oninput: () => slid(),
  });
  const typed = el("input", {
    type: "number",
    class: "cut-number",
    "aria-label": "Number of clusters",
    min: 1,
    step: 1,
    onchange: () => wrote(),
  });
  const marks = el("div", { class: "cut-marks", role: "group", "aria-label": "Suggested cuts" });
  const said = el("p", { class: "cut-said", role: "status" });
  const bars = el("div", { class: "cut-bars" });
  const warned = el("p", { class: "quiet" });
  const ways = ["k", "height"].map((way) =>
    el(
      "button",
      {
        type: "button",
        class: "segment",
        "aria-pressed": String(by === way),
        onclick: () => turn(way),
      },
      way === "k" ? "Clusters" : "Height",
    ),
  );
  const downloads = menu(
    "Assignments",
    () => FORMS.map(([label, suffix]) => ({ label, onselect: () => save(suffix) })),
    { kind: "small", iconName: "download" },
  );
  const element = el(
    "section",
    { class: "card tree-panel", "aria-labelledby": `${sliderId}-title` },
    el(
      "header",
      { class: "row apart" },
      el("h2", { id: `${sliderId}-title` }, "Cut"),
      el("div", { class: "segments", role: "group", "aria-label": "Cut by" }, ways),
    ),
    el(
      "div",
      { class: "cut-line" },
      el("label", { for: sliderId, class: "visually-hidden" }, "Where the tree is cut"),
      slider,
      typed,
    ),
    marks,
    said,
    bars,
    warned,
    el("div", { class: "row" }, downloads),
  );

  // --- positions of the slider -------------------------------------------------------------------

  const leaves = () => view.total?.leaves ?? 1;
  const span = () => {
    const [low, top] = [view.store.low, view.total?.height ?? 1];
    return [low, top];
  };
  // By factors where there are many leaves: 2 and 3 clusters differ more than 900 and 901.
  const toK = (at) =>
    leaves() <= 40
      ? Math.round(1 + (at / STEPS) * (leaves() - 1))
      : Math.round(leaves() ** (at / STEPS));
  const fromK = (k) =>
    leaves() <= 1
      ? 0
      : leaves() <= 40
        ? ((k - 1) / (leaves() - 1)) * STEPS
        : (Math.log(k) / Math.log(leaves())) * STEPS;
  // Heights stand as in the picture: the root at the left, as with one cluster.
  const axis = () => view.wholeAxis;
  const toHeight = (at) =>
    axis() ? axis().of(at / STEPS) : span()[1] - (at / STEPS) * (span()[1] - span()[0]);
  const fromHeight = (h) =>
    axis() ? axis().at(h) * STEPS : (STEPS * (span()[1] - h)) / (span()[1] - span()[0] || 1);

  const place = () => {
    const { cut } = looked;
    if (!cut) return;
    const at = cut.k === undefined ? fromHeight(cut.height) : fromK(cut.k);
    slider.value = String(Math.round(at));
    slider.setAttribute(
      "aria-valuetext",
      cut.k === undefined ? `height ${number(cut.height)}` : plural(cut.k, "cluster"),
    );
    typed.value = cut.k === undefined ? String(Number(cut.height.toPrecision(5))) : String(cut.k);
    typed.step = cut.k === undefined ? "any" : "1";
    typed.setAttribute(
      "aria-label",
      cut.k === undefined ? "Height of the cut" : "Number of clusters",
    );
  };

  const slid = () => {
    const at = Number(slider.value);
    choose(
      by === "k" ? { k: Math.max(1, Math.min(leaves(), toK(at))) } : { height: toHeight(at) },
      { moved: true },
    );
  };
  const wrote = () => {
    const value = Number(typed.value);
    if (typed.value === "" || !Number.isFinite(value)) return place();
    return choose(
      by === "k" ? { k: Math.max(1, Math.min(leaves(), Math.round(value))) } : { height: value },
    );
  };
  const turn = (way) => {
    if (way === by) return;
    const height = heightOf(view.cut);
    const n = view.cut?.n_clusters ?? 2;
    by = way;
    ways.forEach((one, at) => one.setAttribute("aria-pressed", String(["k", "height"][at] === by)));
    choose(way === "k" ? { k: n } : { height: height ?? (n <= 1 ? span()[1] : span()[0]) });
  };

  // --- asking ------------------------------------------------------------------------------------

  const choose = (cut, { moved = false } = {}) => {
    if (cutText(cut) === cutText(looked.cut) && view.cut) return place();
    if (looked.cut && looked.color === "cut" && cutText(cut) !== cutText(looked.cut))
      looked.alone = null;
    looked.cut = cut;
    const way = cut.k === undefined ? "height" : "k";
    if (way !== by) {
      by = way;
      ways.forEach((one, at) =>
        one.setAttribute("aria-pressed", String(["k", "height"][at] === by)),
      );
    }
    place();
    view.dispatchEvent(new CustomEvent("looked"));
    if (own) {
      show(cutHere(own, cut));
      return undefined;
    }
    clearTimeout(timer);
    timer = setTimeout(() => ask(cut), moved ? WAIT_MS : 0);
    return undefined;
  };

  const ask = async (cut) => {
    asking?.abort();
    asking = new AbortController();
    const both = AbortSignal.any([asking.signal, signal]);
    try {
      const found = await source.cut(cut, both);
      show({ ...found, cut });
      await deepen(view, both);
    } catch (error) {
      if (error?.name !== "AbortError") onproblem(error);
    }
  };

  const show = (found) => {
    view.setCut(found);
    element.draw();
  };

  /** Begin: the first view is there. */
  element.start = async () => {
    own = view.store.complete ? cutter(view.store) : null;
    typed.max = String(leaves());
    if (looked.cut) choose({ ...looked.cut });
    try {
      levels = (await source.levels()).levels;
    } catch (error) {
      if (error?.name === "AbortError") return;
      if (error.status !== 404) onproblem(error);
    }
    mark();
    if (!looked.cut) {
      const first = best(levels) ?? { k: fallback() };
      // What nobody has chosen does not stand in the address.
      view.suggestedCut = cutText({ k: first.k });
      choose({ k: first.k });
    }
  };

  /** Where nothing is suggested: a few clusters, and not the whole as the only one. */
  const fallback = () => {
    const few = Math.min(leaves(), 12, Math.max(2, Math.round(Math.sqrt(leaves() / 2))));
    const isWhole = own && cutHere(own, { k: few }).n_clusters === 1;
    return (isWhole && own.counts.find((clusters) => clusters > 1)) || few;
  };

  const mark = () => {
    replace(
      marks,
      levels.map((level) =>
        button(`${count(level.k)} · ${level.criterion}`, {
          kind: "ghost small cut-mark",
          title: `${CRITERIA[level.criterion] ?? level.criterion}: ${number(level.score)}`,
          onclick: () => choose({ k: level.k }),
        }),
      ),
    );
    marks.hidden = levels.length === 0;
  };

  const save = async (suffix) => {
    const cut = looked.cut ?? {};
    try {
      await api.download(
        source.assignmentsPath(cut, suffix),
        `${view.fileName()}-${(cutText(cut) ?? "leaves").replace(":", "-")}.${suffix}`,
        { signal },
      );
    } catch (error) {
      if (error?.name !== "AbortError") toast(error.message, { kind: "bad" });
    }
  };

  element.draw = () => {
    const { cut } = view;
    if (!cut) return;
    place();
    const { n_clusters: n, smallest, median, largest } = cut;
    replace(
      said,
      el("strong", {}, plural(n, "cluster")),
      n > 1 &&
        ` of ${count(smallest)} to ${count(largest)} points, half of them up to ${count(Math.round(median))}`,
    );
    replace(warned, (cut.warnings ?? []).join(" "));
    warned.hidden = !cut.warnings?.length;
    drawBars(cut);
    [...marks.children].forEach((one, at) =>
      one.setAttribute("aria-pressed", String(levels[at]?.k === looked.cut?.k)),
    );
  };

  const drawBars = (cut) => {
    const list = cut.clusters.slice(0, BARS);
    const most = Math.max(1, ...list.map((one) => one.size));
    const wide = 300 / Math.max(12, list.length);
    const boxes = list.map((one, at) => {
      const tall = Math.max(1.5, (44 * one.size) / most);
      return svg("rect", {
        x: (at * wide + 0.5).toFixed(2),
        y: (46 - tall).toFixed(2),
        width: Math.max(0.8, wide - 1).toFixed(2),
        height: tall.toFixed(2),
        rx: Math.min(1.5, wide / 4).toFixed(2),
        fill: colourOf(view.theme, one.category, true),
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
  view.addEventListener("painted", () => element.draw());
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    asking?.abort();
  });
  element.choose = choose;
  return element;
}

/** The suggestion to begin with: the one that a criterion on the data gives before what heights say. */
function best(levels) {
  const order = ["support", "modularity", "silhouette", "gap"];
  // More clusters than colours can tell apart are no good beginning.
  const many = (one) => Number(one.k > 20);
  const rank = (one) => order.indexOf(one.criterion);
  return levels
    .filter((one) => one.k > 1)
    .sort((a, b) => many(a) - many(b) || rank(a) - rank(b) || b.score - a.score)[0];
}
