// Branches of a circular or rectangular tree. Subtrees too fine to be visible are drawn as one
// line, and those outside the window are skipped, so that the cost depends on the pixels and not on
// the tree.

import { INNER, LEAF, REST, UNSEEN } from "../model/scene.js";
import { seen } from "./place.js";

/** @import { Drawn } from "../model/scene.js" */
/** @import { Path, Picture } from "./picture.js" */
/** @import { Place, Visible } from "./place.js" */
/** @import { Shades } from "./tint.js" */

const FINE = 0.75;
const BEND = 7;
const WEDGE = 9;

/**
 * @typedef {{ base: number, guides: string | null }} BranchStyle `base`: width of a stroke, px; `guides`:
 *   colour of the lines from leaves to the ground
 */

/**
 * Branches and folded subtrees.
 *
 * @param {Picture} picture
 * @param {Drawn} scene
 * @param {Place} place
 * @param {Shades} tint
 * @param {BranchStyle} style
 */
export function branches(picture, scene, place, tint, style) {
  const { n, parent, end, kind, left, right, u, v, deep, weight } = scene;
  const { window } = place;
  /** @type {number[]} */
  const kids = [];
  /** @param {number} row */
  const stroke = (row) =>
    picture.stroke("strokes", tint.colours[tint.branch[row]], style.base * (1 + 0.3 * weight[row]));
  /** @param {number} row */
  const look = (row) => tint.branch[row] * 8 + weight[row];
  if (n === 1) return alone(picture, place, tint);
  if (kind[0] !== INNER) wedge(picture, scene, place, tint, 0, style);
  for (let p = 0; p < n;) {
    if (kind[p] !== INNER) {
      p += 1;
      continue;
    }
    const hidden =
      p > 0 && !seen(window, Math.min(left[p], u[parent[p]]), Math.max(right[p], u[parent[p]]));
    const passed = scene.monotone && v[p] > window.v1;
    if (hidden || passed || (p > 0 && (right[p] - left[p]) * place.across < FINE)) {
      p = end[p];
      continue;
    }
    kids.length = 0;
    for (let c = p + 1; c < end[p]; c = end[c]) kids.push(c);
    bracket(scene, place, stroke, look, p, kids);
    let drawnTo = -Infinity;
    let drawnDeep = 0;
    for (const c of kids) {
      picture.drawn += 1;
      if (!seen(window, left[c], right[c])) continue;
      const fine = (right[c] - left[c]) * place.across < FINE;
      const bottom = fine ? deep[c] : apex(scene, place, c);
      // Lines closer than half a pixel are merged.
      const px = u[c] * place.across;
      if (fine && px - drawnTo < 0.5 && bottom <= drawnDeep) continue;
      drawnTo = px;
      drawnDeep = bottom;
      if (c !== kids[0] && c !== kids[kids.length - 1]) stub(stroke(c), place, u[c], v[p], bottom);
      if (!fine && kind[c] > LEAF) wedge(picture, scene, place, tint, c, style);
      else if (
        style.guides &&
        kind[c] === LEAF &&
        deep[c] < 0.985 &&
        (right[c] - left[c]) * place.across > 3
      ) {
        guide(picture, place, style.guides, u[c], v[c]);
      }
    }
    p += 1;
  }
  return picture;
}

/**
 * The end of the branch to a row: its node, or the start of its wedge.
 *
 * @param {Pick<Drawn, "kind" | "v" | "parent">} options
 * @param {Place} place
 * @param {number} row
 */
export function apex({ kind, v, parent }, place, row) {
  if (kind[row] <= LEAF) return v[row];
  const up = parent[row] < 0 ? 0 : v[parent[row]];
  const most = place.alongBetween(0, 1);
  const least = Math.min(WEDGE / most, 0.07);
  return Math.max(up, Math.min(v[row], 1 - least));
}

/**
 * The visible part of a branch along v.
 *
 * @param {Path} path
 * @param {Place} place
 * @param {number} u
 * @param {number} from
 * @param {number} to
 */
