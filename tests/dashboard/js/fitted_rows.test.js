// Which datasets a model takes, and which of them it was fitted to.

import assert from "node:assert/strict";
import { test } from "node:test";

import { columnsFor, isOfClasses, refusalOf } from "../../../app/dashboard/js/forms/fitted_rows.js";

const rows = (id, shape, more = {}) => ({ id, sha256: `of ${id}`, member: null, shape, columns: null, ...more }); // prettier-ignore
const table = (id, ...names) =>
  rows(id, [5, names.length], {
    columns: names.map((name) => ({
      ...{ name, type: "number", examples: [] },
      role: name === "kind" ? "label" : "feature",
    })),
  });

test("rows of another width are refused, of any number of rows taken", () => {
  const refusal = refusalOf({ features: [rows("ds_1", [90, 16])] });
  assert.equal(refusal(rows("ds_2", [7, 16]), "features"), null);
  assert.match(refusal(rows("ds_2", [7, 5]), "features"), /5 columns; the model takes 16/);
  assert.equal(refusal(rows("ds_2", null), "features"), null);
  assert.equal(refusal(rows("ds_2", [7]), "labels"), null);
});

test("tables are matched by the names of their columns", () => {
  const fitted = { features: [table("ds_1", "a", "b")] };
  const refusal = refusalOf(fitted);
  assert.equal(refusal(table("ds_2", "b", "a"), "features"), null);
  assert.match(refusal(table("ds_2", "a", "c"), "features"), /lacks the column b\./);
  assert.match(refusal(table("ds_2", "c"), "features"), /lacks columns a, b\./);
  assert.equal(columnsFor(fitted, table("ds_2", "b", "a", "kind"), "features"), null);
  assert.deepEqual(columnsFor(fitted, table("ds_2", "c", "b", "a"), "features"), ["a", "b"]);
  assert.equal(columnsFor(fitted, table("ds_2", "c", "b"), "features"), null);
  assert.equal(columnsFor({}, table("ds_2", "c"), "features"), null);
});

test("fitted rows are not held out, sent again or not; another array of their file is", () => {
  const fitted = { features: [rows("ds_1", [9, 2], { member: "train" })] };
  const again = (member) => rows("ds_2", [9, 2], { sha256: "of ds_1", member });
  const heldOut = refusalOf(fitted, { heldOut: true });
  assert.match(heldOut(fitted.features[0], "features"), /fitted to these rows/);
  assert.match(heldOut(again("train"), "features"), /fitted to these rows/);
  assert.equal(heldOut(again("test"), "features"), null);
  assert.equal(refusalOf(fitted)(again("train"), "features"), null);
  assert.equal(refusalOf({})(again("train"), "features"), null);
});

test("leaves are classes where a method is given classes, else groups that it finds", () => {
  const takes = (...roles) => Object.fromEntries(roles.map((role) => [role, {}]));
  const of = (classifies, ...roles) => isOfClasses({ classifies, inputs: takes(...roles) });
  assert.equal(of(false, "logits", "names"), true);
  assert.equal(of(true, "features"), true);
  assert.equal(of(false, "features", "labels"), true);
  assert.equal(of(false, "features", "names"), false);
});
