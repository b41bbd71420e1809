// What a user says of a tree, its drafts and contradictions, and which points moved afterwards.

import assert from "node:assert/strict";
import { test } from "node:test";

import { folded, movedPoints } from "../../../app/dashboard/js/tree/model/moved.js";
import * as words from "../../../app/dashboard/js/tree/panels/statement_words.js";
import * as statements from "../../../app/dashboard/js/tree/model/statements.js";

const node = (id, name = null) => ({ node: id, name });
const row = (number) => ({ row: number, name: null });
const draftOf = (...chosen) => ({ ...statements.emptyDraft(), chosen });
const nameOf = (id) => ({ 3: "rose" })[id] ?? null;

test("nodes and points are chosen once", () => {
  let draft = draftOf();
  for (const choice of [node(3), row(3), node(4)]) draft = statements.toggled(draft, choice);
  assert.deepEqual(draft.chosen, [node(3), row(3), node(4)]);
  assert.ok(statements.isChosen(draft, node(3, "rose")));
  assert.ok(!statements.isChosen(draft, row(4)));
  draft = statements.toggled(draft, node(3, "rose"));
  assert.deepEqual(draft.chosen, [row(3), node(4)]);
});

test("which statements fit what is chosen", () => {
  const { hindrance } = statements;
  assert.match(hindrance("known", [], "cats"), /Choose a node/);
  assert.match(hindrance("known", [node(1)], "  "), /needs a name/);
  assert.equal(hindrance("known", [node(1)], "cats"), null);
  for (const kind of ["together", "apart"]) {
    assert.match(hindrance(kind, [node(1)], ""), /two or more/);
    assert.equal(hindrance(kind, [node(1), row(1)], ""), null);
  }
});

test("statements as the service takes them", () => {
  const { statementOf } = statements;
  assert.deepEqual(statementOf("known", [node(1)], " cats "), { known: 1, name: "cats" });
  assert.deepEqual(statementOf("known", [row(1), row(4)], "a"), {
    known: { rows: [1, 4] },
    name: "a",
  });
  const several = [row(1), node(2), row(4), node(0)];
  assert.deepEqual(statementOf("known", several, "a"), {
    together: [2, 0, { rows: [1, 4] }],
    name: "a",
  });
  assert.deepEqual(statementOf("together", several, ""), { together: [2, 0, { rows: [1, 4] }] });
  assert.deepEqual(statementOf("apart", several, "a"), {
    apart: [2, 0, { rows: [1] }, { rows: [4] }],
  });
});

test("statements are added, removed and undone", () => {
  const first = statements.withStatement(draftOf(node(3, "rose")), "known", "a");
  assert.deepEqual(first.chosen, []);
  assert.deepEqual(first.names, { 3: "rose" });
  const second = statements.withStatement({ ...first, chosen: [node(4), row(1)] }, "apart", "");
  assert.equal(second.statements.length, 2);
  const third = statements.without(second, 0);
  assert.deepEqual(third.statements, [{ apart: [4, { rows: [1] }] }]);
  assert.deepEqual(statements.undone(third).statements, second.statements);
  const start = statements.undone(statements.undone(statements.undone(third)));
  assert.deepEqual([start.statements, start.past], [[], []]);
  assert.deepEqual(statements.undone(start), start);
});

test("statements in words", () => {
  const text = (statement) => {
    const { says, name, parts } = words.wordsOf(statement, nameOf);
    return `${says} ${name}: ${parts.join(" | ")}`;
  };
  assert.equal(text({ known: 3, name: "a" }), "A cluster I know a: rose");
  assert.equal(text({ together: [0, 4] }), "Are one cluster null: root | node 4");
  assert.equal(text({ together: [4], name: "a" }), "A cluster I know a: node 4");
  assert.equal(text({ together: [{ rows: [5, 6] }] }), "One cluster null: 2 points (5, 6)");
  assert.equal(
    text({ apart: [{ rows: [5] }, { rows: [1, 2, 3, 4] }] }),
    "Do not belong together null: point 5 | 4 points (1, 2, 3, …)",
  );
  assert.equal(words.nodeText(4, "12"), "node 4 “12”");
  assert.deepEqual(statements.nodesOf({ apart: [3, { rows: [1] }, 5] }), [3, 5]);
  assert.deepEqual(statements.nodesOf({ known: 0, name: "a" }), [0]);
});

