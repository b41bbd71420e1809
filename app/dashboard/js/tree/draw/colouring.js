// What colours a view: the clusters of its cut, a labels dataset, or nothing.

import { categories, heightOf } from "../model/cut.js";
import { UNSEEN } from "../model/scene.js";
import { cutColour } from "../model/source.js";
import { NONE } from "../model/store.js";
import { colourOf, tint } from "./tint.js";

const MOST_DOTS = 300;

export const byLabels = (looked) => looked.color.startsWith("ds_");

/** `color_by` for the views that are asked for now. */
export function colorBy(view) {
  const { color } = view.looked;
  if (color === "none") return null;
  if (color !== "cut") return color;
  return view.coarse && view.cut ? cutColour(view.cut.cut) : null;
}

/** `color_by` of the service's own pictures. */
export function pictureColor(view) {
  const { color } = view.looked;
  if (color === "none" || (color === "cut" && !view.cut)) return null;
  return color === "cut" ? cutColour(view.cut.cut) : color;
}

/** What a view's answer says of the categories of a labels dataset. */
export function learn(view, answer) {
  if (!answer.color_by?.startsWith("ds_")) return;
  view.labels = {
    dataset: answer.color_by,
    n: answer.n_categories,
    texts: answer.categories,
    sizes: answer.category_sizes,
    warnings: answer.warnings ?? [],
  };
}

/** The colours of a scene. */
export function tinted(view, scene) {
  const { store, looked } = view;
  const of = (values, none) => (own, row) =>
    own.slot[row] === NONE ? none : values[own.slot[row]];
  const given = of(store.category, NONE);
  const sure = of(store.share, 1);
  const common = { alone: looked.alone };
  if (byLabels(looked))
    return tint(scene, view.theme, {
      ...common,
      by: "labels",
      cycles: false,
      category: given,
      share: sure,
    });
  if (looked.color !== "cut" || !view.cut)
    return tint(scene, view.theme, { ...common, by: "none" });
  const found = categories(scene, store, view.byNode);
  const told = (row) => view.coarse && found[row] === NONE && scene.kind[row] === UNSEEN;
  return tint(scene, view.theme, {
    ...common,
    by: "cut",
    cycles: true,
    category: (own, row) => (told(row) ? given(own, row) : found[row]),
    share: (own, row) => (told(row) ? sure(own, row) : 1),
  });
}

/** What of the cut is drawn: its line, where heights have places, and its nodes, where they are few. */
export function cutShown(view, scene) {
  if (view.looked.color !== "cut" || !view.cut) return null;
  const height = heightOf(view.cut);
  const { axis } = scene;
  const v =
    axis && height !== null && height <= axis.top && height >= axis.low ? axis.at(height) : null;
  return { v, clusters: view.byNode.size <= MOST_DOTS ? view.clusterNodes : null };
}

/**
 * Colour by "cut", "none" or a labels dataset. Throws the Problem of labels that do not fit, and
 * leaves everything as it was.
 */
export async function setColor(view, color) {
  if (color.startsWith("ds_")) await fetchColours(view, color, view.signal);
  else view.coarse = false;
  view.looked.color = color;
  view.looked.alone = null;
  view.recolour();
  view.dispatchEvent(new CustomEvent("looked"));
  if (color === "cut" && view.cut) await deepen(view, view.signal);
}

/** The colours of all that is here, by what the service says of it. */
async function fetchColours(view, color, signal) {
  const answers = [];
  for (const { root, maxNodes } of view.store.grafts) {
    answers.push(await view.source.view(root, maxNodes, color, { quiet: answers.length > 0 }));
    signal.throwIfAborted();
  }
  view.store.clearColours();
  for (const answer of answers) view.store.recolour(answer);
  if (answers.length) learn(view, answers[0]);
}

/** Where clusters lie below what is here, the service says which one most of a folded node is in. */
export async function deepen(view, signal) {
  const { store, cut } = view;
  view.coarse = false;
  if (!cut || view.looked.color !== "cut" || store.complete) return;
  if (cut.n_clusters === cut.clusters.length && cut.clusters.every((one) => store.has(one.node)))
    return;
  await fetchColours(view, cutColour(cut.cut), signal);
  if (view.cut !== cut) return;
  view.coarse = true;
  view.recolour();
}

/** What the colour of a row means; "" where it means nothing. */
export function categoryText(view, row) {
  const { scene, store, looked, labels, cut } = view;
  const slot = scene.slot[row];
  if (slot === NONE) return "";
  if (byLabels(looked)) {
    const text = labels?.texts[store.category[slot]];
    if (text === undefined) return "";
    const share = store.share[slot];
    return share < 0.9995 ? `${Math.round(100 * share)} % ${text}` : text;
  }
  if (looked.color !== "cut" || !cut) return "";
  const found = categories(scene, store, view.byNode)[row];
  if (found === NONE) return "";
  return cut.clusters.find((one) => one.category === found)?.name || `Cluster ${found + 1}`;
}

/** The colour of a label, as in the legend. */
export function colourOfLabel(view, text) {
  return colourOf(view.theme, view.labels?.texts.indexOf(text) ?? NONE, false);
}
