// Runs of neighbouring tips that have the same name: where there is no room for the label of every
// tip, one label names them all. Pure.

import { INNER } from "../model/scene.js";
import { NONE } from "../model/store.js";

/** @import { Drawn } from "../model/scene.js" */

/** @typedef {{ name: (string | null)[] }} Named names by slot: a store, or a scene with its own */

/**
 * `row`: its first tip; `tips`: how many there are; `from` to `to`: their stretch of u; `leaves`: of
 * all of them.
 *
 * @typedef {{ row: number, tips: number, from: number, to: number, leaves: number }} Run
 */

/** @type {WeakMap<Drawn, Run[]>} */
const known = new WeakMap();

/**
 * The runs of a scene, the longest first; a tip without a name is a separate run. O(n log n),
 * once for a scene.
 *
 * @param {Named} store
 * @param {Drawn} scene
 */
export function runsOf(store, scene) {
  const earlier = known.get(scene);
  if (earlier) return earlier;
  /** @type {Run[]} */
  const runs = [];
  let last = "";
  for (let row = 0; row < scene.n; row += 1) {
    if (scene.kind[row] === INNER) continue;
    const slot = scene.slot[row];
    const name = slot === NONE ? "" : (store.name[slot] ?? "");
    const run = runs.at(-1);
    if (run && name !== "" && name === last) {
      run.tips += 1;
      run.to = scene.right[row];
      run.leaves += scene.leaves[row];
    } else {
      runs.push({
        row,
        tips: 1,
        from: scene.left[row],
        to: scene.right[row],
        leaves: scene.leaves[row],
      });
    }
    last = name;
  }
  runs.sort((a, b) => b.leaves - a.leaves || a.row - b.row);
  known.set(scene, runs);
  return runs;
}
