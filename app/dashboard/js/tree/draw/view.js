// The tree as it is looked at: what is loaded, shown, coloured, pointed at, and how that changes.
// Knows the stage and the service; the panels around it listen to its events.

import { FOLDED, INNER, LEAF, REST, rows } from "../model/scene.js";
import { FIRST } from "../model/source.js";
import { NONE } from "../model/store.js";
import { fromPortable, home } from "./camera.js";
import { byLabels, colorBy, learn } from "./colouring.js";
import { MOST_NODES } from "./detail.js";
import { gestures } from "./gestures.js";
import { pick } from "./picking.js";
import { place as placed } from "./place.js";
import { Scenery } from "./scenery.js";

/** Events: those of Scenery, and "hover" {row, x, y}, "select" {id}, "problem" {error, again}. */
export class TreeView extends Scenery {
  constructor(root, options) {
    super(root, options);
    const end = gestures(root, {
      pan: (dx, dy) => this.pan(dx, dy),
      zoom: (factor, x, y, depth) => this.zoom(factor, x, y, { depth }),
      hover: (x, y) => this.hoverAt(x, y),
      click: (x, y) => this.#clicked(x, y),
      twice: (x, y) => this.#twice(x, y),
      begin: () => this.flight?.abort(),
      end: () => {},
    });
    options.signal.addEventListener("abort", end);
  }

  // --- what is there -----------------------------------------------------------------------------

  /** Get the first view and draw it. Problems are the caller's. */
  async start() {
    const view = await this.#first();
    performance.mark("tree:answer");
    this.store.graft(view);
    learn(this, view);
    this.total = {
      leaves: view.nodes[0].n_leaves,
      size: view.nodes[0].size,
      height: view.nodes[0].height,
    };
    this.rebuild();
    if (this.looked.camera) this.stage.camera = fromPortable(this.frame, this.looked.camera);
    this.stage.draw();
    performance.mark("tree:picture");
    performance.measure("tree:first-picture", "tree:answer", "tree:picture");
    this.tell("shown");
    this.detail.soon();
  }

  /** The first view. A link may name a node or labels that are not there: then the tree without. */
  async #first() {
    const { looked, source } = this;
    try {
      return await source.view(looked.root, FIRST, colorBy(this), { quiet: false });
    } catch (error) {
      if (
        !(error.status === 404 || error.status === 422) ||
        (looked.root === 0 && !byLabels(looked))
      )
        throw error;
      const view = await source.view(0, FIRST, null, { quiet: false });
      Object.assign(looked, { root: 0, color: "cut", camera: null });
      this.forgiven = error;
      return view;
    }
  }

  /** Of a view that begins below the root: what the whole tree is like. */
  async wholeTree() {
    if (this.looked.root === 0 || this.store.has(0)) return;
    const view = await this.source.view(0, 1, null);
    const [top] = view.nodes;
    this.store.graft(view);
    this.total = { leaves: top.n_leaves, size: top.size, height: top.height };
  }

  /** How heights stand along the whole tree; null where that is not what is shown. */
  get wholeAxis() {
    return this.looked.root === 0 ? (this.scene?.axis ?? null) : null;
  }

  // --- nodes -------------------------------------------------------------------------------------

  rowOf(id) {
    return this.scene ? (rows(this.scene).get(id) ?? NONE) : NONE;
  }

  hoverAt(x, y) {
    const row =
      x === null || !this.scene
        ? NONE
        : pick(this.scene, placed(this.frame, this.stage.camera), x, y);
    this.hover(row, x, y);
  }

  hover(row, x = null, y = null) {
    const same = row === this.hovered;
    this.hovered = row;
    if (!same) this.stage.overlay();
    this.tell("hover", { row, x, y, same });
  }

  #clicked(x, y) {
    const row = this.scene ? pick(this.scene, placed(this.frame, this.stage.camera), x, y) : NONE;
    if (row !== NONE && this.scene.kind[row] === REST) this.open(this.scene.id[row]);
    else this.select(row === NONE ? null : this.scene.id[row]);
  }

  #twice(x, y) {
    const row = this.scene ? pick(this.scene, placed(this.frame, this.stage.camera), x, y) : NONE;
    if (row === NONE) this.zoom(2, x, y);
    else if (this.scene.kind[row] === INNER && row > 0) this.reroot(this.scene.id[row]);
    else this.toggle(this.scene.id[row]);
  }

  select(id) {
    this.looked.node = id;
    this.stage.overlay();
    this.tell("select", { id });
    this.tell("looked");
  }

  /** Fold an open node, open a folded one. */
  toggle(id) {
    const row = this.rowOf(id);
    if (row === NONE || this.scene.kind[row] === LEAF) return undefined;
    if (this.scene.kind[row] !== INNER) return this.open(id);
    this.looked.folded.add(id);
    return this.show();
  }

  /** Open what is folded, by the user or by the service; for the rest of a node's children: more. */
  async open(id) {
    const node = id < 0 ? -1 - id : id;
    const row = this.rowOf(id);
    if (row !== NONE && this.scene.kind[row] === FOLDED) {
      this.looked.folded.delete(node);
      return this.show();
    }
    const had = this.store.kids[this.store.slot(node)]?.length ?? 0;
    if (!(await this.fetch(node, Math.min(20_000, id < 0 ? had * 2 + 2000 : 2000))))
      return undefined;
    return this.show();
  }

  /** Have the view of `root` grafted in; false where that could not be. */
  async fetch(root, maxNodes) {
    try {
      const view = await this.source.view(root, maxNodes, colorBy(this));
      if (this.signal.aborted) return false;
      this.store.graft(view);
      this.#bound(root);
      return true;
    } catch (error) {
      this.problem(error, () => this.fetch(root, maxNodes).then((there) => there && this.show()));
      return false;
    }
  }

  /** Not more than is drawn at the most: what was opened first is folded again. */
  #bound(latest) {
    const kept = new Set([...this.store.path(latest), ...this.store.path(this.looked.root)]);
    const old = this.store.grafts.map((one) => one.root).filter((root) => !kept.has(root));
    let pruned = false;
    while (this.store.n > MOST_NODES && old.length) {
      this.store = this.store.prune([old.shift()]);
      pruned = true;
    }
    if (pruned && this.scene && this.store.has(this.looked.root)) this.rebuild();
  }

  problem(error, again) {
    if (error?.name === "AbortError" || this.signal.aborted) return;
    this.tell("problem", { error, again });
  }

  /** Look at the part below a node alone. */
  async reroot(id) {
    if (id === this.looked.root) return;
    const slot = this.store.slot(id);
    const thin = slot === NONE || !this.store.completeBelow(slot);
    if (thin && !(await this.fetch(id, FIRST))) return;
    this.looked.root = id;
    this.looked.folded.delete(id);
    this.tell("rooted", { id });
    await this.show({ camera: home() });
  }

  /** Mark nodes from outside: ids, or null for none. */
  mark(ids) {
    this.linked = ids;
    this.stage.overlay();
  }

  /** A name for files. */
  fileName() {
    const name = (this.title ?? "")
      .normalize("NFKD")
      .replace(/[^A-Za-z0-9]+/g, "-")
      .replace(/^-+|-+$/g, "");
    return name.slice(0, 60).toLowerCase() || this.source.tree;
  }

  /** A cut's answer has come. */
  setCut(found) {
    this.cut = found;
    this.byNode = new Map(found.clusters.map((one) => [one.node, one.category]));
    this.clusterNodes = new Set(this.byNode.keys());
    if (this.scene) this.recolour();
  }
}
