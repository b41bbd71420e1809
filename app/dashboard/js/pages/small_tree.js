// A small tree of languages that is cut where the user wants: what the page is for, in a picture.

import { el, replace, svg } from "../ui/dom.js";
import { plural } from "../ui/format.js";

/** Languages from left to right, and the merges in their order: two clusters by their first leaf. */
const LEAVES = ["Danish", "Swedish", "Dutch", "German", "Spanish", "Catalan", "French", "Czech", "Polish", "Hindi", "Nepali"]; // prettier-ignore
/** @type {[left: number, right: number][]} */
const MERGES = [[0, 1], [4, 5], [9, 10], [7, 8], [2, 3], [4, 6], [0, 2], [0, 4], [0, 7], [0, 9]]; // prettier-ignore
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#b8549a", "#8a6d00", "#56879c", "#7a3b9a", "#a3262a", "#3f7d20", "#5b5bd6", "#6b6b6b"]; // prettier-ignore
const WIDE = 330;
const TALL = 96;
const STEP_MS = 650;
const FIRST = 2;
const LAST = 4;

/**
 * The picture with a slider over the number of clusters. It moves by itself a few times at first,
 * unless the user wants no motion.
 *
 * @param {AbortSignal} signal
 */
export function smallTree(signal) {
  const gap = WIDE / LEAVES.length;
  const clusters = LEAVES.map((_, leaf) => ({ x: (leaf + 0.5) * gap, y: TALL, leaves: [leaf] }));
  const top = (/** @type {number} */ step) => TALL - ((step + 1) * (TALL - 6)) / MERGES.length;
  const branches = MERGES.map(([left, right], step) => {
    const [a, b] = [clusters[left], clusters[right]];
    const y = top(step);
    const d = `M${a.x.toFixed(1)} ${a.y.toFixed(1)}V${y.toFixed(1)}H${b.x.toFixed(1)}V${b.y.toFixed(1)}`;
    clusters[left] = { x: (a.x + b.x) / 2, y, leaves: [...a.leaves, ...b.leaves] };
    return { path: svg("path", { d }), leaves: clusters[left].leaves };
  });
  const words = LEAVES.map((text, leaf) =>
    svg("text", { x: (leaf + 0.5) * gap, y: TALL + (leaf % 2 ? 24 : 13) }, text),
  );
  const line = svg("path", { class: "small-tree-cut", d: `M0 0H${WIDE}` });
  const picture = svg(
    "svg",
    { viewBox: `0 0 ${WIDE} ${TALL + 28}`, "aria-hidden": "true", focusable: "false" },
    branches.map(({ path }) => path),
    words,
    line,
  );
  const shown = el("output", {});
  const slider = el("input", {
    type: "range",
    min: "1",
    max: String(LEAVES.length),
    step: "1",
    "aria-label": "Clusters of the example",
  });
  slider.addEventListener("input", () => {
    stop();
    draw(Number(slider.value));
  });
  /** @param {number} k */
  const draw = (k) => {
    const kept = MERGES.length - (k - 1);
    const cluster = LEAVES.map((_, leaf) => leaf);
    branches.slice(0, kept).forEach(({ leaves }) => leaves.forEach((leaf) => (cluster[leaf] = leaves[0]))); // prettier-ignore
    const order = [...new Set(cluster)];
    const colour = (/** @type {number} */ leaf) => COLOURS[order.indexOf(cluster[leaf])];
    branches.forEach(({ path, leaves }, step) => {
      path.style.setProperty("stroke", step < kept ? colour(leaves[0]) : "var(--line-strong)");
    });
    words.forEach((word, leaf) => word.style.setProperty("fill", colour(leaf)));
    const y = kept === MERGES.length ? 2 : (top(kept) + (kept ? top(kept - 1) : TALL)) / 2;
    line.style.setProperty("transform", `translateY(${y.toFixed(1)}px)`);
    slider.value = String(k);
    slider.setAttribute("aria-valuetext", plural(k, "cluster"));
    replace(shown, plural(k, "cluster"));
  };
  /** @type {ReturnType<typeof setInterval> | undefined} */
  let timer;
  const stop = () => clearInterval(timer);
  draw(LAST);
  if (!matchMedia("(prefers-reduced-motion: reduce)").matches) {
    let k = FIRST;
    draw(k);
    timer = setInterval(() => {
      k += 1;
      draw(k);
      if (k >= LAST) stop();
    }, STEP_MS);
    signal.addEventListener("abort", stop);
  }
  return el(
    "figure",
    { class: "small-tree" },
    picture,
    el("figcaption", {}, el("label", {}, "Cut it: ", slider), shown),
  );
}
