// Two trees that face each other, their leaves joined by what they share. Pointing at a node of one
// shows where its points lie in the other.

import { INNER } from "../model/scene.js";
import { sceneOf, sidePlace, topClusters } from "../model/tangle_scene.js";
import { branches, stretch, stub } from "./dendrogram.js";
import { gestures } from "./gestures.js";
import { spaced, titleOf } from "./labels.js";
import { colours, legible, mix } from "./palettes.js";
import { pick } from "./picking.js";
import { paint, Picture } from "./picture.js";
import { clip, width } from "./text.js";
import { colourOf } from "./tint.js";

const CLUSTERS = 8;
const PAD = 16;
const FURTHEST = 60;
const REST_MS = 90;
const NONE = -1;

/** Events: "hover" {side, row, x, y}. */
export class TangleView extends EventTarget {
  constructor(root, { signal }) {
    super();
    this.root = root;
    this.camera = { k: 1, y: 0 };
    this.answer = null;
    this.pointed = null; // {side, row}
    this.canvases = [0, 1].map(() => {
      const canvas = document.createElement("canvas");
      canvas.setAttribute("aria-hidden", "true");
      root.append(canvas);
      return canvas;
    });
    this.sizes = new ResizeObserver(() => this.draw());
    this.sizes.observe(root);
    const themed = () => this.answer && this.#coloured();
    addEventListener("themechange", themed);
    const end = gestures(root, {
      pan: (_dx, dy) => this.move({ ...this.camera, y: this.camera.y + dy }),
      zoom: (factor, _x, y) => this.zoom(factor, y),
      hover: (x, y) => this.point(x === null ? null : this.#at(x, y), x, y),
      click: (x, y) => this.point(this.#at(x, y), x, y),
      twice: (_x, y) => this.zoom(2, y),
      begin: () => {},
      end: () => {},
    });
    signal.addEventListener("abort", () => {
      end();
      this.sizes.disconnect();
      removeEventListener("themechange", themed);
      cancelAnimationFrame(this.asked);
      clearTimeout(this.resting);
      for (const canvas of this.canvases) canvas.width = canvas.height = 0;
    });
  }

  show(answer) {
    this.answer = answer;
    this.sides = { left: sceneOf(answer.left), right: sceneOf(answer.right) };
    const { left, right } = this.sides;
    this.links = answer.links
      .map(([a, b, points]) => ({
        a: left.rowOf.get(a) ?? NONE,
        b: right.rowOf.get(b) ?? NONE,
        points,
      }))
      .filter(({ a, b }) => a !== NONE && b !== NONE);
    this.most = this.links.reduce((most, one) => Math.max(most, one.points), 1);
    this.cluster = topClusters(left, CLUSTERS);
    this.pointed = null;
    this.camera = { k: 1, y: 0 };
    this.#coloured();
  }

  /** The left tree by its highest clusters; what joins and the right ends by where most come from. */
  #coloured() {
    this.theme = colours(document.documentElement.dataset.theme, "okabe-ito");
    const { theme, links, cluster } = this;
    const { left, right } = this.sides;
    const list = [
      theme.ink,
      ...Array.from({ length: CLUSTERS }, (_, at) => colourOf(theme, at, true)),
    ];
    const votes = new Map();
    for (const { a, b, points } of links) {
      if (cluster[a] < 0) continue;
      const own = votes.get(b) ?? new Float64Array(CLUSTERS);
      own[cluster[a]] += points;
      votes.set(b, own);
    }
    const ends = new Uint16Array(right.n);
    for (const [row, own] of votes) ends[row] = 1 + own.indexOf(Math.max(...own));
    // An inner node on the right has the colour that all below it have.
    for (let row = right.n - 1; row > 0; row -= 1) {
      const up = right.parent[row];
      if (right.kind[up] !== INNER) continue;
      right.mixed ??= new Int32Array(right.n).fill(NONE);
      const own = right.kind[row] === INNER ? Math.max(0, right.mixed[row]) : ends[row];
      right.mixed[up] = right.mixed[up] === NONE || right.mixed[up] === own ? own : 0;
      ends[up] = right.mixed[up];
    }
    right.mixed = null;
    const soft = list.map((one) => mix(one, theme.paper, 0.62));
    const text = list.map((one, at) => (at === 0 ? theme.text : legible(one, theme)));
    const base = { colours: list, soft, text };
    const own = Uint16Array.from(cluster, (one) => one + 1);
    this.wide = Math.max(...[left, right].map((scene) => widest(scene, theme.family)));
    this.tints = {
      left: { ...base, branch: own, band: own },
      right: { ...base, branch: ends, band: ends },
    };
    this.draw();
  }

  /** Where everything stands across the page; labels take no more than they need. */
  #layout() {
    const { clientWidth: across, clientHeight: height } = this.root;
    const label = across < 620 ? 0 : Math.min(this.wide, across * 0.12);
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

  places() {
    const layout = this.#layout();
    return {
      layout,
      left: sidePlace(layout.left, this.camera),
      right: sidePlace(layout.right, this.camera),
    };
  }

  picture() {
    const { theme, sides, tints, links, cluster } = this;
    const { layout, left, right } = this.places();
    const picture = new Picture(layout.width, layout.height);
    const bands = [...links].sort((a, b) => b.points - a.points);
    for (const { a, b, points } of bands) {
      const colour = cluster[a] < 0 ? theme.ink : colourOf(theme, cluster[a], true);
      this.#link(
        picture.stroke("back", colour, this.#thick(points, left), { alpha: 0.42 }),
        layout,
        left.pu(sides.left.u[a]),
        right.pu(sides.right.u[b]),
      );
    }
    for (const [side, place] of [
      ["left", left],
      ["right", right],
    ]) {
      const scene = sides[side];
      const base = Math.min(1.25, Math.max(0.55, 0.3 * (place.across / scene.tips)));
      branches(picture, scene, place, tints[side], { base, guides: theme.guide });
      if (layout.label) this.#labels(picture, side, place, layout);
    }
    return picture;
  }

  #thick(points, place) {
    const most = Math.min(14, (0.7 * place.across) / Math.max(8, this.sides.left.tips));
    return Math.round(4 * Math.max(0.75, most * Math.sqrt(points / this.most))) / 4;
  }

