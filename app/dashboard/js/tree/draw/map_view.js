// A map on its canvases: the points, and over them the outline, what is under the pointer, and the rim of
// a disc. Drag pans, wheel and pinch zoom; in the mode of the lasso, or with Shift, a drag outlines points.

import { boxOf, gridOf, nearestTo, toward } from "../model/point_map.js";
import { NONE } from "../model/store.js";
import { onGestures } from "./gestures.js";
import { noMemory } from "./label_places.js";
import { mapNames, Spots } from "./map_names.js";
import { glCloud } from "./point_cloud.js";
import { Pace } from "./pace.js";
import { pixelCloud } from "./point_pixels.js";
import { contextOf } from "./stage.js";

/** @import { Box, Corner, Grid, Points } from "../model/point_map.js" */
/** @import { Store } from "../model/store.js" */
/** @import { Cloud, MapCamera } from "./point_cloud.js" */
/** @import { Theme } from "./palettes.js" */

/**
 * @typedef {{
 *   onpoint: (place: number, x: number, y: number) => unknown,
 *   onchoose: (place: number) => unknown,
 *   onoutline: (outline: Corner[] | null) => unknown,
 *   ondrawn: () => unknown,
 *   signal: AbortSignal,
 * }} Handlers `onpoint`: the place under the pointer, or -1; `onoutline`: in the map's own units
 */

const REACH_PX = 9;
const ZOOMS = 5000;
const STEP = 1.6;
const CORNER_PX = 3;
const REST_MS = 140;
/** A point that keys choose keeps this distance to the edge. */
const EDGE_PX = 24;

export class MapView {
  element = document.createElement("div");
  over = document.createElement("canvas");
  context = contextOf(this.over);
  ground = document.createElement("canvas");
  /** @type {Points} */
  points = { xy: new Float32Array(0), n: 0 };
  /** @type {Cloud | null} */
  cloud = null;
  /** Whether a graphics card draws the points. */
  isFast = true;
  /** @type {Box} */
  box = boxOf(this.points);
  /** @type {Grid | null} */
  grid = null;
  /** @type {MapCamera} */
  camera = { x: 0, y: 0, k: 1 };
  /** @type {Theme | null} */
  theme = null;
  /** @type {string[]} */
  palette = [];
  /** The number of each point's colour. */
  index = new Uint8Array(0);
  /** @type {Corner[]} The outline, in the map's units. */
  outline = [];
  isClosed = false;
  isDisc = false;
  isLasso = false;
  /** @type {Store | null} The nodes whose names are on the map; null for none. */
  store = null;
  spots = new Spots(this.points);
  /** The names that are shown, which stay while one moves. */
  memory = noMemory();
  pointed = NONE;
  pace = new Pace();
  width = 0;
  height = 0;
  pending = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  rest;

