// Two trees that face each other, their leaves joined by the points that they share. Pointing at a
// node of one shows where its points are in the other.

import { INNER } from "../model/scene.js";
import { NONE } from "../model/store.js";
import { sceneOf, topClusters } from "../model/tangle_scene.js";
import { branches, stretch, stub } from "./dendrogram.js";
import { onGestures } from "./gestures.js";
import { apart, titleOf } from "./labels.js";
import { colourOf, legible, mix, pageColours } from "./palettes.js";
import { pick } from "./picking.js";
import { paint, Picture } from "./picture.js";
import { sidePlace } from "./place.js";
import { contextOf } from "./stage.js";
import { clip, width } from "./text.js";

/** @import { Tangle } from "../../net/answers.js" */
/** @import { TangleScene } from "../model/tangle_scene.js" */
/** @import { Path } from "./picture.js" */
/** @import { SidePlace } from "./place.js" */
/** @import { Shades } from "./tint.js" */

/**
 * @typedef {"left" | "right"} SideName
 * @typedef {{ side: SideName, row: number }} Pointed
 * @typedef {{ a: number, b: number, points: number, moved: boolean }} Link a row on the left, a row on the right, and how
 *   many points they share; `moved`: whether one of these stands in another group
 * @typedef {{ pointed: Pointed | null, x: number | null, y: number | null }} TangleHover
 * @typedef {{
 *   sides: Record<SideName, TangleScene>,
 *   links: Link[],
 *   most: number,
 *   cluster: Int32Array,
 * }} Facing the trees; `most`: points of the largest link; `cluster`: of each row on the left
 * @typedef {{ tints: Record<SideName, Shades>, labelWidth: number }} Painted
 */

const CLUSTERS = 8;
const PAD = 16;
/** How far ends may be zoomed apart, px, and a zoom that every tree allows. */
const END_PX = 60;
const LEAST_ZOOM = 4;
/** Below this width, in px, labels have a larger share and branches are thin. */
const NARROW = 620;
const REST_MS = 90;

/** Events: "hover" (TangleHover). */
export class TangleView extends EventTarget {
  camera = { k: 1, y: 0 };
  /** @type {Pointed | null} */
  pointed = null;
  /** @type {(Facing & Painted) | null} */
  shown = null;
  theme = pageColours("okabe-ito");
  ratio = 1;
  pending = 0; // The id of a requested frame.
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  resting;

