// The colours of a map: those of the tree beside it, by runs of places.

import { NONE } from "../model/store.js";
import { byLabels, shownErrors } from "./colouring.js";
import { mix } from "./palettes.js";
import { colourOf } from "./tint.js";

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
  const isPlain = !isByCut && !isByLabels;
  const bare = isPlain || shownErrors(view) ? theme.bare : theme.other;
  const { alone } = look;
  const palette = [alone === null ? bare : mix(bare, theme.paper, FADED)];
  /** @type {Map<string, number>} */
  const known = new Map();
  /** @param {number} category */
  const indexOf = (category) => {
    const own = colourOf(theme, category, isByCut);
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
    runs = tips(store).map((slot) => ({
      first: store.before[slot],
      n: store.size[slot],
      index: indexOf(store.category[slot]),
    }));
  }
  return { runs, palette };
}

/**
 * The loaded nodes without loaded children that have a category, as slots.
 *
 * @param {Store} store
 */
function tips(store) {
  const found = [];
  for (let slot = 0; slot < store.n; slot += 1) {
    if (!store.kids[slot]?.length && store.category[slot] !== NONE) found.push(slot);
  }
  return found;
}
