// The part of a tree that has been loaded so far, as columns. Views of `/v1/trees/{id}/view` are
// grafted in where a folded node was; nothing here is laid out or drawn.

/** @import { View } from "../../net/answers.js" */

const START = 1024;
export const NONE = -1;

/**
 * The name of a node: a cluster that nobody named has what it is called, not its number.
 *
 * @param {View["nodes"][number]} node
 */
const nameOf = ({ name, called, n_leaves: leaves }) => (leaves === 1 && called) || name;

/** Nodes by slot: `n` of them, in columns that are longer. */
export class Store {
  n = 0;
  id = new Int32Array(START);
  parent = new Int32Array(START); // Slots; NONE where the parent is not loaded.
  size = new Float64Array(START);
  leaves = new Float64Array(START);
  before = new Float64Array(START); // Points to the left of the node's.
  height = new Float64Array(START);
  hidden = new Int32Array(START); // Children that are not loaded.
  category = new Int32Array(START);
  share = new Float32Array(START); // The category's, among the leaves below.
  /** @type {(string | null)[]} */
  name = [];
  /** @type {(string | null)[]} What a node without a name is called. */
  called = [];
  /** @type {(string | null)[]} Its most frequent label and that label's share: "dog 97%". */
  common = [];
  /** Whether clusters that nobody named are called by their features. */
  isDescribed = false;
  /** @type {Map<number, string>} "Cluster 3" by id, where the clusters of the cut have no names. */
  numbered = new Map();
  /** @type {(string | null)[]} That an edition gives it. */
  colour = [];
  /** @type {Set<number>} Ids of nodes that an edition shows folded. */
  collapsed = new Set();
  /** @type {Set<number>} Ids of nodes that are noise. */
  noise = new Set();
  /**
   * Children as slots, in drawing order; null where none are loaded.
   *
   * @type {(Int32Array | null)[]}
   */
  kids = [];
  /** @type {Map<number, number>} */
  slotOf = new Map();
  /** The lowest height of the whole tree. */
  low = Infinity;
  /**
   * The views that were grafted, the latest last.
   *
   * @type {{ root: number, maxNodes: number }[]}
   */
  grafts = [];

  /**
   * Slot of a node by its id, or -1.
   *
   * @param {number} id
   */
  slot(id) {
    return this.slotOf.get(id) ?? NONE;
  }

  /** @param {number} id */
  has(id) {
    return this.slotOf.has(id);
  }

  /** Whether all nodes of the tree are loaded. */
  get complete() {
    for (let slot = 0; slot < this.n; slot += 1) if (this.hidden[slot] > 0) return false;
    return this.n > 0;
  }

  /**
   * Whether all nodes below a slot are loaded.
   *
   * @param {number} top
   */
  completeBelow(top) {
    const stack = [top];
    while (stack.length) {
      const slot = stack.pop() ?? NONE;
      if (this.hidden[slot] > 0) return false;
      for (const kid of this.kids[slot] ?? []) stack.push(kid);
    }
    return true;
  }

