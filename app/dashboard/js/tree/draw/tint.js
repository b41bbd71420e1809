// The colour of each shown node: by the clusters of a cut, by the categories of a labels dataset,
// or none. Made for one scene and one theme; indices into a short list of colours.

import { INNER } from "../model/scene.js";
import { NONE } from "../model/store.js";
import { colourOf, legible, mix } from "./palettes.js";

/** @import { Drawn } from "../model/scene.js" */
/** @import { Theme } from "./palettes.js" */

const FADED = 0.82;
const STEPS = 5;

/**
 * @typedef {{
 *   by: "none" | "cut" | "labels" | "errors" | "support" | "items",
 *   category?: (row: number) => number,
 *   hue?: (category: number) => string,
 *   share?: (row: number) => number,
 *   alone?: number | null,
 *   painted?: (row: number) => string | null,
 * }} Colouring `category`: an index or -1, with its `share` of the points below, 0 to 1; `hue`: the colour of a
 *   category; `alone`: the one category that is to be seen;
 *   `painted`: the colour that an edition gives, before all others
 *
 * @typedef {{ branch: Uint16Array, band: Uint16Array, colours: string[], soft: string[], text: string[] }}
 *   Shades colours by row, as indices into `colours`: `branch` of the line above a node, `band` of the
 *   ring, wedges and labels; `soft` and `text` are the same colours for areas and for texts
 * @typedef {{
 *   category: number,
 *   node?: number,
 *   text: string,
 *   size: number | null,
 *   colour: string,
 * }} Entry of a legend; `size`: null where it is not known
 * @typedef {Shades & { by: Colouring["by"], banded: boolean, strips?: Shades[] }} Tint `strips`: the colours of the
 *   rings beyond that of the tint itself, from the inside out
 */

/**
 * The colours of a scene.
 *
 * @param {Drawn} scene
 * @param {Theme} theme
 * @param {Colouring} colouring
 * @returns {Tint}
 */
export function tint(
  scene,
  theme,
  {
    by,
    category = () => NONE,
    hue = (index) => colourOf(theme, index),
    share = () => 1,
    alone = null,
    painted = () => null,
  },
) {
  const { n, kind } = scene;
  /** @type {string[]} */
  const list = [];
  /** @type {Map<string, number>} */
  const place = new Map();
  /** @param {string} colour */
  const put = (colour) => {
    let at = place.get(colour);
    if (at === undefined) {
      at = list.length;
      list.push(colour);
      place.set(colour, at);
    }
    return at;
  };
  const ink = put(theme.ink);
  const faded = mix(theme.ink, theme.paper, 0.7);
  const branch = new Uint16Array(n).fill(ink);
  const band = new Uint16Array(n).fill(ink);
  if (by !== "none") {
    const of = shades(theme, hue, put);
    for (let i = 0; i < n; i += 1) {
      const index = category(i);
      const sure = kind[i] === INNER ? 1 : share(i);
      const away = alone !== null && index !== alone;
      if (index === NONE) {
        branch[i] = away ? put(faded) : ink;
        band[i] = away ? put(mix(theme.other, theme.paper, FADED)) : put(theme.other);
        continue;
      }
      branch[i] = of(index, sure, away);
      band[i] = branch[i];
    }
  }
  for (let i = 0; i < n; i += 1) {
    const own = painted(i);
    if (own !== null) branch[i] = band[i] = put(own);
  }
  return {
    by,
    branch,
    band,
    colours: list,
    soft: list.map((colour) => mix(colour, theme.paper, 0.62)),
    text: list.map((colour, at) => (at === ink ? theme.text : legible(colour, theme))),
    banded: by === "labels" || by === "errors" || by === "items",
  };
}

/**
 * The colour of a category, greyed if not all nodes below agree, faded if another one is singled
 * out.
 *
 * @param {Theme} theme
 * @param {(category: number) => string} hue
 * @param {(colour: string) => number} put
 */
function shades(theme, hue, put) {
  /** @type {Map<number, number>} */
  const known = new Map();
  /** @type {(category: number, sure: number, away: boolean) => number} */
  return (category, sure, away) => {
    const step = Math.round(STEPS * (1 - sure));
    const name = (category * (STEPS + 1) + step) * 2 + Number(away);
    let index = known.get(name);
    if (index === undefined) {
      let colour = hue(category);
      if (step) colour = mix(colour, theme.other, step / STEPS);
      if (away) colour = mix(colour, theme.paper, FADED);
      index = put(colour);
      known.set(name, index);
    }
    return index;
  };
}
