// Datasets that label the rows of a tree.

import assert from "node:assert/strict";
import { test } from "node:test";

import { labelOption, labelsRows } from "../../../app/dashboard/js/tree/model/row_labels.js";

/** @param {Record<string, unknown>} facts */
const dataset = (facts) =>
  /** @type {any} */ ({ id: "ds_1", name: null, role: "features", status: "ready", shape: [3, 2], columns: null, ...facts }); // prettier-ignore

test("a table offers its column of labels, and one column is all that it offers", () => {
  const three = (/** @type {number} */ rows) => rows === 3;
  const columns = [{ name: "kind", role: "label" }];
  const table = dataset({ name: "Bikes", columns });
  assert.ok(labelsRows(table, three));
  assert.deepEqual(labelOption(table), ["ds_1", "kind of Bikes"]);
  const alone = dataset({ role: "labels", shape: [3] });
  assert.ok(labelsRows(alone, three));
  assert.deepEqual(labelOption(alone), ["ds_1", "ds_1"]);
  for (const facts of [
    {},
    { columns: [] },
    { columns, status: "invalid" },
    { columns, shape: [4, 2] },
    { shape: null },
  ])
  // prettier-ignore
  {assert.ok(!labelsRows(dataset(facts), three));}
});
