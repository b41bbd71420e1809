// What waits for a package: of a method's values, and of maps and forms.

import assert from "node:assert/strict";
import { test } from "node:test";

import { keepWaiting, waitsFor } from "../../../app/dashboard/js/net/waiting.js";

/**
 * @param {string} parameter
 * @param {string} value
 * @param {string[]} needs
 */
const waiting = (parameter, value, needs) => ({ parameter, value, needs, install: [] });

test("a value waits for all packages that it lacks", () => {
  const values = [waiting("solver", "clarabel", ["cvxpy", "clarabel"])];
  assert.equal(waitsFor("solver", "clarabel", values), "cvxpy, clarabel are not installed");
  assert.equal(waitsFor("solver", "dual", values), "");
  assert.equal(waitsFor("other", "clarabel", values), "");
});

test("maps and forms wait as the service says", () => {
  assert.equal(waitsFor("form", "pdf"), "");
  keepWaiting([waiting("form", "pdf", ["typst"])]);
  assert.equal(waitsFor("form", "pdf"), "typst is not installed");
  assert.equal(waitsFor("by", "pdf"), "");
});
