// The part of a tree that the page has got so far, as columns. Views of `/v1/trees/{id}/view` are
// grafted in where a folded node was; nothing here is laid out or drawn.

const START = 1024;
const NUMBERS = {
  id: Int32Array,
  parent: Int32Array,
  size: Float64Array,
  leaves: Float64Array,
  height: Float64Array,
  hidden: Int32Array,
  category: Int32Array,
  share: Float32Array,
};
export const NONE = -1;

export class Store {
  constructor() {
    this.n = 0;
    for (const [name, Column] of Object.entries(NUMBERS)) this[name] = new Column(START);
    this.name = [];
    /** Children as slots, in drawing order; null where none are here. */
    this.kids = [];
    this.slotOf = new Map();
    /** The lowest height of the whole tree. */
    this.low = Infinity;
    /** The views that were grafted, the latest last: {root, maxNodes}. */
    this.grafts = [];
  }

  /** Slot of a node by its id, or -1. */
  slot(id) {
    return this.slotOf.get(id) ?? NONE;
  }

  has(id) {
    return this.slotOf.has(id);
  }

  /** Whether all nodes of the tree are here. */
  get complete() {
    for (let slot = 0; slot < this.n; slot += 1) if (this.hidden[slot] > 0) return false;
    return this.n > 0;
  }

  /** Whether all nodes below a slot are here. */
  completeBelow(top) {
    const stack = [top];
    while (stack.length) {
      const slot = stack.pop();
      if (this.hidden[slot] > 0) return false;
      for (const kid of this.kids[slot] ?? []) stack.push(kid);
    }
    return true;
  }

  #grow(least) {
    if (least <= this.id.length) return;
    const length = Math.max(least, this.id.length * 2);
    for (const [name, Column] of Object.entries(NUMBERS)) {
      const wider = new Column(length);
      wider.set(this[name]);
      this[name] = wider;
    }
  }

  #slotFor(id) {
    let slot = this.slotOf.get(id);
    if (slot === undefined) {
      slot = this.n;
      this.#grow(slot + 1);
      this.n += 1;
      this.slotOf.set(id, slot);
      this.kids[slot] = null;
      this.parent[slot] = NONE;
    }
    this.id[slot] = id;
    return slot;
  }

  /**
   * Take in a view (parents before children). Its root may be known already; what is known below it
   * stays where the view knows less. O(nodes of the view).
   */
  graft(view) {
    const { nodes } = view;
    const coloured = view.color_by !== undefined && view.color_by !== null;
    const below = new Map();
    const hidden = new Map();
    for (const node of nodes) {
      const slot = this.#slotFor(node.id);
      this.size[slot] = node.size;
      this.leaves[slot] = node.n_leaves;
      this.height[slot] = node.height;
      this.name[slot] = node.name;
      this.category[slot] = coloured ? (node.category ?? NONE) : NONE;
      this.share[slot] = node.share ?? 1;
      hidden.set(slot, node.hidden);
      if (node.parent !== null && this.slotOf.has(node.parent)) {
        const up = this.slotOf.get(node.parent);
        this.parent[slot] = up;
        const list = below.get(up);
        if (list) list.push(slot);
        else below.set(up, [slot]);
      }
      if (node.height < this.low) this.low = node.height;
    }
    for (const [slot, count] of hidden) {
      const had = this.kids[slot];
      const list = below.get(slot);
      // What is open here stays open where the view has folded it.
      if (had && had.length >= (list?.length ?? 0)) continue;
      this.hidden[slot] = count;
      if (list) this.kids[slot] = Int32Array.from(list);
    }
    if (Number.isFinite(view.axis?.bottom)) this.low = Math.min(this.low, view.axis.bottom);
    const before = this.grafts.find((one) => one.root === view.root);
    const maxNodes = Math.max(view.max_nodes, before?.maxNodes ?? 0);
    this.grafts = [...this.grafts.filter((one) => one !== before), { root: view.root, maxNodes }];
  }

  /** Only the colours of a view whose nodes are here. */
  recolour(view) {
    for (const node of view.nodes) {
      const slot = this.slot(node.id);
      if (slot === NONE) continue;
      this.category[slot] = node.category ?? NONE;
      this.share[slot] = node.share ?? 1;
    }
  }

  clearColours() {
    this.category.fill(NONE);
    this.share.fill(1);
  }

  /** Ids from the first node that is here down to `id`. */
  path(id) {
    const found = [];
    for (let slot = this.slot(id); slot !== NONE; slot = this.parent[slot])
      found.push(this.id[slot]);
    return found.reverse();
  }

  /** Forget what lies below the nodes `ids`; they are folded again. Slots are given anew. */
  prune(ids) {
    const cut = new Set(ids);
    const kept = new Store();
    const stack = [];
    for (let slot = this.n - 1; slot >= 0; slot -= 1)
      if (this.parent[slot] === NONE) stack.push(slot);
    const to = new Int32Array(this.n).fill(NONE);
    const order = [];
    while (stack.length) {
      const slot = stack.pop();
      to[slot] = order.length;
      order.push(slot);
      const kids = this.kids[slot];
      if (kids && !cut.has(this.id[slot]))
        for (let at = kids.length - 1; at >= 0; at -= 1) stack.push(kids[at]);
    }
    kept.#grow(order.length);
    for (const slot of order) {
      const fresh = kept.#slotFor(this.id[slot]);
      for (const name of Object.keys(NUMBERS)) kept[name][fresh] = this[name][slot];
      kept.name[fresh] = this.name[slot];
      kept.parent[fresh] = this.parent[slot] === NONE ? NONE : to[this.parent[slot]];
      const kids = this.kids[slot];
      if (!kids) continue;
      if (cut.has(this.id[slot])) kept.hidden[fresh] += kids.length;
      else kept.kids[fresh] = kids.map((one) => to[one]);
    }
    kept.low = this.low;
    kept.grafts = this.grafts.filter((one) => kept.has(one.root) && !cut.has(one.root));
    return kept;
  }
}
