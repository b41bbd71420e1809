import assert from "node:assert/strict";
import { test } from "node:test";

import { ticks } from "../../../app/dashboard/js/ui/charts.js";
import { compare } from "../../../app/dashboard/js/ui/tables.js";

test("empty values come last in either direction", () => {
  const values = [3, null, 1, NaN, 2, undefined];
  const sorted = (descending) => [...values].sort((a, b) => compare(a, b, descending)).slice(0, 3);
  assert.deepEqual(sorted(false), [1, 2, 3]);
  assert.deepEqual(sorted(true), [3, 2, 1]);
});

test("numbers as numbers, texts as in a dictionary", () => {
  assert.ok(compare(9, 10) < 0);
  assert.ok(compare("b", "A") > 0);
  assert.equal(compare("x", "x"), 0);
});

test("round numbers on an axis", () => {
  assert.deepEqual(ticks(0, 10), [0, 5, 10]);
  assert.deepEqual(ticks(-1, 1), [-1, -0.5, 0, 0.5, 1]);
  assert.deepEqual(ticks(0.1, 0.35), [0.1, 0.2, 0.3]);
  for (const [low, high] of [[0, 1e-9], [1e9, 3e9], [-7, 93]]) {
    const marks = ticks(low, high);
    assert.ok(marks.length >= 2 && marks.length <= 6, `${low} ${high}`);
    assert.ok(marks.every((mark) => mark >= low && mark <= high * (1 + 1e-9)));
  }
}); // prettier-ignore
