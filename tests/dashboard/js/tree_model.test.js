import assert from "node:assert/strict";
import { test } from "node:test";

import * as cuts from "../../../app/dashboard/js/tree/model/cut.js";
import { readLook, writeLook } from "../../../app/dashboard/js/tree/model/look.js";
import * as scenes from "../../../app/dashboard/js/tree/model/scene.js";
import { Store } from "../../../app/dashboard/js/tree/model/store.js";
import { sceneOf, topClusters } from "../../../app/dashboard/js/tree/model/tangle_scene.js";
import { chainOf, LIFE, storeOf, viewOf } from "./trees_kit.js";

const WHOLE = { root: 0, folded: new Set(), scale: "height" };
const list = (column) => [...column];

test("a view is grafted in where a node was folded", () => {
  const store = storeOf(LIFE, { fold: [1, 5] });
  assert.equal(store.complete, false);
  assert.deepEqual([store.has(2), store.has(6)], [false, false]);
  assert.equal(store.hidden[store.slot(1)], 2);
  const [, plants] = viewOf(LIFE).nodes;
  const below = viewOf(LIFE).nodes.filter(({ parent }) => parent === 1);
  store.graft({ root: 1, max_nodes: 3, axis: { bottom: 0, top: 3 }, nodes: [plants, ...below] });
  assert.deepEqual(store.path(3), [0, 1, 3]);
  assert.equal(store.completeBelow(store.slot(1)), true);
  assert.equal(store.complete, false);
  // What is open stays open where another view has folded it.
  store.graft(viewOf(LIFE, { fold: [1, 5] }));
  assert.equal(store.has(3) && store.kids[store.slot(1)].length, 2);
  assert.deepEqual(store.grafts.map(({ root }) => root), [1, 0]); // prettier-ignore
});

test("a store forgets what lies below nodes", () => {
  const store = storeOf(LIFE).prune([1]);
  assert.equal(store.n, 6);
  assert.deepEqual(store.path(7), [0, 5, 7]);
  assert.equal(store.hidden[store.slot(1)], 2);
  assert.equal(store.name[store.slot(4)], "fungi");
  assert.equal(store.has(2), false);
  const whole = storeOf(LIFE);
  assert.equal(store.before[store.slot(7)], whole.before[whole.slot(7)]);
  assert.ok(store.before[store.slot(7)] > 0);
});

test("a store grows beyond its first columns", () => {
  const store = chainOf(3000);
  assert.equal(store.n, 6001);
  assert.equal(store.complete, true);
  assert.equal(store.path(6000).length, 3001);
});

test("a scene in preorder, with its place in the unit square", () => {
  const scene = scenes.build(storeOf(LIFE), WHOLE);
  assert.deepEqual(list(scene.id), [0, 1, 2, 3, 4, 5, 6, 7]);
  assert.deepEqual(list(scene.parent), [-1, 0, 1, 1, 0, 0, 5, 5]);
  assert.deepEqual(list(scene.end), [8, 4, 3, 4, 5, 8, 7, 8]);
  assert.equal(scene.tips, 5);
  const near = (column, wanted) =>
    list(column).forEach((value, at) => assert.ok(Math.abs(value - wanted[at]) < 1e-12, `${at}`));
  near(scene.left, [0, 0, 0, 0.2, 0.4, 0.6, 0.6, 0.8]);
  near(scene.right, [1, 0.4, 0.2, 0.4, 0.6, 1, 0.8, 1]);
  near(scene.v, [0, 0.25, 1, 1, 1, 0.5, 1, 1]);
  // An inner node stands midway between its first and its last child.
  near(scene.u, [0.5, 0.2, 0.1, 0.3, 0.5, 0.8, 0.7, 0.9]);
  assert.deepEqual([scene.monotone, scene.maxDepth], [true, 2]);
  assert.deepEqual([scene.axis.at(3), scene.axis.of(0.25)], [0.25, 3]);
});

test("folded by the user, folded by the service, a part alone", () => {
  const store = storeOf(LIFE, { fold: [5] });
  const scene = scenes.build(store, { ...WHOLE, folded: new Set([1]) });
  assert.deepEqual(list(scene.id), [0, 1, 4, 5]);
  assert.deepEqual(list(scene.kind), [scenes.INNER, scenes.FOLDED, scenes.LEAF, scenes.UNSEEN]);
  const part = scenes.build(storeOf(LIFE), { ...WHOLE, root: 5 });
  assert.deepEqual(list(part.id), [5, 6, 7]);
  assert.equal(scenes.rows(part).get(7), 2);
});

