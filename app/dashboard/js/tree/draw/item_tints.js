// Colours by the columns of items: of the tree, of the strips beside its tips, and what fades.

import { INNER } from "../model/scene.js";
import { NONE } from "../model/store.js";
import {
  categoryAt,
  isCategory,
  isMatched,
  isWhole,
  N_STEPS,
  rangeOf,
  shareAt,
} from "../model/items.js";
import { nodeText, stepTexts } from "./item_words.js";
import { colourOf, legible, mix } from "./palettes.js";
import { tint } from "./tint.js";

/** @import { ItemColumn } from "../../net/answers.js" */
/** @import { Items, NodeMatrix } from "../model/items.js" */
/** @import { Look } from "../model/look.js" */
/** @import { Drawn } from "../model/scene.js" */
/** @import { Theme } from "./palettes.js" */
/** @import { Entry, Shades, Tint } from "./tint.js" */

const FADED = 0.82;
const FAINT = 0.82;
/** The first colours of a palette, which are strong enough for a gradient. */
const HUES = 3;

/** @param {Look} look */
export const byItems = (look) => look.color.startsWith("at_");

/**
 * The column that the tree is coloured by, with its values; null unless both are loaded.
 *
 * @param {{ look: Look, items: Items | null }} view
 * @returns {{ column: ItemColumn, values: NodeMatrix } | null}
 */
export function shownColumn({ look, items }) {
  if (!items || !byItems(look)) return null;
  const [id, at] = look.color.split(".");
  const column = items.columns[Number(at)];
  const values = items.values.get(Number(at));
  return id === items.attachment.id && column && values ? { column, values } : null;
}

/**
 * The colours of a column's categories, or of the steps of its gradient.
 *
 * @param {Theme} theme
 * @param {ItemColumn} column
 */
export function seriesOf(theme, column) {
  if (isCategory(column)) return theme.series;
  // Strips side by side differ in colour.
  const strong = theme.series[column.column % Math.min(HUES, theme.series.length)];
  return Array.from({ length: N_STEPS }, (_, step) =>
    mix(strong, theme.paper, FAINT * (1 - step / (N_STEPS - 1))),
  );
}

/**
 * The colours of a scene by a column. An inner node has the category of all under it; a tip fades
 * as far as not all are of its category.
 *
 * @param {Drawn} scene
 * @param {Theme} theme
 * @param {{ column: ItemColumn, values: NodeMatrix }} shown
 * @param {number | null} [alone]
 */
export function columnTint(scene, theme, { column, values }, alone = null) {
  const { id, kind } = scene;
  return tint(
    scene,
    { ...theme, series: seriesOf(theme, column) },
    {
      by: "items",
      alone,
      category: (row) =>
        isCategory(column) && kind[row] === INNER && !isWhole(values, id[row])
          ? NONE
          : categoryAt(column, values, id[row]),
      share: (row) => shareAt(values, id[row]),
    },
  );
}

/**
 * The colours of the ring of a strip: the most frequent category's, at inner nodes too, which
 * stand for tips that are too narrow to be seen.
 *
 * @param {Drawn} scene
 * @param {Theme} theme
 * @param {{ column: ItemColumn, values: NodeMatrix }} shown
 */
const stripTint = (scene, theme, { column, values }) =>
  tint(
    scene,
    { ...theme, series: seriesOf(theme, column) },
    {
      by: "items",
      category: (row) => categoryAt(column, values, scene.id[row]),
      share: (row) => shareAt(values, scene.id[row]),
    },
  );

/**
 * The columns of the strips that are loaded, from the inside out.
 *
 * @param {Items | null} items
 */
export const shownStrips = (items) =>
  (items?.strips ?? []).flatMap((at) => {
    const column = items?.columns[at];
    const values = items?.values.get(at);
    return column && values ? [{ column, values }] : [];
  });

/**
 * A tint with the strips beside it, faded where no item matches.
 *
 * @param {{ items: Items | null, theme: Theme }} view
 * @param {Drawn} scene
 * @param {Tint} own
 * @returns {Tint}
 */
export function withItems({ items, theme }, scene, own) {
  if (!items) return own;
  const strips = shownStrips(items).map((shown) => stripTint(scene, theme, shown));
  const { matches } = items;
  if (!matches) return { ...own, strips };
  /** @param {number} row */
  const isKept = (row) => isMatched(matches, scene.id[row]);
  return {
    ...own,
    ...faded(own, scene, theme, isKept),
    strips: strips.map((strip) => ({ ...strip, ...faded(strip, scene, theme, isKept) })),
  };
}

/**
 * Colours that are faded but for some rows.
 *
 * @param {Shades} own
 * @param {Drawn} scene
 * @param {Theme} theme
 * @param {(row: number) => boolean} isKept
 * @returns {Shades}
 */
function faded(own, { n }, theme, isKept) {
  const colours = own.colours.map((colour) => mix(colour, theme.paper, FADED));
  const first = own.colours.length;
  const branch = own.branch.slice();
  const band = own.band.slice();
  for (let row = 0; row < n; row += 1) {
    if (isKept(row)) continue;
    branch[row] += first;
    band[row] += first;
  }
  return {
    branch,
    band,
    colours: [...own.colours, ...colours],
    soft: [...own.soft, ...colours.map((colour) => mix(colour, theme.paper, 0.62))],
    // Faded, but still to be read.
    text: [...own.text, ...colours.map(() => legible(theme.other, theme))],
  };
}

/**
 * The meaning of the colour of a node; "" if it has none.
 *
 * @param {{ look: Look, items: Items | null }} view
 * @param {number} node
 */
export function itemsText(view, node) {
  const shown = shownColumn(view);
  return shown ? nodeText(shown.column, shown.values, node) : "";
}

/**
 * The legends of the strips that are shown: the name of the column, then its categories, or the ends and
 * the middle of its gradient.
 *
 * @param {Items | null} items
 * @param {Theme} theme
 * @returns {{ list: Entry[], others: number }[]}
 */
export const stripEntries = (items, theme) =>
  shownStrips(items).map(({ column }) => {
    const { list, others } = columnEntries(column, theme);
    const few =
      isCategory(column) || list.length < 3
        ? list
        : [list[0], list[list.length >> 1], list[list.length - 1]];
    const name = { category: NONE, text: `${column.name}:`, size: null, colour: theme.paper };
    return { list: [name, ...few.filter(Boolean)], others };
  });

/**
 * The entries of a column's legend, and how many categories have no colour of their own. Where all values
 * are equal there is one.
 *
 * @param {ItemColumn} column
 * @param {Theme} theme
 * @returns {{ list: Entry[], others: number }}
 */
export function columnEntries(column, theme) {
  const own = { ...theme, series: seriesOf(theme, column) };
  /** @type {{ text: string, count?: number }[]} */
  const texts = isCategory(column)
    ? (column.categories ?? []).slice(0, theme.series.length)
    : stepTexts(column).map((text) => ({ text }));
  const list = texts.map(({ text, count = null }, category) => ({
    category,
    text,
    size: count,
    colour: colourOf(own, category),
  }));
  const [low, high] = rangeOf(column) ?? [];
  return {
    list: low !== undefined && low === high ? [list[N_STEPS >> 1]] : list,
    others: isCategory(column) ? Math.max(0, (column.n_categories ?? 0) - texts.length) : 0,
  };
}
