// Which colour each shown node has: by the clusters of a cut, by the categories of a labels dataset,
// or none. Made for one scene and one theme; indices into a short list of colours.

import { INNER } from "../model/scene.js";
import { NONE } from "../model/store.js";
import { legible, mix } from "./palettes.js";

const FADED = 0.82;
const STEPS = 5;

/**
 * @typedef {object} Colouring
 * by: "none" | "cut" | "labels"; cycles: whether the palette begins anew past its end;
 * category: (scene, row) -> index or -1; share: (scene, row) -> 0..1; alone: index or null, the one
 * category that is to be seen.
 */

/** Colours by row: `branch` of the line above a node, `band` of the ring, wedges and labels. */
export function tint(scene, theme, { by, cycles, category, share, alone = null }) {
  const { n, kind } = scene;
  const list = [];
  const place = new Map();
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
    const of = shades(theme, cycles, put);
    for (let i = 0; i < n; i += 1) {
      const found = category(scene, i);
      const sure = kind[i] === INNER ? 1 : share(scene, i);
      const away = alone !== null && found !== alone;
      if (found === NONE) {
        branch[i] = away ? put(faded) : ink;
        band[i] = away ? put(mix(theme.other, theme.paper, FADED)) : put(theme.other);
        continue;
      }
      branch[i] = of(found, sure, away);
      band[i] = branch[i];
    }
  }
  return {
    by,
    branch,
    band,
    colours: list,
    soft: list.map((one) => mix(one, theme.paper, 0.62)),
    text: list.map((one, at) => (at === ink || by === "none" ? theme.text : legible(one, theme))),
    banded: by === "labels",
  };
}

/** Colour of a category, greyed where not all below agree, faded where another is looked at. */
function shades(theme, cycles, put) {
  const known = new Map();
  return (category, sure, away) => {
    const step = Math.round(STEPS * (1 - sure));
    const name = (category * (STEPS + 1) + step) * 2 + Number(away);
    let found = known.get(name);
    if (found === undefined) {
      let colour = colourOf(theme, category, cycles);
      if (step) colour = mix(colour, theme.other, step / STEPS);
      if (away) colour = mix(colour, theme.paper, FADED);
      found = put(colour);
      known.set(name, found);
    }
    return found;
  };
}

/** A category's colour. Past the palette's end labels share a grey, clusters begin anew. */
export function colourOf(theme, category, cycles) {
  const { series, other } = theme;
  if (category < 0) return other;
  if (category < series.length) return series[category];
  return cycles ? series[category % series.length] : other;
}
