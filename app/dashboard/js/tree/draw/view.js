// The view of a tree: the loaded, shown, coloured and highlighted nodes, and how they change. It
// uses the stage and the service; the panels around it listen to its events.

import { aborted, hasStatus } from "../../net/problem.js";
import { cutColour } from "../model/cut.js";
import { FOLDED, INNER, LEAF, REST } from "../model/scene.js";
import { FIRST } from "../model/source.js";
import { NONE, Store } from "../model/store.js";
import { SUPPORT } from "../model/support.js";
import { fromPortable, home } from "./camera.js";
import { byLabels, colorBy, labelsIn } from "./colouring.js";
import { Detail, MOST_NODES } from "./detail.js";
import { onGestures } from "./gestures.js";
import { pick } from "./picking.js";
import { place as placed } from "./place.js";
import { Scenery } from "./scenery.js";

/** @import { View } from "../../net/answers.js" */
/** @import { CutClusters } from "../model/cut.js" */
/** @import { Look } from "../model/look.js" */
/** @import { TreeSource } from "../model/source.js" */

/**
 * Details of the events. `x` and `y` are null where the row was reached by keys; `same`: the pointer
 * has stayed on the row.
 *
 * @typedef {{ row: number, x: number | null, y: number | null, same: boolean }} Hover
 * @typedef {{ id: number | null }} Selection
 * @typedef {{ error: unknown, retry: () => unknown }} Trouble
 */

/** The number of nodes that one step of a path may load. */
const STEP_NODES = 600;
const MOST_STEPS = 12;

/** Events: Scenery's, and "hover" (Hover), "select" (Selection), "named", "problem"
 * (Trouble), "edited". */
export class TreeView extends Scenery {
  /** The tree's name, once it is known. */
  title = "";
  /** The method of the tree; empty until it is known. */
  method = "";
  /** The tree as a whole. */
  total = { leaves: 1, size: 1, height: 1 };
  /** @type {unknown} The error because of which the view ignores part of its link. */
  forgiven = null;
  /** Grows whenever the edition that is shown has changed. */
  revision = 0;
  /** @type {string | null} The cut that was suggested, and that is not part of the address. */
  suggestedCut = null;
  /** @type {string | null} The id of the map that is shown beside the tree. */
  map = null;
  /** The choice of each kind that was made last. @type {{ colour?: AbortController, names?: AbortController }} */
  #turns = {};

  /**
   * @param {HTMLElement} root
   * @param {{ source: TreeSource, look: Look, signal: AbortSignal }} options
   */
  constructor(root, options) {
    super(root, options);
    const stop = onGestures(root, {
      pan: (dx, dy) => this.pan(dx, dy),
      zoom: (factor, x, y, depth) => this.zoom(factor, x, y, { depth }),
      hover: (x, y) => this.hover(this.#rowAt(x, y), x, y),
      leave: () => this.hover(NONE),
      click: (x, y) => this.#clicked(x, y),
      twice: (x, y) => this.#twice(x, y),
      begin: () => this.flight?.abort(),
    });
    this.detail = new Detail(this);
    this.on("drawn", () => this.detail.soon());
    options.signal.addEventListener("abort", () => {
      stop();
      this.detail.stop();
    });
  }

  /**
   * Listen to an event with its detail, until the view ends.
   *
   * @template Detail
   * @param {string} name
   * @param {(detail: Detail) => unknown} listener
   */
  on(name, listener) {
    this.addEventListener(
      name,
      (event) => listener(/** @type {CustomEvent<Detail>} */ (event).detail),
      { signal: this.signal },
    );
  }

  // --- loading -----------------------------------------------------------------------------------

  /** Load the first view and draw it. Throws the Problem of a failure. */
  async start() {
    const answer = await this.#first();
    performance.mark("tree:answer");
    this.store.graft(answer);
    this.labels = labelsIn(answer) ?? this.labels;
    this.#measure(answer);
    this.rebuild();
    if (this.look.camera) this.stage.camera = fromPortable(this.frame, this.look.camera);
    this.stage.draw();
    performance.mark("tree:picture");
    performance.measure("tree:first-picture", "tree:answer", "tree:picture");
    this.emit("shown");
    this.detail.soon();
  }

  /** Ends once there is a picture; never for a view that ends before. */
  async whenShown() {
    if (this.scene.n) return;
    await new Promise((resolve) => {
      this.on("shown", resolve);
    });
  }

  /** The first view. If a link names a node, labels or names that are gone, the tree is shown without them. */
  async #first() {
    const { look, source } = this;
    try {
      return await source.view(look.root, FIRST, colorBy(this), { quiet: false });
    } catch (error) {
      const isOfLink = hasStatus(error, 404) || hasStatus(error, 422);
      const isPlain = look.root === 0 && !byLabels(look) && !look.names && !look.edition;
      if (!isOfLink || isPlain) throw error;
      Object.assign(look, { root: 0, color: "cut", camera: null, names: null, edition: null });
      const answer = await source.view(0, FIRST, null, { quiet: false });
      this.forgiven = error;
      return answer;
    }
  }

