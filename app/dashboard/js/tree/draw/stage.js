// The canvases: the picture, and the highlights over it. Every frame is drawn crisp if the machine
// keeps up; if not, the last crisp picture is moved during a gesture and redrawn at rest.

import { home, relative } from "./camera.js";
import { paint } from "./picture.js";
import { place as placed } from "./place.js";

/** @import { Picture } from "./picture.js" */
/** @import { Camera, Frame, Place } from "./place.js" */

/**
 * @typedef {{
 *   compose: (camera: Camera) => Picture,
 *   over: (context: CanvasRenderingContext2D, place: Place) => void,
 *   family: () => string,
 *   frame: () => Frame,
 *   onmove: () => unknown,
 *   onrest: () => unknown,
 *   onresize: () => unknown,
 * }} StageSource `compose` draws the picture, `over` the highlights on top
 */

/** If frames are slower than this while moving, only the last picture is moved. */
const SLOW_MS = 26;
const REST_MS = 110;
/** The shortest time between redraws of a moved picture, and how many times that of a drawing it is. */
const REFRESH_MS = 180;
const REFRESH_DRAWINGS = 6;
/** A moved picture may be stretched so much, and shifted by so much of the window: one that is drawn slowly more. */
const WORN = { stretch: 1.8, shift: 0.3 };
const SLOWLY_WORN = { stretch: 4, shift: 0.6 };
const SLOWLY_MS = 80;
const MOST_DRAWING_MS = 400;
const MOST_PIXELS = 9e6;

/** @param {string} name class */
function newCanvas(name) {
  const canvas = document.createElement("canvas");
  canvas.className = name;
  canvas.setAttribute("aria-hidden", "true");
  return canvas;
}

/** @param {HTMLCanvasElement} canvas */
export function contextOf(canvas) {
  const context = canvas.getContext("2d");
  if (!context) throw new Error("this browser has no canvas");
  return context;
}

export class Stage {
  base = newCanvas("tree-base");
  over = newCanvas("tree-over");
  context = contextOf(this.base);
  overContext = contextOf(this.over);
  /** @type {Camera} */
  camera = home();
  /** @type {Camera | null} The camera of the picture on the canvas. */
  drawn = null;
  drawnAt = 0;
  drawingMs = 0; // How long the last crisp picture took, with the browser's part of it where that is known.
  isCrisp = false; // Whether the last frame of a movement was drawn anew.
  framedAt = 0; // When the last frame ended.
  /** @type {Picture | null} */
  picture = null;
  slow = false;
  late = 0; // The number of slow frames in a row.
  before = 0; // The time of the last frame of a movement; 0 at rest.
  busy = false;
  stopped = false;
  width = 0;
  height = 0;
  ratio = 1;
  moved = "";
  pending = 0; // The id of a requested frame.
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  resting;