  /**
   * @param {HTMLElement} root
   * @param {{ signal: AbortSignal }} options
   */
  constructor(root, { signal }) {
    super();
    this.root = root;
    this.canvases = [0, 1].map(() => {
      const canvas = document.createElement("canvas");
      canvas.setAttribute("aria-hidden", "true");
      root.append(canvas);
      return canvas;
    });
    const sizes = new ResizeObserver(() => this.draw());
    sizes.observe(root);
    addEventListener("themechange", () => this.#repaint(), { signal });
    const stop = onGestures(root, {
      pan: (_dx, dy) => this.move({ ...this.camera, y: this.camera.y + dy }),
      zoom: (factor, _x, y) => this.zoom(factor, y),
      hover: (x, y) => this.point(this.#at(x, y), x, y),
      leave: () => this.point(null),
      click: (x, y) => this.point(this.#at(x, y), x, y),
      twice: (_x, y) => this.zoom(2, y),
    });
    signal.addEventListener("abort", () => {
      stop();
      sizes.disconnect();
      cancelAnimationFrame(this.pending);
      clearTimeout(this.resting);
      for (const canvas of this.canvases) canvas.width = canvas.height = 0;
    });
  }

  /**
   * Listen to "hover".
   *
   * @param {(hover: TangleHover) => unknown} listener
   */
  onhover(listener) {
    this.addEventListener("hover", (event) =>
      listener(/** @type {CustomEvent<TangleHover>} */ (event).detail),
    );
  }

  /** @param {Tangle} answer */
  show(answer) {
    const sides = { left: sceneOf(answer.left), right: sceneOf(answer.right) };
    const moves = new Set(answer.moved.map(({ ends }) => ends.join()));
    const links = answer.links
      .map(([a, b, points]) => ({
        a: sides.left.rowOf.get(a) ?? NONE,
        b: sides.right.rowOf.get(b) ?? NONE,
        points,
        moved: moves.has(`${a},${b}`),
      }))
      .filter(({ a, b }) => a !== NONE && b !== NONE);
    const most = links.reduce((largest, link) => Math.max(largest, link.points), 1);
    const facing = { sides, links, most, cluster: topClusters(sides.left, CLUSTERS) };
    this.pointed = null;
    this.camera = { k: 1, y: 0 };
    this.shown = { ...facing, ...this.#painted(facing) };
    this.draw();
  }

  #repaint() {
    if (!this.shown) return;
    this.theme = pageColours("okabe-ito");
    this.shown = { ...this.shown, ...this.#painted(this.shown) };
    this.draw();
  }

  /**
   * The left tree is coloured by its highest clusters; links, and the ends on the right, by the
   * cluster of most of their points.
   *
   * @param {Facing} facing
   * @returns {Painted}
   */
  #painted({ sides: { left, right }, links, cluster }) {
    const { theme } = this;
    const list = [theme.ink, ...Array.from({ length: CLUSTERS }, (_, at) => colourOf(theme, at))];
    const base = {
      colours: list,
      soft: list.map((colour) => mix(colour, theme.paper, 0.62)),
      text: list.map((colour, at) => (at === 0 ? theme.text : legible(colour, theme))),
    };
    const onLeft = Uint16Array.from(cluster, (index) => index + 1);
    const onRight = majorities(right, links, cluster);
    return {
      tints: {
        left: { ...base, branch: onLeft, band: onLeft },
        right: { ...base, branch: onRight, band: onRight },
      },
      labelWidth: Math.max(widest(left, theme.family), widest(right, theme.family)),
    };
  }

  /**
   * The horizontal layout of the page; labels take no more width than they need.
   *
   * @param {number} labelWidth
   */
  #layout(labelWidth) {
    const { clientWidth: across, clientHeight: height } = this.root;
    const label = Math.min(labelWidth, across * (across < NARROW ? 0.15 : 0.12));
    const tree = (across - 2 * PAD - 2 * label) * 0.33;
    const common = { top: PAD, height: height - 2 * PAD, page: height };
    return {
      width: across,
      height,
      label,
      left: { ...common, x0: PAD, x1: PAD + tree },
      right: { ...common, x0: across - PAD, x1: across - PAD - tree },
      from: PAD + tree + label + 10,
      to: across - PAD - tree - label - 10,
    };
  }

  /** @param {Painted} shown */
  #places({ labelWidth }) {
    const layout = this.#layout(labelWidth);
    return {
      layout,
      left: sidePlace(layout.left, this.camera),
      right: sidePlace(layout.right, this.camera),
    };
  }

  /** The current picture. */
  picture() {
    const { theme, shown } = this;
    if (!shown) return new Picture(this.root.clientWidth, this.root.clientHeight);
    const { sides, tints, links, cluster } = shown;
    const { layout, left, right } = this.#places(shown);
    const picture = new Picture(layout.width, layout.height);
    const inOrder = [...links].sort(
      (x, y) => Number(x.moved) - Number(y.moved) || y.points - x.points,
    );
    for (const { a, b, points, moved } of inOrder) {
      const colour = moved || cluster[a] < 0 ? theme.ink : colourOf(theme, cluster[a]);
      const thick = thickness(shown, points, left);
      drawLink(
        moved
          ? picture.stroke("back", colour, Math.min(2, Math.max(1.25, thick)), { alpha: 0.85 })
          : picture.stroke("back", colour, thick, { alpha: 0.42 }),
        layout,
        left.pu(sides.left.u[a]),
        right.pu(sides.right.u[b]),
      );
    }
    /** @type {[SideName, SidePlace][]} */
    const both = [
      ["left", left],
      ["right", right],
    ];
    for (const [side, place] of both) {
      const scene = sides[side];
      const thickest = layout.width < NARROW ? 0.75 : 1.25;
      const base = Math.min(thickest, Math.max(0.55, 0.3 * (place.across / scene.tips)));
      branches(picture, scene, place, tints[side], { base, guides: theme.guide });
      this.#labels(picture, scene, tints[side], place, layout);
    }
    return picture;
  }

  /**
   * @param {Picture} picture
   * @param {TangleScene} scene
   * @param {Shades} tint
   * @param {SidePlace} place
   * @param {{ label: number, height: number }} layout
   */
  #labels(picture, scene, tint, place, layout) {
    const size = Math.max(8.5, Math.min(12, 0.9 * (place.across / scene.tips)));
    const rows = [];
    for (let row = 0; row < scene.n; row += 1) if (scene.kind[row] !== INNER) rows.push(row);
    rows.sort((a, b) => scene.leaves[b] - scene.leaves[a] || a - b);
    for (const row of apart(rows, (at) => place.pu(scene.u[at]), layout.height, size)) {
      const title = titleOf(scene, scene, row);
      const text = clip(title, size, layout.label, this.theme.family);
      if (!text) continue;
      const [x, y] = place.beyond(scene.u[row], 1, 6);
      picture.text("texts", x, y, text, {
        size,
        colour: tint.text[tint.branch[row]],
        align: place.way > 0 ? "left" : "right",
        whole: title,
      });
    }
  }

