// The points of a map: where they are, what is within an outline, how they are coloured and drawn.

import assert from "node:assert/strict";
import { test } from "node:test";

import { readNpy } from "../../../app/dashboard/js/net/npy.js";
import { mapColours } from "../../../app/dashboard/js/tree/draw/map_colours.js";
import { Pace } from "../../../app/dashboard/js/tree/draw/pace.js";
import { writePixels } from "../../../app/dashboard/js/tree/draw/point_pixels.js";
import { readLook } from "../../../app/dashboard/js/tree/model/look.js";
import * as map from "../../../app/dashboard/js/tree/model/point_map.js";
import { LIFE, storeOf, viewOf } from "./trees_kit.js";

const pointsOf = (pairs) => ({ xy: new Float32Array(pairs.flat()), n: pairs.length });

/** Numbers from 0 to 1 that are the same in every run. */
function randomFrom(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function npy(head, values) {
  const start = new Uint8Array(10 + head.length);
  start.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, head.length & 255, head.length >> 8]);
  start.set(new TextEncoder().encode(head), 10);
  return new Blob([start, values]).arrayBuffer();
}

test("arrays of the service are read, others refused", async () => {
  const head = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }\n";
  const { shape, values } = readNpy(await npy(head, new Float32Array([1, 2, 3, 4])));
  assert.deepEqual(
    [shape, [...values]],
    [
      [2, 2],
      [1, 2, 3, 4],
    ],
  );
  await assert.rejects(async () => readNpy(await npy(head, new Float32Array(3))), /not whole/);
  const other = head.replace("<f4", ">i2");
  await assert.rejects(async () => readNpy(await npy(other, new Int16Array(4))), /not read here/);
  const turned = head.replace("False", "True");
  await assert.rejects(
    async () => readNpy(await npy(turned, new Float32Array(4))),
    /not read here/,
  );
  assert.throws(() => readNpy(new ArrayBuffer(20)), /no .npy file/);
});

test("a box is around all points, and never empty", () => {
  const box = map.boxOf(pointsOf([[0, 0], [10, 4]])); // prettier-ignore
  assert.deepEqual(
    Object.values(box).map((value) => Math.round(value * 100) / 100),
    [-0.05, -0.05, 10.05, 4.05],
  );
  assert.deepEqual(map.boxOf(pointsOf([[3, 3]])), { x0: 2, y0: 2, x1: 4, y1: 4 });
  assert.deepEqual(map.boxOf(pointsOf([])), { x0: -1, y0: -1, x1: 1, y1: 1 });
});

test("the nearest point is the one that a look at all of them finds", () => {
  const random = randomFrom(1);
  const points = pointsOf(Array.from({ length: 300 }, () => [random() * 9, random() ** 3]));
  const grid = map.gridOf(points, map.boxOf(points));
  for (let at = 0; at < 200; at += 1) {
    const [x, y, reach] = [random() * 11 - 1, random() * 1.4 - 0.2, random() * 0.5];
    let [best, least] = [-1, reach * reach];
    for (let place = 0; place < points.n; place += 1) {
      const square = (points.xy[2 * place] - x) ** 2 + (points.xy[2 * place + 1] - y) ** 2;
      if (square <= least) [best, least] = [place, square];
    }
    assert.equal(map.nearestTo(points, grid, x, y, reach), best);
  }
  const twice = pointsOf([[1, 1], [1, 1]]); // prettier-ignore
  assert.equal(map.nearestTo(twice, map.gridOf(twice, map.boxOf(twice)), 1, 1, 1), 1);
});

test("points within an outline are those that a ray counts", () => {
  const random = randomFrom(2);
  const points = pointsOf(
    Array.from({ length: 400 }, () => [random() * 4, Math.floor(random() * 5)]),
  );
  for (let run = 0; run < 40; run += 1) {
    const outline = Array.from({ length: 3 + (run % 9) }, () => [
      random() * 4,
      Math.floor(random() * 5),
    ]);
    const { inside, count } = map.within(points, outline);
    let expected = 0;
    for (let place = 0; place < points.n; place += 1) {
      const [x, y] = [points.xy[2 * place], points.xy[2 * place + 1]];
      let odd = 0;
      outline.forEach(([x0, y0], at) => {
        const [x1, y1] = outline[(at + 1) % outline.length];
        const isPassed = (y0 <= y && y < y1) || (y1 <= y && y < y0);
        if (isPassed && x < x0 + (y - y0) * ((x1 - x0) / (y1 - y0))) odd ^= 1;
      });
      assert.equal(inside[place], odd);
      expected += odd;
    }
    assert.equal(count, expected);
  }
  assert.equal(map.within(points, [[1, 1], [2, 1], [3, 1]]).count, 0); // prettier-ignore
});

test("an outline has as many corners as it may", () => {
  const outline = Array.from({ length: 1001 }, (_, at) => [at, 0]);
  assert.equal(map.thinned(outline, 200).length, 167);
  assert.deepEqual(map.thinned(outline.slice(0, 9), 200), outline.slice(0, 9));
});

test("the deepest loaded node over a point", () => {
  const whole = storeOf(LIFE);
  // From left to right: rose, oak, fungi, cat, dog.
  assert.deepEqual(
    [0, 1, 2, 3, 4].map((place) => whole.id[map.nodeOver(whole, place)]),
    [2, 3, 4, 6, 7],
  );
  const folded = storeOf(LIFE, { fold: [1] });
  assert.deepEqual(
    [0, 1, 4].map((place) => folded.id[map.nodeOver(folded, place)]),
    [1, 1, 7],
  );
  assert.equal(map.nodeOver(whole, 5), -1);
});

