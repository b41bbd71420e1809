// What happened to a job, in words.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as words from "../../../app/dashboard/js/pages/job_words.js";

const SINCE = new Date().toISOString();
const lost = (attempt) => ({ attempt, at: SINCE, counted: true, error: { detail: "It ended." } });

test("a pause says what waits, why, and what ends it", () => {
  const pause = (scope, name, reason) => words.pausedText({ paused: { scope, name, reason, since: SINCE } }); // prettier-ignore
  assert.equal(
    pause("method", "gmm", "New version on Tuesday."),
    "The operator paused the method gmm just now: New version on Tuesday. The job goes on when that ends.",
  );
  assert.match(pause("tenant", "acme", null), /^The operator paused all jobs of this account just now\. /); // prettier-ignore
  assert.equal(words.pausedText({ paused: null }), "");
});

test("attempts that were given up are counted, with the last reason", () => {
  assert.equal(words.triesText({ retry: null, given_up: [] }), "");
  assert.equal(words.triesText({ retry: lost(1), given_up: [lost(1)] }), "Attempt 1 was given up: It ended."); // prettier-ignore
  assert.equal(
    words.triesText({ retry: lost(2), given_up: [lost(1), lost(2)] }),
    "2 attempts were given up, the last: It ended.",
  );
});

test("a list shows the reason of a failure, cut at a word", () => {
  const failed = (detail) => words.reasonText({ status: "failed", error: { detail, title: "No" } });
  assert.equal(failed(""), "No");
  assert.equal(failed("Row 3 has 4 values."), "Row 3 has 4 values.");
  assert.match(failed("word ".repeat(50)), /^(word )+…$/);
  assert.equal(words.reasonText({ status: "succeeded", error: null }), "");
});

test("what the service failed at may succeed another time, a wrong input not", () => {
  assert.equal(words.isPassing({ error: { status: 500 } }), true);
  assert.equal(words.isPassing({ error: { status: 422 } }), false);
  assert.equal(words.isPassing({ error: null }), false);
  const type = "/v1/problems/damaged";
  assert.equal(words.isPassing({ error: { status: 500, type } }), false);
});