test("children that were left out stand for themselves as one", () => {
  const view = viewOf(LIFE);
  view.nodes = view.nodes.filter(({ id }) => id < 5);
  view.nodes[0].hidden = 1;
  const store = new Store();
  store.graft(view);
  const scene = scenes.build(store, WHOLE);
  assert.equal(scene.kind.at(-1), scenes.REST);
  assert.equal(scene.id.at(-1), -1);
  assert.equal(scene.leaves.at(-1), 2);
});

test("every scale puts parents above children", () => {
  for (const scale of scenes.SCALES) {
    const scene = scenes.build(storeOf(LIFE), { ...WHOLE, scale });
    for (let row = 1; row < scene.n; row += 1) {
      assert.ok(scene.v[row] > scene.v[scene.parent[row]], `${scale} ${row}`);
    }
    assert.equal(Math.max(...scene.v), 1, scale);
  }
});

test("odd heights: all the same, inverted, enormous, not finite", () => {
  const flat = scenes.build(storeOf(["r", 0, ["a", 0], ["b", 0]]), WHOLE);
  assert.deepEqual([list(flat.v), flat.axis], [[0, 1, 1], null]);
  const inverted = scenes.build(storeOf(["r", 1, ["i", 2, ["a", 0], ["b", 0]], ["c", 0]]), WHOLE);
  assert.equal(inverted.monotone, false);
  const huge = scenes.build(storeOf(["r", 1e308, ["a", -1e308], ["b", 0]]), WHOLE);
  assert.deepEqual(list(huge.v), [0, 1, 0.5]);
  const single = scenes.build(storeOf(["r", 0]), WHOLE);
  assert.equal(single.n, 1);
});

test("a chain of 50,000 is laid out without recursion", () => {
  const scene = scenes.build(chainOf(50_000), { ...WHOLE, scale: "rank" });
  assert.equal(scene.n, 100_001);
  assert.ok(scene.v.every((v) => v >= 0 && v <= 1) && scene.u.every((u) => u >= 0 && u <= 1));
});

test("a scene of nothing", () => {
  assert.deepEqual([scenes.emptyScene().n, scenes.emptyScene().tips], [0, 0]);
});

test("cuts by number and by height", () => {
  const columns = cuts.cutter(storeOf(LIFE));
  const names = (cut) => cuts.cutHere(columns, cut).clusters.map(({ name }) => name).sort(); // prettier-ignore
  assert.deepEqual(names({ k: 1 }), ["life"]);
  assert.deepEqual(names({ k: 3 }), ["animals", "fungi", "plants"]);
  assert.deepEqual(names({ k: 4 }), ["animals", "fungi", "oak", "rose"]);
  assert.deepEqual(names({ k: 99 }), ["cat", "dog", "fungi", "oak", "rose"]);
  assert.deepEqual(names({ height: 3.5 }), ["animals", "fungi", "plants"]);
  assert.deepEqual(names({ height: 4 }), ["life"]);
  assert.deepEqual(names({ height: -1 }), ["cat", "dog", "fungi", "oak", "rose"]);
});

test("a cut that no height makes is the next smaller one, and a warning", () => {
  const cut = cuts.cutHere(cuts.cutter(storeOf(LIFE)), { k: 2 });
  assert.equal(cut.n_clusters, 1);
  assert.match(cut.warnings[0], /exactly 2 clusters: this one has 1, the next 3/);
});

test("sizes, heights and categories of a cut", () => {
  const store = storeOf(LIFE);
  const cut = cuts.cutHere(cuts.cutter(store), { k: 3 });
  assert.deepEqual([cut.smallest, cut.median, cut.largest], [1, 2, 2]);
  assert.deepEqual(cut.heights, { from: 3, below: 4 });
  assert.equal(cuts.heightOf(cut), 3.5);
  assert.equal(cuts.heightOf({ ...cut, cut: { height: 1 } }), 1);
  assert.equal(cuts.heightOf(null), null);
  const byNode = new Map(cut.clusters.map(({ node, category }) => [node, category]));
  const scene = scenes.build(store, WHOLE);
  assert.deepEqual(list(cuts.categories(scene, store, byNode)), [-1, 0, 0, 0, 1, 2, 2, 2]);
  // A cut may lie above the part that is shown.
  const part = scenes.build(store, { ...WHOLE, root: 6 });
  assert.deepEqual(list(cuts.categories(part, store, byNode)), [2]);
});