export function stub(path, place, u, from, to) {
  const { v0, v1 } = place.window;
  const [a, b] = from < to ? [from, to] : [to, from];
  if (b < v0 || a > v1) return;
  place.move(path, u, Math.max(a, v0));
  place.line(path, u, Math.min(b, v1));
}

/**
 * The line across from the first child to the last, with their branches joined by round corners.
 *
 * @param {Drawn} scene
 * @param {Place} place
 * @param {(row: number) => Path} stroke
 * @param {(row: number) => number} look
 * @param {number} p
 * @param {number[]} kids
 */
function bracket(scene, place, stroke, look, p, kids) {
  const { u, v } = scene;
  const middle = u[p];
  const at = v[p];
  if (kids.length === 1) {
    corner(scene, place, stroke(kids[0]), p, kids[0], 0, middle);
    return;
  }
  /**
   * @param {number[]} order
   * @param {number} sign
   */
  const half = (order, sign) => {
    // Lines of the same style are drawn as one, so a star of thousands is one arc and not
    // thousands.
    /** @type {{ name: number, path: Path, from: number, to: number, row: number | null } | null} */
    let open = null;
    const flush = () => {
      if (!open) return;
      if (open.row !== null) corner(scene, place, open.path, p, open.row, sign, open.to);
      else stretch(open.path, place, at, open.from, open.to);
      open = null;
    };
    for (let k = 0; k < order.length; k += 1) {
      const c = order[k];
      if ((middle - u[c]) * sign <= 0) {
        // Directly below its parent: no line across, and its own branch if it is the outermost.
        if (k === 0) corner(scene, place, stroke(c), p, c, 0, middle);
        break;
      }
      const next = k + 1 < order.length ? u[order[k + 1]] : middle;
      const to = sign > 0 ? Math.min(next, middle) : Math.max(next, middle);
      const name = look(c);
      if (open && open.name === name) open.to = to;
      else {
        flush();
        open = { name, path: stroke(c), from: u[c], to, row: k === 0 ? c : null };
      }
      if (to === middle) break;
    }
    flush();
  };
  half(kids, 1);
  half([...kids].reverse(), -1);
}

/**
 * The visible part of a line across.
 *
 * @param {Path} path
 * @param {Place} place
 * @param {number} v
 * @param {number} from
 * @param {number} to
 */
export function stretch(path, place, v, from, to) {
  const { spans, v0, v1 } = place.window;
  if (v < v0 || v > v1) return;
  const [low, high] = from < to ? [from, to] : [to, from];
  for (const [a, b] of spans) {
    const start = Math.max(low, a);
    const stop = Math.min(high, b);
    if (start >= stop) continue;
    place.move(path, start, v);
    place.arc(path, v, start, stop);
  }
}

/**
 * A child's branch and the line from it to `to`, with a round corner between.
 *
 * @param {Drawn} scene
 * @param {Place} place
 * @param {Path} path
 * @param {number} p
 * @param {number} c
 * @param {number} sign
 * @param {number} to
 */
function corner(scene, place, path, p, c, sign, to) {
  const { u, v, left, right, deep } = scene;
  const fine = (right[c] - left[c]) * place.across < FINE;
  const bottom = fine ? deep[c] : apex(scene, place, c);
  const at = v[p];
  if (sign === 0) {
    stub(path, place, u[c], at, bottom);
    return;
  }
  const across = place.acrossAt(at);
  const long = place.alongBetween(at, bottom);
  const bend = Math.min(BEND, Math.abs(long) / 2, (Math.abs(to - u[c]) * across) / 2);
  const { spans, v0, v1 } = place.window;
  const span = spans.find(([a, b]) => u[c] > a && u[c] < b);
  if (bend < 1 || long < 0 || at < v0 || at > v1 || !span) {
    stub(path, place, u[c], at, bottom);
    stretch(path, place, at, u[c], to);
    return;
  }
  const turned = u[c] + (sign * bend) / across;
  place.move(path, u[c], Math.min(bottom, v1));
  path.line(...place.beyond(u[c], at, bend));
  path.quad(...place.at(u[c], at), ...place.at(turned, at));
  place.arc(path, at, turned, Math.max(span[0], Math.min(span[1], to)));
}