  /** Draw it on the canvases. */
  draw() {
    const { clientWidth, clientHeight } = this.root;
    if (!this.shown || !clientWidth) return;
    this.ratio = Math.min(globalThis.devicePixelRatio || 1, 2);
    const [w, h] = [clientWidth, clientHeight].map((length) => Math.round(length * this.ratio));
    for (const canvas of this.canvases) {
      if (canvas.width === w && canvas.height === h) continue;
      canvas.width = w;
      canvas.height = h;
    }
    this.#paint(this.canvases[0], this.picture());
    this.overlay();
  }

  /**
   * @param {HTMLCanvasElement} canvas
   * @param {Picture} picture
   */
  #paint(canvas, picture) {
    const context = contextOf(canvas);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    paint(context, picture, this.theme.family);
  }

  /** The node under the pointer, its links, and the ends of these. */
  overlay() {
    const { theme, shown, pointed } = this;
    if (!shown) return;
    const { sides } = shown;
    const { layout, left, right } = this.#places(shown);
    const picture = new Picture(layout.width, layout.height);
    if (pointed) {
      const places = { left, right };
      const other = pointed.side === "left" ? "right" : "left";
      this.#trace(picture, sides[pointed.side], places[pointed.side], pointed.row, true);
      const ends = new Set();
      for (const link of this.shared(pointed)) {
        const thick = Math.max(1.5, thickness(shown, link.points, left));
        drawLink(
          picture.stroke("strokes", theme.accent, thick, { alpha: 0.85 }),
          layout,
          left.pu(sides.left.u[link.a]),
          right.pu(sides.right.u[link.b]),
        );
        ends.add(other === "left" ? link.a : link.b);
      }
      for (const row of ends) this.#trace(picture, sides[other], places[other], row, false);
    }
    this.#paint(this.canvases[1], picture);
  }

  /**
   * @param {Picture} picture
   * @param {TangleScene} scene
   * @param {SidePlace} place
   * @param {number} row
   * @param {boolean} isWhole with the way to the root
   */
  #trace(picture, scene, place, row, isWhole) {
    const { theme } = this;
    const path = picture.stroke("strokes", theme.accent, isWhole ? 2.4 : 1.6);
    const { parent, u, v, left, right } = scene;
    const most = isWhole ? scene.n : 1;
    for (let at = row, step = 0; parent[at] >= 0 && step < most; at = parent[at], step += 1) {
      stub(path, place, u[at], v[parent[at]], v[at]);
      if (isWhole) stretch(path, place, v[parent[at]], u[at], u[parent[at]]);
    }
    const [x, y] = place.beyond(right[row], 1, 4);
    const [x0, y0] = place.at(left[row], Math.max(0, v[row]));
    picture.fill("areas", theme.accent, 0.1).box(Math.min(x, x0), y0, Math.abs(x - x0), y - y0);
    picture.fill("front", theme.accent).dot(...place.at(u[row], v[row]), 3.5);
  }

  /**
   * The links of all ends below a node.
   *
   * @param {Pointed} pointed
   * @returns {Link[]}
   */
  shared({ side, row }) {
    if (!this.shown) return [];
    const end = this.shown.sides[side].end[row];
    const own = side === "left" ? "a" : "b";
    return this.shown.links.filter((link) => link[own] >= row && link[own] < end);
  }

  /**
   * @param {number} x
   * @param {number} y
   * @returns {Pointed | null}
   */
  #at(x, y) {
    if (!this.shown) return null;
    const { layout, left, right } = this.#places(this.shown);
    const side = x < layout.from ? "left" : x > layout.to ? "right" : null;
    if (!side) return null;
    const row = pick(this.shown.sides[side], side === "left" ? left : right, x, y);
    return row === NONE ? null : { side, row };
  }

  /**
   * Point at a node, or at nothing.
   *
   * @param {Pointed | null} pointed
   * @param {number | null} [x]
   * @param {number | null} [y]
   */
  point(pointed, x = null, y = null) {
    const same = pointed?.side === this.pointed?.side && pointed?.row === this.pointed?.row;
    this.pointed = pointed;
    if (!same) this.overlay();
    this.dispatchEvent(new CustomEvent("hover", { detail: { pointed, x, y } }));
  }

  /** The nearest sense of zoom: ends are far enough apart to see each. */
  #nearest() {
    if (!this.shown) return 1;
    const { left, right } = this.shown.sides;
    const tips = Math.max(left.tips, right.tips);
    return Math.max(LEAST_ZOOM, (END_PX * tips) / this.root.clientHeight);
  }

  /**
   * @param {number} factor
   * @param {number} [y]
   */
  zoom(factor, y = this.root.clientHeight / 2) {
    const k = Math.min(this.#nearest(), Math.max(1, this.camera.k * factor));
    this.move({ k, y: y - ((y - this.camera.y) * k) / this.camera.k });
  }

  /** @param {{ k: number, y: number }} camera */
  move({ k, y }) {
    const { clientHeight: height } = this.root;
    this.camera = { k, y: Math.min(0, Math.max(height - height * k, y)) };
    this.pending ||= requestAnimationFrame(() => {
      this.pending = 0;
      // The links take as long as everything else: only at rest everything is redrawn.
      this.draw();
    });
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.draw(), REST_MS);
  }
}