  /**
   * @param {HTMLElement} root
   * @param {StageSource} source
   */
  constructor(root, source) {
    this.root = root;
    this.source = source;
    root.prepend(this.base, this.over);
    this.sizes = new ResizeObserver(() => this.#resized());
    this.sizes.observe(root);
    this.#measure();
  }

  stop() {
    this.stopped = true;
    this.sizes.disconnect();
    cancelAnimationFrame(this.pending);
    clearTimeout(this.resting);
    for (const canvas of [this.base, this.over]) canvas.width = canvas.height = 0;
  }

  /** Whether the size of the window has changed. */
  #measure() {
    const { clientWidth: width, clientHeight: height } = this.root;
    const ratio = Math.min(
      globalThis.devicePixelRatio || 1,
      Math.sqrt(MOST_PIXELS / Math.max(1, width * height)),
      3,
    );
    const same = width === this.width && height === this.height && ratio === this.ratio;
    if (same || !width || !height) return false;
    Object.assign(this, { width, height, ratio });
    for (const canvas of [this.base, this.over]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    this.drawn = null;
    return true;
  }

  #resized() {
    if (this.stopped || !this.#measure()) return;
    this.source.onresize();
  }

  /** Draw now, crisp. */
  draw(now = performance.now()) {
    if (this.stopped || !this.width) return;
    const began = performance.now();
    this.show(this.source.compose(this.camera));
    this.drawn = { ...this.camera };
    this.drawnAt = now;
    this.overlay();
    this.drawingMs = performance.now() - began;
  }

  /**
   * Show a picture during a transition: nothing is highlighted.
   *
   * @param {Picture} picture
   */
  pass(picture) {
    clear(this.overContext);
    this.show(picture);
  }

  /**
   * Put a picture on the canvas.
   *
   * @param {Picture} picture
   */
  show(picture) {
    this.picture = picture;
    this.#moveCanvas(null);
    const { context, ratio } = this;
    clear(context);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    paint(context, picture, this.source.family());
  }

  /** Draw only the highlights. */
  overlay() {
    const { overContext: context, ratio } = this;
    clear(context);
    if (!this.picture?.place) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.source.over(context, placed(this.source.frame(), this.camera));
  }

  /**
   * Move the camera: a frame soon, and a crisp one when it has come to rest.
   *
   * @param {Camera} camera
   */
  move(camera) {
    this.camera = camera;
    this.source.onmove();
    this.busy = true;
    if (!this.pending) this.pending = requestAnimationFrame((now) => this.#frame(now));
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.#rest(), REST_MS);
  }

  /** @param {number} now */
  #frame(now) {
    this.pending = 0;
    if (this.stopped) return;
    this.#judge(now);
    this.isCrisp = !this.slow || !this.drawn || this.#isWorn(this.drawn, now);
    if (!this.isCrisp) this.#moveCanvas(this.drawn);
    else {
      this.draw(now);
      // One such frame is enough to know.
      if (this.drawingMs > 2 * SLOW_MS) this.slow = true;
    }
    this.framedAt = performance.now();
  }

  /**
   * Whether the moved picture shows too little by now: it is stretched, or shifted far.
   *
   * @param {Camera} drawn
   * @param {number} now
   */
  #isWorn(drawn, now) {
    if (now - this.drawnAt < Math.max(REFRESH_MS, REFRESH_DRAWINGS * this.drawingMs)) return false;
    const [sx, sy, tx, ty] = relative(this.source.frame(), drawn, this.camera);
    const stretch = Math.max(sx, sy, 1 / sx, 1 / sy);
    const shift = Math.max(
      Math.abs(tx + ((sx - 1) * this.width) / 2) / this.width,
      Math.abs(ty + ((sy - 1) * this.height) / 2) / this.height,
    );
    const worn = this.drawingMs > SLOWLY_MS ? SLOWLY_WORN : WORN;
    return stretch > worn.stretch || shift > worn.shift;
  }

  /**
   * Decide whether the machine keeps up, by the time between frames during motion.
   *
   * @param {number} now
   */
  #judge(now) {
    const { before } = this;
    this.before = now;
    if (!before) {
      this.late = 0;
      return;
    }
    const since = now - before;
    // The browser draws lines after the script has ended.
    if (this.isCrisp) this.drawingMs = Math.max(this.drawingMs, Math.min(since, MOST_DRAWING_MS));
    this.late = since > SLOW_MS ? this.late + 1 : 0;
    if (this.late >= 2) this.slow = true;
  }

  #rest() {
    if (this.stopped) return;
    // A long frame delays what comes next: that is no rest.
    const since = performance.now() - this.framedAt;
    if (this.pending || since < REST_MS) {
      this.resting = setTimeout(() => this.#rest(), Math.max(REST_MS - since, SLOW_MS));
      return;
    }
    this.draw();
    // Fast again, for instance with less to draw after zooming in: the next gesture is drawn crisp.
    if (this.slow && this.drawingMs < 7) this.slow = false;
    this.busy = false;
    this.before = 0;
    this.source.onrest();
  }

  /** @param {Camera | null} from the camera of the picture on the canvas; null: the current one */
  #moveCanvas(from) {
    let text = "";
    if (from) {
      const [sx, sy, tx, ty] = relative(this.source.frame(), from, this.camera);
      text = `matrix(${sx}, 0, 0, ${sy}, ${tx}, ${ty})`;
    }
    if (text === this.moved) return;
    this.moved = text;
    for (const canvas of [this.base, this.over]) {
      canvas.style.setProperty("transform", text || "none");
    }
  }
}

/** @param {CanvasRenderingContext2D} context */
function clear(context) {
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, context.canvas.width, context.canvas.height);
}
