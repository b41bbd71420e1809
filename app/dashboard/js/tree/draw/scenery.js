// What is drawn of a store: the scene, its colours and frame, the camera, and the ways between them.

import { build } from "../model/scene.js";
import { NONE, Store } from "../model/store.js";
import { fromPortable, held, home, journey, portable, toward, zoomed } from "./camera.js";
import { byLabels, cutShown, tinted } from "./colouring.js";
import { compose, frameFor } from "./composition.js";
import { Detail } from "./detail.js";
import { highlight } from "./highlight.js";
import { between, change, glide, passage } from "./motion.js";
import { colours } from "./palettes.js";
import { Stage } from "./stage.js";

const GLIDE_MS = 420;
/** Larger scenes are there at once, and labels are left out on the way in all but small ones. */
const MOST_GLIDING = 30_000;
const MOST_LABELLED = 800;

/** Events: "drawn" (a crisp picture), "looked" (what the address says has changed), "shown" (other nodes), "painted" (other colours). */
export class Scenery extends EventTarget {
  constructor(root, { source, looked, signal }) {
    super();
    Object.assign(this, { root, source, looked, signal });
    this.store = new Store();
    this.scene = null;
    this.frame = null;
    this.tint = null;
    this.cut = null; // The service's or our own answer about the cut.
    this.byNode = new Map(); // Category of each cluster's node.
    this.hovered = NONE; // Row.
    this.linked = null; // Ids that are marked from outside.
    this.theme = this.#themed();
    this.stage = new Stage(root, {
      compose: (camera) => this.#composed({ camera }),
      over: (context, place) => highlight(context, this, place),
      family: () => this.theme.family,
      frame: () => this.frame,
      onrest: () => this.#rested(),
      onresize: () => this.resized(),
    });
    this.detail = new Detail(this);
    const themed = () => this.scene && this.repaint();
    addEventListener("themechange", themed);
    signal.addEventListener("abort", () => {
      removeEventListener("themechange", themed);
      this.flight?.abort();
      this.detail.stop();
      this.stage.stop();
    });
  }

