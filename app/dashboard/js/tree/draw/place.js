// From the unit square of a scene to the screen and back, for each shape and camera.

/** @import { Shape } from "../model/look.js" */

/**
 * The drawing operations of a path.
 *
 * @typedef {{
 *   move: (x: number, y: number) => void,
 *   line: (x: number, y: number) => void,
 *   cube: (ax: number, ay: number, bx: number, by: number, x: number, y: number) => void,
 * }} Tracer
 */

/**
 * @typedef {{ k: number, kd: number, x: number, y: number }} Camera how much nearer than the whole
 *   picture, across the leaves (`k`) and along the depth (`kd`; a circle has one for both), and where
 *   the picture's origin has moved to, px
 *
 * @typedef {{ width: number, height: number, bend: number }} Window the window in px; `bend`: the
 * power of v that the radius follows, 1 except for a crowded circle
 * @typedef {Window & { shape: "circular", cx: number, cy: number, radius: number }} RoundFrame
 * @typedef {Window & {
 *   shape: "rectangular" | "icicle",
 *   x: number,
 *   y: number,
 *   w: number,
 *   h: number,
 * }} FlatFrame
 * @typedef {RoundFrame | FlatFrame} Frame the room that a shape takes in its window
 *
 * @typedef {{ spans: [from: number, to: number][], v0: number, v1: number }} Visible what can be seen:
 *   stretches of u, and v from .. to
 */

/**
 * From the unit square to the screen: what draws and picks. `across` is px per unit of u on the
 * ground, `acrossAt(v)` at v; `alongBetween` is px from one v to another; `beyond` is the point a number of
 * px past v; `arc` goes along v from where the path is, at u0, to u1. `pu` and `pv` are the px of u and
 * v of a flat shape, `angle` the angle of u of a round one.
 *
 * @typedef {{
 *   shape: Shape,
 *   across: number,
 *   acrossAt: (v: number) => number,
 *   alongBetween: (v0: number, v1: number) => number,
 *   at: (u: number, v: number) => [x: number, y: number],
 *   beyond: (u: number, v: number, px: number) => [x: number, y: number],
 *   invert: (x: number, y: number) => { u: number, v: number },
 *   move: (path: Tracer, u: number, v: number) => void,
 *   line: (path: Tracer, u: number, v: number) => void,
 *   arc: (path: Tracer, v: number, u0: number, u1: number, px?: number) => void,
 *   window: Visible,
 * }} PlaceBase
 * @typedef {PlaceBase & { round: true, down: false, angle: (u: number) => number }} RoundPlace
 * @typedef {PlaceBase & {
 *   round: false,
 *   down: boolean,
 *   pu: (u: number) => number,
 *   pv: (v: number) => number,
 * }} FlatPlace
 * @typedef {RoundPlace | FlatPlace} Place
 */

const GAP = (4 * Math.PI) / 180;
const TURN = 2 * Math.PI - GAP;
const FIRST = -Math.PI / 2 + GAP / 2;
const HOLE = 0.035;
/** The start of an icicle's root cell, in v. */
export const ABOVE = -0.035;
const MARGIN = 40;

/**
 * The room that a shape takes in a window of `width` x `height`. `room`: width of labels, px;
 * `strip`: width of the ring of colours.
 *
 * @param {Shape} shape
 * @param {{
 *    width: number,
 *    height: number,
 *    room?: number,
 *    strip?: number,
 *    bend?: number,
 *    inset?: number,
 *  }} options
 * @returns {Frame}
 */
