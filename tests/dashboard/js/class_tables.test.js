import assert from "node:assert/strict";
import { test } from "node:test";

import * as tables from "../../../app/dashboard/js/pages/class_tables.js";

const row = (label, f1, node = null) => ({ label, node, f1 });
const NONE = { own: new Map(), other: new Map() };

test("rows with the same key stand side by side", () => {
  const pairs = tables.paired(["a", "b", "c"], ["c", "a", "d"], (key) => [key]);
  assert.deepEqual(pairs, [
    { own: "a", other: "a" },
    { own: "b", other: null },
    { own: "c", other: "c" },
  ]);
  assert.deepEqual(
    tables.paired(["a"], null, (key) => [key]),
    [{ own: "a", other: null }],
  );
});

test("classes are the same by their path, else by their label", () => {
  const own = [row("cat", 0.5, 2), row("dog", 0.4, 3), row("rose", 0.1, 5)];
  const others = [row("animal/cat", 0.2, 1), row("dog", 0.9, 2), row("rose", 0.3, 3)];
  const paths = {
    own: new Map([[2, "animal/cat"], [3, "animal/dog"], [5, "plant/rose"]]), // prettier-ignore
    other: new Map([[1, "animal/cat"], [2, "dog"], [3, "garden/rose"]]), // prettier-ignore
  };
  const by = (known) => tables.pairedClasses(own, others, known).map(({ other }) => other?.f1);
  assert.deepEqual(by(paths), [0.2, 0.9, 0.3]);
  assert.deepEqual(by(NONE), [undefined, 0.9, 0.3]);
  assert.ok(!tables.sameLabels({ class: own }, { class: others }));
  assert.ok(tables.sameLabels({ class: own }, { class: [...own].reverse() }));
});

test("a class of the other classifier is used once", () => {
  const own = [row("animal/cat", 0.5, 2), row("cat", 0.4, 3)];
  const paths = { own: new Map([[2, "animal/cat"], [3, "cat"]]), other: new Map([[1, "animal/cat"]]) }; // prettier-ignore
  const pairs = tables.pairedClasses(own, [row("cat", 0.2, 1)], paths);
  assert.deepEqual(pairs.map(({ other }) => other?.f1), [0.2, undefined]); // prettier-ignore
});

test("levels are compared in like trees only", () => {
  const level = (at, n) => ({ level: at, n_nodes: n });
  const rows = [level(0, 1), level(1, 3), level(2, 9)];
  assert.equal(tables.pairedLevels(rows, [level(0, 1), level(1, 9)]), null);
  assert.equal(tables.pairedLevels(rows, [level(0, 1), level(1, 2), level(2, 9)]), null);
  assert.deepEqual(tables.pairedLevels(rows, rows)[1], { own: rows[1], other: rows[1] });
  assert.equal(tables.pairedLevels(rows, null).length, 3);
});

test("sizes that no class has are left out", () => {
  const size = (name, n) => ({ training_examples: name, n_classes: n });
  const pairs = tables.pairedSizes(
    [size("1-5", 0), size("6-10", 2), size("11-20", 0)],
    [size("0", 4), size("1-5", 0), size("6-10", 1), size("11-20", 1)],
  );
  assert.deepEqual(pairs.map(({ own }) => own.training_examples), ["6-10", "11-20"]); // prettier-ignore
});

test("gains and losses", () => {
  const pair = (a, b) => ({ own: row("x", a), other: b === undefined ? null : row("x", b) });
  const pairs = [pair(0.3, 0.1), pair(0.1 + 0.2, 0.3), pair(0, 0.5), pair(null, 0.5), pair(0.5)];
  assert.deepEqual(tables.gains(pairs), { n: 3, higher: 1, lower: 1, same: 1 });
  const order = [...pairs].sort(tables.byGain).map(({ own, other }) => own.f1 - (other?.f1 ?? 9));
  assert.ok(order[0] > 0.19 && order.at(-3) === -0.5);
  assert.equal(tables.difference(1, null), null);
  assert.equal(tables.difference(undefined, 1), null);
});

test("paths of names", () => {
  const nodes = [
    { id: 0, parent: null, name: "life" },
    { id: 4, parent: 0, name: "animal" },
    { id: 7, parent: 4, name: "cat" },
    { id: 8, parent: 4, name: null },
  ];
  assert.deepEqual([...tables.pathsOf(nodes)], [[0, ""], [4, "animal"], [7, "animal/cat"], [8, "animal/"]]); // prettier-ignore
});
