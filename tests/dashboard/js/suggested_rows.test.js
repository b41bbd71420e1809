import assert from "node:assert/strict";
import { test } from "node:test";

import { refusalOf } from "../../../app/dashboard/js/forms/fitted_rows.js";
import { labelledRows, labelsOf, newRows } from "../../../app/dashboard/js/forms/suggested_rows.js";

const rows = (id, shape, more = {}) => ({
  id,
  sha256: id,
  shape,
  role: "features",
  format: "npy",
  created_at: `2026-01-0${id.at(-1)}T00:00:00Z`,
  ...more,
});
const fitted = { features: [rows("ds_1", [60, 4])] };
const refusal = refusalOf(fitted, { heldOut: true });
const DATASETS = [
  rows("ds_2", [6, 4]),
  rows("ds_4", [6, 4]),
  rows("ds_3", [6, 4]),
  rows("ds_5", [6, 9]),
  rows("ds_6", [60, 4], { sha256: "ds_1" }),
  rows("ds_7", [6, 4], { role: "logits" }),
  rows("ds_8", null),
];
const ids = (datasets) => datasets.map(({ id }) => id);

test("the newest rows that fit come first, the fitted ones never", () => {
  const wanted = { roles: ["features"], fitted, refusal };
  assert.deepEqual(ids(newRows(DATASETS, wanted)), ["ds_4", "ds_3", "ds_2"]);
  // Where what fits is unknown, and of models of several inputs, nothing is chosen.
  assert.deepEqual(newRows(DATASETS, { ...wanted, fitted: {} }), []);
  assert.deepEqual(newRows(DATASETS, { ...wanted, roles: ["features", "tasks"] }), []);
});

test("labels are chosen only where there are no others of as many rows", () => {
  const labels = (id, n) => rows(id, [n], { role: "labels" });
  const own = rows("ds_1", [6, 4]);
  assert.equal(labelsOf([labels("ds_2", 6), labels("ds_3", 7), own], own)?.id, "ds_2");
  assert.equal(labelsOf([labels("ds_2", 6), labels("ds_3", 6)], own), null);
  assert.equal(labelsOf([labels("ds_3", 7)], own), null);
  const column = (role) => ({ name: role, type: "number", role });
  const table = { ...own, columns: [column("feature"), column("label")] };
  assert.equal(labelsOf([labels("ds_2", 6)], table)?.id, "ds_1");
});

test("of rows to calibrate with, the newest that have labels are chosen", () => {
  const labels = rows("ds_2", [6], { role: "labels" });
  const [newest, older] = [rows("ds_4", [7, 4]), rows("ds_3", [6, 4])];
  assert.equal(labelledRows([newest, older], [labels, newest, older])?.id, "ds_3");
  assert.equal(labelledRows([newest], [labels, newest]), null);
});
