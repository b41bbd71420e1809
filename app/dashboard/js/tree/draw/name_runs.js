// Runs of neighbouring tips and groups that have the same name: one label names them all. Pure.

import { INNER, LEAF, REST } from "../model/scene.js";
import { largestLeaves } from "../model/cluster_names.js";
import { NONE } from "../model/store.js";
import { drawnName } from "./text.js";

/** @import { Drawn } from "../model/scene.js" */
/** @import { Store } from "../model/store.js" */

/**
 * Names by slot: a store, or a scene with its own.
 *
 * @typedef {{
 *   name: (string | null)[],
 *   called?: (string | null)[],
 *   common?: (string | null)[],
 *   numbered?: Map<number, string>,
 * }} Named
 */

/**
 * `row`: its first row; `rows`: how many there are; `from` to `to`: their stretch of u; `leaves`: below
 * all of them; `name`: "" for none.
 *
 * @typedef {{
 *   row: number,
 *   rows: number,
 *   from: number,
 *   to: number,
 *   leaves: number,
 *   name: string,
 * }} Run
 */

/**
 * What a row is called: by its name, where nothing is shown below it with the label that most of its
 * rows have; else by that label, else after its largest leaves; "" for nothing.
 *
 * @param {Named} store
 * @param {Drawn} scene
 * @param {number} row
 */
export function nameOf(store, scene, row) {
  const slot = scene.slot[row];
  if (slot === NONE) return "";
  const [name, common] = [store.name[slot], store.common?.[slot]];
  const number = store.numbered?.get(scene.id[row]);
  if (!name) return drawnName(common || store.called?.[slot] || number || "");
  if (!common || scene.kind[row] === INNER) return drawnName(name);
  const isSame = common.slice(0, common.lastIndexOf(" ")) === name;
  return drawnName(isSame ? common : `${name}: ${common}`);
}

/** @type {WeakMap<Drawn, Map<number, string>>} */
const known = new WeakMap();

/**
 * The name of a group, by its largest leaves where the service has not named it. O(leaves below) once
 * for a scene.
 *
 * @param {Store} store
 * @param {Drawn} scene
 * @param {number} row
 */
function groupName(store, scene, row) {
  const own = nameOf(store, scene, row);
  if (own || scene.kind[row] === LEAF || scene.kind[row] === REST) return own;
  let names = known.get(scene);
  if (!names) known.set(scene, (names = new Map()));
  let name = names.get(row);
  if (name === undefined) {
    name = drawnName(largestLeaves(store, scene.slot[row]) ?? "");
    names.set(row, name);
  }
  return name;
}

/**
 * The runs of rows, the longest first; a row without a name is a separate run. O(n log n).
 *
 * @param {Store} store
 * @param {Drawn} scene
 * @param {number[]} rows from left to right
 */
export function runsOf(store, scene, rows) {
  /** @type {Run[]} */
  const runs = [];
  for (const row of rows) {
    const name = groupName(store, scene, row);
    const run = runs.at(-1);
    if (run && name !== "" && name === run.name) {
      run.rows += 1;
      run.to = scene.right[row];
      run.leaves += scene.leaves[row];
    } else {
      runs.push({
        row,
        rows: 1,
        from: scene.left[row],
        to: scene.right[row],
        leaves: scene.leaves[row],
        name,
      });
    }
  }
  return runs.sort((a, b) => b.leaves - a.leaves || a.row - b.row);
}

/**
 * Whether a row is a group: a run of it has an arc over what it names.
 *
 * @param {Drawn} scene
 * @param {Run} run
 */
export const isGroup = (scene, { row, rows }) => rows > 1 || scene.kind[row] === INNER;
