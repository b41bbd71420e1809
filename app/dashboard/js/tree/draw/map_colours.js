// The colours of a map: the same as in the tree beside it, by runs of places.

import { categoryAt } from "../model/items.js";
import { NONE } from "../model/store.js";
import { byLabels, shownErrors } from "./colouring.js";
import { seriesOf, shownColumn } from "./item_tints.js";
import { clusterColours, colourOf, mix } from "./palettes.js";

/** @import { Run } from "../model/point_map.js" */
/** @import { Store } from "../model/store.js" */
/** @import { Coloured } from "./colouring.js" */

const FADED = 0.82;

/**
 * The runs of places that have a colour other than the first, and the colours by index.
 *
 * @param {Coloured} view
 * @returns {{ runs: Run[], palette: string[] }}
 */
export function mapColours(view) {
  const { look, theme, cut, store } = view;
  const isByCut = look.color === "cut" && cut !== null;
  const isByLabels = byLabels(look);
  const ofItems = shownColumn(view);
  const isPlain = !isByCut && !isByLabels && !ofItems;
  const shades = ofItems ? { ...theme, series: seriesOf(theme, ofItems.column) } : theme;
  const bare = isPlain || shownErrors(view) ? theme.bare : theme.other;
  const { alone } = look;
  const palette = [alone === null ? bare : mix(bare, theme.paper, FADED)];
  /** @type {Map<string, number>} */
  const known = new Map();
  /** @type {(category: number) => string} */
  const ownColour = isByCut ? clusterColours(theme, cut) : (category) => colourOf(shades, category);
  /** @param {number} category */
  const indexOf = (category) => {
    const own = ownColour(category);
    const colour = alone === null || alone === category ? own : mix(own, theme.paper, FADED);
    let index = known.get(colour);
    if (index === undefined) {
      index = palette.push(colour) - 1;
      known.set(colour, index);
    }
    return index;
  };
  /** @type {Run[]} */
  let runs = [];
  if (isByCut) {
    runs = cut.clusters.map(({ category, size, points_before: first }) => ({
      first,
      n: size,
      index: indexOf(category),
    }));
  } else if (isByLabels) {
    runs = tips(store, (slot) => store.category[slot], indexOf);
  } else if (ofItems) {
    const { column, values } = ofItems;
    runs = tips(store, (slot) => categoryAt(column, values, store.id[slot]), indexOf);
  }
  return { runs, palette };
}

/**
 * The places of the loaded nodes without loaded children that have a category.
 *
 * @param {Store} store
 * @param {(slot: number) => number} categoryOf
 * @param {(category: number) => number} indexOf
 */
function tips(store, categoryOf, indexOf) {
  /** @type {Run[]} */
  const runs = [];
  for (let slot = 0; slot < store.n; slot += 1) {
    if (store.kids[slot]?.length) continue;
    const category = categoryOf(slot);
    if (category === NONE) continue;
    runs.push({ first: store.before[slot], n: store.size[slot], index: indexOf(category) });
  }
  return runs;
}