test("cuts as texts", () => {
  for (const text of ["k:7", "height:2.5", "height:-1e-7"]) {
    assert.equal(cuts.cutText(cuts.cutOf(text)), text);
  }
  for (const text of [null, undefined, "", "k:", "k:0", "k:1.5", "k:x", "height:NaN", "level:2"]) {
    assert.equal(cuts.cutOf(text), null, String(text));
  }
  assert.equal(cuts.cutText(null), null);
  assert.equal(cuts.cutColour({ k: 3 }), "cluster:3");
  assert.equal(cuts.cutColour({ height: 0.5 }), "height:0.5");
});

test("positions of a slider", () => {
  for (const leaves of [2, 40, 41, 100_000]) {
    for (const k of [1, 2, Math.floor(leaves / 2), leaves]) {
      assert.equal(cuts.clustersAt(cuts.sliderPosition(k, leaves), leaves), k, `${k} of ${leaves}`);
    }
  }
  assert.equal(cuts.sliderPosition(1, 1), 0);
});

test("the suggestion to begin with", () => {
  const level = (criterion, k, score = 1) => ({ criterion, k, score });
  const best = (...levels) => cuts.rankedLevels(levels)[0]?.k;
  assert.equal(best(level("gap", 3), level("silhouette", 5)), 5);
  assert.equal(best(level("silhouette", 50), level("gap", 3)), 3);
  assert.equal(best(level("gap", 3, 1), level("gap", 4, 2)), 4);
  assert.equal(best(level("gap", 1)), undefined);
});

test("a cut that leaves most points in one cluster is not suggested", async () => {
  const shares = new Map([[2, 0.95], [3, 0.81], [5, 0.8], [9, 0.1]]); // prettier-ignore
  const wanted = [];
  const shareOf = (k) => (wanted.push(k), shares.get(k));
  assert.equal(await cuts.balancedCount([2, 3, 5, 9], shareOf), 5);
  assert.deepEqual(wanted, [2, 3, 5]);
  assert.equal(await cuts.balancedCount([2, 3], async (k) => shares.get(k)), null);
  assert.equal(await cuts.balancedCount([], shareOf), null);
});

test("names are taken over where nodes are loaded", () => {
  const store = storeOf(LIFE, { fold: [5] });
  const view = viewOf(LIFE);
  store.rename({ ...view, nodes: view.nodes.map((node) => ({ ...node, name: `n${node.id}` })) });
  assert.deepEqual(
    store.name,
    list(store.id.slice(0, store.n)).map((id) => `n${id}`),
  );
  assert.ok(store.n < view.nodes.length);
});

test("a look stands in the address", () => {
  const params = {
    layout: "icicle", heights: "rank", palette: "grey", root: "5", folded: "1.2", color: "none",
    cut: "k:7", only: "3", node: "9", zoom: "2,1,0.4,0.6", labels: "0",
    items: "at_01kamjx5w0", strips: "0.3", where: "column=3&low=1&high=2",
    measure: "missed", links: "0", map: "umap", heatmap: "median.leaves", names: "nm_01kamjx5w0", edition: "ed_01kamjx5w0",
    tab: "trust",
  }; // prettier-ignore
  const written = writeLook(readLook(params));
  assert.deepEqual(
    Object.fromEntries(Object.entries(written).map(([name, value]) => [name, String(value)])),
    params,
  );
  const plain = writeLook(readLook({}));
  assert.deepEqual(new Set(Object.values(plain)), new Set([null, ""]));
});

