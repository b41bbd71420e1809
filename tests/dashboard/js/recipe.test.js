import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

import { callsBehind, curl, python } from "../../../app/dashboard/js/net/recipe.js";

const suffix = (letter) => letter.repeat(26);
const DS = `ds_${suffix("a")}`;
const JOB = `job_${suffix("b")}`;
const TREE = `tr_${suffix("b")}`;
const OPTIONS = { base: "http://127.0.0.1:8000/", keyed: false };
const HOSTILE = "it's $(touch /tmp/x) `id` \"; rm -rf / #{x} \\";

const upload = {
  method: "POST",
  path: "/v1/datasets?name=a.npy",
  headers: { "Content-Type": "application/x-npy" },
  file: { name: "a.npy", size: 10 },
  answer: { id: DS },
  status: 201,
  at: 1,
};
const run = {
  method: "POST",
  path: "/v1/jobs",
  headers: { "Content-Type": "application/json" },
  body: { method: "hac", inputs: { features: DS }, name: HOSTILE, params: { k: null, b: true } },
  answer: { id: JOB },
  status: 202,
  at: 2,
};
const tree = {
  method: "GET",
  path: `/v1/trees/${TREE}.json?depth=0`,
  headers: { Accept: "application/json" },
  status: 200,
  at: 3,
};
const other = { method: "GET", path: "/v1/methods", headers: {}, status: 200, at: 4 };
const failed = { ...run, answer: null, status: 422, at: 5 };
const LOG = [upload, run, tree, other, failed, { ...tree, at: 6 }];

test("the calls behind an address, with what went into them", () => {
  assert.deepEqual(
    callsBehind(LOG, `#/trees/${TREE}`, 0).map(({ at }) => at),
    [1, 2, 6],
  );
  assert.deepEqual(
    callsBehind(LOG, "#/jobs", 4).map(({ at }) => at),
    [4, 6],
  );
  assert.deepEqual(callsBehind([], "#/", 0), []);
});

test("a shell script takes ids from answers", () => {
  const text = curl([upload, run, tree], OPTIONS);
  assert.match(text, /DATASET=\$\(curl /);
  assert.match(text, /--data-binary '@a\.npy'/);
  assert.match(text, /"features":"'"\$DATASET"'"/);
  assert.match(text, /JOB=\$\(/);
  assert.match(text, /TREE_OF_JOB="tr_\$\{JOB#\*_\}"/);
  assert.ok(!text.includes(DS) && !text.includes(TREE));
});

test("the shell reads a hostile text unchanged", () => {
  const script = curl([run], OPTIONS);
  // curl prints the body that it is given.
  const fake = `curl() { while [ $# -gt 0 ]; do [ "$1" = -d ] && printf '%s' "$2" >&2; shift; done; echo "{}"; }
    jq() { cat >/dev/null; echo ${JOB}; }; sleep() { :; }\n${script}`;
  const body = execFileSync("bash", ["-c", `exec 2>&1 >/dev/null; ${fake}`], { encoding: "utf8" });
  assert.deepEqual(JSON.parse(body), run.body);
});

test("the key is named and never written", () => {
  for (const write of [curl, python]) {
    const text = write([run], { ...OPTIONS, keyed: true });
    assert.match(text, /UMBEL_API_KEY/);
    assert.doesNotMatch(write([run], OPTIONS), /UMBEL_API_KEY/);
  }
});

test("a Python script takes ids from answers", () => {
  const text = python([upload, run, tree], OPTIONS);
  assert.match(text, /^import time\n\nimport httpx\n/);
  assert.match(text, /dataset = checked\(/);
  assert.match(text, /"features": dataset\["id"\]/);
  assert.match(text, /job = ended\(f"\/v1\/jobs\/\{job\['id'\]\}"\)/);
  assert.match(text, /f"\/v1\/trees\/\{job\['result'\]\['tree'\]\}\.json\?depth=0"/);
  assert.match(text, /"k": None, "b": True/);
  assert.match(text, /open\("a\.npy", "rb"\)/);
});

test("what nobody waits for imports no time", () => {
  assert.match(python([tree], OPTIONS), /^import httpx\n/);
  assert.match(python([tree], { ...OPTIONS, keyed: true }), /^import os\n\nimport httpx\n/);
});

test("streams of events", () => {
  const events = { ...tree, path: `/v1/jobs/${JOB}/events`, headers: { Accept: "text/event-stream" } }; // prettier-ignore
  assert.match(curl([events], OPTIONS), /-N/);
  assert.doesNotMatch(python([events], OPTIONS), /events/);
});

test("two of a kind have two names", () => {
  const second = { ...upload, answer: { id: `ds_${suffix("c")}` } };
  assert.match(curl([upload, second], OPTIONS), /DATASET=.*\n[^]*DATASET_2=/);
});