  /** @param {Handlers} handlers */
  constructor(handlers) {
    this.handlers = handlers;
    const { element, over, ground } = this;
    element.className = "map-stage";
    element.tabIndex = 0;
    // The map takes the arrow keys, which a screen reader would otherwise keep.
    element.setAttribute("role", "application");
    element.setAttribute("aria-roledescription", "map");
    for (const canvas of [ground, over]) canvas.setAttribute("aria-hidden", "true");
    element.append(ground, over);
    const sizes = new ResizeObserver(() => this.#resized());
    sizes.observe(element);
    const stop = this.#listen();
    handlers.signal.addEventListener("abort", () => {
      stop();
      sizes.disconnect();
      clearTimeout(this.rest);
      this.cloud?.stop();
    });
  }

  /**
   * Show other points.
   *
   * @param {Points} points
   * @param {{ isDisc: boolean }} options
   */
  async show(points, { isDisc }) {
    this.cloud?.stop();
    // A canvas keeps the kind of its first context.
    const ground = document.createElement("canvas");
    ground.setAttribute("aria-hidden", "true");
    this.ground.replaceWith(ground);
    this.ground = ground;
    Object.assign(this, { points, isDisc, grid: null, outline: [], pointed: NONE });
    this.spots = new Spots(points);
    this.memory = noMemory();
    this.box = isDisc ? { x0: -1.02, y0: -1.02, x1: 1.02, y1: 1.02 } : boxOf(points);
    const cloud = await glCloud(ground, points);
    this.isFast = cloud !== null;
    this.cloud = cloud ?? pixelCloud(ground, points);
    this.#resized();
    this.whole();
  }

  /**
   * @param {Uint8Array} index of each point's colour
   * @param {string[]} palette
   * @param {Theme} theme
   */
  paint(index, palette, theme) {
    Object.assign(this, { index, palette, theme });
    this.cloud?.paint(index);
    this.draw();
  }

  /**
   * Write the names of nodes on their points.
   *
   * @param {Store | null} store
   */
  name(store) {
    this.store = store;
    this.spots.forget();
    this.draw();
  }

  /** @param {Uint8Array | null} lit */
  light(lit) {
    this.cloud?.light(lit);
    this.draw();
  }

  whole() {
    const { box, width, height } = this;
    const k = Math.min(width / (box.x1 - box.x0), height / (box.y1 - box.y0)) * 0.96;
    this.camera = { x: (box.x0 + box.x1) / 2, y: (box.y0 + box.y1) / 2, k };
    this.draw();
  }

  /**
   * @param {number} factor
   * @param {number} [x]
   * @param {number} [y]
   */
  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const least = this.#least();
    const k = Math.max(least / 4, Math.min(least * ZOOMS, this.camera.k * factor));
    const [atX, atY] = this.unit(x, y);
    this.camera = { x: atX - (x - this.width / 2) / k, y: atY + (y - this.height / 2) / k, k };
    this.#moved();
  }

  /**
   * @param {number} dx in px
   * @param {number} dy
   */
  pan(dx, dy) {
    const { camera } = this;
    this.camera = { ...camera, x: camera.x - dx / camera.k, y: camera.y + dy / camera.k };
    this.#moved();
  }

  /** What is in view, as an outline. */
  get view() {
    const { width, height } = this;
    return [this.unit(0, 0), this.unit(width, 0), this.unit(width, height), this.unit(0, height)];
  }

  /** @param {Corner[]} outline */
  setOutline(outline) {
    this.outline = outline;
    this.isClosed = true;
    this.draw();
  }

  /**
   * Px as the map's units.
   *
   * @param {number} x
   * @param {number} y
   * @returns {Corner}
   */
  unit(x, y) {
    const { camera, width, height } = this;
    return [camera.x + (x - width / 2) / camera.k, camera.y - (y - height / 2) / camera.k];
  }

  /**
   * The map's units as px.
   *
   * @param {number} x
   * @param {number} y
   * @returns {Corner}
   */
  px(x, y) {
    const { camera, width, height } = this;
    return [width / 2 + (x - camera.x) * camera.k, height / 2 - (y - camera.y) * camera.k];
  }

  draw() {
    this.pending ||= requestAnimationFrame(() => {
      this.pending = 0;
      this.#paint();
    });
  }

