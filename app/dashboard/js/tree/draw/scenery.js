// The drawing of a store: scene, colours, frame and camera, and the transitions between them.

import { calledName, clusterNumbers } from "../model/cluster_names.js";
import { linksOf } from "../model/errors.js";
import { build, emptyScene, rows } from "../model/scene.js";
import { NONE, Store } from "../model/store.js";
import {
  carried,
  fromPortable,
  held,
  home,
  journey,
  nearest,
  portable,
  toward,
  zoomed,
} from "./camera.js";
import { cutMarks, isBanded, shownErrors, tinted } from "./colouring.js";
import { compose, frameFor } from "./composition.js";
import { highlight } from "./highlight.js";
import { noMemory } from "./label_places.js";
import { shownStrips } from "./item_tints.js";
import { between, change, glide, passage } from "./motion.js";
import { pageColours } from "./palettes.js";
import { Stage } from "./stage.js";
import { drawnName } from "./text.js";
import { tint } from "./tint.js";

/** @import { CutClusters } from "../model/cut.js" */
/** @import { Errors } from "../model/errors.js" */
/** @import { Support } from "../model/support.js" */
/** @import { Items } from "../model/items.js" */
/** @import { Look, PortableCamera } from "../model/look.js" */
/** @import { Drawn, Scene } from "../model/scene.js" */
/** @import { TreeSource } from "../model/source.js" */
/** @import { Labels } from "./colouring.js" */
/** @import { ViewFrame } from "./composition.js" */
/** @import { Memory } from "./label_places.js" */
/** @import { Picture } from "./picture.js" */
/** @import { Theme } from "./palettes.js" */
/** @import { Camera } from "./place.js" */
/** @import { Tint } from "./tint.js" */

/**
 * @typedef {{
 *   scene: Drawn,
 *   frame: ViewFrame,
 *   camera: Camera,
 * }} Staged the input of a picture
 */

const GLIDE_MS = 420;
/** Larger scenes do not glide, and only small ones glide with labels. */
const MOST_GLIDING = 30_000;
const MOST_LABELLED = 800;

/**
 * Events: "drawn" (a crisp picture), "look" (the look has changed, and with it the address), "shown"
 * (other nodes), "painted" (other colours), "moved" (another camera).
 */
export class Scenery extends EventTarget {
  store = new Store();
  /** @type {CutClusters | null} */
  cut = null;
  /** @type {Map<number, number>} Category of each cluster's node. */
  byNode = new Map();
  /** @type {Labels | null} */
  labels = null;
  /** @type {Errors | null} */
  errors = null;
  /** @type {Support | null} */
  support = null;
  /** @type {Items | null} */
  items = null;
  coarse = false;
  /** The names that are shown, which stay while one moves. */
  memory = noMemory();
  hovered = NONE; // A row.
  /** @type {number[] | null} Ids that are marked from outside. */
  marked = null;
  /** @type {Scene} */
  scene = emptyScene();
  /** @type {AbortController | null} The glide in progress. */
  flight = null;

  /**
   * @param {HTMLElement} root
   * @param {{ source: TreeSource, look: Look, signal: AbortSignal }} options
   */
  constructor(root, { source, look, signal }) {
    super();
    this.root = root;
    this.source = source;
    this.look = look;
    this.signal = signal;
    this.theme = this.#themed();
    /** @type {Tint} */
    this.tint = tint(this.scene, this.theme, { by: "none" });
    /** @type {Stage} */
    this.stage = new Stage(root, {
      compose: (camera) => this.#composed({ ...this.#staged(), camera }, { memory: this.memory }),
      over: (context, place) => highlight(context, this, place),
      family: () => this.theme.family,
      frame: () => this.frame,
      onmove: () => this.emit("moved"),
      onrest: () => this.#rested(),
      onresize: () => this.resized(),
    });
    /** @type {ViewFrame} */
    this.frame = this.#framed(this.scene);
    addEventListener("themechange", () => this.scene.n && this.repaint(), { signal });
    signal.addEventListener("abort", () => {
      this.flight?.abort();
      this.stage.stop();
    });
  }

