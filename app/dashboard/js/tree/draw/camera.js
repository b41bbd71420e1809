// The camera of a picture: its zoom and its shift. Pure arithmetic.

import { INNER } from "../model/scene.js";
import { place as placed } from "./place.js";

/** @import { PortableCamera } from "../model/look.js" */
/** @import { Drawn } from "../model/scene.js" */
/** @import { Camera, Frame, RoundFrame } from "./place.js" */

const FURTHEST = 1e6;
const NEAREST = 0.5;
/** The most zoom along the depth of a flat shape. */
const DEEPEST = 50;
const READABLE = 10;
/** The most room of a leaf below a node that is approached, in px: nearer, less can be read. */
const LEAF_ROOM = 30;
/** The distance of leaves that is near enough, px, and a zoom that every tree allows. */
const LEAF_PX = 60;
const LEAST_ZOOM = 4;

/** The camera that shows the whole picture. */
export const home = () => ({ k: 1, kd: 1, x: 0, y: 0 });

/**
 * Scales and shifts of a camera, for x and y.
 *
 * @param {Frame} frame
 * @param {Camera} camera
 * @returns {[sx: number, sy: number, x: number, y: number]}
 */
export function axes(frame, camera) {
  if (frame.shape === "circular") return [camera.k, camera.k, camera.x, camera.y];
  if (frame.shape === "rectangular") return [camera.kd, camera.k, camera.x, camera.y];
  return [camera.k, camera.kd, camera.x, camera.y];
}

/**
 * The transform from the picture of one camera to that of another.
 *
 * @param {Frame} frame
 * @param {Camera} from
 * @param {Camera} to
 * @returns {[sx: number, sy: number, x: number, y: number]}
 */
export function relative(frame, from, to) {
  const [ax, ay, aX, aY] = axes(frame, from);
  const [bx, by, bX, bY] = axes(frame, to);
  return [bx / ax, by / ay, bX - (aX * bx) / ax, bY - (aY * by) / ay];
}

/**
 * The camera after zooming by `factor` around a point; `depth`: along the depth of a flat shape.
 *
 * @param {Frame} frame
 * @param {Camera} camera
 * @param {number} factor
 * @param {number} x
 * @param {number} y
 * @param {{ depth?: number, most?: number }} [options] `most`: as in `nearest`
 */
export function zoomed(frame, camera, factor, x, y, { depth = 1, most = FURTHEST } = {}) {
  const next = { ...camera };
  next.k = Math.min(Math.max(most, camera.k), Math.max(NEAREST, camera.k * factor));
  next.kd = frame.shape === "circular" ? next.k : Math.min(DEEPEST, Math.max(1, camera.kd * depth));
  const [atX, atY] = frame.shape === "circular" ? within(frame, camera, x, y) : [x, y];
  const [ax, ay] = axes(frame, camera);
  const [bx, by] = axes(frame, next);
  next.x = atX - ((atX - camera.x) * bx) / ax;
  next.y = atY - ((atY - camera.y) * by) / ay;
  return held(frame, next);
}

/**
 * The point of a circle that is nearest to one beyond its leaves, so that a zoom beside the circle
 * does not end where nothing is.
 *
 * @param {RoundFrame} frame
 * @param {Camera} camera
 * @param {number} x
 * @param {number} y
 */
function within(frame, camera, x, y) {
  const [cx, cy] = [frame.cx * camera.k + camera.x, frame.cy * camera.k + camera.y];
  const away = Math.hypot(x - cx, y - cy) / (frame.radius * camera.k);
  return away > 1 ? [cx + (x - cx) / away, cy + (y - cy) / away] : [x, y];
}

/**
 * The nearest sense of zoom: leaves are as far apart as it takes to see each of them.
 *
 * @param {Drawn} scene
 * @param {Frame} frame
 */
export function nearest(scene, frame) {
  const { across } = placed(frame, home());
  return Math.min(FURTHEST, Math.max(LEAST_ZOOM, (LEAF_PX * (scene.leaves[0] || 1)) / across));
}

/**
 * The camera, shifted so that part of the picture stays in the window.
 *
 * @param {Frame} frame
 * @param {Camera} camera
 */
export function held(frame, camera) {
  const { width, height } = frame;
  const [sx, sy] = axes(frame, camera);
  /**
   * @param {number} shift
   * @param {number} scale
   * @param {number} length
   */
  const keep = (shift, scale, length) => {
    const long = scale * length;
    const spare = Math.min(long, length) * 0.5;
    return Math.min(length - spare, Math.max(spare - long, shift));
  };
  return { ...camera, x: keep(camera.x, sx, width), y: keep(camera.y, sy, height) };
}

/**
 * The part of the whole picture that a camera shows, as shares of its width and height.
 *
 * @param {Frame} frame
 * @param {Camera} camera
 */
export function seenBy(frame, camera) {
  const [sx, sy] = axes(frame, camera);
  return {
    x: -camera.x / sx / frame.width,
    y: -camera.y / sy / frame.height,
    width: 1 / sx,
    height: 1 / sy,
  };
}

/**
 * What is in the middle of the window: of a circle, where on the square around it, which does not
 * depend on the room of its labels; else as shares of the window.
 *
 * @param {Frame} frame
 * @param {Camera} camera
 * @returns {[x: number, y: number]}
 */
