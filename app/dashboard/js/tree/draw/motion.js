// Transitions between pictures: nodes glide to their new places. If the user's system prefers
// reduced motion, they appear at once.

import { INNER, rows } from "../model/scene.js";
import { Picture } from "./picture.js";
import { place as placed } from "./place.js";

/** @import { Drawn } from "../model/scene.js" */
/** @import { Camera, Frame, Place } from "./place.js" */
/** @import { Tint } from "./tint.js" */

/** @typedef {"left" | "right" | "u" | "v" | "deep"} Moved */

/** @type {readonly Moved[]} */
const MOVED = ["left", "right", "u", "v", "deep"];
const MOST = 5000;

/** Whether the user's system prefers reduced motion. */
export const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** @param {number} t */
const ease = (t) => (t < 0.5 ? 4 * t ** 3 : 1 - (-2 * t + 2) ** 3 / 2);

/**
 * Call `step(t)` with t from 0 to 1 within `ms`; resolves to whether it reached 1.
 *
 * @param {number} ms
 * @param {(t: number) => unknown} step
 * @param {AbortSignal} signal
 * @returns {Promise<boolean>}
 */
export function glide(ms, step, signal) {
  if (isStill() || ms <= 0) {
    step(1);
    return Promise.resolve(true);
  }
  return new Promise((resolve) => {
    /** @type {number | null} */
    let began = null;
    /** @param {number} now */
    const frame = (now) => {
      if (signal.aborted) {
        resolve(false);
        return;
      }
      began ??= now;
      const t = Math.min(1, (now - began) / ms);
      step(ease(t));
      if (t < 1) requestAnimationFrame(frame);
      else resolve(true);
    };
    requestAnimationFrame(frame);
  });
}

/**
 * Between two cameras or frames: every number of both.
 *
 * @template {object} T
 * @param {T} a
 * @param {T} b
 * @param {number} t
 * @returns {T}
 */
export function between(a, b, t) {
  /** @type {Map<string, unknown>} */
  const from = new Map(Object.entries(a));
  const numbers = Object.entries(b).flatMap(([name, value]) => {
    const start = from.get(name);
    return typeof value === "number" && typeof start === "number"
      ? [[name, start + (value - start) * t]]
      : [];
  });
  return { ...b, ...Object.fromEntries(numbers) };
}

/**
 * Scenes between two others of the same shape: `at(t)`. The one with more nodes is drawn; nodes
 * that the other lacks grow out of, or shrink into, the nearest node that it has, and everything
 * outside a new root slides away.
 *
 * @param {Drawn} from
 * @param {Drawn} to
 */
export function passage(from, to) {
  const base = to.n >= from.n ? to : from;
  const other = base === to ? from : to;
  const otherRows = rows(other);
  const columns = () => MOVED.map(() => new Float64Array(base.n));
  const ends = columns(); // The columns of `other`, by row of `base`.
  const outward = rows(base).get(other.id[0]);
  for (let i = 0; i < base.n; i += 1) {
    const otherRow = otherRows.get(base.id[i]);
    const up = base.parent[i];
    if (otherRow !== undefined) {
      MOVED.forEach((name, k) => (ends[k][i] = other[name][otherRow]));
    } else if (outward !== undefined && !(i >= outward && i < base.end[outward])) {
      slide(base, outward, i, ends);
    } else if (up < 0) {
      MOVED.forEach((name, k) => (ends[k][i] = base[name][i]));
    } else {
      const [u, v] = [ends[2][up], ends[3][up]];
      [u, u, u, v, v].forEach((value, k) => (ends[k][i] = value));
    }
  }
  const [left, right, u, v, deep] = columns();
  /** @type {Drawn} */
  const shown = { ...base, rows: undefined, axis: null, left, right, u, v, deep };
  return {
    base,
    /** @param {number} t */
    at(t) {
      const share = base === to ? 1 - t : t; // The other scene's.
      MOVED.forEach((name, k) => {
        const [own, end, column] = [base[name], ends[k], shown[name]];
        for (let i = 0; i < base.n; i += 1) column[i] = own[i] + (end[i] - own[i]) * share;
      });
      return shown;
    },
  };
}

/**
 * The place of a node outside the part below `root` if that part filled the picture.
 *
 * @param {Drawn} scene
 * @param {number} root
 * @param {number} i
 * @param {Float64Array[]} out
 */
