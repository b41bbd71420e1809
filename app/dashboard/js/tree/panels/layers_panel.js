// The layers of a tree: nested levels of clusters that stand out, each of which colours the tree.

import { aborted, hasStatus } from "../../net/problem.js";
import { el, replace, unique } from "../../ui/dom.js";
import { count, number, plural, pText } from "../../ui/format.js";
import { warningBox } from "../../ui/notices.js";
import { cutText } from "../model/cut.js";
import { layerCut } from "../model/layer_cut.js";

/** @import { Layer } from "../../net/answers.js" */
/** @import { CutClusters } from "../model/cut.js" */
/** @import { TreeView } from "../draw/view.js" */

/**
 * The panel, hidden until `start` and where no layer stands out.
 *
 * @param {TreeView} view
 * @param {{ onshown: () => unknown, onproblem: (error: unknown) => unknown }} handlers `onshown`: the tree is
 *   coloured by other clusters
 */
export function layersPanel(view, { onshown, onproblem }) {
  const { source, look, signal } = view;
  const title = unique("layers");
  const list = el("ul", { class: "layer-list" });
  const notes = el("div");
  const element = el(
    "section",
    { class: "card tree-panel tree-layers", "aria-labelledby": title, hidden: true },
    el("h2", { id: title }, "Layers"),
    el("p", { class: "quiet" }, ABOUT),
    list,
    notes,
  );
  /** @type {Map<HTMLButtonElement, Layer>} */
  const layers = new Map();
  /** The layer that is shown, and the cut that it took the place of. @type {{ opener: HTMLButtonElement, cut: CutClusters, before: CutClusters | null } | null} */
  let shown = null;
  const mark = () => {
    if (shown && view.cut !== shown.cut) shown = null;
    for (const opener of layers.keys()) {
      opener.setAttribute("aria-pressed", String(opener === shown?.opener));
    }
  };
  /** @param {CutClusters} cut */
  const colour = async (cut) => {
    view.setCut(cut);
    if (look.color !== "cut") await view.setColor("cut");
    onshown();
  };
  /** @param {HTMLButtonElement} opener */
  const toggle = async (opener) => {
    const layer = layers.get(opener);
    if (!layer) return;
    try {
      if (shown?.opener === opener) {
        const { before } = shown;
        shown = null;
        if (before) await colour(before);
      } else {
        const before = shown ? shown.before : view.cut;
        let cut = layerCut(layer, view.store);
        shown = { opener, cut, before };
        look.alone = null;
        await colour(cut);
        if (!view.store.complete) {
          await view.deepenCut(signal);
          if (view.cut !== cut) return;
          cut = layerCut(layer, view.store);
          shown = { opener, cut, before };
          await colour(cut);
        }
      }
      mark();
    } catch (error) {
      if (!aborted(error)) onproblem(error);
    }
  };
  const start = async () => {
    try {
      const { layers: found, warnings } = await source.layers();
      for (const layer of found) {
        const opener = el("button", { type: "button", class: "layer", "aria-pressed": "false" }, ...wordsOf(layer)); // prettier-ignore
        opener.addEventListener("click", () => toggle(opener));
        layers.set(opener, layer);
      }
      replace(list, ...[...layers.keys()].map((opener) => el("li", {}, opener)));
      replace(notes, warningBox(warnings));
      element.hidden = !found.length;
    } catch (error) {
      if (!aborted(error) && !hasStatus(error, 404) && !hasStatus(error, 422)) onproblem(error);
    }
  };
  let known = "";
  view.on("drawn", () => {
    const now = `${cutText(look.cut)} ${shown !== null} ${view.cut === shown?.cut}`;
    if (now !== known) mark();
    known = now;
  });
  return Object.assign(element, { start });
}

/** @param {Layer} layer */
const wordsOf = ({ k, smallest, strength, p_value: p, n_noise: rest }) => [
  el("strong", {}, plural(k, "cluster")),
  el(
    "span",
    { class: "quiet" },
    `of ${count(smallest)} or more · strength ${number(Number(strength.toPrecision(2)))} · p = ${pText(p)}${rest ? ` · ${plural(rest, "row")} in none` : ""}`,
  ),
];

const ABOUT =
  "Clusters that persist over the same sizes, from fine to coarse. Strength is the share of the points over which they do; p, about how often data without structure have such a layer. One click colours the tree, another brings the cut back.";