export function fit(shape, { width, height, room = 0, strip = 0, bend = 1, inset = 14 }) {
  const pad = Math.min(inset, width / 10, height / 10);
  if (shape === "circular") {
    const half = Math.min(width, height) / 2 - pad;
    return {
      shape,
      cx: width / 2,
      cy: height / 2,
      radius: Math.max(20, half - room - strip),
      bend,
      width,
      height,
    };
  }
  if (shape === "rectangular") {
    const across = Math.max(20, width - 2 * pad - room - strip);
    return {
      shape,
      x: pad,
      y: pad + 4,
      w: across,
      h: Math.max(20, height - 2 * pad - 8),
      bend: 1,
      width,
      height,
    };
  }
  return {
    shape,
    x: pad,
    y: pad,
    w: Math.max(20, width - 2 * pad),
    h: Math.max(20, height - 2 * pad),
    bend: 1,
    width,
    height,
  };
}

/**
 * The place of a frame seen through a camera.
 *
 * @param {Frame} frame
 * @param {Camera} camera
 * @returns {Place}
 */
export function place(frame, camera) {
  return frame.shape === "circular" ? circular(frame, camera) : flat(frame, camera);
}

/**
 * @param {RoundFrame} frame
 * @param {Camera} camera
 * @returns {RoundPlace}
 */
function circular(frame, camera) {
  const { k } = camera;
  const cx = frame.cx * k + camera.x;
  const cy = frame.cy * k + camera.y;
  const full = frame.radius * k;
  const { bend } = frame;
  /** @param {number} v */
  const radius = (v) => full * (HOLE + (1 - HOLE) * (v <= 0 ? 0 : bend === 1 ? v : v ** bend));
  /** @param {number} u */
  const angle = (u) => FIRST + u * TURN;
  /** @type {(u: number, v: number, px: number) => [x: number, y: number]} */
  const beyond = (u, v, px) => {
    const a = angle(u);
    const r = radius(v) + px;
    return [cx + r * Math.cos(a), cy + r * Math.sin(a)];
  };
  return {
    shape: "circular",
    round: true,
    down: false,
    angle,
    across: full * TURN,
    /** @param {number} v */
    acrossAt: (v) => radius(v) * TURN,
    /**
     * @param {number} v0
     * @param {number} v1
     */
    alongBetween: (v0, v1) => radius(v1) - radius(v0),
    /**
     * @param {number} u
     * @param {number} v
     */
    at: (u, v) => beyond(u, v, 0),
    beyond,
    /**
     * @param {number} x
     * @param {number} y
     */
    invert(x, y) {
      const r = Math.hypot(x - cx, y - cy);
      let a = Math.atan2(y - cy, x - cx) - FIRST;
      a -= 2 * Math.PI * Math.floor(a / (2 * Math.PI));
      if (a > TURN + GAP / 2) a -= 2 * Math.PI;
      const share = (r / full - HOLE) / (1 - HOLE);
      return { u: a / TURN, v: share <= 0 ? share : share ** (1 / bend) };
    },
    /**
     * @param {Tracer} path
     * @param {number} u
     * @param {number} v
     */
    move: (path, u, v) => path.move(...beyond(u, v, 0)),
    /**
     * @param {Tracer} path
     * @param {number} u
     * @param {number} v
     */
    line: (path, u, v) => path.line(...beyond(u, v, 0)),
    /**
     * @param {Tracer} path
     * @param {number} v
     * @param {number} u0
     * @param {number} u1
     * @param {number} [px]
     */
    arc(path, v, u0, u1, px = 0) {
      curve(path, cx, cy, radius(v) + px, angle(u0), angle(u1));
    },
    window: circularWindow(frame, { cx, cy, full }),
  };
}

/**
 * An arc as cubic curves; the path is at its beginning.
 *
 * @param {Tracer} path
 * @param {number} cx
 * @param {number} cy
 * @param {number} r
 * @param {number} a0
 * @param {number} a1
 */
