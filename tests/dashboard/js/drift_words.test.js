// What moved between two samples, in words.

import assert from "node:assert/strict";
import { test } from "node:test";

import * as words from "../../../app/dashboard/js/tree/panels/drift_words.js";

const move = {
  ...{ aspect: "mass", node: 17, name: "rose", parent: 3, parent_name: "rose, tulip" },
  ...{ direction: "gained", before: 0.41, after: 0.63, low: 0.14, high: 0.3, p_value: 2.1e-8 },
  ...{ n_before: 164, n_after: 252, label: null },
};
const result = {
  ...{ level: 0.05, n_reference: 2000, n_batch: 1, n_moves: 2, moves: [move] },
  aspects: [
    { aspect: "mass", moved: true, p_value: 4e-6, n_tested: 98, n_moved: 2 },
    { aspect: "confidence", moved: false, p_value: 0.6, n_tested: 1, n_moved: 0 },
  ],
};

test("a drift says what was found and what is promised", () => {
  assert.equal(
    words.findingText(result),
    "2 changes between 2,000 rows of the reference and 1 row of the batch.",
  );
  assert.match(words.findingText({ ...result, n_moves: 0 }), /^No change was found between/u);
  assert.match(
    words.promiseText(result),
    /at most 5\u00a0%\. .* about 5\u00a0% of what is found is false/u,
  );
  assert.equal(
    words.aspectsText(result),
    "Mass moved at 2 of 98 nodes tested, confidence at none of 1 node.",
  );
  assert.equal(words.aspectsText({ ...result, aspects: [] }), "Nothing could be tested.");
});

test("a move says what changed, and what its shares are of", () => {
  assert.equal(words.changeText(move), "More rows");
  assert.equal(words.changeText({ ...move, aspect: "purity", direction: "lost" }), "Less pure");
  assert.equal(words.shareText(move), "of the rows of rose, tulip");
  assert.equal(words.shareText({ ...move, parent_name: null }), "of the rows of node 3");
  const root = { ...move, parent: 0, parent_name: null };
  assert.equal(words.shareText(root), "of the rows of the root");
  assert.equal(words.shareText({ ...move, aspect: "purity", label: "oak" }), "labelled oak");
  assert.match(words.shareText({ ...move, aspect: "confidence" }), /mean probability/u);
});

test("drifts are distinguished by what they found", () => {
  const drift = { id: "dr_1", name: null, result };
  assert.equal(words.labelOf(drift), "2 changes, 1 row against 2,000");
  const none = { ...drift, name: "May", result: { ...result, n_moves: 0 } };
  assert.equal(words.labelOf(none), "May · no change, 1 row against 2,000");
  assert.equal(words.labelOf({ ...none, result: null }), "May");
});
