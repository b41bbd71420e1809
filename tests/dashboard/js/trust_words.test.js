// What a calibration promises and found, in words and points.

import assert from "node:assert/strict";
import { test } from "node:test";

import * as words from "../../../app/dashboard/js/tree/panels/trust_words.js";

const result = {
  ...{ loss: "miss", per: "all", answer: "node", score: null, alpha: 0.05, seed: 0 },
  ...{ n_rows: 800, n_temperature: 200, n_unlabelled: 0, n_groups: 1, n_promised: 1 },
  ...{ threshold: 0.6, temperature: 1.4, likelihood: null, area: 0.01, error: 0.12 },
  ...{ n_suspects: 3, n_pairs: 2 },
};
const steps = [
  { threshold: -1, coverage: 1, error: 0.12, depth: 6 },
  { threshold: 0.5, coverage: 0.9, error: 0.06, depth: 5 },
  { threshold: 0.7, coverage: 0.4, error: 0, depth: 2 },
];

test("a promise says what, how often and for whom", () => {
  assert.match(words.promiseText(result), /deepest node .* at least 95\u00a0% over all rows/u);
  const sets = { ...result, answer: "set", per: "class", n_promised: 1 };
  assert.match(words.promiseText(sets), /fewest nodes .* each of 1 class\./u);
  assert.match(words.promiseText({ ...sets, per: "subtree", n_promised: 4 }), /4 subtrees/u);
  assert.match(words.promiseText({ ...result, loss: "distance", alpha: 0.5 }), /0\.5 edges/u);
  assert.match(words.promiseText({ ...result, loss: "cost", alpha: 2 }), /at most 2/u);
});

test("the step of a threshold is the last that is no higher", () => {
  const at = (threshold) => words.stepAt({ area: 0, threshold, steps })?.threshold;
  assert.deepEqual([-1, 0.5, 0.6, 2].map(at), [-1, 0.5, 0.5, 0.7]);
  assert.equal(at(null), undefined);
  assert.match(words.depthText(steps[1], steps[0]), /tell 90\u00a0% .* depth 5 of 6 .* 12\u00a0%/u);
});

test("curves run from little to much", () => {
  assert.deepEqual(words.curvePoints(steps), [
    [0.4, 0],
    [0.9, 0.06],
    [1, 0.12],
  ]);
  const merges = { steps: [{ bits: 2, accuracy: 0.8 }, { bits: 0, accuracy: 1 }] }; // prettier-ignore
  assert.deepEqual(words.mergePoints(merges), [
    [0, 1],
    [2, 0.8],
  ]);
});

test("calibrations and pairs are distinguished, merges that lose nothing come first", () => {
  const own = { id: "cal_1", name: null, result };
  assert.equal(words.labelOf(own), "alpha 0.05, all rows, 800 rows");
  const named = { ...own, name: "mine", result: { ...result, per: "class", answer: "set" } };
  assert.equal(words.labelOf(named), "mine · alpha 0.05, by class, sets, 800 rows");
  assert.equal(words.labelOf({ ...own, name: "later", result: null }), "later");
  assert.match(words.rateText({ rate: 0.25, low: 0.154, high: 0.37 }), /^25\u00a0% \(15\.4–37/u);
  const stays = (expected, learned) => words.staysOf({ expected, learned });
  assert.deepEqual([stays(0.2, 0.1), stays(null, 0.3), stays(1, null), stays(null, null)], [0.1, 0.3, 1, 0]); // prettier-ignore
  const node = (id, gain, lost) => ({ node: id, name: null, gain, lost_bits: lost });
  const nodes = [node(0, 0.3, 3), node(1, 0.2, 1), node(2, 0.01, 0)];
  assert.deepEqual(
    words.byPrice(nodes).map((each) => each.node),
    [2, 1, 0],
  );
});