export function curve(path, cx, cy, r, a0, a1) {
  const parts = Math.max(1, Math.ceil(Math.abs(a1 - a0) / (Math.PI / 4)));
  const step = (a1 - a0) / parts;
  const reach = (4 / 3) * Math.tan(step / 4) * r;
  let a = a0;
  for (let part = 0; part < parts; part += 1) {
    const b = a0 + step * (part + 1);
    const [ca, sa, cb, sb] = [Math.cos(a), Math.sin(a), Math.cos(b), Math.sin(b)];
    const [x0, y0, x1, y1] = [cx + r * ca, cy + r * sa, cx + r * cb, cy + r * sb];
    path.cube(x0 - reach * sa, y0 + reach * ca, x1 + reach * sb, y1 - reach * cb, x1, y1);
    a = b;
  }
}

/**
 * The visible part of the circle.
 *
 * @param {RoundFrame} options
 * @param {{ cx: number, cy: number, full: number }} options
 * @returns {Visible}
 */
function circularWindow({ width, height, bend }, { cx, cy, full }) {
  const [x0, y0, x1, y1] = [-MARGIN, -MARGIN, width + MARGIN, height + MARGIN];
  /** @type {[x: number, y: number][]} */
  const corners = [
    [x0, y0],
    [x1, y0],
    [x1, y1],
    [x0, y1],
  ];
  const inside = cx >= x0 && cx <= x1 && cy >= y0 && cy <= y1;
  const near = inside
    ? 0
    : Math.hypot(Math.max(x0 - cx, 0, cx - x1), Math.max(y0 - cy, 0, cy - y1));
  const far = Math.max(...corners.map(([x, y]) => Math.hypot(x - cx, y - cy)));
  /** @param {number} r */
  const back = (r) => {
    const share = (r / full - HOLE) / (1 - HOLE);
    return share <= 0 ? -1 : share ** (1 / bend);
  };
  const [v0, v1] = [back(near), back(far)];
  if (inside) return { spans: [[-1, 2]], v0, v1 };
  const middle = Math.atan2((y0 + y1) / 2 - cy, (x0 + x1) / 2 - cx);
  const turned = corners.map(([x, y]) => {
    const d = Math.atan2(y - cy, x - cx) - middle;
    return d - 2 * Math.PI * Math.round(d / (2 * Math.PI));
  });
  /** @type {[from: number, to: number][]} */
  const spans = [];
  for (const turn of [-2 * Math.PI, 0, 2 * Math.PI]) {
    const from = (middle + turn + Math.min(...turned) - FIRST) / TURN;
    const to = (middle + turn + Math.max(...turned) - FIRST) / TURN;
    if (to > 0 && from < 1) spans.push([from, to]);
  }
  return { spans, v0, v1 };
}

/**
 * @param {FlatFrame} frame
 * @param {Camera} camera
 * @returns {FlatPlace}
 */
function flat(frame, camera) {
  const down = frame.shape === "icicle";
  // Across the leaves: up and down in a dendrogram, left and right in an icicle.
  const [au, av] = down
    ? [
        frame.x * camera.k + camera.x,
        (frame.y - (ABOVE * frame.h) / (1 - ABOVE)) * camera.kd + camera.y,
      ]
    : [frame.y * camera.k + camera.y, frame.x * camera.kd + camera.x];
  const across = (down ? frame.w : frame.h) * camera.k;
  const along = (down ? frame.h / (1 - ABOVE) : frame.w) * camera.kd;
  /** @param {number} u */
  const pu = (u) => au + u * across;
  /** @param {number} v */
  const pv = (v) => av + v * along;
  /** @type {(u: number, v: number) => [x: number, y: number]} */
  const to = down ? (u, v) => [pu(u), pv(v)] : (u, v) => [pv(v), pu(u)];
  const [lengthU, lengthV] = down ? [frame.width, frame.height] : [frame.height, frame.width];
  return {
    shape: frame.shape,
    round: false,
    down,
    pu,
    pv,
    across,
    acrossAt: () => across,
    /**
     * @param {number} v0
     * @param {number} v1
     */
    alongBetween: (v0, v1) => (v1 - v0) * along,
    at: to,
    /**
     * @param {number} u
     * @param {number} v
     * @param {number} px
     */
    beyond: (u, v, px) => (down ? [pu(u), pv(v) + px] : [pv(v) + px, pu(u)]),
    /**
     * @param {number} x
     * @param {number} y
     */
    invert: (x, y) =>
      down
        ? { u: (x - au) / across, v: (y - av) / along }
        : { u: (y - au) / across, v: (x - av) / along },
    /**
     * @param {Tracer} path
     * @param {number} u
     * @param {number} v
     */
    move: (path, u, v) => path.move(...to(u, v)),
    /**
     * @param {Tracer} path
     * @param {number} u
     * @param {number} v
     */
    line: (path, u, v) => path.line(...to(u, v)),
    /**
     * @param {Tracer} path
     * @param {number} v
     * @param {number} _u0
     * @param {number} u1
     * @param {number} [px]
     */
    arc: (path, v, _u0, u1, px = 0) =>
      down ? path.line(pu(u1), pv(v) + px) : path.line(pv(v) + px, pu(u1)),
    window: {
      spans: [[(-MARGIN - au) / across, (lengthU + MARGIN - au) / across]],
      v0: (-MARGIN - av) / along,
      v1: (lengthV + MARGIN - av) / along,
    },
  };
}

