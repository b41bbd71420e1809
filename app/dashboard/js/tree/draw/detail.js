// Level of detail: folded nodes that are large in the window are loaded, a few at a time, and nodes
// out of sight are dropped when there are too many.

import { INNER, REST, UNSEEN } from "../model/scene.js";
import { seen } from "./place.js";

/** @import { Look } from "../model/look.js" */
/** @import { Drawn } from "../model/scene.js" */
/** @import { Store } from "../model/store.js" */
/** @import { Stage } from "./stage.js" */

/**
 * @typedef {{
 *   scene: Drawn,
 *   store: Store,
 *   stage: Stage,
 *   look: Look,
 *   signal: AbortSignal,
 *   load: (root: number, maxNodes: number) => Promise<boolean>,
 *   show: (options: { ms: number }) => Promise<void>,
 *   rebuild: () => void,
 * }} Detailed
 */

/** The most nodes that are kept and drawn. */
export const MOST_NODES = 20_000;
const WIDE_PX = 40;
/** The space for each loaded tip. */
const TIP_PX = 2.5;
const AT_ONCE = 3;
const WAIT_MS = 120;

export class Detail {
  busy = 0;
  on = true;
  /** Whether nodes are loaded that are not shown yet, because the picture was moving. */
  due = false;
  /** @type {Map<number, number>} Nodes loaded in vain: id -> camera.k from which to try again. */
  tried = new Map();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  timer;

  /** @param {Detailed} view */
  constructor(view) {
    this.view = view;
  }

  stop() {
    this.on = false;
    clearTimeout(this.timer);
  }

  /** Soon look for nodes to load. */
  soon() {
    if (!this.on) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.look(), WAIT_MS);
  }

  /** The service is back: retry what failed. */
  again() {
    this.tried.clear();
    this.soon();
  }

  async look() {
    const { view } = this;
    if (!this.on || this.busy || !view.scene.n || view.signal.aborted) return;
    // At rest it is called again.
    if (view.stage.busy) return;
    if (this.due) {
      this.due = false;
      await view.show({ ms: 160 });
      return;
    }
    const wanted = this.#wanted().slice(0, AT_ONCE);
    if (!wanted.length) return;
    const most = wanted.reduce((sum, part) => sum + part.nodes, 0);
    if (view.store.n + most > MOST_NODES && !this.#makeRoom(most)) return;
    this.busy = wanted.length;
    const { k } = view.stage.camera;
    let loaded = 0;
    await Promise.all(
      wanted.map(async ({ id, nodes }) => {
        this.tried.set(id, k * 3);
        if (await view.load(id, nodes)) loaded += 1;
        this.busy -= 1;
      }),
    );
    this.busy = 0;
    if (!this.on || view.signal.aborted || !loaded) return;
    for (const { id } of wanted) this.#spare(id, k);
    if (view.stage.busy) this.due = true;
    else await view.show({ ms: 160 });
  }

  /** Folded nodes in the window, the widest first, with the number of nodes to load for each. */
  #wanted() {
    const { scene, stage, store, look } = this.view;
    const place = stage.picture?.place;
    if (!place || look.shape !== place.shape) return [];
    const { n, kind, id, left, right, end, leaves } = scene;
    const folded = [];
    for (let i = 0; i < n;) {
      const wide = (right[i] - left[i]) * place.across;
      if (wide < WIDE_PX || !seen(place.window, left[i], right[i])) {
        i = end[i];
        continue;
      }
      const isWanted = kind[i] === UNSEEN && !store.collapsed.has(id[i]);
      if (isWanted && !((this.tried.get(id[i]) ?? 0) > stage.camera.k)) {
        folded.push({
          id: id[i],
          wide,
          nodes: Math.ceil(Math.min(2 * leaves[i], Math.max(40, (2 * wide) / TIP_PX), 3000)),
        });
      }
      i += kind[i] === REST ? end[i] - i : 1;
    }
    return folded.sort((a, b) => b.wide - a.wide);
  }

  /**
   * Loading a chain gives few leaves each time: the rest of it waits until it is zoomed in.
   *
   * @param {number} id
   * @param {number} k
   */
  #spare(id, k) {
    const { store } = this.view;
    const top = store.slot(id);
    const stack = [top];
    for (let slot = stack.pop(); slot !== undefined; slot = stack.pop()) {
      const kids = store.kids[slot];
      for (const kid of kids ?? []) {
        if (store.leaves[kid] > 0.85 * store.leaves[top]) stack.push(kid);
      }
      if (!kids && store.hidden[slot] > 0) this.tried.set(store.id[slot], k * 3);
    }
  }

  /**
   * Fold nodes out of sight or too fine; false if that does not make room for `more` nodes.
   *
   * @param {number} more
   */
  #makeRoom(more) {
    const { view } = this;
    const { scene, stage, store, look } = view;
    const place = stage.picture?.place;
    if (!place) return false;
    const { n, kind, left, right, end, id } = scene;
    const dropped = new Set();
    let freed = 0;
    for (let i = 1; i < n;) {
      const span = right[i] - left[i];
      const wide = span * place.across;
      const isAway = !seen(place.window, left[i] - span, right[i] + span);
      if (kind[i] === INNER && (wide < 3 || (isAway && wide < 300)) && end[i] - i > 1) {
        dropped.add(id[i]);
        freed += end[i] - i - 1;
        i = end[i];
        continue;
      }
      i += 1;
    }
    if (store.n - freed + more > MOST_NODES) return false;
    // The path to the selected node stays open.
    if (look.node !== null) for (const node of store.path(look.node)) dropped.delete(node);
    for (const node of dropped) this.tried.delete(node);
    view.store = store.prune([...dropped]);
    view.rebuild();
    return true;
  }
}
