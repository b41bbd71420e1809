// The tiles of a heatmap: which are needed, which cell is over a row and a column, what it stands for.

import assert from "node:assert/strict";
import { test } from "node:test";

import * as heatmap from "../../../app/dashboard/js/tree/model/heatmap.js";

const LARGE = { rows: 10_000, columns: 300 };

test("levels halve what is in a cell, down to one", () => {
  assert.equal(heatmap.levelsOf({ rows: 1, columns: 256 }), 1);
  assert.equal(heatmap.levelsOf(LARGE), 7);
  const pooled = [0, 1, 5, 6].map((level) => heatmap.pooledAt(10_000, level));
  assert.deepEqual(pooled, [64, 32, 2, 1]);
  assert.deepEqual([0, 1, 6].map((level) => heatmap.pooledAt(300, level)), [2, 1, 1]); // prettier-ignore
});

test("the level has cells of about a pixel", () => {
  /** @param {number} px of a row and a column */
  const level = (px) => heatmap.levelFor({ rows: 10_000, columns: 10_000 }, { down: px, across: px }); // prettier-ignore
  assert.equal(level(0.02), 0);
  assert.equal(level(0.064), 2);
  assert.equal(level(1), 6);
  assert.equal(level(20), 6);
  // Columns that are large already need no finer rows.
  assert.equal(heatmap.levelFor(LARGE, { down: 0.03, across: 4 }), 1);
});

test("tiles cover the window and no more", () => {
  const window = { row: 500, column: 290, rows: 100, columns: 10 };
  const tiles = heatmap.tilesIn(LARGE, 6, window);
  assert.deepEqual(
    tiles.map(({ row, column, rows, columns }) => [row, column, rows, columns]),
    [
      [1, 1, { start: 256, stop: 512, pooled: 1 }, { start: 256, stop: 300, pooled: 1 }],
      [2, 1, { start: 512, stop: 768, pooled: 1 }, { start: 256, stop: 300, pooled: 1 }],
    ],
  );
  const all = heatmap.tilesIn(LARGE, 0, { row: 0, column: 0, rows: 10_000, columns: 300 });
  assert.equal(all.length, 1);
  assert.deepEqual([heatmap.cellsIn(all[0].rows), heatmap.cellsIn(all[0].columns)], [157, 150]);
  const [last] = heatmap.tilesIn(LARGE, 6, { row: 9_999, column: 0, rows: 1, columns: 1 });
  assert.deepEqual(last.rows, { start: 9_984, stop: 10_000, pooled: 1 });
});

test("a cell is found by its row and column", () => {
  const [tile] = heatmap.tilesIn(LARGE, 0, { row: 0, column: 0, rows: 10_000, columns: 300 });
  assert.equal(heatmap.cellAt(tile, 0, 0), 0);
  assert.equal(heatmap.cellAt(tile, 63, 1), 0);
  assert.equal(heatmap.cellAt(tile, 64, 3), 151);
  assert.equal(heatmap.cellAt(tile, 9_999, 299), 157 * 150 - 1);
  assert.equal(heatmap.cellAt(tile, 10_000, 0), -1);
});

test("a cell stands for a value, and has a shade within what is shown", () => {
  const bounds = { low: -2, high: 4, shown_low: -1, shown_high: 1 };
  assert.equal(heatmap.valueOf(0, bounds), -2);
  assert.equal(heatmap.valueOf(heatmap.STEPS, bounds), 4);
  const shades = heatmap.shadesOf(bounds, 5);
  /** @param {number} value */
  const shade = (value) => shades[Math.round(((value + 2) / 6) * heatmap.STEPS)];
  assert.deepEqual([-2, -1, -0.5, 0, 0.5, 1, 4].map(shade), [0, 0, 1, 2, 3, 4, 4]);
});

test("rows are ordered by a column, those without a value at the end", () => {
  const cells = Uint16Array.from([1, 5, 2, 9, 3, 9, 4, 65_535]);
  const extent = { rows: 4, columns: 2 };
  assert.deepEqual([...heatmap.rowsBy(cells, extent, 0, null)], [3, 2, 1, 0]);
  assert.deepEqual([...heatmap.rowsBy(cells, extent, 1, 65_535)], [1, 2, 0, 3]);
});
