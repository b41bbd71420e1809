import assert from "node:assert/strict";
import { test } from "node:test";

import { addressOf, parseAddress } from "../../../app/dashboard/js/net/address.js";
import {
  addressParams,
  datasetIds,
  settingsIn,
} from "../../../app/dashboard/js/pages/run_address.js";

test("addresses", () => {
  assert.equal(addressOf("/"), "#/");
  assert.equal(addressOf("/trees/tr_x", { root: 5 }), "#/trees/tr_x?root=5");
  assert.equal(
    addressOf("/", { a: null, b: undefined, c: "", d: false, e: true, f: 0 }),
    "#/?e=1&f=0",
  );
  assert.equal(addressOf("/", { zoom: [1, 2], cut: "k:7" }), "#/?zoom=1,2&cut=k:7");
  assert.equal(addressOf("/", { q: "a&b=c#d e" }), "#/?q=a%26b%3Dc%23d+e");
});

test("an address is read as it was written", () => {
  const values = { q: "a&b=c#d e?%2C", name: "<script>alert(1)</script>", city: "שלום 👩‍👩‍👧‍👦" };
  const { path, params } = parseAddress(addressOf("/jobs", values));
  assert.equal(path, "/jobs");
  assert.deepEqual({ ...params }, values);
});

test("addresses that nobody has written", () => {
  assert.deepEqual(parseAddress("").path, "/");
  assert.deepEqual(parseAddress("#?a=1").path, "/");
  assert.deepEqual(parseAddress("#jobs").path, "/jobs");
  assert.deepEqual({ ...parseAddress("#/?a=1&a=2&b").params }, { a: "2", b: "" });
  assert.equal(parseAddress("#/?%E0%A4%A=1").path, "/");
  // Names that objects have of themselves are plain parameters.
  const { params } = parseAddress("#/?__proto__=x&constructor=y");
  assert.equal(params.constructor, "y");
  assert.equal(params.toString, undefined);
});

test("the settings of a run stand in the address", () => {
  const settings = {
    method: "kmeans",
    name: "A run",
    inputs: { features: "ds_1", base: "job_1", labels: ["ds_2", "ds_3"], names: ["a,b", "c"] },
    params: { n_clusters: 7, metric: "cosine", choose: null, sizes: [1, 2] },
    extras: { preprocess: [{ step: "pca", n: 3 }], name_by: "labels" },
  };
  const address = addressParams(settings);
  assert.equal(address.labels, "ds_2,ds_3");
  assert.equal(address.names, '["a,b","c"]');
  assert.equal(address["p.choose"], "null");
  assert.deepEqual(settingsIn(address), settings);
});

test("a long list that was typed in stays out of the address", () => {
  const names = Array.from({ length: 500 }, (_, at) => `name ${at}`);
  const address = addressParams({ method: null, name: null, inputs: { names }, params: {}, extras: {} }); // prettier-ignore
  assert.equal("names" in address, false);
});

test("an address that is no JSON is text", () => {
  const { inputs, params, extras } = settingsIn({ "p.x": "{", names: "[", then: "l2h" });
  assert.deepEqual([inputs, params, extras], [{ names: "[" }, { x: "{" }, { then: "l2h" }]);
});

test("datasets among inputs", () => {
  assert.deepEqual(datasetIds({ a: "ds_1", b: ["ds_2", "text"], c: "job_1" }), ["ds_1", "ds_2"]);
});
