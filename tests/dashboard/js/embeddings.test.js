// What is offered to be embedded.

import assert from "node:assert/strict";
import { test } from "node:test";

import { embeddedRole } from "../../../app/dashboard/js/net/embedded_role.js";

/**
 * @param {Partial<Parameters<typeof embeddedRole>[0]>} facts
 * @param {string[]} [roles] of its columns
 */
const roleOf = (facts, roles) =>
  embeddedRole({
    status: "ready",
    role: null,
    format: "csv",
    dtype: null,
    shape: null,
    problem: null,
    columns: roles
      ? roles.map((role) => ({ name: role, type: "text", role: /** @type {any} */ (role), examples: [] })) // prettier-ignore
      : null,
    ...facts,
  });

test("texts without features are embedded, and images", () => {
  assert.equal(roleOf({}, ["id", "text", "label"]), "documents");
  assert.equal(roleOf({ role: "features" }, ["text"]), "documents");
  assert.equal(roleOf({ role: "names", dtype: "str", shape: [9] }), "documents");
  const detail = "no column of the table is a feature. It has 'review (text)'.";
  const refused = { type: "/problems/wrong-input", title: "", status: 422, detail };
  assert.equal(roleOf({ role: "features", status: "invalid", problem: refused }), "documents");
  assert.equal(roleOf({ role: "documents", format: "json" }), "documents");
  assert.equal(roleOf({ role: "items", format: "zip" }), "items");
});

test("other data are not", () => {
  assert.equal(roleOf({}, ["text", "feature"]), null);
  assert.equal(roleOf({}, ["id", "label"]), null);
  assert.equal(roleOf({ format: "npy", dtype: "float32", shape: [9, 2] }), null);
  assert.equal(roleOf({ role: "labels" }, ["text", "label"]), null);
  assert.equal(roleOf({ role: "documents", status: "inspecting" }), null);
});
