// Level of detail: what is folded and takes room in the window is asked for, a little at a time, and
// what is out of sight is let go of when there is too much.

import { REST, UNSEEN } from "../model/scene.js";
import { seen } from "./place.js";

/** Nodes that are kept, and drawn, at the most. */
export const MOST_NODES = 20_000;
const WIDE_PX = 40;
/** Room for each tip that is asked for. */
const TIP_PX = 2.5;
const AT_ONCE = 3;
const WAIT_MS = 120;

export class Detail {
  constructor(view) {
    this.view = view;
    this.busy = 0;
    /** Nodes that were asked for in vain: id -> camera.k from which on it may be tried again. */
    this.tried = new Map();
    this.on = true;
  }

  stop() {
    this.on = false;
    clearTimeout(this.timer);
  }

  soon() {
    if (!this.on) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.look(), WAIT_MS);
  }

  /** The service is back: what was asked for in vain is asked for again. */
  again() {
    this.tried.clear();
    this.soon();
  }

  async look() {
    this.timer = 0;
    const { view } = this;
    if (!this.on || this.busy || !view.scene || view.signal.aborted) return;
    const wanted = this.#wanted().slice(0, AT_ONCE);
    if (!wanted.length) return;
    const most = wanted.reduce((sum, one) => sum + one.nodes, 0);
    if (view.store.n + most > MOST_NODES && !this.#letGo(most)) return;
    this.busy = wanted.length;
    const k = view.stage.camera.k;
    let got = 0;
    await Promise.all(
      wanted.map(async ({ id, nodes }) => {
        this.tried.set(id, k * 3);
        if (await view.fetch(id, nodes)) got += 1;
        this.busy -= 1;
      }),
    );
    this.busy = 0;
    if (!this.on || view.signal.aborted || !got) return;
    this.#spare(wanted, k);
    await view.show({ ms: view.stage.busy ? 0 : 160 });
  }

  /** Folded nodes in the window, the widest first: {id, nodes to ask for}. */
  #wanted() {
    const { scene, stage, looked } = this.view;
    const { place } = stage.picture ?? {};
    if (!place || looked.shape !== place.shape) return [];
    const { n, kind, id, left, right, end, leaves } = scene;
    const found = [];
    for (let i = 0; i < n;) {
      const wide = (right[i] - left[i]) * place.across;
      if (wide < WIDE_PX || !seen(place.window, left[i], right[i])) {
        i = end[i];
        continue;
      }
      if (kind[i] === UNSEEN && !(this.tried.get(id[i]) > stage.camera.k)) {
        found.push({
          id: id[i],
          wide,
          nodes: Math.ceil(Math.min(2 * leaves[i], Math.max(40, (2 * wide) / TIP_PX), 3000)),
        });
      }
      i += kind[i] === REST ? end[i] - i : 1;
    }
    return found.sort((a, b) => b.wide - a.wide);
  }

  /** A chain gives few leaves however often it is asked: what is left of it waits until it is nearer. */
  #spare(wanted, k) {
    const { store } = this.view;
    for (const { id } of wanted) {
      const top = store.slot(id);
      const stack = [top];
      while (stack.length) {
        const slot = stack.pop();
        const kids = store.kids[slot];
        if (kids)
          for (const kid of kids) if (store.leaves[kid] > 0.85 * store.leaves[top]) stack.push(kid);
        if (!kids && store.hidden[slot] > 0) this.tried.set(store.id[slot], k * 3);
      }
    }
  }

  /** Fold what is out of sight or too fine; false where that does not make room for `more`. */
  #letGo(more) {
    const { view } = this;
    const { scene, stage, store, looked } = view;
    const { place } = stage.picture;
    const { n, kind, left, right, end, id } = scene;
    const gone = [];
    let freed = 0;
    for (let i = 1; i < n;) {
      const wide = (right[i] - left[i]) * place.across;
      const away = !seen(
        place.window,
        left[i] - (right[i] - left[i]),
        right[i] + (right[i] - left[i]),
      );
      if (kind[i] === 0 && (wide < 3 || (away && wide < 300)) && end[i] - i > 1) {
        gone.push(id[i]);
        freed += end[i] - i - 1;
        i = end[i];
        continue;
      }
      i += 1;
    }
    if (store.n - freed + more > MOST_NODES) return false;
    if (looked.node !== null && gone.length) keepPath(store, looked.node, gone);
    for (const one of gone) this.tried.delete(one);
    view.store = store.prune(gone);
    view.rebuild();
    return true;
  }
}

/** The way to the chosen node stays open. */
function keepPath(store, node, gone) {
  const way = new Set(store.path(node));
  for (let at = gone.length - 1; at >= 0; at -= 1) if (way.has(gone[at])) gone.splice(at, 1);
}