  /** @param {View} answer of the root */
  #measure({ nodes: [top] }) {
    this.total = { leaves: top.n_leaves, size: top.size, height: top.height };
  }

  /** Load the extent of the whole tree, for a view that begins below the root. */
  async loadWhole() {
    if (this.look.root === 0 || this.store.has(0)) return;
    const answer = await this.source.view(0, 1, null);
    this.store.graft(answer);
    this.#measure(answer);
  }

  /** The axis of heights of the whole tree; null if a part of it is shown. */
  get wholeAxis() {
    return this.look.root === 0 ? this.scene.axis : null;
  }

  /**
   * Load the view of `root` and graft it in; false if that failed.
   *
   * @param {number} root
   * @param {number} maxNodes
   * @returns {Promise<boolean>}
   */
  async load(root, maxNodes) {
    const { names, edition } = this.look;
    const { revision } = this;
    try {
      const answer = await this.source.view(root, maxNodes, colorBy(this));
      if (this.signal.aborted) return false;
      const isOld = revision !== this.revision || edition !== this.look.edition;
      if (isOld || names !== this.look.names) return await this.load(root, maxNodes);
      this.store.graft(answer);
      this.#bound(root);
      return true;
    } catch (error) {
      this.#trouble(error, () => this.#loadAndShow(root, maxNodes));
      return false;
    }
  }

  /**
   * @param {number} root
   * @param {number} maxNodes
   */
  async #loadAndShow(root, maxNodes) {
    if (await this.load(root, maxNodes)) await this.show();
  }

  /**
   * Keep to the limit of drawn nodes: nodes opened first are folded again.
   *
   * @param {number} latest id of the node that stays open
   */
  #bound(latest) {
    const kept = new Set([...this.store.path(latest), ...this.store.path(this.look.root)]);
    const old = this.store.grafts.map((graft) => graft.root).filter((root) => !kept.has(root));
    let isPruned = false;
    for (const root of old) {
      if (this.store.n <= MOST_NODES) break;
      this.store = this.store.prune([root]);
      isPruned = true;
    }
    if (isPruned && this.scene.n && this.store.has(this.look.root)) this.rebuild();
  }

  /**
   * @param {unknown} error
   * @param {() => unknown} retry
   */
  #trouble(error, retry) {
    if (aborted(error) || this.signal.aborted) return;
    this.emit("problem", { error, retry });
  }

  // --- nodes -------------------------------------------------------------------------------------

  /**
   * @param {number} x
   * @param {number} y
   */
  #rowAt(x, y) {
    return this.scene.n ? pick(this.scene, placed(this.frame, this.stage.camera), x, y) : NONE;
  }

  /**
   * Point at a row, or at nothing (-1).
   *
   * @param {number} row
   * @param {number | null} [x]
   * @param {number | null} [y]
   */
  hover(row, x = null, y = null) {
    const same = row === this.hovered;
    this.hovered = row;
    if (!same) this.stage.overlay();
    this.emit("hover", { row, x, y, same });
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  #clicked(x, y) {
    const row = this.#rowAt(x, y);
    if (row !== NONE && this.scene.kind[row] === REST) this.open(this.scene.id[row]);
    else this.select(row === NONE ? null : this.scene.id[row]);
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  #twice(x, y) {
    const row = this.#rowAt(x, y);
    if (row === NONE) this.zoom(2, x, y);
    else if (this.scene.kind[row] === INNER && row > 0) this.reroot(this.scene.id[row]);
    else this.toggle(this.scene.id[row]);
  }

  /** @param {number | null} id */
  select(id) {
    this.look.node = id;
    this.stage.overlay();
    this.emit("select", { id });
    this.emit("look");
  }

  /**
   * Fold an open node, open a folded one.
   *
   * @param {number} id
   */
  async toggle(id) {
    const row = this.rowOf(id);
    if (row === NONE || this.scene.kind[row] === LEAF) return;
    if (this.scene.kind[row] === INNER) {
      this.look.folded.add(id);
      await this.show();
    } else await this.open(id);
  }

  /**
   * Open what the user or the service has folded; for the rest of a node's children: load more.
   *
   * @param {number} id
   */
  async open(id) {
    const node = id < 0 ? -1 - id : id;
    const row = this.rowOf(id);
    if (row !== NONE && this.scene.kind[row] === FOLDED) {
      this.look.folded.delete(node);
      await this.show();
      return;
    }
    const loaded = this.store.kids[this.store.slot(node)]?.length ?? 0;
    const wanted = id < 0 ? loaded * 2 + 2000 : 2000;
    await this.#loadAndShow(node, Math.min(20_000, wanted));
  }

  /**
   * Show only the part below a node.
   *
   * @param {number} id
   */
  async reroot(id) {
    if (id === this.look.root) return;
    const slot = this.store.slot(id);
    const isThin = slot === NONE || !this.store.completeBelow(slot);
    if (isThin && !(await this.load(id, FIRST))) return;
    this.look.root = id;
    this.look.folded.delete(id);
    await this.show({ camera: home() });
  }

  /**
   * Show a node that may not be loaded, select it and zoom in on it; returns whether that was
   * possible. If the path to it is too long to be opened, the view is re-rooted above it.
   *
   * @param {number} id
   * @param {number[]} path ids from the root to the node
   */
  async goTo(id, path) {
    const { look } = this;
    const near = path[Math.max(0, path.length - 6)];
    if (!path.includes(look.root)) {
      if (!this.store.has(path[0]) && !(await this.load(path[0], FIRST))) return false;
      look.root = path[0];
    }
    for (let step = 0; step < MOST_STEPS && !this.store.has(id); step += 1) {
      const known = this.#lastLoaded(path);
      if (known < 0 || !(await this.load(path[known], STEP_NODES))) break;
      if (!this.store.has(id) && this.#lastLoaded(path) <= known) break;
    }
    if (!this.store.has(id)) {
      if (!(await this.load(near, STEP_NODES)) || !this.store.has(id)) return false;
      look.root = near;
    }
    const isBelow = this.store.path(id).includes(look.root);
    if (!path.includes(look.root) || !isBelow) look.root = near;
    for (const ancestor of path.slice(0, -1)) look.folded.delete(ancestor);
    look.node = id;
    await this.show();
    this.select(id);
    const row = this.rowOf(id);
    if (row === NONE) return false;
    await this.approach(row);
    return true;
  }

  /** @param {number[]} path */
  #lastLoaded(path) {
    return path.findLastIndex((id) => this.store.has(id));
  }

  /**
   * Mark nodes from outside.
   *
   * @param {number[] | null} ids
   */
  mark(ids) {
    this.marked = ids;
    this.stage.overlay();
  }

  /** A name for files, without an ending. */
  fileName() {
    const name = this.title
      .normalize("NFKD")
      .replace(/[^A-Za-z0-9]+/g, "-")
      .replace(/^-+|-+$/g, "");
    return name.slice(0, 60).toLowerCase() || this.source.tree;
  }

  // --- colours -----------------------------------------------------------------------------------

  /**
   * Show a cut.
   *
   * @param {CutClusters} cut
   */
  setCut(cut) {
    this.cut = cut;
    this.byNode = new Map(cut.clusters.map((cluster) => [cluster.node, cluster.category]));
    if (this.scene.n) this.recolour();
  }

  /**
   * Colour by "cut", "none", "support", a labels dataset or the errors of an evaluation. Throws the Problem of
   * labels or errors that do not fit, and leaves everything as it was.
   *
   * @param {string} color
   */
  async setColor(color) {
    const signal = this.#turn("colour");
    if (color.startsWith("ds_")) this.#colourBy(await this.#loadAgain(color, signal));
    else {
      const errors = color.startsWith("job_") ? await this.source.errors(color) : this.errors;
      if (color === SUPPORT) this.support ??= await this.source.support();
      if (color.startsWith("at_")) await this.loadColumn(Number(color.split(".")[1]));
      signal.throwIfAborted();
      this.errors = errors;
      this.coarse = false;
      this.store.common.fill(null);
    }
    this.look.color = color;
    this.look.alone = null;
    this.recolour();
    this.emit("look");
    if (color === "cut" && this.cut) await this.deepenCut(this.signal);
  }

  /**
   * Load what nodes have in a column of the items, for its colours and its strip. Throws the Problem of a
   * failure.
   *
   * @param {number} column
   */
  async loadColumn(column) {
    const { items } = this;
    if (items && !items.values.has(column)) {
      items.values.set(column, await items.source.values(column));
    }
  }

  /**
   * The signal of a choice that the next of its kind replaces: what was chosen before has no effect
   * when its answer comes later.
   *
   * @param {"colour" | "names"} kind
   */
  #turn(kind) {
    this.#turns[kind]?.abort();
    const own = new AbortController();
    this.#turns[kind] = own;
    return AbortSignal.any([this.signal, own.signal]);
  }

  /** @param {View[]} answers of everything that is loaded, with colours */
  #colourBy(answers) {
    this.store.clearColours();
    for (const answer of answers) this.store.recolour(answer);
    if (answers.length) this.labels = labelsIn(answers[0]) ?? this.labels;
  }

  /**
   * The views of everything that is loaded.
   *
   * @param {string | null} color
   * @param {AbortSignal} signal
   */
  async #loadAgain(color, signal) {
    const answers = [];
    for (const { root, maxNodes } of this.store.grafts) {
      answers.push(await this.source.view(root, maxNodes, color, { quiet: answers.length > 0 }));
      signal.throwIfAborted();
    }
    return answers;
  }

  // --- names -------------------------------------------------------------------------------------

  /**
   * Give the nodes the names of a naming, or their own. Throws the Problem of a naming that is gone or of
   * another tree, and leaves everything as it was.
   *
   * @param {string | null} names id
   */
  async setNames(names) {
    const before = this.look.names;
    const signal = this.#turn("names");
    this.look.names = names;
    try {
      for (const answer of await this.#loadAgain(null, signal)) this.store.rename(answer);
    } catch (error) {
      if (!signal.aborted) this.look.names = before;
      throw error;
    }
    await this.show({ ms: 0 });
    this.emit("named");
  }

  /**
   * Show another edition, null for the tree itself, or the same one after it was changed. Throws the
   * Problem of one that is gone or of another tree, and leaves everything as it was.
   *
   * @param {string | null} edition id
   */
  async setEdition(edition) {
    const { look } = this;
    const before = look.edition;
    look.edition = edition;
    this.revision += 1;
    const { revision } = this;
    try {
      const store = await this.#loadedAnew();
      if (revision !== this.revision) return;
      this.store = store;
    } catch (error) {
      if (revision === this.revision) look.edition = before;
      throw error;
    }
    if (!this.store.has(look.root)) look.root = 0;
    if (look.node !== null && !this.store.has(look.node)) this.select(null);
    await this.show({ ms: 0 });
    this.emit("edited");
    this.emit("named");
  }

  /** A store with everything that is loaded now, in its current state; parts that are gone are left out. */
  async #loadedAnew() {
    const { look } = this;
    const store = new Store();
    /** @param {number} root */
    const isShown = (root) =>
      root === 0 || root === look.root || (store.has(root) && !store.collapsed.has(root));
    const parts = this.store.grafts.some(({ root }) => root === look.root)
      ? this.store.grafts
      : [...this.store.grafts, { root: look.root, maxNodes: FIRST }];
    for (const { root, maxNodes } of parts) {
      if (!isShown(root)) continue;
      try {
        store.graft(await this.source.view(root, maxNodes, colorBy(this)));
      } catch (error) {
        if (root === 0 || !(hasStatus(error, 404) || hasStatus(error, 422))) throw error;
      }
      this.signal.throwIfAborted();
    }
    if (!store.n) store.graft(await this.source.view(0, FIRST, colorBy(this)));
    return store;
  }

  /**
   * If clusters of the cut are below the loaded nodes, load the cluster of most leaves of each
   * folded node.
   *
   * @param {AbortSignal} signal
   */
  async deepenCut(signal) {
    const { store, cut } = this;
    this.coarse = false;
    if (!cut || this.look.color !== "cut" || store.complete) return;
    const isWhole = cut.n_clusters === cut.clusters.length;
    if (isWhole && cut.clusters.every((cluster) => store.has(cluster.node))) return;
    const answers = await this.#loadAgain(cutColour(cut.cut), signal);
    if (this.cut !== cut || this.look.color !== "cut") return;
    this.#colourBy(answers);
    this.coarse = true;
    this.recolour();
  }
}