  #themed() {
    return colours(document.documentElement.dataset.theme, this.looked.palette);
  }

  tell(name, detail = {}) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }

  #built() {
    return build(this.store, this.looked);
  }

  #framed(scene) {
    const { store, theme, looked, stage } = this;
    const { width, height } = stage;
    const banded = byLabels(looked);
    return frameFor(store, scene, {
      shape: looked.shape,
      width,
      height,
      theme,
      banded,
      labels: looked.labels,
    });
  }

  #set(scene) {
    this.scene = scene;
    this.tint = tinted(this, scene);
    this.frame = this.#framed(scene);
    this.hovered = NONE;
  }

  /** The store has changed: the same of it, not drawn yet. */
  rebuild() {
    this.#set(this.#built());
  }

  #composed({
    camera,
    scene = this.scene,
    frame = this.frame,
    colours: own = this.tint,
    labels = this.looked.labels,
  }) {
    return compose({
      store: this.store,
      scene,
      frame,
      camera,
      theme: this.theme,
      tint: own,
      cut: cutShown(this, scene),
      labels,
    });
  }

  /** The picture as it is now, for files; in other colours with another theme. */
  picture(theme = this.theme) {
    const own = this.theme;
    this.theme = theme;
    try {
      return this.#composed({ camera: this.stage.camera, colours: tinted(this, this.scene) });
    } finally {
      this.theme = own;
    }
  }

  // --- drawing -----------------------------------------------------------------------------------

  /** Show what `looked` says now; nodes glide to their places. */
  async show({ camera = this.stage.camera, ms = GLIDE_MS } = {}) {
    if (!this.store.has(this.looked.root)) return;
    this.flight?.abort();
    const flight = new AbortController();
    this.flight = flight;
    const before = {
      scene: this.scene,
      frame: this.frame,
      camera: this.stage.camera,
      tint: this.tint,
    };
    this.#set(this.#built());
    const after = { scene: this.scene, frame: this.frame, camera: held(this.frame, camera) };
    this.stage.camera = after.camera;
    this.looked.camera = portable(this.frame, after.camera);
    this.tell("shown");
    this.tell("looked");
    const step = this.#way(before, after);
    const whole =
      step && (await glide(ms, (t) => t < 1 && this.stage.pass(step(t)), flight.signal));
    // Broken off by another one, which draws; broken off by the user, it is at its end at once.
    if (this.signal.aborted || (whole === false && this.flight !== flight)) return;
    this.stage.draw();
    this.tell("drawn");
    this.detail.soon();
  }

  /** Pictures between two states: `(t) -> Picture`. */
  #way(before, after) {
    if (!before.scene || before.scene.n + after.scene.n > MOST_GLIDING) return null;
    if (before.frame.shape !== after.frame.shape) {
      return change(after.scene, this.tint, before, after).at;
    }
    const way = passage(before.scene, after.scene);
    const own = way.base === after.scene ? this.tint : before.tint;
    return (t) =>
      this.#composed({
        camera: between(before.camera, after.camera, t),
        frame: between(before.frame, after.frame, t),
        scene: way.at(t),
        colours: own,
        labels: this.looked.labels && way.base.n < MOST_LABELLED,
      });
  }

  /** Other colours of the same scene. */
  recolour() {
    this.tint = tinted(this, this.scene);
    const frame = this.#framed(this.scene);
    const grown = frame.strip !== this.frame.strip;
    this.frame = frame;
    if (grown) this.stage.camera = held(frame, this.stage.camera);
    this.stage.draw();
    this.tell("drawn");
  }

  /** The theme or the palette has changed. */
  repaint() {
    this.theme = this.#themed();
    this.recolour();
    this.tell("painted");
  }

  /** The window has another size. */
  resized() {
    if (!this.scene) return;
    const kept = portable(this.frame, this.stage.camera);
    this.frame = this.#framed(this.scene);
    this.stage.camera = fromPortable(this.frame, kept);
    this.stage.draw();
    this.tell("drawn");
    this.detail.soon();
  }

  #rested() {
    this.looked.camera = portable(this.frame, this.stage.camera);
    this.tell("looked");
    this.tell("drawn");
    this.detail.soon();
  }

  // --- the camera --------------------------------------------------------------------------------

  pan(dx, dy) {
    if (!this.frame) return;
    this.flight?.abort();
    const { camera } = this.stage;
    this.stage.move(held(this.frame, { ...camera, x: camera.x + dx, y: camera.y + dy }));
  }

  /** `depth`: along the branches instead of across the leaves, where the shape has two ways. */
  zoom(factor, x = this.stage.width / 2, y = this.stage.height / 2, { depth = false } = {}) {
    if (!this.frame) return;
    this.flight?.abort();
    const flat = this.frame.shape !== "circular";
    const own = depth && flat ? { depth: factor } : {};
    this.stage.move(zoomed(this.frame, this.stage.camera, depth && flat ? 1 : factor, x, y, own));
  }

  async whole() {
    await this.fly(home());
  }

  async fly(camera, ms = GLIDE_MS) {
    this.flight?.abort();
    const flight = new AbortController();
    this.flight = flight;
    const to = held(this.frame, camera);
    const at = journey(this.stage.camera, to);
    await glide(ms, (t) => this.stage.move(t < 1 ? at(t) : to), flight.signal);
  }

  /** Bring a row to the middle, near enough to be read. */
  async approach(row) {
    const camera = toward(this.scene, this.frame, this.stage.camera, row);
    if (camera) await this.fly(camera);
    else this.stage.overlay();
  }

  /** The camera of an address. */
  cameraOf(numbers) {
    return numbers ? fromPortable(this.#framed(this.#built()), numbers) : home();
  }
}
