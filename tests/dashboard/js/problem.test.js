import assert from "node:assert/strict";
import { test } from "node:test";

import { log, note } from "../../../app/dashboard/js/net/log.js";
import * as problem from "../../../app/dashboard/js/net/problem.js";
import { sleep } from "../../../app/dashboard/js/net/timers.js";
import { plainText } from "../../../app/dashboard/js/ui/notices.js";

test("a problem has what the service answers", () => {
  const error = new problem.Problem(
    { title: "T", detail: "D", request_id: "r", errors: null },
    422,
  );
  assert.deepEqual(
    [error.status, error.title, error.detail, error.message, error.requestId, error.errors],
    [422, "T", "D", "D", "r", []],
  );
  assert.equal(new problem.Problem({ title: "T" }, 500).message, "T");
  assert.equal(new problem.Problem().message, "Something went wrong.");
  assert.equal(problem.hasStatus(error, 422), true);
  assert.equal(problem.hasStatus(new Error("422"), 422), false);
});

test("away, aborted and other errors", () => {
  assert.equal(problem.isAway(new problem.Problem(problem.AWAY)), true);
  assert.equal(problem.isAway(new Error()), false);
  assert.equal(problem.aborted(new DOMException("", "AbortError")), true);
  assert.equal(problem.aborted(new DOMException("", "TimeoutError")), false);
  assert.equal(problem.aborted(undefined), false);
  assert.equal(problem.messageOf("text"), "text");
  assert.deepEqual(problem.problemOf(new TypeError("x is not a function")), { detail: "x is not a function" }); // prettier-ignore
});

test("a pause ends when it is aborted", async () => {
  await sleep(1);
  const ends = new AbortController();
  const pause = sleep(60_000, ends.signal);
  ends.abort();
  await assert.rejects(pause, { name: "AbortError" });
});

test("the log keeps the latest calls", () => {
  for (let at = 0; at < 250; at += 1) note({ method: "GET", path: `/${at}`, headers: {}, at });
  assert.equal(log.length, 200);
  assert.deepEqual([log[0].at, log[199].at], [50, 249]);
});

test("a pointer is read as RFC 6901 says, and what is not in the body by its name", () => {
  assert.deepEqual(problem.placeOf({ detail: "", pointer: "/runs/1/params/linkage" }), [
    "runs",
    1,
    "params",
    "linkage",
  ]);
  assert.deepEqual(problem.placeOf({ detail: "", pointer: "/a~1b/m~0n/~01" }), [
    "a/b",
    "m~n",
    "~1",
  ]);
  assert.deepEqual(problem.placeOf({ detail: "", pointer: "" }), []);
  assert.deepEqual(problem.placeOf({ detail: "" }), []);
  assert.deepEqual(problem.placeOf({ detail: "", parameter: "limit" }), ["limit"]);
  assert.deepEqual(problem.placeOf({ detail: "", header: "Range" }), ["Range"]);
});

test("a warning without what requests and answers call things", () => {
  const own = "Columns that are not among the features: 'a.b?' is taken as the ids of the rows.";
  assert.equal(plainText(`${own} Choose others with ?columns= (features) and ?id_column=.`), own);
  assert.equal(
    plainText("The others have 0.46 of it (`rest`). Their bounds (`low`, `gain_high`) hold."),
    "The others have 0.46 of it. Their bounds hold.",
  );
  // What says nothing else stays, and so does a name in the text.
  assert.equal(plainText("Choose it with ?columns=."), "Choose it with ?columns=.");
  assert.equal(plainText("Set `seed` (`a` or b)."), "Set `seed` (`a` or b).");
  assert.equal(
    plainText('Ask for it by `preprocess: [{"step":"l2"}]`.'),
    "Ask for it by the step “Bring rows to length 1”.",
  );
  assert.equal(plainText('`preprocess: [{"step": "other"}]`'), '`preprocess: [{"step": "other"}]`');
});
