import assert from "node:assert/strict";
import { test } from "node:test";

import {
  calledName,
  clusterNames,
  clusterNumbers,
} from "../../../app/dashboard/js/tree/model/cluster_names.js";
import { cutHere, cutter } from "../../../app/dashboard/js/tree/model/cut.js";
import { LIFE, storeOf } from "./trees_kit.js";

const named = (store, k) => {
  const cut = cutHere(cutter(store), { k });
  const names = clusterNames(cut, store);
  return cut.clusters.map(({ category }) => names.get(category));
};

//         o (4)
//      /    |     \
//   o (3)  ant    o (2)
//   / | \ \        / \
//  a  b  c d      e   f
const NESTED = [
  null,
  4,
  [null, 3, ["a", 0], ["b", 0], ["c", 0], ["d", 0]],
  ["ant", 0],
  [null, 2, ["e", 0], ["f", 0]],
];

test("clusters have their own names where all of them have one", () => {
  assert.deepEqual(named(storeOf(LIFE), 3), ["plants", "animals", "fungi"]);
});

test("where one has none, it is named by its largest leaves", () => {
  const store = storeOf(NESTED);
  assert.deepEqual(named(store, 3), ["a, b, c, …", "e, f", "ant"]);
  // d is node 5, and larger than the others.
  store.size[store.slot(5)] = 9;
  assert.deepEqual(named(store, 3)[0], "d, a, b, …");
  const mixed = structuredClone(NESTED);
  mixed[2][0] = "vowels";
  assert.deepEqual(named(storeOf(mixed), 3), ["vowels", "e, f", "ant"]);
});

test("where a listed cluster has no named leaf, all are numbered", () => {
  const bare = structuredClone(NESTED);
  bare[4] = [null, 2, [null, 0], [null, 0]];
  assert.deepEqual(named(storeOf(bare), 3), ["Cluster 1", "Cluster 3", "Cluster 2"]);
  // But a name that was given stays.
  bare[2][0] = "vowels";
  assert.deepEqual(named(storeOf(bare), 3), ["vowels", "Cluster 3", "Cluster 2"]);
});

test("names follow what is loaded later", () => {
  const store = storeOf(NESTED);
  const cut = cutHere(cutter(store), { k: 3 });
  store.name[store.slot(2)] = "first";
  assert.equal(clusterNames(cut, store).get(0), "first, b, c, …");
  store.name[store.slot(2)] = "later";
  assert.equal(clusterNames(cut, store).get(0), "first, b, c, …", "kept while nothing is loaded");
  assert.equal(clusterNames(cut, storeOf(NESTED)).get(0), "a, b, c, …");
});

test("names from right to left do not turn a list around", () => {
  const store = storeOf([null, 4, ["same, \u05d0\u05d1, z", 3, ["a", 0], ["b", 0]], ["\u05d0", 0]]);
  const isolated = ["same", "\u05d0\u05d1", "z"].map((name) => `\u2068${name}\u2069`);
  assert.deepEqual(named(store, 2), [isolated.join(", "), "\u05d0"]);
});

test("leaves that are called by the number of their row have no name; classes with numbers do", () => {
  const rows = [null, 4, [null, 3, ["0", 0], ["1", 0]], [null, 2, ["2", 0], ["3", 0]]];
  const store = storeOf(rows);
  const cut = cutHere(cutter(store), { k: 2 });
  assert.deepEqual([...clusterNames(cut, store).values()], ["Cluster 1", "Cluster 2"]);
  const nodes = cut.clusters.map(({ node }) => node);
  assert.deepEqual([...clusterNumbers(cut, store).keys()], nodes);
  assert.equal(calledName(store, store.slot(nodes[0])), "");
  store.numbered = clusterNumbers(cut, store);
  assert.equal(calledName(store, store.slot(nodes[0])), "Cluster 1");
  for (let slot = 0; slot < store.n; slot += 1) store.size[slot] = 10 * store.leaves[slot];
  assert.equal(calledName(store, store.slot(0)), "0, 1, 2, …");
});

test("clusters that nobody named have what the service calls them, not their number", () => {
  const store = storeOf([null, 4, ["0", 0], ["1", 0]]);
  const [root, first, second] = [0, 1, 2].map((id) => ({
    ...{ id, parent: id ? 0 : null, size: id ? 3 : 6, n_leaves: id ? 1 : 2, height: id ? 0 : 1 },
    ...{ points_before: id === 2 ? 3 : 0, hidden: 0, x: 0, y: 0, folded: false },
    ...(id ? { name: String(id - 1), called: `${id === 1 ? "high" : "low"} Mg` } : { name: null }),
  }));
  store.graft({ root: 0, max_nodes: 9, nodes: [root, first, second] });
  assert.deepEqual(named(store, 2), ["high Mg", "low Mg"]);
  assert.equal(store.isDescribed, true);
});
