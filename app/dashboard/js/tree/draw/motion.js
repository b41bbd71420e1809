// From one picture to the next: nodes glide to their new places. Where the user's system asks for
// less motion, they are there at once.

import { INNER, rows } from "../model/scene.js";
import { Picture } from "./picture.js";
import { place as placed } from "./place.js";

const MOVED = ["left", "right", "u", "v", "deep"];
const MOST = 5000;

export const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

const ease = (t) => (t < 0.5 ? 4 * t ** 3 : 1 - (-2 * t + 2) ** 3 / 2);

/** Call `step(0..1)` until it ends; resolves to whether it came to its end. */
export function glide(ms, step, signal) {
  if (still() || ms <= 0) {
    step(1);
    return Promise.resolve(true);
  }
  return new Promise((resolve) => {
    let began = null;
    const frame = (now) => {
      if (signal?.aborted) {
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

export const mixed = (a, b, t) => a + (b - a) * t;

/** Two cameras or frames, between: every number of both. */
export function between(a, b, t) {
  const found = { ...b };
  for (const [name, value] of Object.entries(b)) {
    if (typeof value === "number" && typeof a[name] === "number")
      found[name] = mixed(a[name], value, t);
  }
  return found;
}

/**
 * Scenes on the way from one to another, of the same shape: `at(t)`. Drawn is the one with more
 * nodes; those that the other lacks come out of, or go into, the nearest node that it has, and what
 * lies outside of a new root slides away.
 */
export function passage(from, to) {
  const base = to.n >= from.n ? to : from;
  const other = base === to ? from : to;
  const known = rows(other);
  const start = {};
  const stop = {};
  const own = MOVED.map((name) => base[name]);
  const there = MOVED.map(() => new Float64Array(base.n));
  const outward = rows(base).get(other.id[0]);
  for (let i = 0; i < base.n; i += 1) {
    const found = known.get(base.id[i]);
    if (found !== undefined) {
      MOVED.forEach((name, k) => (there[k][i] = other[name][found]));
    } else if (outward !== undefined && !(i >= outward && i < base.end[outward])) {
      slide(base, outward, i, there);
    } else {
      const up = base.parent[i];
      if (up < 0) MOVED.forEach((name, k) => (there[k][i] = base[name][i]));
      else {
        const at = there[2][up];
        [at, at, at, there[3][up], there[3][up]].forEach((value, k) => (there[k][i] = value));
      }
    }
  }
  MOVED.forEach((name, k) => {
    start[name] = base === to ? there[k] : own[k];
    stop[name] = base === to ? own[k] : there[k];
  });
  const shown = { ...base, rows: undefined, ranked: base.ranked, axis: null };
  for (const name of MOVED) shown[name] = new Float64Array(base.n);
  return {
    base,
    at(t) {
      for (const name of MOVED) {
        const [a, b, out] = [start[name], stop[name], shown[name]];
        for (let i = 0; i < base.n; i += 1) out[i] = a[i] + (b[i] - a[i]) * t;
      }
      return shown;
    },
  };
}

/** Where a node outside of the part below `root` would be if that part took all the room. */
function slide(scene, root, i, out) {
  const wide = Math.max(1e-9, scene.right[root] - scene.left[root]);
  const move = (u) => Math.min(1, Math.max(0, (u - scene.left[root]) / wide));
  const v0 = scene.v[root];
  const fall = (v) => Math.min(1, Math.max(0, (v - v0) / Math.max(1e-9, 1 - v0)));
  out[0][i] = move(scene.left[i]);
  out[1][i] = move(scene.right[i]);
  out[2][i] = move(scene.u[i]);
  out[3][i] = fall(scene.v[i]);
  out[4][i] = fall(scene.deep[i]);
}

/**
 * Pictures on the way from one shape to another: `at(t)`. Branches bend and cells grow out of them;
 * what is too fine is left out on the way.
 */
export function change(scene, tint, from, to) {
  const [a, b] = [placed(from.frame, from.camera), placed(to.frame, to.camera)];
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
    at(t) {
      const picture = new Picture(to.frame.width, to.frame.height);
      const [p, q] = lines;
      const thin = a.down ? t : b.down ? 1 - t : 1;
      const grown = a.down ? 1 - t : b.down ? t : 0;
      for (let k = 0; k < list.length; k += 1) {
        const colour = tint.colours[tint.branch[list[k]]];
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

/** 16 numbers a row: parent, control, elbow, node, and the four corners of its cell. */
function corners({ parent, u, v, left, right, kind }, list, place) {
  const points = new Float64Array(list.length * 16);
  list.forEach((i, k) => {
    const up = parent[i];
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