test("an address that makes no sense is a plain look", () => {
  const look = readLook({
    layout: "spiral", heights: "__proto__", palette: "x", root: "-1", folded: "1.x.<b>",
    color: "ds_../../etc", cut: "k:-1", only: "1e3", node: "99999999999", zoom: "1,2,NaN,4", labels: "",
    items: "at_../x", strips: "a.-1.2.2", where: "column=x&low=1",
    measure: "f2", links: "", map: "world", heatmap: "constructor.cut", names: "nm_../x", edition: "ed_", tab: "__proto__",
  }); // prettier-ignore
  assert.deepEqual({ ...look, folded: [...look.folded] }, {
    shape: "circular", scale: "auto", palette: "okabe-ito", root: 0, folded: [1], color: "cut",
    cut: null, alone: null, node: null, camera: null, labels: true,
    measure: "f1", links: true, map: null, heatmap: null, names: null, items: null, strips: [2], where: null,
    edition: null, tab: "explore",
  }); // prettier-ignore
});

test("a side of two trees", () => {
  const { nodes } = viewOf(LIFE, { fold: [5] });
  const places = { 0: [0.5, 0], 1: [0.2, 0.25], 2: [0.1, 1], 3: [0.3, 1], 4: [0.6, 1], 5: [0.9, 0.5] }; // prettier-ignore
  const scene = sceneOf(nodes.map((node) => ({ ...node, x: places[node.id][0], y: places[node.id][1], folded: node.id === 5 }))); // prettier-ignore
  assert.deepEqual(list(scene.kind), [0, 0, 1, 1, 1, 2]);
  assert.deepEqual(list(scene.end), [6, 4, 3, 4, 5, 6]);
  assert.equal(scene.tips, 4);
  assert.ok(Math.abs(scene.right[1] - 0.45) < 1e-12);
  assert.deepEqual(list(topClusters(scene, 3)), [-1, 0, 0, 0, 1, 2]);
});

//        life (4)
//      /    |     \
//  plants  fungi  animals (2)
//   (3)   (noise)  /    \
//   / \          cat    dog
// rose oak
const withNoise = () => {
  const store = storeOf(LIFE);
  store.noise.add(4);
  return store;
};

test("noise is in no cluster and is not counted", () => {
  const store = withNoise();
  const columns = cuts.cutter(store);
  assert.equal(columns.nLeaves, 4);
  const names = (cut) => cuts.cutHere(columns, cut).clusters.map(({ name }) => name).sort(); // prettier-ignore
  for (const [k, expected] of [
    [2, ["animals", "plants"]],
    [3, ["animals", "oak", "rose"]],
    [9, ["cat", "dog", "oak", "rose"]],
  ]) {
    assert.deepEqual(names({ k }), expected);
    const cut = cuts.cutHere(columns, { k });
    assert.deepEqual([cut.n_clusters, cut.n_noise, cut.warnings], [expected.length, 1, []]);
  }
  assert.deepEqual(names({ height: 3.5 }), ["animals", "plants"]);
  const cut = cuts.cutHere(columns, { k: 2 });
  assert.deepEqual(cut.clusters.map(({ category }) => category).sort(), [0, 1]);
  const byNode = new Map(cut.clusters.map(({ node, category }) => [node, category]));
  const scene = scenes.build(store, WHOLE);
  const shown = list(cuts.categories(scene, store, byNode));
  assert.deepEqual(shown, [-1, 0, 0, 0, cuts.NOISE, 1, 1, 1]);
});

test("a cut that is too coarse has the noise in its clusters, and a warning", () => {
  const cut = cuts.cutHere(cuts.cutter(withNoise()), { k: 1 });
  assert.deepEqual([cut.n_clusters, cut.n_noise, cut.largest], [1, 0, 5]);
  assert.match(cut.warnings[0], /1 row\(s\) of noise are in the clusters/);
});

test("one cluster beside noise is set apart from it", () => {
  const store = storeOf(["all", 2, ["0", 0], ["noise", 0]]);
  store.noise.add(2);
  const cut = cuts.cutHere(cuts.cutter(store), { k: 1 });
  assert.deepEqual([cut.clusters.map(({ name }) => name), cut.n_noise], [["0"], 1]);
});

test("a tree of noise alone has no clusters", () => {
  const store = storeOf(["noise", 0]);
  store.noise.add(0);
  const cut = cuts.cutHere(cuts.cutter(store), { k: 1 });
  assert.deepEqual([cut.n_clusters, cut.n_noise, cut.smallest, cut.largest], [0, 1, 0, 0]);
});