function slide(scene, root, i, out) {
  const wide = Math.max(1e-9, scene.right[root] - scene.left[root]);
  /** @param {number} u */
  const move = (u) => Math.min(1, Math.max(0, (u - scene.left[root]) / wide));
  const v0 = scene.v[root];
  /** @param {number} v */
  const fall = (v) => Math.min(1, Math.max(0, (v - v0) / Math.max(1e-9, 1 - v0)));
  out[0][i] = move(scene.left[i]);
  out[1][i] = move(scene.right[i]);
  out[2][i] = move(scene.u[i]);
  out[3][i] = fall(scene.v[i]);
  out[4][i] = fall(scene.deep[i]);
}

/**
 * Pictures between two shapes: `at(t)`. Branches bend and cells grow out of them; fine details are
 * left out meanwhile.
 *
 * @param {Drawn} scene
 * @param {Tint} tint
 * @param {{ frame: Frame, camera: Camera }} from
 * @param {{ frame: Frame, camera: Camera }} to
 */
export function change(scene, tint, from, to) {
  const [a, b] = [placed(from.frame, from.camera), placed(to.frame, to.camera)];
  /** @type {number[]} */
  const list = [];
  const { n, left, right, end } = scene;
  const wide = Math.max(a.across, b.across);
  for (let i = 1; i < n && list.length < MOST;) {
    if ((right[i] - left[i]) * wide < 1.2) {
      i = end[i];
      continue;
    }
    list.push(i);
    i += 1;
  }
  const lines = [corners(scene, list, a), corners(scene, list, b)];
  const width = 1.1;
  return {
    /** @param {number} t */
    /** @param {number} t */
    at(t) {
      const picture = new Picture(to.frame.width, to.frame.height);
      const [p, q] = lines;
      const thin = a.down ? t : b.down ? 1 - t : 1;
      const grown = a.down ? 1 - t : b.down ? t : 0;
      for (let k = 0; k < list.length; k += 1) {
        const colour = tint.colours[tint.branch[list[k]]];
        /** @param {number} c */
        /** @param {number} c */
        const at = (c) => p.points[k * 16 + c] + (q.points[k * 16 + c] - p.points[k * 16 + c]) * t;
        if (grown > 0) {
          const cell = picture.fill("areas", colour, 0.25 + 0.5 * grown);
          cell.move(at(8), at(9));
          for (const c of [10, 12, 14]) cell.line(at(c), at(c + 1));
          cell.close();
        }
        if (thin > 0.02) {
          const path = picture.stroke("strokes", colour, width, { alpha: thin });
          path.move(at(0), at(1));
          path.quad(at(2), at(3), at(4), at(5));
          path.line(at(6), at(7));
        }
      }
      return picture;
    },
  };
}

/**
 * 16 numbers a row: parent, control, elbow, node, and the four corners of its cell.
 *
 * @param {Drawn} options
 * @param {number[]} list
 * @param {Place} place
 */
function corners({ parent, u, v, left, right, kind }, list, place) {
  const points = new Float64Array(list.length * 16);
  list.forEach((i, k) => {
    const up = parent[i];
    /**
     * @param {number} at
     * @param {[x: number, y: number]} pair
     */
    const put = (at, [x, y]) => {
      points[k * 16 + at] = x;
      points[k * 16 + at + 1] = y;
    };
    const [px, py] = place.at(u[up], v[up]);
    const [ex, ey] = place.at(u[i], v[up]);
    const [mx, my] = place.at((u[up] + u[i]) / 2, v[up]);
    put(0, [px, py]);
    put(2, [2 * mx - (px + ex) / 2, 2 * my - (py + ey) / 2]);
    put(4, [ex, ey]);
    const bottom = kind[i] === INNER ? v[i] : Math.max(v[i], 0);
    put(6, place.at(u[i], bottom));
    if (place.down) {
      put(8, place.at(left[i], v[up]));
      put(10, place.at(right[i], v[up]));
      put(12, place.at(right[i], v[i]));
      put(14, place.at(left[i], v[i]));
    } else {
      put(8, [ex, ey]);
      put(10, [ex, ey]);
      put(12, place.at(u[i], v[i]));
      put(14, place.at(u[i], v[i]));
    }
  });
  return { points };
}