const theme = {
  ...{
    series: ["#000001", "#000002", "#000003"],
    pale: ["#0000a1", "#0000a2", "#0000a3"],
    other: "#888888",
    bare: "#00ff00",
  },
  paper: "#ffffff",
};
const coloured = (look, more = {}) => ({
  ...{ theme, store: storeOf(LIFE), cut: null, labels: null, errors: null, coarse: false },
  ...{ byNode: new Map(), look: { ...readLook({}), ...look }, ...more },
});
const clusters = [
  { node: 1, size: 2, name: null, category: 0, points_before: 0 },
  { node: 5, size: 2, name: null, category: 4, points_before: 3 },
];
/** The colour of each point. */
function shades(view) {
  const { runs, palette } = mapColours(view);
  return [...map.painted(5, runs)].map((index) => palette[index]);
}

test("a map has the colours of the tree", () => {
  const cut = { cut: { k: 5 }, clusters, n_clusters: 5 };
  // What no cluster is known of is grey.
  const own = ["#000001", "#000001", "#888888", "#000002", "#000002"];
  assert.deepEqual(shades(coloured({ color: "cut" }, { cut })), own);
  const alone = shades(coloured({ color: "cut", alone: 4 }, { cut }));
  assert.deepEqual([alone[0] === own[0], alone[3]], [false, "#000002"]);
  assert.deepEqual(shades(coloured({ color: "none" }, { cut })), Array(5).fill("#00ff00"));
  const store = storeOf(LIFE);
  const view = viewOf(LIFE);
  for (const node of view.nodes) node.category = node.name === "dog" ? 1 : null;
  store.graft({ ...view, color_by: "ds_1" });
  assert.deepEqual(shades(coloured({ color: "ds_12345678" }, { store })), [
    ...Array(4).fill("#888888"),
    "#000002",
  ]);
});

test("a map that moves slowly shows fewer points, and more when there is time", () => {
  const pace = new Pace();
  let now = 1000;
  /** @param {number} ms @param {number} n */
  const frames = (ms, n) => {
    for (let at = 0; at < n; at += 1) pace.frame((now += ms));
    return pace.every;
  };
  assert.equal(frames(16.7, 100), 1);
  assert.equal(frames(40, 3), 8);
  pace.end();
  assert.equal(pace.every, 1);
  // The next movement begins where the last one was in time; the wait for its first frame counts not.
  now += 5000;
  assert.equal(frames(16.7, 1), 8);
  assert.equal(frames(16.7, 63), 8);
  assert.equal(frames(16.7, 1), 4);
  assert.equal(frames(16.7, 1000), 1);
  assert.equal(frames(99, 20), 64);
});

test("points are written into pixels, those that stand out on top", () => {
  const points = pointsOf([[0, 0], [0, 0], [1, 1], [99, 0]]); // prettier-ignore
  const shot = {
    ...{ camera: { x: 0, y: 0, k: 2 }, width: 8, height: 6, ratio: 1, size: 1, every: 1 },
    ...{ paper: "#ffffff", palette: ["#ff0000", "#0000ff"] },
  };
  const pixels = new Uint32Array(8 * 6);
  const index = new Uint8Array([1, 0, 1, 1]);
  writePixels(pixels, 8, points, { index, lit: null }, shot);
  const at = (x, y) => (pixels[y * 8 + x] & 0xffffff).toString(16).padStart(6, "0");
  // Blue, green, red: 0, 0 is in the middle, y points up.
  assert.deepEqual([at(4, 3), at(6, 1), at(0, 0)], ["0000ff", "ff0000", "ffffff"]);
  writePixels(pixels, 8, points, { index, lit: new Uint8Array([1, 0, 0, 0]) }, shot);
  assert.equal(at(4, 3), "ff0000");
  assert.notEqual(at(6, 1), "ff0000");
  writePixels(pixels, 8, points, { index, lit: null }, { ...shot, every: 2 });
  assert.deepEqual([at(4, 3), at(6, 1)], ["ff0000", "ff0000"]);
  // Large points are discs.
  const large = new Uint32Array(8 * 6);
  writePixels(large, 8, pointsOf([[0, 0]]), { index: new Uint8Array(1), lit: null }, { ...shot, size: 4 }); // prettier-ignore
  const letters = [...large].map((pixel) => (pixel === large[8 * 3 + 4] ? "o" : ".")).join("");
  assert.deepEqual(letters.match(/.{8}/g), [
    "........",
    "...oo...",
    "..oooo..",
    "..oooo..",
    "...oo...",
    "........",
  ]);
});

test("keys go to the nearest point that way, and stay where there is none", () => {
  //     1
  //   0   2    3
  const points = pointsOf([
    [0, 0],
    [1, 1.5],
    [2, 0.5],
    [4, 0],
  ]);
  assert.equal(map.toward(points, 0, 1, 0), 2);
  assert.equal(map.toward(points, 0, 0, 1), 1);
  assert.equal(map.toward(points, 2, 1, 0), 3);
  assert.equal(map.toward(points, 3, 1, 0), 3);
  assert.equal(map.toward(points, 3, -1, 0), 2);
  const grid = map.gridOf(points, map.boxOf(points));
  assert.equal(map.nearestTo(points, grid, 3.5, 9, Infinity), 1);
});
