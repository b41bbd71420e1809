// The colouring of a tree view: by the clusters of its cut, by a labels dataset, by the errors of a
// classifier, by the support of its nodes, or none.

import { clusterNames } from "../model/cluster_names.js";
import { categories, cutColour, heightOf, NOISE } from "../model/cut.js";
import {
  categoryName,
  categoryOf as errorCategory,
  N_CATEGORIES,
  ratesText,
} from "../model/errors.js";
import { isCategory } from "../model/items.js";
import { UNSEEN } from "../model/scene.js";
import { NONE } from "../model/store.js";
import * as support from "../model/support.js";
import {
  byItems,
  columnEntries,
  columnTint,
  itemsText,
  shownColumn,
  withItems,
} from "./item_tints.js";
import { clusterColours, colourOf, errorScale } from "./palettes.js";
import { tint } from "./tint.js";

/** @import { View } from "../../net/answers.js" */
/** @import { CutClusters } from "../model/cut.js" */
/** @import { Errors } from "../model/errors.js" */
/** @import { Items } from "../model/items.js" */
/** @import { Look } from "../model/look.js" */
/** @import { Drawn } from "../model/scene.js" */
/** @import { Store } from "../model/store.js" */
/** @import { Support } from "../model/support.js" */
/** @import { CutMarks } from "./composition.js" */
/** @import { Theme } from "./palettes.js" */
/** @import { Entry } from "./tint.js" */

/**
 * The categories of a labels dataset.
 *
 * @typedef {{
 *   dataset: string,
 *   n: number,
 *   texts: string[],
 *   sizes: number[],
 *   warnings: string[],
 * }} Labels
 *
 * @typedef {{
 *   store: Store,
 *   look: Look,
 *   theme: Theme,
 *   cut: CutClusters | null,
 *   byNode: Map<number, number>,
 *   labels: Labels | null,
 *   errors: Errors | null,
 *   support: Support | null,
 *   items: Items | null,
 *   coarse: boolean,
 * }} Coloured what of a view its colours depend on. `byNode`: category of each cluster's node;
 *   `coarse`: the store holds the clusters of folded nodes as the service reports them
 */

/**
 * @typedef {{ list: Entry[], others: number, pale: number }} Entries `others`: how many are not listed; `pale`: how
 *   many clusters share the pale colours
 */

const MOST_DOTS = 300;
const MOST_ENTRIES = 24;
export const NOISE_TEXT = "noise";

/** @param {Look} look */
export const byLabels = (look) => look.color.startsWith("ds_");

/** @param {Look} look */
export const byErrors = (look) => look.color.startsWith("job_");

/**
 * The support that the view is coloured by, once it is loaded.
 *
 * @param {Coloured} view
 */
export const shownSupport = ({ look, support: known }) =>
  look.color === support.SUPPORT ? known : null;

/** @param {Look} look */
const isByNode = (look) => byErrors(look) || byItems(look) || look.color === support.SUPPORT;

/**
 * Whether the tips have a ring of colours.
 *
 * @param {Look} look
 */
export const isBanded = (look) => byLabels(look) || byErrors(look) || byItems(look);

/**
 * The errors that the view is coloured by, once they are loaded.
 *
 * @param {Coloured} view
 */
export const shownErrors = ({ look, errors }) => (errors?.job === look.color ? errors : null);

/**
 * `color_by` for the views that are requested now.
 *
 * @param {Coloured} view
 */
export function colorBy({ look, coarse, cut }) {
  if (look.color === "none" || isByNode(look)) return null;
  if (look.color !== "cut") return look.color;
  return coarse && cut ? cutColour(cut.cut) : null;
}

/**
 * `color_by` for the service's own pictures.
 *
 * @param {Coloured} view
 */
export function pictureColor({ look, cut, items }) {
  // The service draws categories alone.
  const ofItems = shownColumn({ look, items });
  if (ofItems && isCategory(ofItems.column)) return look.color;
  if (look.color === "none" || isByNode(look)) return null;
  if (look.color !== "cut") return look.color;
  return cut ? cutColour(cut.cut) : null;
}

