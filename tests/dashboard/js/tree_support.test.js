// The support of nodes as colours.

import assert from "node:assert/strict";
import { test } from "node:test";

import * as support from "../../../app/dashboard/js/tree/model/support.js";

test("only nodes with support have one, and each has a category", () => {
  const nodes = [null, 1, 0.9, 0.4999, 0].map((value, id) => ({ id, support: value }));
  const known = support.supportIn([...nodes, { id: 9 }]);
  assert.deepEqual([...known.keys()], [1, 2, 3, 4]);
  assert.deepEqual([...known.values()].map(support.categoryOf), [5, 4, 0, 0]);
  assert.equal(support.categoryOf(known.get(0)), -1);
});

test("the support of categories and nodes is in percent", () => {
  const names = Array.from({ length: support.N_CATEGORIES }, (_, at) => support.categoryName(at));
  assert.deepEqual([names[0], names[4], names[5]], ["0–50 %", "90–95 %", "95–100 %"]);
  assert.equal(support.supportText(0.875), "support 87.5 %");
  assert.equal(support.supportText(undefined), "");
});