/**
 * @param {Picture} picture
 * @param {Place} place
 * @param {string} colour
 * @param {number} u
 * @param {number} v
 */
function guide(picture, place, colour, u, v) {
  const { v0, v1 } = place.window;
  if (v > v1 || v0 > 1) return;
  const path = picture.stroke("guides", colour, 0.75);
  const [x, y] = place.beyond(u, Math.max(v, v0), v < v0 ? 0 : 4);
  path.move(x, y);
  place.line(path, u, Math.min(1, v1));
}

/**
 * A folded node: a wedge from it to the ground, as wide as its subtree.
 *
 * @param {Picture} picture
 * @param {Drawn} scene
 * @param {Place} place
 * @param {Shades} tint
 * @param {number} row
 * @param {BranchStyle} style
 */
function wedge(picture, scene, place, tint, row, style) {
  const { kind, left, right, u } = scene;
  const wide = (right[row] - left[row]) * place.across;
  const start = apex(scene, place, row);
  const colour = tint.colours[tint.band[row]];
  const from = u[row] - (u[row] - left[row]) * 0.86;
  const to = u[row] + (right[row] - u[row]) * 0.86;
  if (wide < 1.5) {
    stub(picture.stroke("strokes", colour, style.base), place, u[row], start, 1);
    return;
  }
  const { spans, v1, v0 } = place.window;
  const [a, b] = clamped(spans, from, to);
  if (a >= b || v0 > 1 || start > v1) return;
  /** @param {Path} path */
  const trace = (path) => {
    place.move(path, u[row], start);
    side(path, place, u[row], start, a, 1);
    place.arc(path, 1, a, b);
    side(path, place, b, 1, u[row], start);
    path.close();
  };
  trace(picture.fill("areas", tint.soft[tint.band[row]], kind[row] === REST ? 0.55 : 1));
  trace(
    picture.stroke("strokes", colour, Math.min(1, style.base), {
      dash: kind[row] === REST ? [3, 3] : null,
    }),
  );
  if (kind[row] !== UNSEEN && kind[row] !== REST) {
    picture.fill("dots", colour).dot(...place.at(u[row], start), 3);
  }
}

/**
 * A side of a wedge: straight, but curved if the wedge takes much of a circle.
 *
 * @param {Path} path
 * @param {Place} place
 * @param {number} u0
 * @param {number} v0
 * @param {number} u1
 * @param {number} v1
 */
function side(path, place, u0, v0, u1, v1) {
  const steps = place.round ? Math.ceil(Math.abs(u1 - u0) * 40) : 1;
  for (let step = 1; step <= steps; step += 1) {
    const t = step / steps;
    place.line(path, u0 + (u1 - u0) * t, v0 + (v1 - v0) * t);
  }
}

/**
 * A range cut to its visible part, with a margin, so that nothing visible is missing.
 *
 * @param {Visible["spans"]} spans
 * @param {number} from
 * @param {number} to
 */
function clamped(spans, from, to) {
  if (spans.length > 1) return [from, to];
  const [[a, b]] = spans;
  const spare = (b - a) * 2;
  return [Math.max(from, a - spare), Math.min(to, b + spare)];
}

/**
 * @param {Picture} picture
 * @param {Place} place
 * @param {Shades} tint
 */
function alone(picture, place, tint) {
  const colour = tint.colours[tint.branch[0]];
  picture.fill("dots", colour).dot(...place.at(0.5, place.round ? 0 : 0.5), 6);
  picture.drawn += 1;
  return picture;
}

