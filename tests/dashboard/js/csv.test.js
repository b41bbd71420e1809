import assert from "node:assert/strict";
import { test } from "node:test";

import { cell, csvOf, rowsOf } from "../../../app/dashboard/js/ui/csv.js";

test("cells are quoted where they must be", () => {
  assert.equal(cell("plain"), "plain");
  assert.equal(cell("a,b"), '"a,b"');
  assert.equal(cell('say "hi"'), '"say ""hi"""');
  assert.equal(cell("two\nlines"), '"two\nlines"');
  assert.equal(cell("carriage\rreturn"), '"carriage\rreturn"');
  assert.equal(cell(null), "");
  assert.equal(cell(undefined), "");
  assert.equal(cell(0), "0");
  assert.equal(cell(false), "false");
  assert.equal(cell(NaN), "NaN");
});

test("a text is never a formula of a spreadsheet, a negative number stays one", () => {
  for (const text of ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1"]) {
    assert.equal(cell(text).replace(/^"/, "")[0], "'", text);
  }
  assert.equal(cell("\r=1"), '"\'\r=1"');
  assert.equal(cell(-1.5), "-1.5");
  assert.equal(cell("a=1"), "a=1");
});

test("a file ends every row", async () => {
  const blob = csvOf([["a", "b"], [1, null]]); // prettier-ignore
  assert.equal(await blob.text(), "a,b\r\n1,\r\n");
  assert.equal(blob.type, "text/csv");
});

test("rows of a text", () => {
  assert.deepEqual(rowsOf("a,b\r\n1,2\r\n"), [["a", "b"], ["1", "2"]]); // prettier-ignore
  assert.deepEqual(rowsOf("a,b\n1,2"), [["a", "b"], ["1", "2"]]); // prettier-ignore
  assert.deepEqual(rowsOf(""), []);
  assert.deepEqual(rowsOf("\n\n"), []);
  assert.deepEqual(rowsOf("a,,c\n,,"), [["a", "", "c"], ["", "", ""]]); // prettier-ignore
  assert.deepEqual(rowsOf('"x ""y"", z","two\nlines"\n'), [['x "y", z', "two\nlines"]]);
});

test("what is written is read again", async () => {
  const rows = [
    ["name", "text"],
    ["שלום", 'a "quote", a comma\nand a line'],
    ["<script>alert(1)</script>", "👩‍👩‍👧‍👦"],
  ];
  assert.deepEqual(rowsOf(await csvOf(rows).text()), rows);
});
