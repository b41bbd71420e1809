// Trees for tests, as the service answers them.

import { Store } from "../../../app/dashboard/js/tree/model/store.js";

/**
 * Nodes of a view, parents before children, from nested lists: ["name", height, child, ...]. Ids count
 * from 0 in preorder; a node without children is a leaf of one point.
 */
export function viewOf(nested, { fold = [] } = {}) {
  const nodes = [];
  const add = ([name, height, ...children], parent) => {
    const id = nodes.length;
    const node = { id, parent, name, height, n_leaves: 1, size: 1, hidden: 0, x: 0, y: 0 };
    nodes.push(node);
    const kids = children.map((child) => add(child, id));
    if (kids.length) {
      node.n_leaves = kids.reduce((sum, kid) => sum + kid.n_leaves, 0);
      node.size = node.n_leaves;
    }
    node.count = kids.length;
    return node;
  };
  add(nested, null);
  // Each leaf has one point. From left to right, a node's leaves come after the leaves of the nodes before.
  let before = 0;
  for (const node of nodes) {
    node.points_before = before;
    if (!node.count) before += 1;
  }
  // What lies below the folded nodes is left out, and counted as hidden.
  const gone = new Set();
  for (const node of nodes) {
    if (fold.includes(node.parent) || gone.has(node.parent)) gone.add(node.id);
    if (fold.includes(node.id)) node.hidden = node.count;
  }
  return {
    root: 0,
    max_nodes: nodes.length,
    axis: null,
    nodes: nodes.filter((node) => !gone.has(node.id)),
    warnings: [],
  };
}

export function storeOf(nested, options) {
  const store = new Store();
  store.graft(viewOf(nested, options));
  return store;
}

//        life (4)
//      /    |     \
//  plants  fungi  animals (2)
//   (3)            /    \
//   / \          cat    dog
// rose oak
//
// ids: life 0, plants 1, rose 2, oak 3, fungi 4, animals 5, cat 6, dog 7
export const LIFE = [
  "life",
  4,
  ["plants", 3, ["rose", 0], ["oak", 0]],
  ["fungi", 0],
  ["animals", 2, ["cat", 0], ["dog", 0]],
];

/** A chain: every inner node has a leaf and the rest. */
export function chainOf(n) {
  const nodes = [];
  for (let at = 0; at < n; at += 1) {
    const left = n - at + 1;
    const common = { hidden: 0, name: null };
    nodes.push({ ...common, id: 2 * at, parent: at ? 2 * at - 2 : null, height: n - at, n_leaves: left, size: left }); // prettier-ignore
    nodes.push({ ...common, id: 2 * at + 1, parent: 2 * at, height: 0, n_leaves: 1, size: 1 });
  }
  nodes.push({ id: 2 * n, parent: 2 * n - 2, height: 0, n_leaves: 1, size: 1, hidden: 0, name: null }); // prettier-ignore
  const store = new Store();
  store.graft({ root: 0, max_nodes: nodes.length, axis: null, nodes });
  return store;
}

/** As wide as letters of 0.6 em: tests need no canvas. */
export function stubCanvas() {
  globalThis.OffscreenCanvas = class {
    getContext() {
      return { font: "", measureText: (text) => ({ width: 12 * [...text].length }) };
    }
  };
}

export const THEME = {
  theme: "light",
  guide: "#d5dbd7",
  ink: "#56606d",
  other: "#9aa1ab",
  bare: "#2f6f5f",
  shared: "#ccd2d9",
  paper: "#ffffff",
  text: "#1b2420",
  muted: "#56635c",
  accent: "#1a6553",
  focus: "#0b6e99",
  family: "sans-serif",
  series: ["#0072b2", "#d55e00", "#009e73"],
  pale: ["#eddb78", "#cedbfa", "#66c5ab"],
};