  #link(path, { from, to, height }, ya, yb) {
    if ((ya < -50 && yb < -50) || (ya > height + 50 && yb > height + 50)) return;
    const middle = (from + to) / 2;
    path.move(from, ya);
    path.cube(middle, ya, middle, yb, to, yb);
  }

  #labels(picture, side, place, layout) {
    const scene = this.sides[side];
    const size = Math.max(8.5, Math.min(12, 0.9 * (place.across / scene.tips)));
    const rows = [];
    for (let row = 0; row < scene.n; row += 1) if (scene.kind[row] !== INNER) rows.push(row);
    rows.sort((a, b) => scene.leaves[b] - scene.leaves[a] || a - b);
    for (const row of spaced(rows, (one) => place.pu(scene.u[one]), layout.height, size)) {
      const title = titleOf(scene, scene, row);
      const text = clip(title, size, layout.label, this.theme.family);
      const [x, y] = place.beyond(scene.u[row], 1, 6);
      const colour = this.tints[side].text[this.tints[side].branch[row]];
      if (text)
        picture.text("texts", x, y, text, {
          size,
          colour,
          align: place.way > 0 ? "left" : "right",
          whole: title,
        });
    }
  }

  draw() {
    const { clientWidth, clientHeight } = this.root;
    if (!this.answer || !clientWidth) return;
    const ratio = Math.min(globalThis.devicePixelRatio || 1, 2);
    const [w, h] = [clientWidth, clientHeight].map((one) => Math.round(one * ratio));
    for (const canvas of this.canvases) {
      if (canvas.width === w && canvas.height === h) continue;
      canvas.width = w;
      canvas.height = h;
    }
    this.ratio = ratio;
    this.#paint(0, this.picture());
    this.overlay();
  }

  #paint(at, picture) {
    const canvas = this.canvases[at];
    const context = canvas.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    paint(context, picture, this.theme.family);
  }

  /** The node that is pointed at, what it is joined with, and the ends of that. */
  overlay() {
    const { theme, sides, pointed } = this;
    const { layout, left, right } = this.places();
    const picture = new Picture(layout.width, layout.height);
    if (pointed) {
      const places = { left, right };
      const other = pointed.side === "left" ? "right" : "left";
      this.#trace(picture, sides[pointed.side], places[pointed.side], pointed.row, true);
      const ends = new Set();
      for (const one of this.shared(pointed)) {
        const thick = Math.max(1.5, this.#thick(one.points, left));
        this.#link(
          picture.stroke("strokes", theme.accent, thick, { alpha: 0.85 }),
          layout,
          left.pu(sides.left.u[one.a]),
          right.pu(sides.right.u[one.b]),
        );
        ends.add(other === "left" ? one.a : one.b);
      }
      for (const row of ends) this.#trace(picture, sides[other], places[other], row, false);
    }
    this.#paint(1, picture);
  }

  #trace(picture, scene, place, row, isWhole) {
    const { theme } = this;
    const path = picture.stroke("strokes", theme.accent, isWhole ? 2.4 : 1.6);
    const { parent, u, v, left, right } = scene;
    const first = isWhole ? scene.n : 1;
    for (let at = row, step = 0; parent[at] >= 0 && step < first; at = parent[at], step += 1) {
      stub(path, place, u[at], v[parent[at]], v[at]);
      if (isWhole) stretch(path, place, v[parent[at]], u[at], u[parent[at]]);
    }
    const [x, y] = place.beyond(right[row], 1, 4);
    const [x0, y0] = place.at(left[row], Math.max(0, v[row]));
    picture.fill("areas", theme.accent, 0.1).box(Math.min(x, x0), y0, Math.abs(x - x0), y - y0);
    picture.fill("front", theme.accent).dot(...place.at(u[row], v[row]), 3.5);
  }

  /** The links of all ends below a node, the most points first. */
  shared({ side, row }) {
    const scene = this.sides[side];
    const end = scene.end[row];
    const own = side === "left" ? "a" : "b";
    return this.links.filter((one) => one[own] >= row && one[own] < end);
  }

  #at(x, y) {
    if (!this.answer) return null;
    const { layout, left, right } = this.places();
    const side = x < layout.from ? "left" : x > layout.to ? "right" : null;
    if (!side) return null;
    const place = side === "left" ? left : right;
    const row = pick(this.sides[side], place, x, y);
    return row === NONE ? null : { side, row };
  }

  point(pointed, x = null, y = null) {
    const same = pointed?.side === this.pointed?.side && pointed?.row === this.pointed?.row;
    this.pointed = pointed;
    if (!same && this.answer) this.overlay();
    this.dispatchEvent(new CustomEvent("hover", { detail: { pointed, x, y } }));
  }

  zoom(factor, y = this.root.clientHeight / 2) {
    const k = Math.min(FURTHEST, Math.max(1, this.camera.k * factor));
    this.move({ k, y: y - ((y - this.camera.y) * k) / this.camera.k });
  }

  move({ k, y }) {
    const { clientHeight: height } = this.root;
    this.camera = { k, y: Math.min(0, Math.max(height - height * k, y)) };
    this.asked ||= requestAnimationFrame(() => {
      this.asked = 0;
      // The links alone take as long as all else: at rest everything is drawn again.
      this.draw();
    });
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.draw(), REST_MS);
  }
}

/** Room for the labels of a side, px. */
function widest(scene, family) {
  let most = 0;
  for (let row = 0, seen = 0; row < scene.n && seen < 500; row += 1) {
    if (scene.kind[row] === INNER) continue;
    most = Math.max(most, width(titleOf(scene, scene, row), 11, family));
    seen += 1;
  }
  return Math.min(150, most + 4);
}
