import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { isExact, readable, seen } from "../../../app/dashboard/js/net/names.js";
import {
  Ground,
  groups,
  noMemory,
  priority,
  shortened,
  spaced,
  spots,
} from "../../../app/dashboard/js/tree/draw/label_places.js";

// The cases that the service's pictures have too.
const CASES = JSON.parse(
  readFileSync(new URL("../../app/pictures/label_cases.json", import.meta.url), "utf8"),
);

/** One past the subtree of each node in preorder. */
function ends(parent) {
  const end = parent.map((_, row) => row + 1);
  for (let row = parent.length - 1; row > 0; row -= 1) {
    end[parent[row]] = Math.max(end[parent[row]], end[row]);
  }
  return end;
}

test("names are readable, parts of them go before letters", () => {
  for (const [name, wanted] of CASES.readable) assert.equal(readable(name), wanted);
  const width = (text) => [...text].length;
  const clip = (text, room) =>
    width(text) <= room ? text : `${[...text].slice(0, room - 1).join("")}…`;
  for (const [name, room, wanted] of CASES.shortened) {
    assert.equal(shortened(name, room, width, clip), wanted);
  }
});

test("names of files and addresses are exact", () => {
  const exact = [
    "img_0012.jpg",
    "scans/a_b.tif",
    "ada_l@example.org",
    "http://x_y/a",
    "table_1.h5ad",
  ];
  assert.deepEqual(exact.filter(isExact), exact);
  const plain = [
    "sepal_length",
    "Felis_s. catus",
    "animals/big_cats",
    "v1.2_a",
    "E._coli",
    "a_b, c.csv",
  ];
  assert.deepEqual(plain.filter(isExact), []);
});

test("names that draw nothing have their code points", () => {
  for (const [name, wanted] of CASES.seen) assert.equal(seen(name), wanted);
  assert.equal(seen("\u2068\ufeff\u2069, cat"), "U+FEFF, cat");
});

test("groups are just wide enough", () => {
  for (const { parent, width, least, rows } of CASES.groups) {
    const end = ends(parent);
    const found = groups(
      { n: parent.length, end },
      {
        width: (row) => width[row],
        isTip: (row) => end[row] === row + 1,
        least,
        all: width[0],
      },
    );
    assert.deepEqual(found, rows);
  }
});

test("the largest names have room first", () => {
  for (const { at, rank, apart, around, kept } of CASES.spaced) {
    assert.deepEqual(spaced(at, rank, apart, around), kept);
  }
  const ground = new Ground(...CASES.ground.size);
  for (const [x, y, w, h, wanted] of CASES.ground.boxes) {
    assert.equal(ground.take(x, y, w, h), wanted, `${[x, y, w, h]}`);
  }
});

test("names stay while widths change a little", () => {
  const memory = noMemory();
  const end = [3, 2, 3];
  const rowsAt = (scale) =>
    groups(
      { n: 3, end },
      { width: () => scale, isTip: (row) => row > 0, least: 100, all: 100, memory },
    );
  assert.deepEqual(rowsAt(95), [0]);
  assert.deepEqual(rowsAt(101), [1, 2]);
  assert.deepEqual(rowsAt(90), [1, 2]);
  assert.deepEqual(rowsAt(80), [0]);
  assert.deepEqual(rowsAt(90), [0]);
  memory.shown = new Set([7]);
  assert.ok(priority(memory, 7, 2) > priority(memory, 8, 2.9));
  assert.ok(priority(memory, 7, 2) < priority(memory, 8, 3.1));
});

test("names of nodes stand beside them, else at the end of a line", () => {
  for (const { wide, size, round, led, count, spots: wanted } of CASES.spots) {
    const found = spots(wide, size, { isRound: round, isLed: led });
    assert.equal(found.length, count);
    for (const [at, [left, middle, line]] of wanted.entries()) {
      const flat = [found[at].left, found[at].middle, ...(found[at].led ?? [])];
      const near = [left, middle, ...(line ?? [])];
      assert.equal(flat.length, near.length);
      for (const [place, value] of near.entries()) {
        assert.ok(Math.abs(flat[place] - value) < 1e-5, `${at}: ${flat} instead of ${near}`);
      }
    }
  }
});

test("a name keeps clear of lines and other names, and is led out where it has no room", () => {
  const ground = new Ground(200, 100);
  const options = { isRound: false, isLed: true };
  assert.deepEqual(ground.name(100, 50, 40, 10, options)?.led, null);
  // Lines everywhere but on the right.
  const full = new Ground(400, 200);
  for (let y = 0; y < 200; y += 4) full.draw(0, y, 140, y);
  assert.equal(full.name(100, 100, 40, 10, { ...options, isLed: false }), null);
  const spot = full.name(100, 100, 40, 10, options);
  assert.ok(spot?.led);
  assert.ok(spot.left > 140);
  // Its line is a line, and its place taken.
  assert.ok(full.lines?.some((value, at) => value && Math.floor(at / full.columns) % 2));
  assert.equal(full.take(spot.left, spot.middle, 2, 2), false);
});