/**
 * The categories of a labels dataset in a view's response; null if it is not coloured by one.
 *
 * @param {View} answer
 * @returns {Labels | null}
 */
export const labelsIn = (answer) =>
  answer.color_by?.startsWith("ds_")
    ? {
        dataset: answer.color_by,
        n: answer.n_categories ?? 0,
        texts: answer.categories ?? [],
        sizes: answer.category_sizes ?? [],
        warnings: answer.warnings,
      }
    : null;

/**
 * The colours of a scene, with the strips of items.
 *
 * @param {Coloured} view
 * @param {Drawn} scene
 */
export const tinted = (view, scene) => withItems(view, scene, ownTint(view, scene));

/**
 * @param {Coloured} view
 * @param {Drawn} scene
 */
function ownTint(view, scene) {
  const { store, look, theme } = view;
  const { alone } = look;
  /** @param {number} row */
  const categoryOf = (row) => (scene.slot[row] === NONE ? NONE : store.category[scene.slot[row]]);
  /** @param {number} row */
  const shareOf = (row) => (scene.slot[row] === NONE ? 1 : store.share[scene.slot[row]]);
  /** @param {number} row */
  const painted = (row) => (scene.slot[row] === NONE ? null : store.colour[scene.slot[row]]);
  if (byLabels(look)) {
    return tint(scene, theme, {
      by: "labels",
      painted,
      alone,
      category: categoryOf,
      share: shareOf,
    });
  }
  const ofItems = shownColumn(view);
  if (ofItems) return columnTint(scene, theme, ofItems, alone);
  const errors = shownErrors(view);
  if (errors) {
    const series = errorScale(theme, look.palette, N_CATEGORIES);
    return tint(
      scene,
      { ...theme, series },
      {
        by: "errors",
        painted,
        alone,
        category: (row) => errorCategory(errors.rates.get(scene.id[row]), look.measure),
      },
    );
  }
  const supported = shownSupport(view);
  if (supported) {
    const series = errorScale(theme, look.palette, support.N_CATEGORIES);
    return tint(
      scene,
      { ...theme, series },
      {
        by: "support",
        painted,
        alone,
        category: (row) => support.categoryOf(supported.get(scene.id[row])),
      },
    );
  }
  if (look.color !== "cut" || !view.cut) return tint(scene, theme, { by: "none", painted, alone });
  const ofCut = categories(scene, store, view.byNode);
  /** @param {number} row */
  const isFolded = (row) => view.coarse && ofCut[row] === NONE && scene.kind[row] === UNSEEN;
  return tint(scene, theme, {
    by: "cut",
    painted,
    hue: clusterColours(theme, view.cut),
    alone,
    category: (row) => (isFolded(row) ? categoryOf(row) : ofCut[row]),
    share: (row) => (isFolded(row) ? shareOf(row) : 1),
  });
}

/**
 * The marks of the cut on a scene; null if the view is not coloured by it.
 *
 * @param {Coloured} view
 * @param {Drawn} scene
 * @returns {CutMarks | null}
 */
export function cutMarks({ look, cut, byNode }, { axis }) {
  if (look.color !== "cut" || !cut) return null;
  const height = heightOf(cut);
  const hasPlace = axis && height !== null && height <= axis.top && height >= axis.low;
  return {
    v: hasPlace ? axis.at(height) : null,
    clusters: byNode.size <= MOST_DOTS ? new Set(byNode.keys()) : null,
  };
}

/**
 * The meaning of a row's colour; "" if it has none.
 *
 * @param {Coloured} view
 * @param {Drawn} scene
 * @param {number} row
 */
