// Whether runs differ beyond chance, in words.

import assert from "node:assert/strict";
import { test } from "node:test";

import { differenceWords } from "../../../app/dashboard/js/pages/comparison_differences.js";
import { lines } from "../../../app/dashboard/js/pages/comparison_pictures.js";

const tested = (better, worse, p) => ({ n_better: better, n_worse: worse, p_value: p });

test("a run that both tests find worse is called so", () => {
  assert.equal(
    differenceWords({ rows: tested(40, 260, 1.2e-30), classes: tested(1, 9, 0.0039) }),
    "is less pure beyond chance: in 260 of the 300 rows that differ (p = 0.0039 by class, p = 1.2e-30 by row).",
  );
  const purer = { rows: tested(1, 1, 1), classes: tested(9, 1, 0.0039) };
  assert.match(differenceWords(purer), /different sides\.$/);
});

test("what rows alone say is not called beyond chance", () => {
  const text = differenceWords({ rows: tested(0, 60, 1e-9), classes: tested(0, 3, 0.25) });
  assert.match(
    text,
    /^is less pure in 60 of the 60 rows that differ \(p = 1\.0e-9 by row\), which/,
  );
  assert.match(text, /within chance \(p = 0\.25 by class\)\. So few classes that differ \(3\)/);
  assert.match(
    differenceWords({ rows: tested(30, 28, 0.9), classes: tested(4, 5, 0.8) }),
    /^does not differ beyond chance \(p = 0\.8 by class, p = 0\.9 by row\)\.$/,
  );
  const even = { rows: tested(0, 0, 1), classes: tested(0, 0, 1) };
  assert.equal(differenceWords(even), "is as pure in every row.");
});

test("the title of an axis has lines that fit between axes", () => {
  assert.deepEqual(lines("Dasgupta's cost ↓"), ["Dasgupta's", "cost ↓"]);
  assert.deepEqual(lines("Calinski-Harabasz index"), ["Calinski-Harabasz", "index"]);
  assert.deepEqual(lines("ARI"), ["ARI"]);
});