  #themed() {
    return pageColours(this.look.palette);
  }

  /**
   * @param {string} name
   * @param {object} [detail]
   */
  emit(name, detail = {}) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }

  /**
   * @param {Drawn} scene
   * @param {{ width: number, height: number }} [size]
   * @returns {ViewFrame}
   */
  #framed(scene, { width, height } = this.stage) {
    this.#number();
    const { store, theme, look } = this;
    const { shape, labels } = look;
    const [banded, strips] = [isBanded(look), shownStrips(this.items).length];
    return frameFor(store, scene, { shape, width, height, theme, banded, strips, labels });
  }

  /** The clusters of the cut have their numbers where they have no names. */
  #number() {
    const cut = this.look.color === "cut" ? this.cut : null;
    this.store.numbered = cut ? clusterNumbers(cut, this.store) : new Map();
  }

  /** @returns {Staged} */
  #staged() {
    return { scene: this.scene, frame: this.frame, camera: this.stage.camera };
  }

  /**
   * The same part of the scene in a window of another size.
   *
   * @param {{ width: number, height: number }} size px
   * @returns {Staged}
   */
  #restaged(size) {
    const frame = this.#framed(this.scene, size);
    const camera = carried(this.frame, frame, this.stage.camera);
    return { scene: this.scene, frame, camera };
  }

  /** Lay out again after a change of the store or the look, without drawing. */
  rebuild() {
    this.scene = build(this.store, this.look);
    this.tint = tinted(this, this.scene);
    this.#reframe();
    this.hovered = NONE;
  }

  /** A new frame, and the camera that shows the same in it. */
  #reframe() {
    const frame = this.#framed(this.scene);
    this.stage.camera = carried(this.frame, frame, this.stage.camera);
    this.frame = frame;
  }

  /**
   * @param {Staged} staged
   * @param {{ tint?: Tint, labels?: boolean, memory?: Memory, clear?: boolean }} [options]
   */
  #composed(
    { scene, frame, camera },
    { tint: own = this.tint, labels = this.look.labels, memory = noMemory(), clear = false } = {},
  ) {
    const { store, theme } = this;
    this.#number();
    const cut = cutMarks(this, scene);
    const links = this.#links(scene);
    const marks = { cut, links, labels, memory, clear };
    return compose({ store, scene, frame, camera, theme, tint: own, ...marks });
  }

  /**
   * The confusions that are drawn.
   *
   * @param {Drawn} scene
   */
  #links(scene) {
    const errors = this.look.links ? shownErrors(this) : null;
    if (!errors) return [];
    const known = rows(scene);
    return linksOf(errors, this.store, scene, (id) => known.get(id) ?? NONE);
  }

  /**
   * Row of a node by its id, or -1.
   *
   * @param {number} id
   */
  rowOf(id) {
    return rows(this.scene).get(id) ?? NONE;
  }

  /**
   * A node's name; null if it has none or is not loaded.
   *
   * @param {number} id
   */
  nameOf(id) {
    const slot = this.store.slot(id);
    return slot === NONE ? null : this.store.name[slot] || null;
  }

  /**
   * What a node is called in the picture; null if nothing, or it is not loaded.
   *
   * @param {number} id
   */
  calledOf(id) {
    return drawnName(calledName(this.store, this.store.slot(id))) || null;
  }

  /** The picture of all that is loaded, whatever part of it the window shows. */
  overview() {
    return this.#composed({ ...this.#staged(), camera: home() }, { labels: false });
  }

  /**
   * The current picture, for files; in other colours with another theme, laid out anew for another size.
   *
   * @param {Theme} [theme]
   * @param {{ width: number, height: number } | null} [size] px
   */
  picture(theme = this.theme, size = null) {
    const own = this.theme;
    this.theme = theme;
    try {
      const staged = size ? this.#restaged(size) : this.#staged();
      return this.#composed(staged, { tint: tinted(this, this.scene), clear: true });
    } finally {
      this.theme = own;
    }
  }

  // --- drawing -----------------------------------------------------------------------------------

  /** Show the current look; nodes glide to their places. */
  async show({ camera = /** @type {Camera | null} */ (null), ms = GLIDE_MS } = {}) {
    if (!this.store.has(this.look.root)) return;
    this.flight?.abort();
    const flight = new AbortController();
    this.flight = flight;
    const before = { ...this.#staged(), tint: this.tint };
    this.rebuild();
    if (camera) this.stage.camera = held(this.frame, camera);
    const after = this.#staged();
    this.look.camera = portable(this.frame, after.camera);
    this.emit("shown");
    this.emit("look");
    const step = this.#way(before, after);
    const isWhole =
      step && (await glide(ms, (t) => t < 1 && this.stage.pass(step(t)), flight.signal));
    // If another glide interrupts it, that one draws; if the user does, it jumps to its end.
    if (this.signal.aborted || (isWhole === false && this.flight !== flight)) return;
    this.stage.draw();
    this.emit("drawn");
  }

  /**
   * The pictures between two states; null if there is no gliding.
   *
   * @param {Staged & { tint: Tint }} before
   * @param {Staged} after
   * @returns {((t: number) => Picture) | null}
   */
  #way(before, after) {
    if (!before.scene.n || before.scene.n + after.scene.n > MOST_GLIDING) return null;
    if (before.frame.shape !== after.frame.shape) {
      return change(after.scene, this.tint, before, after).at;
    }
    const way = passage(before.scene, after.scene);
    const own = way.base === after.scene ? this.tint : before.tint;
    const labels = this.look.labels && way.base.n < MOST_LABELLED;
    return (t) =>
      this.#composed(
        {
          camera: between(before.camera, after.camera, t),
          frame: between(before.frame, after.frame, t),
          scene: way.at(t),
        },
        { tint: own, labels },
      );
  }

  /** Draw the same scene in other colours. */
  recolour() {
    this.tint = tinted(this, this.scene);
    this.#reframe();
    this.stage.draw();
    this.emit("drawn");
  }

  /** The theme or the palette has changed. */
  repaint() {
    this.theme = this.#themed();
    this.recolour();
    this.emit("painted");
  }

  /** The window has another size. */
  resized() {
    if (!this.scene.n) return;
    this.#reframe();
    this.stage.draw();
    this.emit("drawn");
  }

  #rested() {
    this.look.camera = portable(this.frame, this.stage.camera);
    this.emit("look");
    this.emit("drawn");
  }

  // --- the camera --------------------------------------------------------------------------------

  /**
   * @param {number} dx
   * @param {number} dy
   */
  pan(dx, dy) {
    if (!this.scene.n) return;
    this.flight?.abort();
    const { camera } = this.stage;
    this.stage.move(held(this.frame, { ...camera, x: camera.x + dx, y: camera.y + dy }));
  }

  /**
   * Zoom around a point. `depth`: along the branches instead of across the leaves, for shapes with
   * both.
   *
   * @param {number} factor
   * @param {number} [x]
   * @param {number} [y]
   * @param {{ depth?: boolean }} [options]
   */
  zoom(factor, x = this.stage.width / 2, y = this.stage.height / 2, { depth = false } = {}) {
    if (!this.scene.n) return;
    this.flight?.abort();
    const isDepth = depth && this.frame.shape !== "circular";
    const most = nearest(this.scene, this.frame);
    const options = isDepth ? { depth: factor, most } : { most };
    this.stage.move(zoomed(this.frame, this.stage.camera, isDepth ? 1 : factor, x, y, options));
  }

  /** Show the whole picture. */
  async whole() {
    await this.fly(home());
  }

  /**
   * @param {Camera} camera
   * @param {number} [ms]
   */
  async fly(camera, ms = GLIDE_MS) {
    this.flight?.abort();
    const flight = new AbortController();
    this.flight = flight;
    const to = held(this.frame, camera);
    const at = journey(this.stage.camera, to);
    await glide(ms, (t) => this.stage.move(t < 1 ? at(t) : to), flight.signal);
  }

  /**
   * Bring a row to the middle, large enough to read.
   *
   * @param {number} row
   */
  async approach(row) {
    const camera = toward(this.scene, this.frame, this.stage.camera, row);
    if (camera) await this.fly(camera);
    else this.stage.overlay();
  }

  /**
   * The camera of an address.
   *
   * @param {PortableCamera | null} numbers
   */
  cameraOf(numbers) {
    return numbers ? fromPortable(this.#framed(build(this.store, this.look)), numbers) : home();
  }
}
