// The names that nodes were given and that a picture has no room for. Pure.

import { INNER } from "../model/scene.js";
import { NONE } from "../model/store.js";
import { seen } from "./place.js";
import { nameOf } from "./name_runs.js";
import { drawnName } from "./text.js";

/** @import { Drawn } from "../model/scene.js" */
/** @import { Store } from "../model/store.js" */
/** @import { Picture } from "./picture.js" */

/** The names that a message has. */
const FIRST = 3;

/**
 * The names of nodes with nodes below them, in view or in folded parts of it, that are not written, the
 * largest first.
 *
 * @param {Picture} picture of what is below `root`
 * @param {Store} store
 * @param {Drawn} scene
 * @param {number} root id
 */
export function leftOut(picture, store, scene, root) {
  const written = new Set(picture.layers.texts.map((item) => item.kind === "text" && (item.whole || item.text))); // prettier-ignore
  const window = picture.place?.window;
  /** @type {Set<number>} */
  const known = new Set();
  /** @type {number[]} */
  const slots = [];
  for (let row = 0; row < scene.n; row += 1) {
    const slot = scene.slot[row];
    if (slot === NONE) continue;
    known.add(slot);
    if (row === 0 || store.leaves[slot] < 2 || !store.name[slot]) continue;
    const isBeside = window && !seen(window, scene.left[row], scene.right[row]);
    const isBeyond = window && scene.kind[row] === INNER && (scene.v[row] < window.v0 || scene.v[row] > window.v1); // prettier-ignore
    if (isBeside || isBeyond) continue;
    const texts = [drawnName(store.name[slot]), nameOf(store, scene, row)];
    if (!texts.some((text) => written.has(text))) slots.push(slot);
  }
  const isWhole =
    !window || (window.v1 >= 1 && window.spans.some(([from, to]) => from <= 0.01 && to >= 0.99));
  for (let slot = 0; isWhole && slot < store.n; slot += 1) {
    if (known.has(slot) || store.leaves[slot] < 2 || !store.name[slot]) continue;
    if (root === 0 || store.path(store.id[slot]).includes(root)) slots.push(slot);
  }
  return slots
    .sort((a, b) => store.leaves[b] - store.leaves[a])
    .map((slot) => drawnName(store.name[slot] ?? ""));
}

/**
 * What a reader of the picture misses, and what makes room; "" where all names are there.
 *
 * @param {readonly string[]} names
 */
export function leftOutText(names) {
  if (!names.length) return "";
  const first = names.slice(0, FIRST).map((name) => `“${name}”`).join(", "); // prettier-ignore
  const more = names.length > FIRST ? ` and ${names.length - FIRST} more` : "";
  return (
    `No room for ${first}${more}. A larger size, smaller text or a part of the tree has room; ` +
    "“Nodes (CSV)” in the menu lists all names."
  );
}