/**
 * @typedef {{ x0: number, x1: number, top: number, height: number, page: number }} Side
 * @typedef {FlatPlace & { way: number }} SidePlace `way`: 1 where leaves are right of the root, else -1
 */

/**
 * The place of a side of two trees face to face: from `x0` (root) to `x1` (leaves), which is left of `x0` for the right side;
 * `top` and `height` of all its leaves, seen through {k, y}; `page`: the visible height.
 *
 * @param {Side} options
 * @param {{ k: number, y: number }} camera
 * @returns {SidePlace}
 */
export function sidePlace({ x0, x1, top, height, page }, camera) {
  const across = height * camera.k;
  const from = top * camera.k + camera.y;
  const along = x1 - x0;
  const way = Math.sign(along) || 1;
  /** @type {(u: number, v: number) => [x: number, y: number]} */
  const at = (u, v) => [x0 + v * along, from + u * across];
  return {
    shape: "rectangular",
    round: false,
    down: false,
    across,
    way,
    /** @param {number} u */
    pu: (u) => from + u * across,
    /** @param {number} v */
    pv: (v) => x0 + v * along,
    acrossAt: () => across,
    /**
     * @param {number} a
     * @param {number} b
     */
    alongBetween: (a, b) => (b - a) * Math.abs(along),
    at,
    /**
     * @param {number} u
     * @param {number} v
     * @param {number} px
     */
    beyond: (u, v, px) => [x0 + v * along + px * way, from + u * across],
    /**
     * @param {number} x
     * @param {number} y
     */
    invert: (x, y) => ({ u: (y - from) / across, v: (x - x0) / along }),
    /**
     * @param {Tracer} path
     * @param {number} u
     * @param {number} v
     */
    move: (path, u, v) => path.move(...at(u, v)),
    /**
     * @param {Tracer} path
     * @param {number} u
     * @param {number} v
     */
    line: (path, u, v) => path.line(...at(u, v)),
    /**
     * @param {Tracer} path
     * @param {number} v
     * @param {number} _u0
     * @param {number} u1
     * @param {number} [px]
     */
    arc: (path, v, _u0, u1, px = 0) => path.line(x0 + v * along + px * way, from + u1 * across),
    window: { spans: [[(-40 - from) / across, (page + 40 - from) / across]], v0: -1, v1: 2 },
  };
}

/**
 * Whether a range of u is visible.
 *
 * @param {Visible} options
 * @param {number} from
 * @param {number} to
 */
export function seen({ spans }, from, to) {
  for (const [a, b] of spans) if (to >= a && from <= b) return true;
  return false;
}