  /** @param {number} least */
  #grow(least) {
    if (least <= this.id.length) return;
    const length = Math.max(least, this.id.length * 2);
    this.id = copied(this.id, new Int32Array(length));
    this.parent = copied(this.parent, new Int32Array(length));
    this.size = copied(this.size, new Float64Array(length));
    this.leaves = copied(this.leaves, new Float64Array(length));
    this.before = copied(this.before, new Float64Array(length));
    this.height = copied(this.height, new Float64Array(length));
    this.hidden = copied(this.hidden, new Int32Array(length));
    this.category = copied(this.category, new Int32Array(length));
    this.share = copied(this.share, new Float32Array(length));
  }

  /** @param {number} id */
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
   * Add a view (parents before children). Its root may be loaded already; nodes loaded below it
   * stay if the view has fewer. O(nodes of the view).
   *
   * @param {View} view
   */
  graft(view) {
    const { nodes } = view;
    const coloured = view.color_by !== undefined && view.color_by !== null;
    /** @type {Map<number, number[]>} */
    const below = new Map();
    /** @type {Map<number, number>} */
    const hidden = new Map();
    for (const node of nodes) {
      const slot = this.#slotFor(node.id);
      this.size[slot] = node.size;
      this.leaves[slot] = node.n_leaves;
      this.before[slot] = node.points_before;
      this.height[slot] = node.height;
      this.name[slot] = nameOf(node);
      this.called[slot] = node.called ?? null;
      this.isDescribed ||= node.n_leaves === 1 && /^(high|low) /.test(node.called ?? "");
      this.colour[slot] = node.colour ?? null;
      if (node.collapsed) this.collapsed.add(node.id);
      if (node.noise) this.noise.add(node.id);
      this.category[slot] = coloured ? (node.category ?? NONE) : NONE;
      this.share[slot] = node.share ?? 1;
      this.common[slot] = node.common ?? null;
      hidden.set(slot, node.hidden);
      const up = node.parent === null ? NONE : this.slot(node.parent);
      if (up !== NONE) {
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
      // An open node stays open even if the view has folded it.
      if (had && had.length >= (list?.length ?? 0)) continue;
      this.hidden[slot] = count;
      if (list) this.kids[slot] = Int32Array.from(list);
    }
    if (view.axis && Number.isFinite(view.axis.bottom)) {
      this.low = Math.min(this.low, view.axis.bottom);
    }
    const before = this.grafts.find((graft) => graft.root === view.root);
    const maxNodes = Math.max(view.max_nodes, before?.maxNodes ?? 0);
    this.grafts = [
      ...this.grafts.filter((graft) => graft !== before),
      { root: view.root, maxNodes },
    ];
  }

  /**
   * Take over only the colours of a view whose nodes are loaded.
   *
   * @param {View} view
   */
  recolour(view) {
    for (const node of view.nodes) {
      const slot = this.slot(node.id);
      if (slot === NONE) continue;
      this.category[slot] = node.category ?? NONE;
      this.share[slot] = node.share ?? 1;
      this.common[slot] = node.common ?? null;
    }
  }

  /**
   * Take over only the names of a view whose nodes are loaded.
   *
   * @param {View} view
   */
  rename(view) {
    for (const node of view.nodes) {
      const slot = this.slot(node.id);
      if (slot === NONE) continue;
      this.name[slot] = nameOf(node);
      this.called[slot] = node.called ?? null;
    }
  }

  clearColours() {
    this.category.fill(NONE);
    this.share.fill(1);
    this.common.fill(null);
  }

  /**
   * Ids from the topmost loaded ancestor down to `id`.
   *
   * @param {number} id
   */
  path(id) {
    /** @type {number[]} */
    const ids = [];
    for (let slot = this.slot(id); slot !== NONE; slot = this.parent[slot]) ids.push(this.id[slot]);
    return ids.reverse();
  }

  /**
   * The store without the nodes below `ids`, which are folded again; slots are new.
   *
   * @param {number[]} ids
   */
  prune(ids) {
    const cut = new Set(ids);
    const kept = new Store();
    /** @type {number[]} */
    const stack = [];
    for (let slot = this.n - 1; slot >= 0; slot -= 1) {
      if (this.parent[slot] === NONE) stack.push(slot);
    }
    const to = new Int32Array(this.n).fill(NONE);
    /** @type {number[]} */
    const order = [];
    while (stack.length) {
      const slot = stack.pop() ?? NONE;
      to[slot] = order.length;
      order.push(slot);
      const kids = this.kids[slot];
      if (kids && !cut.has(this.id[slot])) {
        for (let at = kids.length - 1; at >= 0; at -= 1) stack.push(kids[at]);
      }
    }
    kept.#grow(order.length);
    for (const slot of order) {
      const fresh = kept.#slotFor(this.id[slot]);
      kept.size[fresh] = this.size[slot];
      kept.leaves[fresh] = this.leaves[slot];
      kept.before[fresh] = this.before[slot];
      kept.height[fresh] = this.height[slot];
      kept.hidden[fresh] = this.hidden[slot];
      kept.category[fresh] = this.category[slot];
      kept.share[fresh] = this.share[slot];
      kept.name[fresh] = this.name[slot];
      kept.called[fresh] = this.called[slot];
      kept.common[fresh] = this.common[slot];
      kept.colour[fresh] = this.colour[slot];
      kept.parent[fresh] = this.parent[slot] === NONE ? NONE : to[this.parent[slot]];
      const kids = this.kids[slot];
      if (!kids) continue;
      if (cut.has(this.id[slot])) kept.hidden[fresh] += kids.length;
      else kept.kids[fresh] = kids.map((kid) => to[kid]);
    }
    kept.low = this.low;
    kept.collapsed = this.collapsed;
    kept.noise = this.noise;
    kept.isDescribed = this.isDescribed;
    kept.grafts = this.grafts.filter((graft) => kept.has(graft.root) && !cut.has(graft.root));
    return kept;
  }
}

/**
 * A wider column with the values of a narrower one.
 *
 * @template {Int32Array<ArrayBuffer> | Float32Array<ArrayBuffer> | Float64Array<ArrayBuffer>} Column
 * @param {Column} column
 * @param {Column} wider
 */
function copied(column, wider) {
  wider.set(column);
  return wider;
}
