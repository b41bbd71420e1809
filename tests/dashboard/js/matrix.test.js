// Which classes are taken for which: the matrix in the order of the tree, and the part that is shown.

import assert from "node:assert/strict";
import { test } from "node:test";

import * as matrix from "../../../app/dashboard/js/tree/model/matrix.js";
import { LIFE, storeOf } from "./trees_kit.js";

const classOf = (node) => ({ node, name: `n${node}`, n_rows: 10, right: 0.5 });
const pairOf = (node, taken, share) => ({
  ...{ node, name: null, taken_for: taken, taken_for_name: null },
  ...{ mass: 10 * (share ?? 0), share, cost: 0, meet: 0, height: 1 },
});

test("pairs lie where their classes are in the tree, the largest last", () => {
  const known = matrix.matrixOf({
    classes: [classOf(7), classOf(2), classOf(4)],
    pairs: [pairOf(2, 7, 0.4), pairOf(7, 4, 0.1), pairOf(4, 7, null), pairOf(2, 99, 0.9)],
  });
  assert.deepEqual(
    known.cells.map(({ row, column, share }) => [row, column, share]),
    [
      [0, 2, 0.1],
      [1, 0, 0.4],
    ],
  );
  assert.equal(known.most, 0.4);
  assert.equal(known.cellAt(1, 0)?.pair.node, 2);
  assert.equal(known.cellAt(0, 1), undefined);
  assert.equal(known.cellAt(2, 0), undefined);
});

test("nothing is confused", () => {
  const known = matrix.matrixOf({ classes: [], pairs: [] });
  assert.deepEqual([known.cells, known.most], [[], 0]);
  assert.deepEqual(matrix.wholeOf({ rows: 0, columns: 0 }), {
    ...{ row: 0, column: 0, rows: 1, columns: 1 },
  });
});

test("what is under the pointer stays there, and the window stays in the matrix", () => {
  const extent = { rows: 100, columns: 100 };
  const whole = matrix.wholeOf(extent);
  const near = matrix.zoomed(whole, extent, 0.5, { row: 60, column: 20 });
  assert.deepEqual(near, { row: 30, column: 10, rows: 50, columns: 50 });
  assert.deepEqual(matrix.zoomed(near, extent, 2, { row: 60, column: 20 }), whole);
  // At the border it is moved in, and not beyond a few classes or all.
  assert.deepEqual(matrix.zoomed(near, extent, 1.8, { row: 30, column: 60 }), {
    ...{ row: 10, column: 0, rows: 90, columns: 90 },
  });
  assert.equal(matrix.zoomed(whole, extent, 1e-9, { row: 1, column: 1 }).rows, 4);
  assert.equal(matrix.zoomed(whole, extent, 1e9, { row: 1, column: 1 }).columns, 100);
  const two = { rows: 2, columns: 2 };
  assert.equal(matrix.zoomed(matrix.wholeOf(two), two, 0.1, { row: 1, column: 1 }).rows, 2);
  assert.deepEqual(matrix.moved(near, extent, { rows: -40, columns: 45 }), {
    ...{ row: 0, column: 50, rows: 50, columns: 50 },
  });
});

test("both ways zoom by the same factor as far as each can", () => {
  const extent = { rows: 1000, columns: 10 };
  const near = matrix.zoomed(matrix.wholeOf(extent), extent, 0.5, { row: 0, column: 10 });
  assert.deepEqual(near, { row: 0, column: 5, rows: 500, columns: 5 });
  const nearer = matrix.zoomed(near, extent, 0.1, { row: 100, column: 5 });
  assert.deepEqual([nearer.rows, nearer.columns], [50, 4]);
  assert.equal(nearer.row, 90);
});

test("the tree over columns joins places and earlier merges", () => {
  const joins = matrix.joinsOfMerges(3, [
    [1, 2, 0.5],
    [3, 0, 2],
  ]);
  assert.deepEqual(joins, [
    { height: 0.5, from: 1.5, to: 2.5, feet: [[1.5, 0], [2.5, 0]] }, // prettier-ignore
    { height: 2, from: 0.5, to: 2, feet: [[2, 0.5], [0.5, 0]] }, // prettier-ignore
  ]);
});

test("the joins of the tree over the classes that are there", () => {
  const store = storeOf(LIFE);
  // rose, oak, fungi, cat, dog
  const all = matrix.joinsOf(store, [2, 3, 4, 6, 7].map(classOf));
  assert.deepEqual(all?.map(({ height, from, to }) => [height, from, to]).sort(), [
    [2, 3.5, 4.5],
    [3, 0.5, 1.5],
    [4, 1, 4],
  ]);
  const root = all?.at(-1);
  assert.deepEqual(root?.height, 4);
  assert.deepEqual(root?.feet.map(([at]) => at).sort(), [1, 2.5, 4]);
  const some = matrix.joinsOf(store, [3, 7].map(classOf));
  assert.deepEqual(some?.at(-1), { height: 4, from: 0.5, to: 1.5, feet: [[0.5, 3], [1.5, 2]] }); // prettier-ignore
});

test("a tree that is not loaded down to the classes has no joins", () => {
  const store = storeOf(LIFE, { fold: [5] });
  assert.equal(matrix.joinsOf(store, [2, 6].map(classOf)), null);
});

test("keys go from cell to cell, from the middle, never outside, and the cell comes into view", () => {
  const extent = { rows: 10, columns: 6 };
  const window = { row: 2, column: 0, rows: 4, columns: 4 };
  const right = { rows: 0, columns: 1 };
  assert.deepEqual(matrix.beside(null, window, extent, right), { row: 4, column: 2 });
  assert.deepEqual(matrix.beside({ row: 4, column: 4 }, window, extent, right), { row: 4, column: 5 }); // prettier-ignore
  assert.deepEqual(matrix.beside({ row: 4, column: 5 }, window, extent, right), { row: 4, column: 5 }); // prettier-ignore
  assert.deepEqual(matrix.showing(window, extent, { row: 4, column: 2 }), window);
  assert.deepEqual(matrix.showing(window, extent, { row: 7, column: 4 }), { ...window, row: 4, column: 1 }); // prettier-ignore
  assert.deepEqual(matrix.showing(window, extent, { row: 0, column: 0 }), { ...window, row: 0 });
});