export function categoryText(view, scene, row) {
  const { store, look, labels, cut, byNode } = view;
  const slot = scene.slot[row];
  if (slot === NONE) return "";
  if (byItems(look)) return itemsText(view, scene.id[row]);
  if (byErrors(look)) return ratesText(shownErrors(view)?.rates.get(scene.id[row]));
  const supported = shownSupport(view);
  if (supported) return support.supportText(supported.get(scene.id[row]));
  if (byLabels(look)) {
    const text = labels?.texts[store.category[slot]];
    if (text === undefined) return "";
    const share = store.share[slot];
    return share < 0.9995 ? `${Math.round(100 * share)} % ${text}` : text;
  }
  if (look.color !== "cut" || !cut) return "";
  const category = categories(scene, store, byNode)[row];
  if (category === NONE) return "";
  if (category === NOISE) return NOISE_TEXT;
  return clusterNames(cut, store).get(category) ?? "";
}

/**
 * The colour of a label, as in the legend.
 *
 * @param {Coloured} view
 * @param {string | null} text
 */
export const colourOfLabel = ({ theme, labels }, text) =>
  colourOf(theme, text === null ? NONE : (labels?.texts.indexOf(text) ?? NONE));

/**
 * The current entries of the legend.
 *
 * @param {Coloured} view
 * @returns {Entries}
 */
export function legendEntries(view, theme = view.theme) {
  const { look, labels, cut } = view;
  const nothing = { list: [], others: 0, pale: 0 };
  const ofItems = shownColumn(view);
  if (ofItems) return { ...nothing, ...columnEntries(ofItems.column, theme) };
  const errors = shownErrors(view);
  if (errors) return { ...nothing, list: errorEntries(errors, look, theme) };
  const supported = shownSupport(view);
  if (supported) return { ...nothing, list: supportEntries(supported, look, theme) };
  if (byLabels(look)) {
    if (labels?.dataset !== look.color) return nothing;
    const list = labels.texts.slice(0, theme.series.length).map((text, category) => ({
      category,
      text,
      size: labels.sizes[category],
      colour: colourOf(theme, category),
    }));
    return { list, others: Math.max(0, labels.n - list.length), pale: 0 };
  }
  if (look.color !== "cut" || !cut) return nothing;
  const names = clusterNames(cut, view.store);
  const colour = clusterColours(theme, cut);
  const pale = Math.max(0, cut.n_clusters - theme.series.length);
  /** @type {Entry[]} */
  const list = cut.clusters.slice(0, MOST_ENTRIES).map(({ category, node, size }) => ({
    category,
    node,
    text: names.get(category) ?? "",
    size,
    colour: colour(category),
  }));
  const others = Math.max(0, cut.n_clusters - list.length);
  if (!cut.n_noise) return { list, others, pale };
  const noise = {
    category: NOISE,
    node: [...view.store.noise].find((id) => view.store.has(id)),
    text: NOISE_TEXT,
    size: cut.n_noise,
    colour: colour(NOISE),
  };
  return { list: [...list, noise], others, pale };
}

/**
 * The categories of errors from the best to the worst, each with its number of nodes.
 *
 * @param {Errors} errors
 * @param {Look} look
 * @param {Theme} theme
 * @returns {Entry[]}
 */
const errorEntries = ({ rates }, { measure, palette }, theme) =>
  scaleEntries(
    errorScale(theme, palette, N_CATEGORIES),
    [...rates.values()].map((one) => errorCategory(one, measure)),
    (category) => categoryName(category, measure),
  );

/**
 * The categories of support from the most to the least, each with its number of nodes.
 *
 * @param {Support} supported
 * @param {Look} look
 * @param {Theme} theme
 * @returns {Entry[]}
 */
const supportEntries = (supported, { palette }, theme) =>
  scaleEntries(
    errorScale(theme, palette, support.N_CATEGORIES),
    [...supported.values()].map(support.categoryOf),
    support.categoryName,
  );

/**
 * @param {string[]} colours of the categories, the worst first
 * @param {number[]} nodes the category of each
 * @param {(category: number) => string} textOf
 * @returns {Entry[]}
 */
function scaleEntries(colours, nodes, textOf) {
  const sizes = colours.map(() => 0);
  for (const category of nodes) if (category !== NONE) sizes[category] += 1;
  return colours
    .map((colour, category) => ({
      category,
      text: textOf(category),
      size: sizes[category],
      colour,
    }))
    .reverse();
}
