// Tables of a cut, and the orders of outliers.

import assert from "node:assert/strict";
import { test } from "node:test";

import { clusterRows, namesUnder } from "../../../app/dashboard/js/tree/model/cut_rows.js";
import { ordersOf } from "../../../app/dashboard/js/tree/model/outlier_orders.js";

/** @param {number} id @param {string | null} name @param {number | null} node */
const leaf = (id, name, node) =>
  /** @type {any} */ ({ leaf: id, leaf_name: name, leaf_size: 2, cluster: 0, node, name: null });

test("the leaves of each cluster stand in its line of the file", () => {
  const under = namesUnder([leaf(3, "cat", 1), leaf(4, "dog", 1), leaf(5, null, 1), leaf(6, "x", null)]); // prettier-ignore
  assert.deepEqual([...under], [[1, ["cat", "dog"]]]);
  const cluster = /** @type {any} */ ({ id: 0, node: 1, name: "pets", size: 4, support: 0.5 });
  assert.deepEqual(clusterRows([cluster], under, 8)[1], [
    ...[0, 1, "pets", 4, 0.5, 0.5, 2],
    "cat; dog",
  ]);
});

test("logits have no distances, and the root no siblings", () => {
  assert.deepEqual(ordersOf("logits", false), [["doubt", "Most doubtful"]]);
  assert.deepEqual(
    ordersOf("features", true).map(([order]) => order),
    ["far", "near"],
  );
  assert.equal(ordersOf("features", false).length, 3);
});