  /** Draw while the map moves: fewer points if frames are slow, all of them at rest. */
  #moved() {
    clearTimeout(this.rest);
    this.rest = setTimeout(() => {
      this.pace.end();
      this.draw();
    }, REST_MS);
    if (!this.pending) this.pace.frame(performance.now());
    this.draw();
  }

  #least() {
    const { box, width, height } = this;
    return Math.min(width / (box.x1 - box.x0), height / (box.y1 - box.y0)) || 1;
  }

  /** The size of a point in px: so that all together cover a part of the map, larger when near. */
  get size() {
    const near = Math.sqrt(Math.max(1, this.camera.k / this.#least()));
    const own = 0.42 * Math.sqrt((this.width * this.height) / Math.max(1, this.points.n));
    return Math.max(1, Math.min(7, own) * Math.min(3, near));
  }

  #resized() {
    const { element } = this;
    const [width, height] = [element.clientWidth, element.clientHeight];
    if (!width || !height) return;
    const isFirst = !this.width;
    const ratio = Math.min(globalThis.devicePixelRatio || 1, 2);
    for (const canvas of [this.ground, this.over]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const grown = isFirst ? 1 : Math.min(width, height) / Math.min(this.width, this.height);
    Object.assign(this, { width, height });
    this.camera = { ...this.camera, k: this.camera.k * grown };
    // At once, since a canvas of another size is empty.
    this.#paint();
  }

  #paint() {
    const { cloud, theme, palette, camera, width, height, size } = this;
    if (!cloud || !theme || !width) return;
    const ratio = this.ground.width / width;
    const { paper } = theme;
    cloud.draw({ camera, width, height, ratio, size, every: this.pace.every, paper, palette });
    this.#overlay(theme, ratio);
    this.handlers.ondrawn();
  }

  /**
   * @param {Theme} theme
   * @param {number} ratio
   */
  #overlay(theme, ratio) {
    const { context, width, height, outline } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    if (this.isDisc) {
      const [x, y] = this.px(0, 0);
      context.beginPath();
      context.arc(x, y, this.camera.k, 0, 2 * Math.PI);
      context.strokeStyle = theme.guide;
      context.lineWidth = 1;
      context.stroke();
    }
    if (this.store && this.points.n) this.#names(this.store, theme);
    if (outline.length > 1) {
      context.beginPath();
      for (const corner of outline) context.lineTo(...this.px(...corner));
      if (this.isClosed) context.closePath();
      context.fillStyle = theme.focus;
      context.globalAlpha = 0.1;
      context.fill();
      context.globalAlpha = 1;
      context.strokeStyle = theme.focus;
      context.lineWidth = 1.5;
      context.stroke();
    }
    if (this.pointed !== NONE) {
      const [x, y] = this.px(
        this.points.xy[2 * this.pointed],
        this.points.xy[2 * this.pointed + 1],
      );
      context.beginPath();
      context.arc(x, y, Math.max(5, this.size), 0, 2 * Math.PI);
      context.strokeStyle = theme.text;
      context.lineWidth = 2;
      context.stroke();
    }
  }

  /**
   * @param {Store} store
   * @param {Theme} theme
   */
  #names(store, { family, paper, text: ink }) {
    const { context, width, height, memory, camera } = this;
    const px = (/** @type {number} */ x, /** @type {number} */ y) => this.px(x, y);
    const options = { k: camera.k, px, width, height, family, memory, reach: this.size / 2 };
    context.lineJoin = "round";
    context.textBaseline = "middle";
    context.textAlign = "left";
    context.lineWidth = 3;
    context.strokeStyle = paper;
    context.fillStyle = ink;
    // The smallest first, so that no halo lies on a larger name.
    for (const { x, y, text, size, weight } of mapNames(store, this.spots, options).reverse()) {
      context.font = `${weight} ${size}px ${family}`;
      context.strokeText(text, x, y);
      context.fillText(text, x, y);
    }
    if (this.spots.isBehind) this.draw();
  }

  /**
   * The place of the point under a position in px; -1 if there is none.
   *
   * @param {number} x
   * @param {number} y
   */
  placeAt(x, y) {
    if (!this.points.n) return NONE;
    this.grid ??= gridOf(this.points, boxOf(this.points));
    return nearestTo(this.points, this.grid, ...this.unit(x, y), REACH_PX / this.camera.k);
  }

  /**
   * @param {number} place
   * @param {number} x
   * @param {number} y
   */
  #point(place, x, y) {
    if (place !== this.pointed) {
      this.pointed = place;
      this.draw();
    }
    this.handlers.onpoint(place, x, y);
  }

  #listen() {
    const { element, handlers } = this;
    let isOutlining = false;
    /** @type {Corner} The end of the outline in px. */
    let end = [0, 0];
    const { signal } = handlers;
    element.addEventListener(
      "pointerdown",
      (event) => {
        if (!this.isLasso && !event.shiftKey) return;
        if (event.pointerType === "mouse" && event.button !== 0) return;
        isOutlining = true;
        end = [event.offsetX, event.offsetY];
        this.outline = [this.unit(...end)];
        this.isClosed = false;
      },
      { signal },
    );
    const finish = () => {
      if (!isOutlining) return;
      isOutlining = false;
      this.isClosed = true;
      const { outline } = this;
      if (outline.length < 3) this.outline = [];
      this.draw();
      handlers.onoutline(outline.length < 3 ? null : outline);
    };
    element.addEventListener("pointerup", finish, { signal });
    element.addEventListener("pointercancel", finish, { signal });
    element.addEventListener("keydown", (event) => this.#key(event), { signal });
    element.addEventListener("blur", () => this.#point(NONE, 0, 0), { signal });
    return onGestures(element, {
      pan: (dx, dy) => {
        if (!isOutlining) {
          this.pan(dx, dy);
          return;
        }
        end = [end[0] + dx, end[1] + dy];
        const [x, y] = this.px(...this.outline[this.outline.length - 1]);
        if (Math.hypot(end[0] - x, end[1] - y) < CORNER_PX) return;
        this.outline.push(this.unit(...end));
        this.draw();
      },
      zoom: (factor, x, y) => this.zoom(factor, x, y),
      hover: (x, y) => this.#point(this.placeAt(x, y), x, y),
      leave: () => this.#point(NONE, 0, 0),
      click: (x, y) => {
        const place = this.placeAt(x, y);
        if (place !== NONE) handlers.onchoose(place);
        else {
          this.outline = [];
          handlers.onoutline(null);
        }
      },
      twice: (x, y) => this.zoom(2, x, y),
    });
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = this.width / 8;
    /** @type {(dx: number, dy: number) => void} */
    const go = (dx, dy) => (event.shiftKey ? this.pan(-dx * step, dy * step) : this.#walk(dx, dy));
    /** @type {Record<string, () => void>} */
    const actions = {
      "+": () => this.zoom(STEP),
      "=": () => this.zoom(STEP),
      "-": () => this.zoom(1 / STEP),
      0: () => this.whole(),
      ArrowLeft: () => go(-1, 0),
      ArrowRight: () => go(1, 0),
      ArrowUp: () => go(0, 1),
      ArrowDown: () => go(0, -1),
      Enter: () => this.pointed !== NONE && this.handlers.onchoose(this.pointed),
    };
    if (event.key === "Escape" && this.pointed !== NONE) {
      event.stopPropagation();
      this.#point(NONE, 0, 0);
    }
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }
  /**
   * Point to the next point that way, or first to the one nearest to the middle; it comes into view.
   *
   * @param {number} dx
   * @param {number} dy
   */
  #walk(dx, dy) {
    const { points, width, height } = this;
    if (!points.n) return;
    this.grid ??= gridOf(points, boxOf(points));
    const middle = this.unit(width / 2, height / 2);
    const place =
      this.pointed === NONE
        ? nearestTo(points, this.grid, ...middle, Infinity)
        : toward(points, this.pointed, dx, dy);
    if (place === NONE) return;
    const unit = /** @type {Corner} */ ([points.xy[2 * place], points.xy[2 * place + 1]]);
    let [x, y] = this.px(...unit);
    const isOutside = x < EDGE_PX || y < EDGE_PX || x > width - EDGE_PX || y > height - EDGE_PX;
    if (isOutside) {
      this.pan(width / 2 - x, height / 2 - y);
      [x, y] = this.px(...unit);
    }
    this.#point(place, x, y);
  }
}