test("contradictions stand at each of their statements", () => {
  const texts = words.contradicted([
    { statements: [0, 2, 1], detail: "", n_rows: 5, rows: [1, 2, 3, 4, 9] },
    { statements: [2], detail: "", n_rows: 1, rows: [7] },
    { statements: [3, 4], detail: "", n_rows: 0, rows: [] },
  ]);
  assert.deepEqual(
    [...texts],
    [
      [0, ["Contradicts statements 3 and 2: 5 points in common (1, 2, 3, …)."]],
      [
        2,
        [
          "Contradicts statements 1 and 2: 5 points in common (1, 2, 3, …).",
          "Contradicts itself: 1 point in common (7).",
        ],
      ],
      [1, ["Contradicts statements 1 and 3: 5 points in common (1, 2, 3, …)."]],
      [3, ["Contradicts statement 5."]],
      [4, ["Contradicts statement 4."]],
    ],
  );
});

test("a number of new clusters to begin with", () => {
  const given = [{ known: 1, name: "a" }, { known: 2, name: "a" }, { apart: [3, 4] }];
  assert.equal(statements.newClusters(given, 8), 5);
  assert.equal(statements.newClusters(given, 2), 1);
});

test("drafts are kept by tree, the last ones", () => {
  const draft = statements.withStatement(draftOf(node(1)), "known", "a");
  let text = statements.withDraft(null, "tr_1", draft);
  assert.deepEqual(statements.draftsIn(text).get("tr_1"), draft);
  for (let at = 2; at < 23; at += 1) text = statements.withDraft(text, `tr_${at}`, draft);
  assert.equal(statements.draftsIn(text).size, 20);
  assert.ok(!statements.draftsIn(text).has("tr_2"));
  text = statements.withDraft(text, "tr_9", statements.emptyDraft());
  assert.ok(!statements.draftsIn(text).has("tr_9"));
  assert.equal(statements.draftsIn("nonsense").size, 0);
  assert.equal(statements.draftsIn("{}").size, 0);
});

test("points that moved, by the definition", () => {
  const before = { assignments: [0, 0, 0, 1, 1, 1, 1, 3], names: ["a", "b", "none", "c"] };
  const after = { assignments: [1, 1, 0, 0, 0, 0, 1, 1], names: ["x", "y"] };
  const table = movedPoints(before, after);
  assert.deepEqual(table.before, [
    { name: "b", size: 4 },
    { name: "a", size: 3 },
    { name: "c", size: 1 },
  ]);
  assert.deepEqual(table.after, [
    { name: "x", size: 4 },
    { name: "y", size: 4 },
  ]);
  const at = (one) => [one.row, one.column, one.points, one.isPair];
  // b is x and a is y; what is in c, in both a and x, or in both b and y, has moved.
  assert.deepEqual(table.overlaps.map(at), [
    [0, 0, 3, true],
    [1, 1, 2, true],
    [0, 1, 1, false],
    [1, 0, 1, false],
    [2, 1, 1, false],
  ]);
  assert.deepEqual([table.moved, table.total], [3, 8]);
  assert.equal(movedPoints(after, after).moved, 0);
});

test("a table of many clusters is folded", () => {
  const many = { assignments: [0, 0, 0, 1, 1, 2, 3], names: ["a", "b", "c", "d"] };
  const one = { assignments: [0, 0, 0, 0, 0, 0, 0], names: ["x"] };
  const table = folded(movedPoints(many, one), 3);
  assert.deepEqual(table.before, [
    { name: "a", size: 3 },
    { name: "b", size: 2 },
    { name: "2 smaller", size: 2 },
  ]);
  const shown = ({ cells }) =>
    cells.map((line) => line.map(({ points, isPair }) => (isPair ? `${points} pair` : points)));
  assert.deepEqual(shown(table), [["3 pair"], [2], [2]]);
  assert.deepEqual(shown(folded(movedPoints(one, many), 3)), [["3 pair", 2, 2]]);
  // What is folded is no pair.
  assert.deepEqual(shown(folded(movedPoints(many, many), 3)), [
    ["3 pair", 0, 0],
    [0, "2 pair", 0],
    [0, 0, 2],
  ]);
  assert.deepEqual(folded(movedPoints(many, one), 4).before.length, 4);
});
