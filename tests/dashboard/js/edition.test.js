// What a user changes of a tree, as operations and in words; links to a tree.

import assert from "node:assert/strict";
import { test } from "node:test";

import * as edition from "../../../app/dashboard/js/tree/model/edition.js";
import * as share from "../../../app/dashboard/js/tree/model/share.js";
import { changeText, labelOf } from "../../../app/dashboard/js/tree/panels/edition_words.js";

test("what a form says of a node becomes operations for what differs", () => {
  const before = edition.marksOf({ name: null, note: undefined, colour: "#d55e00" });
  assert.deepEqual(before, { name: "", note: "", colour: "#d55e00" });
  assert.deepEqual(edition.markOperations(3, before, before), []);
  assert.deepEqual(edition.markOperations(3, before, { name: " a ", note: "b\nc", colour: null }), [
    { op: "rename", node: 3, name: "a" },
    { op: "note", node: 3, text: "b\nc" },
    { op: "colour", node: 3, colour: null },
  ]);
  const marks = { name: "a", note: "b", colour: null };
  assert.deepEqual(edition.markOperations(3, marks, { name: "", note: " ", colour: null }), [
    { op: "rename", node: 3, name: null },
    { op: "note", node: 3, text: null },
  ]);
});

test("a node moves among its siblings, not beyond them", () => {
  const moved = (node, step) => edition.movedOperation(0, [4, 1, 7], node, step);
  assert.deepEqual(moved(1, -1), { op: "reorder", node: 0, children: [1, 4, 7] });
  assert.deepEqual(moved(1, 1), { op: "reorder", node: 0, children: [4, 7, 1] });
  assert.equal(moved(4, -1), null);
  assert.equal(moved(7, 1), null);
  assert.equal(moved(9, 1), null);
});

test("which nodes can be merged", () => {
  const of = (parent, ...ids) => ids.map((id) => ({ id, parent }));
  assert.match(edition.hindrance(of(0, 1), 3), /two or more/);
  assert.match(edition.hindrance([...of(0, 1), ...of(2, 3)], 3), /under the same node/);
  assert.match(edition.hindrance([...of(null, 0), ...of(0, 1)], 3), /under the same node/);
  assert.match(edition.hindrance(of(0, 1, 2), 2), /together already/);
  assert.equal(edition.hindrance(of(0, 1, 2), 3), null);
});

test("changes in words", () => {
  const change = (kind, fields = {}) => changeText({ kind, name: null, operations: [], ...fields });
  assert.equal(change("create"), "Began the edition");
  assert.equal(change("title", { name: "x" }), "Called it “x”");
  assert.equal(change("undo"), "Undid a change");
  const operations = [
    { op: "rename", node: 1, name: "a" },
    { op: "merge", nodes: [3, 4], name: null },
    { op: "dissolve", node: 2 },
    { op: "colour", node: 1, colour: "#000000" },
    { op: "collapse", node: 1 },
    { op: "note", node: 1, text: null },
  ];
  assert.equal(
    change("edit", { operations }),
    "named node 1 “a”, merged nodes 3, 4, dissolved node 2, coloured node 1 #000000, 2 more changes",
  );
  assert.equal(labelOf({ name: null }), "Without a name");
});

test("the token of a link is all of the fragment", () => {
  const token = `umbel_share_${"0".repeat(52)}_${"aB-_".repeat(10)}xyz`;
  assert.equal(share.tokenIn(`#${token}`), token);
  for (const other of ["", "#", `#${token}x`, `#/trees/${token}`, `#umbel_${"0".repeat(90)}`]) {
    assert.equal(share.tokenIn(other), null);
  }
});

test("what a link shows, until when, and how it is embedded", () => {
  assert.equal(share.expiryOf(7, Date.UTC(2026, 0, 1)), "2026-01-08T00:00:00.000Z");
  assert.equal(share.shownText({ edition: null, rows: false, embed: false }), "the tree");
  assert.equal(
    share.shownText({ edition: "ed_1", map: "mp_1", rows: true, embed: true }),
    "an edition, with a map, with its points, may be embedded",
  );
  assert.match(share.embedText("https://a.org/embed#t"), /^<iframe src="https:\/\/a.org\/embed#t"/);
});
