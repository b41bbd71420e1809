// The node at a point of the drawing: the deepest one whose part of the picture contains it.

import { INNER, LEAF } from "../model/scene.js";
import { ABOVE } from "./place.js";

/** @import { Drawn } from "../model/scene.js" */
/** @import { Place, RoundPlace } from "./place.js" */

const NEAR = 26;
const ARC = 7;
/** The middle of a circle, from its centre, px: a target of the least size, where branches leave room. */
const MIDDLE = 12;

/**
 * Row of the scene at a point, or -1. O(depth log children).
 *
 * @param {Drawn} scene
 * @param {Place} place
 * @param {number} x
 * @param {number} y
 */
export function pick(scene, place, x, y) {
  const { n, kind, u, v } = scene;
  if (n === 0) return -1;
  const { u: at, v: deep } = place.invert(x, y);
  const icicle = place.shape === "icicle";
  if (n === 1) return 0;
  if (place.round && isMiddle(scene, place, deep)) return 0;
  if (at < 0 || at > 1 || deep < ABOVE - 0.02) return -1;
  let row = 0;
  while (deep > v[row] && kind[row] === INNER) {
    const next = childAt(scene, row, at);
    if (next < 0) break;
    row = next;
    if (deep <= v[row]) break;
  }
  if (icicle) {
    return deep <= Math.max(v[row], kind[row] > LEAF ? 1 : 0) || kind[row] > LEAF ? row : -1;
  }
  if (kind[row] !== INNER) {
    // The label of a leaf is beyond the ground.
    const beyond = place.alongBetween(1, Math.max(1, deep));
    return beyond < 220 ? row : -1;
  }
  if (row === 0 && deep <= v[0] + 1e-9) return near(place, 0, deep - v[0]) ? 0 : -1;
  const across = Math.abs(at - u[row]) * place.acrossAt(Math.max(0, deep));
  if (across <= NEAR) return row;
  // Near its own stretch of the circle, or that of its parent?
  const own = Math.abs(place.alongBetween(deep, v[row]));
  if (own <= ARC && at >= u[row + 1] && at <= u[lastChild(scene, row)]) return row;
  const up = scene.parent[row];
  if (up >= 0 && Math.abs(place.alongBetween(v[up], deep)) <= ARC) return row;
  return -1;
}

/**
 * Whether v is in the middle of a circle: within its hole, or before half of the way to its first branching.
 *
 * @param {Drawn} scene
 * @param {RoundPlace} place
 * @param {number} deep
 */
function isMiddle({ end, v }, place, deep) {
  if (deep <= v[0]) return true;
  const beyond = place.alongBetween(v[0], deep);
  const radius = place.acrossAt(v[0]) / (place.angle(1) - place.angle(0)) + beyond;
  if (radius > MIDDLE) return false;
  let first = Infinity;
  for (let child = 1; child < end[0]; child = end[child]) first = Math.min(first, v[child]);
  return beyond <= place.alongBetween(v[0], first) / 2;
}

/**
 * @param {Place} place
 * @param {number} across
 * @param {number} dv
 */
function near(place, across, dv) {
  return Math.abs(place.alongBetween(0, Math.abs(dv))) <= NEAR && across <= NEAR;
}

/**
 * The child whose range contains u. Children are in order.
 *
 * @param {Drawn} options
 * @param {number} row
 * @param {number} at
 */
function childAt({ end, left, right }, row, at) {
  for (let child = row + 1; child < end[row]; child = end[child]) {
    if (at >= left[child] && at <= right[child]) return child;
  }
  return -1;
}

/**
 * @param {Drawn} options
 * @param {number} row
 */
function lastChild({ end }, row) {
  let last = row + 1;
  for (let child = row + 1; child < end[row]; child = end[child]) last = child;
  return last;
}