/**
 * Dots at leaves, where there is room, and at the nodes that are clusters.
 *
 * @param {Picture} picture
 * @param {Drawn} scene
 * @param {Place} place
 * @param {Shades} tint
 * @param {{ leaves: boolean, clusters?: Set<number> | null, paper: string }} options
 */
export function dots(picture, scene, place, tint, { leaves, clusters, paper }) {
  const { n, kind, left, right, u, v, end } = scene;
  const { window } = place;
  for (let i = 0; i < n;) {
    if (!seen(window, left[i], right[i])) {
      i = end[i];
      continue;
    }
    const wide = (right[i] - left[i]) * place.across;
    if (wide < 2) {
      i = end[i];
      continue;
    }
    const colour = tint.colours[tint.branch[i]];
    if (clusters?.has(scene.id[i]) && v[i] >= window.v0 && v[i] <= window.v1 && wide > 5 && n > 1) {
      const [x, y] = place.at(u[i], kind[i] > LEAF ? apex(scene, place, i) : v[i]);
      picture.fill("dots", paper).dot(x, y, 4.2);
      picture.fill("front", colour).dot(x, y, 3.2);
    } else if (leaves && kind[i] === LEAF && wide >= 5) {
      picture.fill("dots", colour).dot(...place.at(u[i], v[i]), Math.min(2.6, 0.2 * wide + 0.8));
    }
    i += 1;
  }
}

/**
 * The tips' colours along the ground; neighbours of the same colour share a band.
 *
 * @param {Picture} picture
 * @param {Drawn} scene
 * @param {Place} place
 * @param {Shades} tint
 * @param {{ gap: number, strip: number, folded?: boolean }} options `folded`: only of folded tips
 */
export function ring(picture, scene, place, tint, { gap, strip, folded = false }) {
  const { n, kind, left, right, end } = scene;
  const { window } = place;
  if (window.v1 < 0.98) return;
  /** @type {{ colour: string, from: number, to: number } | null} */
  let open = null;
  const flush = () => {
    if (open) band(picture.fill("ring", open.colour), place, open.from, open.to, gap, strip);
  };
  for (let i = 0; i < n;) {
    if (!seen(window, left[i], right[i])) {
      i = end[i];
      continue;
    }
    const fine = (right[i] - left[i]) * place.across < 0.6;
    if (kind[i] === INNER && !fine) {
      i += 1;
      continue;
    }
    if (folded && kind[i] <= LEAF) {
      flush();
      open = null;
      i = end[i];
      continue;
    }
    const colour = tint.colours[tint.band[i]];
    if (
      open &&
      (open.colour === colour || (open.to - open.from) * place.across < 0.6) &&
      left[i] - open.to < 1e-9
    ) {
      open.to = right[i];
    } else {
      flush();
      open = { colour, from: left[i], to: right[i] };
    }
    i = end[i];
  }
  flush();
}

/**
 * @param {Path} path
 * @param {Place} place
 * @param {number} from
 * @param {number} to
 * @param {number} gap
 * @param {number} strip
 */
function band(path, place, from, to, gap, strip) {
  const [a, b] = clamped(place.window.spans, from, to);
  if (a >= b) return;
  if (place.round) {
    path.move(...place.beyond(a, 1, gap));
    place.arc(path, 1, a, b, gap);
    path.line(...place.beyond(b, 1, gap + strip));
    place.arc(path, 1, b, a, gap + strip);
    path.close();
    return;
  }
  const [x0, y0] = place.beyond(a, 1, gap);
  const [x1, y1] = place.beyond(b, 1, gap + strip);
  path.box(x0, y0, x1 - x0, y1 - y0);
}

/**
 * The line of a cut at v.
 *
 * @param {Picture} picture
 * @param {Place} place
 * @param {number} v
 * @param {string} colour
 */
export function cutLine(picture, place, v, colour) {
  const path = picture.stroke("front", colour, 1.25, { dash: [5, 4] });
  stretch(path, place, v, 0, 1);
}
