// What nodes can be named by, and namings in words.

import assert from "node:assert/strict";
import { test } from "node:test";

import { BY, rolesOf } from "../../../app/dashboard/js/forms/naming_terms.js";
import { labelOf, resultText } from "../../../app/dashboard/js/tree/panels/naming_words.js";

const result = { by: "terms", evidence: null, n_named: 40, sent: null };
const naming = { id: "nm_1", name: null, result, warnings: [] };

test("names are made of inputs that may all be left to the fit", () => {
  for (const [by] of BY) {
    const roles = Object.values(rolesOf(by));
    assert.ok(roles.length > 0);
    assert.ok(roles.every(({ required, description }) => !required && description));
  }
  assert.deepEqual(Object.keys(rolesOf("items")), ["features", "names"]);
});

test("a naming is listed by what it was made of", () => {
  assert.equal(labelOf(naming), "By terms");
  assert.equal(labelOf({ ...naming, result: { ...result, by: "model", evidence: "items" } }), "By model, of items"); // prettier-ignore
  assert.equal(labelOf({ ...naming, name: "topics" }), "topics");
});

test("a naming says how many nodes it names, what was sent, and its warnings", () => {
  assert.equal(resultText(naming), "40 nodes have names.");
  const sent = { to: "example.org:443", model: "m", what: "", n_nodes: 1, n_kept: 0, n_tokens: 9 };
  assert.equal(
    resultText({ ...naming, warnings: ["Too few."], result: { ...result, n_named: 1, sent } }),
    "1 node has a name. Evidence of 1 node was sent to m at example.org:443. Too few.",
  );
});

test("a naming says how far names and questions tell rows apart", () => {
  const text = resultText({ ...naming, result: { ...result, answered: 0.81 } });
  assert.equal(
    text.replaceAll("\u00a0", " "),
    "40 nodes have names. The question about a node is answered rightly for 81 % of rows (by chance 50 %).",
  );
  const routed = { share: 0.74, low: 0.7, high: 0.78, draw: 0.5, n_rows: 480 };
  assert.equal(
    resultText({ ...naming, result: { ...result, routed } }).replaceAll("\u00a0", " "),
    "40 nodes have names. Names alone lead 480 rows to the right child in 74 % of splits (70 % to 78 %; by chance 50 %).",
  );
});
