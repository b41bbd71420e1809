// Going to a node that may not be loaded: its way from the root is opened as far as it takes.

import { rows } from "../model/scene.js";
import { FIRST } from "../model/source.js";

const STEPS = 12;
const A_STEP = 600;

/**
 * Show the node `id` with the way `path` to it (ids, root first), choose it and bring it near.
 * Where the way is too long to be opened, the view is re-rooted above it.
 */
export async function locate(view, id, path) {
  const { looked } = view;
  if (!path.includes(looked.root)) {
    if (!view.store.has(path[0]) && !(await view.fetch(path[0], FIRST))) return false;
    looked.root = path[0];
  }
  let there = view.store.has(id);
  for (let step = 0; step < STEPS && !there; step += 1) {
    const known = lastKnown(view, path);
    if (known < 0 || !(await view.fetch(path[known], A_STEP))) break;
    there = view.store.has(id);
    if (!there && lastKnown(view, path) <= known) break;
  }
  if (!there) {
    const near = path[Math.max(0, path.length - 6)];
    if (!(await view.fetch(near, A_STEP)) || !view.store.has(id)) return false;
    looked.root = near;
  }
  const from = path.indexOf(looked.root);
  if (from < 0 || !reaches(view, id)) looked.root = path[Math.max(0, path.length - 6)];
  for (const one of path.slice(0, -1)) looked.folded.delete(one);
  looked.node = id;
  await view.show();
  view.select(id);
  const row = rows(view.scene).get(id);
  if (row === undefined) return false;
  await view.approach(row);
  return true;
}

/** How far down the way the store knows it. */
function lastKnown({ store }, path) {
  for (let at = path.length - 1; at >= 0; at -= 1) if (store.has(path[at])) return at;
  return -1;
}

/** Whether the node hangs below the root that is shown. */
function reaches({ store, looked }, id) {
  return store.path(id).includes(looked.root);
}
