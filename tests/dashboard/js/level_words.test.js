import assert from "node:assert/strict";
import { test } from "node:test";

import { criterionText } from "../../../app/dashboard/js/tree/model/cut.js";
import { largestLeaves } from "../../../app/dashboard/js/tree/model/cluster_names.js";
import { storeOf } from "./trees_kit.js";

test("why a level stands out is in words, an unknown criterion by its name", () => {
  assert.equal(criterionText("modularity"), "few mix-ups between");
  assert.equal(criterionText("new"), "new");
});

test("names from right to left are isolated from each other and from the comma", () => {
  const store = storeOf([null, 3, ["שלום", 0], ["مرحبا", 0], ["x", 0]]);
  assert.equal(
    largestLeaves(store, store.slot(0)),
    "\u2068שלום\u2069, \u2068مرحبا\u2069, \u2068x\u2069",
  );
});
