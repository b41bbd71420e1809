import assert from "node:assert/strict";
import { test } from "node:test";

import * as format from "../../../app/dashboard/js/ui/format.js";

const table = (f, cases) => {
  for (const [value, text] of cases) assert.equal(f(value), text, String(value));
};

test("p-values to two digits", () => {
  assert.deepEqual([2.14e-8, 0.00312, 0.5].map(format.pText), ["2.1e-8", "0.0031", "0.5"]);
});

test("numbers to four significant digits", () => {
  table(format.number, [
    [0, "0"],
    [-0.5, "-0.5"],
    [1.23456, "1.235"],
    [1234.5678, "1,235"],
    [12_345.678, "12,346"],
    [1_723_804.4, "1,723,804"],
    [1e9 + 0.5, "1.000e+9"],
    [0.0001, "0.0001"],
    [0.00009999, "9.999e-5"],
    [1e15, "1.000e+15"],
    [999_999_999_999, "999,999,999,999"],
    [NaN, "NaN"],
    [-Infinity, "-Infinity"],
    [null, "–"],
    [undefined, "–"],
    ["a text", "a text"],
  ]);
});

test("sizes, shapes and counts", () => {
  table(format.bytes, [
    [0, "0 bytes"],
    [999, "999 bytes"],
    [1000, "1.0 kB"],
    [1_586_176, "1.6 MB"],
    [25e9, "25 GB"],
    [5e16, "50000 TB"],
  ]);
  table(format.shape, [
    [[6664, 119], "6,664 × 119"],
    [[], "one value"],
    [null, "not known yet"],
  ]);
  assert.equal(format.plural(1, "leaf", "leaves"), "1 leaf");
  assert.equal(format.plural(0, "leaf", "leaves"), "0 leaves");
  assert.equal(format.plural(1000, "tree"), "1,000 trees");
});

test("durations", () => {
  table(format.seconds, [
    [null, "–"],
    [0, "under 1 ms"],
    [0.25, "250 ms"],
    [9.96, "10.0 s"],
    [59.4, "59 s"],
    [59.6, "1 min 0 s"],
    [3599.7, "1 h 0 min"],
    [7440, "2 h 4 min"],
  ]);
  table(format.timeLeft, [
    [null, ""],
    [0.2, "about a second left"],
    [1, "about 1 second left"],
    [59.5, "about 60 seconds left"],
    [90, "about 2 minutes left"],
    [5400, "about 1.5 hours left"],
  ]);
  assert.equal(format.between("2026-01-01T00:00:00Z", "2026-01-01T00:01:30Z"), 90);
  assert.equal(format.between(null, "2026-01-01T00:01:30Z"), null);
});

test("moments", () => {
  const now = Date.parse("2026-01-02T12:00:00Z");
  const ago = (s) => format.ago(new Date(now - s * 1000).toISOString(), now);
  table(ago, [
    [-30, "just now"],
    [5, "just now"],
    [30, "30 seconds ago"],
    [120, "2 minutes ago"],
    [7200, "2 hours ago"],
    [86_400, "yesterday"],
  ]);
  assert.equal(format.moment(null), "–");
});

test("names as sentences", () => {
  assert.equal(format.sentence("parent_probability"), "Parent probability");
  assert.equal(format.capitalized(""), "");
  assert.equal(format.capitalized("élan"), "Élan");
});

test("options of the same name have their details", () => {
  const option = (value, label) => ({ value, label, detail: `detail ${value}` });
  assert.deepEqual(format.distinct([option("1", "a"), option("2", "b"), option("3", "a")]), [
    ["1", "a · detail 1"],
    ["2", "b"],
    ["3", "a · detail 3"],
  ]);
});