function middle(frame, camera) {
  const [sx, sy] = axes(frame, camera);
  const x = (frame.width / 2 - camera.x) / sx;
  const y = (frame.height / 2 - camera.y) / sy;
  if (frame.shape !== "circular") return [x / frame.width, y / frame.height];
  const { cx, cy, radius } = frame;
  return [0.5 + (x - cx) / (2 * radius), 0.5 + (y - cy) / (2 * radius)];
}

/**
 * The camera with this zoom that has `[fx, fy]` in the middle of the window.
 *
 * @param {Frame} frame
 * @param {Pick<Camera, "k" | "kd">} zoom
 * @param {[fx: number, fy: number]} middle as `middle` returns it
 */
function looking(frame, { k, kd }, [fx, fy]) {
  const camera = { k, kd, x: 0, y: 0 };
  const [sx, sy] = axes(frame, camera);
  const { width, height } = frame;
  const [x, y] =
    frame.shape === "circular"
      ? [frame.cx + (2 * fx - 1) * frame.radius, frame.cy + (2 * fy - 1) * frame.radius]
      : [fx * width, fy * height];
  camera.x = width / 2 - x * sx;
  camera.y = height / 2 - y * sy;
  return held(frame, camera);
}

/**
 * The camera for another frame of the same shape that has the same in the middle of its window:
 * names that arrive take room, and what is looked at stays.
 *
 * @param {Frame} from
 * @param {Frame} to
 * @param {Camera} camera
 */
export const carried = (from, to, camera) =>
  from.shape === to.shape ? looking(to, camera, middle(from, camera)) : held(to, camera);

/**
 * A camera as numbers that do not depend on the size of the window: for the address.
 *
 * @param {Frame} frame
 * @param {Camera} camera
 * @returns {PortableCamera}
 */
export function portable(frame, camera) {
  const [x, y] = middle(frame, camera);
  /** @param {number} value */
  const round = (value) => Number(value.toPrecision(6));
  return [round(camera.k), round(camera.kd), round(x), round(y)];
}

/**
 * The camera for portable numbers in this window.
 *
 * @param {Frame} frame
 * @param {PortableCamera} portable
 */
export const fromPortable = (frame, [k, kd, fx, fy]) => looking(frame, { k, kd }, [fx, fy]);

/**
 * Cameras between two others: `at(t)`. Zoom changes by factors, so that it looks even.
 *
 * @param {Camera} from
 * @param {Camera} to
 */
export function journey(from, to) {
  /** @type {(name: "k" | "kd", t: number) => number} */
  const even = (name, t) => from[name] * (to[name] / from[name]) ** t;
  /** @param {number} t */
  return (t) => {
    const [k, kd] = [even("k", t), even("kd", t)];
    const done =
      from.k !== to.k
        ? (k - from.k) / (to.k - from.k)
        : from.kd !== to.kd
          ? (kd - from.kd) / (to.kd - from.kd)
          : t;
    return { k, kd, x: from.x + (to.x - from.x) * done, y: from.y + (to.y - from.y) * done };
  };
}

/**
 * The middle of what is below an inner node: of a circle, between it and its tips.
 *
 * @param {Drawn} scene
 * @param {Frame} frame
 * @param {number} row
 */
function middleOf(scene, frame, row) {
  const v = scene.v[row];
  return frame.shape === "circular"
    ? { u: (scene.left[row] + scene.right[row]) / 2, v: (v + 1) / 2 }
    : { u: scene.u[row], v };
}

/**
 * The camera that shows a row in the middle, large enough to read; null if it does already.
 *
 * @param {Drawn} scene
 * @param {Frame} frame
 * @param {Camera} camera
 * @param {number} row
 */
export function toward(scene, frame, camera, row) {
  const { width, height } = frame;
  const now = placed(frame, camera);
  const isInner = scene.kind[row] === INNER;
  const wanted = isInner
    ? Math.min(Math.min(width, height) * 0.6, LEAF_ROOM * Math.max(3, scene.leaves[row]))
    : READABLE;
  const wide = Math.max(1e-12, scene.right[row] - scene.left[row]) * now.across;
  const { u, v } = isInner ? middleOf(scene, frame, row) : { u: scene.u[row], v: scene.v[row] };
  const [x, y] = now.at(u, v);
  const isSeen = x > 20 && y > 20 && x < width - 20 && y < height - 20;
  const isNear = wide >= wanted || (isInner && wide > 40);
  if (isSeen && isNear) return null;
  // On a circle what is below a node grows away from it, too: its tips stay in the window.
  const [tx, ty] = now.at(u, 1);
  const [bx, by] = now.at(scene.u[row], scene.v[row]);
  const long = isInner && frame.shape === "circular" ? Math.hypot(tx - bx, ty - by) : 0;
  const most = long ? (0.6 * Math.min(width, height)) / long : Infinity;
  const factor = isNear ? 1 : Math.max(1, Math.min(wanted / wide, most));
  const next = zoomed(frame, camera, factor, x, y);
  const [nx, ny] = placed(frame, next).at(u, v);
  const centred = { ...next, x: next.x + width / 2 - nx, y: next.y + height / 2 - ny };
  // Along the branches everything is visible already: the camera only moves across them.
  if (frame.shape === "rectangular" && camera.kd === 1) centred.x = 0;
  if (frame.shape === "icicle" && camera.kd === 1) centred.y = 0;
  return held(frame, centred);
}
