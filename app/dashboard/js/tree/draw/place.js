// From the unit square of a scene to the screen and back, for each shape and camera.
//
// A camera is {k, kd, x, y}: how much nearer than the whole picture, across the leaves and along
// the depth (a circle has one for both), and where the picture's origin has got to.

export const SHAPES = ["circular", "rectangular", "icicle"];
const GAP = (4 * Math.PI) / 180;
const TURN = 2 * Math.PI - GAP;
const FIRST = -Math.PI / 2 + GAP / 2;
const HOLE = 0.035;
/** Where an icicle's root cell begins, in v. */
export const ABOVE = -0.035;
const MARGIN = 40;

/**
 * The room that a shape takes in a window of `width` x `height`. `room`: what labels need, px;
 * `strip`: the ring of colours.
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

/** What draws and asks: `frame` from `fit` seen through `camera`. */
export function place(frame, camera) {
  return frame.shape === "circular" ? circular(frame, camera) : flat(frame, camera);
}

function circular(frame, camera) {
  const { k } = camera;
  const cx = frame.cx * k + camera.x;
  const cy = frame.cy * k + camera.y;
  const full = frame.radius * k;
  const { bend } = frame;
  const radius = (v) => full * (HOLE + (1 - HOLE) * (v <= 0 ? 0 : bend === 1 ? v : v ** bend));
  const angle = (u) => FIRST + u * TURN;
  const own = {
    shape: "circular",
    round: true,
    cx,
    cy,
    full,
    radius,
    angle,
    /** px per unit of u, on the ground. */
    across: full * TURN,
    /** px per unit of u at v. */
    acrossAt: (v) => radius(v) * TURN,
    alongBetween: (v0, v1) => radius(v1) - radius(v0),
    at(u, v) {
      const a = angle(u);
      const r = radius(v);
      return [cx + r * Math.cos(a), cy + r * Math.sin(a)];
    },
    /** A point so many px beyond v. */
    beyond(u, v, px) {
      const a = angle(u);
      const r = radius(v) + px;
      return [cx + r * Math.cos(a), cy + r * Math.sin(a)];
    },
    invert(x, y) {
      const r = Math.hypot(x - cx, y - cy);
      let a = Math.atan2(y - cy, x - cx) - FIRST;
      a -= 2 * Math.PI * Math.floor(a / (2 * Math.PI));
      if (a > TURN + GAP / 2) a -= 2 * Math.PI;
      const share = (r / full - HOLE) / (1 - HOLE);
      return { u: a / TURN, v: share <= 0 ? share : share ** (1 / bend) };
    },
    move: (path, u, v) => path.move(...own.at(u, v)),
    line: (path, u, v) => path.line(...own.at(u, v)),
    /** Along the circle at v from where the path is at u0. */
    arc(path, v, u0, u1, px = 0) {
      curve(path, cx, cy, radius(v) + px, angle(u0), angle(u1));
    },
  };
  own.window = circularWindow(frame, own);
  return own;
}

/** An arc as cubic curves; the path is at its beginning. */
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

/** What of the circle can be seen: stretches of u, and v from .. to. */
function circularWindow({ width, height, bend }, { cx, cy, full }) {
  const [x0, y0, x1, y1] = [-MARGIN, -MARGIN, width + MARGIN, height + MARGIN];
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
  const spans = [];
  for (const turn of [-2 * Math.PI, 0, 2 * Math.PI]) {
    const from = (middle + turn + Math.min(...turned) - FIRST) / TURN;
    const to = (middle + turn + Math.max(...turned) - FIRST) / TURN;
    if (to > 0 && from < 1) spans.push([from, to]);
  }
  return { spans, v0, v1 };
}

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
  const pu = (u) => au + u * across;
  const pv = (v) => av + v * along;
  const to = down ? (u, v) => [pu(u), pv(v)] : (u, v) => [pv(v), pu(u)];
  const [lengthU, lengthV] = down ? [frame.width, frame.height] : [frame.height, frame.width];
  return {
    shape: frame.shape,
    round: false,
    down,
    pu,
    pv,
    across,
    along,
    acrossAt: () => across,
    alongBetween: (v0, v1) => (v1 - v0) * along,
    at: to,
    beyond: (u, v, px) => (down ? [pu(u), pv(v) + px] : [pv(v) + px, pu(u)]),
    invert: (x, y) =>
      down
        ? { u: (x - au) / across, v: (y - av) / along }
        : { u: (y - au) / across, v: (x - av) / along },
    move: (path, u, v) => path.move(...to(u, v)),
    line: (path, u, v) => path.line(...to(u, v)),
    arc: (path, v, _u0, u1, px = 0) =>
      down ? path.line(pu(u1), pv(v) + px) : path.line(pv(v) + px, pu(u1)),
    window: {
      spans: [[(-MARGIN - au) / across, (lengthU + MARGIN - au) / across]],
      v0: (-MARGIN - av) / along,
      v1: (lengthV + MARGIN - av) / along,
    },
  };
}

/** Whether a stretch of u can be seen. */
export function seen({ spans }, from, to) {
  for (const [a, b] of spans) if (to >= a && from <= b) return true;
  return false;
}