/**
 * Index of the colour of each row on the right: that of the cluster of most of its points; for an
 * inner node that of all nodes below it if they agree, else 0.
 *
 * @param {TangleScene} right
 * @param {Link[]} links
 * @param {Int32Array} cluster
 */
function majorities(right, links, cluster) {
  /** @type {Map<number, Float64Array>} */
  const votes = new Map();
  for (const { a, b, points } of links) {
    if (cluster[a] < 0) continue;
    const counts = votes.get(b) ?? new Float64Array(CLUSTERS);
    counts[cluster[a]] += points;
    votes.set(b, counts);
  }
  const colour = new Uint16Array(right.n);
  for (const [row, counts] of votes) colour[row] = 1 + counts.indexOf(Math.max(...counts));
  const common = new Int32Array(right.n).fill(NONE);
  for (let row = right.n - 1; row > 0; row -= 1) {
    const up = right.parent[row];
    if (right.kind[up] !== INNER) continue;
    const own = right.kind[row] === INNER ? Math.max(0, common[row]) : colour[row];
    common[up] = common[up] === NONE || common[up] === own ? own : 0;
    colour[up] = common[up];
  }
  return colour;
}

/**
 * Width of a link of this many points, px.
 *
 * @param {Facing} facing
 * @param {number} points
 * @param {SidePlace} place
 */
function thickness({ sides, most }, points, place) {
  const thickest = Math.min(14, (0.7 * place.across) / Math.max(8, sides.left.tips));
  return Math.round(4 * Math.max(0.75, thickest * Math.sqrt(points / most))) / 4;
}

/**
 * @param {Path} path
 * @param {{ from: number, to: number, height: number }} layout
 * @param {number} ya
 * @param {number} yb
 */
function drawLink(path, { from, to, height }, ya, yb) {
  if ((ya < -50 && yb < -50) || (ya > height + 50 && yb > height + 50)) return;
  const middle = (from + to) / 2;
  path.move(from, ya);
  path.cube(middle, ya, middle, yb, to, yb);
}

/**
 * Width for the labels of a side, px.
 *
 * @param {TangleScene} scene
 * @param {string} family
 */
function widest(scene, family) {
  let most = 0;
  for (let row = 0, seen = 0; row < scene.n && seen < 500; row += 1) {
    if (scene.kind[row] === INNER) continue;
    most = Math.max(most, width(titleOf(scene, scene, row), 11, family));
    seen += 1;
  }
  return Math.min(150, most + 4);
}
