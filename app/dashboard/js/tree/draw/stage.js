// The canvases: the picture, and over it what is pointed at. Draws crisp where the machine keeps up;
// where it does not, the last crisp picture is moved while a gesture lasts and drawn anew at rest.

import { home, relative } from "./camera.js";
import { paint } from "./picture.js";
import { place as placed } from "./place.js";

/** Frames slower than this while moving: from then on only the last picture is moved. */
const SLOW_MS = 26;
const REST_MS = 110;
/** A picture that is moved is drawn anew so often at the most. */
const REFRESH_MS = 180;
const MOST_PIXELS = 9e6;

export class Stage {
  /**
   * @param {HTMLElement} root
   * @param {object} own {compose(camera) -> Picture, over(context, place), family(), frame(), onrest(), onresize()}
   */
  constructor(root, own) {
    this.root = root;
    this.own = own;
    this.base = document.createElement("canvas");
    this.over = document.createElement("canvas");
    this.base.className = "tree-base";
    this.over.className = "tree-over";
    for (const canvas of [this.base, this.over]) canvas.setAttribute("aria-hidden", "true");
    root.prepend(this.base, this.over);
    this.context = this.base.getContext("2d", { alpha: true });
    this.overContext = this.over.getContext("2d");
    this.camera = home();
    this.drawn = null; // The camera of the picture on the canvas.
    this.picture = null;
    this.slow = false;
    this.width = 0;
    this.height = 0;
    this.stopped = false;
    this.sizes = new ResizeObserver(() => this.#resized());
    this.sizes.observe(root);
    this.#measure();
  }

  stop() {
    this.stopped = true;
    this.sizes.disconnect();
    cancelAnimationFrame(this.asked);
    clearTimeout(this.resting);
    for (const canvas of [this.base, this.over]) canvas.width = canvas.height = 0;
  }

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
    this.own.onresize();
  }

  /** Draw now, crisp. */
  draw(now = performance.now()) {
    if (this.stopped || !this.width) return;
    this.show(this.own.compose(this.camera));
    this.drawn = { ...this.camera };
    this.drawnAt = now;
    this.overlay();
  }

  /** A picture on the way to another one: nothing is pointed at. */
  pass(picture) {
    this.#clear(this.overContext);
    this.show(picture);
  }

  #clear(context) {
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, context.canvas.width, context.canvas.height);
  }

  /** Put a picture on the canvas. */
  show(picture) {
    this.picture = picture;
    this.#moveCanvas(null);
    const { context, ratio } = this;
    this.#clear(context);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    paint(context, picture, this.own.family());
  }

  /** Only what is pointed at. */
  overlay() {
    const { overContext: context, ratio } = this;
    this.#clear(context);
    if (!this.picture?.place) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.own.over(context, placed(this.own.frame(), this.camera));
  }

  /** The camera moves: a frame soon, and a crisp one when it has come to rest. */
  move(camera) {
    this.camera = camera;
    this.busy = true;
    if (!this.asked) this.asked = requestAnimationFrame((now) => this.#frame(now));
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.#rest(), REST_MS);
  }

  #frame(now) {
    this.asked = 0;
    if (this.stopped) return;
    this.#judge(now);
    if (this.slow && this.drawn && !this.#worn(now)) this.#moveCanvas(this.drawn);
    else this.draw(now);
  }

  /** Whether the picture that is moved shows too little by now: stretched, or shifted far. */
  #worn(now) {
    if (now - this.drawnAt < REFRESH_MS) return false;
    const [sx, sy, tx, ty] = relative(this.own.frame(), this.drawn, this.camera);
    const stretch = Math.max(sx, sy, 1 / sx, 1 / sy);
    const shift = Math.max(
      Math.abs(tx + ((sx - 1) * this.width) / 2) / this.width,
      Math.abs(ty + ((sy - 1) * this.height) / 2) / this.height,
    );
    return stretch > 1.8 || shift > 0.3;
  }

  /** Whether the machine keeps up: the time from frame to frame while something moves. */
  #judge(now) {
    const since = now - (this.before ?? 0);
    this.before = now;
    if (since > 250) {
      this.late = 0;
      return;
    }
    this.late = since > SLOW_MS ? (this.late ?? 0) + 1 : 0;
    if (this.late >= 2) this.slow = true;
  }

  #rest() {
    if (this.stopped) return;
    const began = performance.now();
    this.draw();
    // Quick again, e.g. nearer and with less to draw: the next gesture tries it crisp.
    const spent = performance.now() - began;
    if (this.slow && spent < 7) this.slow = false;
    this.busy = false;
    this.own.onrest();
  }

  #moveCanvas(from) {
    let text = "";
    if (from) {
      const { camera } = this;
      const [sx, sy, tx, ty] = relative(this.own.frame(), from, camera);
      text = `matrix(${sx}, 0, 0, ${sy}, ${tx}, ${ty})`;
    }
    if (text === this.moved) return;
    this.moved = text;
    for (const canvas of [this.base, this.over])
      canvas.style.setProperty("transform", text || "none");
  }
}
