import assert from "node:assert/strict";
import { test } from "node:test";

import { chain, followed, movedSince } from "../../../app/dashboard/js/tree/model/grown.js";

/** @param {string} id @param {string} [base] @param {string} [at] */
const job = (id, base, at = id) => /** @type {any} */ ({ id, inputs: base ? { base } : {}, created_at: at }); // prettier-ignore
/** @param {any[]} jobs */
const known = (...jobs) => new Map(jobs.map((one) => [one.id, one]));
/** @param {any[]} steps */
const ids = (steps) => steps.map(({ id }) => id);

test("jobs that continue each other, the oldest first", () => {
  const all = known(job("c", "b"), job("a"), job("other"), job("b", "a"), job("d", "c"));
  for (const id of ["a", "b", "c", "d"]) assert.deepEqual(ids(chain(id, all)), ["a", "b", "c", "d"]); // prettier-ignore
  assert.deepEqual(ids(chain("other", all)), ["other"]);
  assert.deepEqual(ids(chain("none", all)), []);
});

test("of several that continue one, the newest is followed, but a job's own past stays", () => {
  const all = known(job("a"), job("b", "a", "2"), job("c", "a", "3"), job("d", "b", "4"));
  assert.deepEqual(ids(chain("a", all)), ["a", "c"]);
  assert.deepEqual(ids(chain("b", all)), ["a", "b", "d"]);
});

test("a job that is gone ends the chain, and a circle does", () => {
  assert.deepEqual(ids(chain("b", known(job("b", "gone")))), ["b"]);
  assert.deepEqual(ids(chain("a", known(job("a", "b"), job("b", "a")))), ["b", "a"]);
});

test("rows that are in other clusters since, among the earlier ones alone", () => {
  const clusters = [0, 1].map((node) => ({ node, name: null }));
  /** @param {number[]} assignments */
  const cut = (assignments) => /** @type {any} */ ({ assignments, clusters });
  const moved = movedSince(cut([0, 0, 0, 1, -1]), cut([1, 1, 0, 0, -1, 0, 0, 0]));
  // By hand: 0 is 1 now (two rows), 1 is 0 (one row), noise is noise; the third row has moved.
  assert.deepEqual([moved?.moved, moved?.total], [1, 5]);
  assert.equal(movedSince(cut([0, 0]), cut([0])), null);
});

test("steps are coloured by as many clusters as the result has leaves for", () => {
  assert.deepEqual([2, 3, 8, 12, 500].map(followed), [
    [2],
    [3, 2],
    [8, 6, 2],
    [12, 6, 2],
    [12, 6, 2],
  ]);
  assert.deepEqual(followed(1), []);
});
