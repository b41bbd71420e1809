import assert from "node:assert/strict";
import { test } from "node:test";

import { readable } from "../../../app/dashboard/js/forms/parameter_names.js";
import * as schema from "../../../app/dashboard/js/forms/schema.js";

const integer = { type: "integer", minimum: 2, maximum: 20, default: 8, nullable: false };
const positive = { type: "number", exclusiveMinimum: 0, default: 0.5, nullable: false };

test("names of parameters for people", () => {
  assert.equal(readable("n_clusters"), "Number of clusters");
  assert.equal(readable("learning_rate"), "Learning rate");
  assert.equal(readable("n_trees"), "Trees");
  assert.equal(readable("min_samples"), "Neighbours that make a point dense");
});

test("numbers in texts", () => {
  const cases = [
    ["12", 12],
    [" -1.5 ", -1.5],
    ["12,000", 12_000],
    ["1 234 567.5", 1_234_567.5],
    ["1_000", 1000],
    [".5", 0.5],
    ["5.", 5],
    ["1e-3", 1e-3],
    ["", NaN],
    ["1,2", NaN],
    ["0x10", NaN],
    ["Infinity", NaN],
    ["1e", NaN],
    ["٣", NaN],
    ["1;DROP TABLE", NaN],
  ];
  for (const [text, value] of cases) assert.equal(schema.numberOf(text), value, text);
});

test("what a field of a number accepts", () => {
  assert.equal(schema.acceptedText(integer), "A whole number from 2 to 20.");
  assert.equal(schema.acceptedText(positive), "A number above 0.");
  assert.equal(schema.rangeText({ low: 1, high: 2 ** 53, whole: true }), "of 1 or more");
  assert.equal(schema.rangeText({ low: 0, high: 1, openHigh: true }), "from 0, below 1");
  assert.equal(schema.rangeText({ high: 5 }), "up to 5");
  assert.equal(schema.rangeText({}), "");
});

test("a number that is typed in", () => {
  assert.deepEqual(schema.readAmount("7", integer), { value: 7 });
  for (const text of ["1", "21", "7.5", "seven", "NaN", "1e99"]) {
    assert.equal(
      schema.readAmount(text, integer).error,
      "Enter a whole number from 2 to 20.",
      text,
    );
  }
  assert.match(schema.readAmount("", integer).error, /the default is 8/);
  assert.deepEqual(schema.readAmount(" ", { ...integer, nullable: true }), { value: null });
  assert.deepEqual(schema.readAmount("", { type: "number", nullable: false }), {
    value: undefined,
  });
  assert.match(schema.readAmount("0", positive).error, /above 0/);
});

test("several values", () => {
  const list = {
    type: "array",
    items: { type: "integer" },
    minItems: 1,
    maxItems: 3,
    nullable: true,
  };
  assert.deepEqual(schema.readList("1, 2;3", list), { value: [1, 2, 3] });
  assert.deepEqual(schema.readList("", list), { value: null });
  assert.match(schema.readList("1,2,3,4", list).error, /1 to 3 values/);
  assert.match(schema.readList("1,x", list).error, /whole numbers separated by commas/);
  assert.match(
    schema.readList("1", { ...list, minItems: 2, maxItems: undefined }).error,
    /at least 2/,
  );
});

test("numbers by name", () => {
  const weights = schema.simplified({
    anyOf: [{ type: "object", additionalProperties: { type: "number" } }, { type: "null" }],
  });
  const named = { "a b": 2, c: 0.5 };
  assert.deepEqual(schema.readNumbersByName("a b: 2, c:0.5", weights), { value: named });
  assert.equal(schema.shownNumbersByName(named), "a b: 2, c: 0.5");
  assert.deepEqual(schema.readNumbersByName("", weights), { value: null });
  assert.equal(schema.shownNumbersByName(null), "");
  const marked = { "x, y: z": 1 };
  const text = schema.shownNumbersByName(marked);
  assert.deepEqual(schema.readNumbersByName(text, weights), { value: marked });
  for (const wrong of ["a", "a: b", ": 1", "a: 1, b", '{"a": "1"}', "{a}"]) {
    assert.match(schema.readNumbersByName(wrong, weights).error, /Enter names with numbers/);
  }
  assert.equal(schema.shownParams({ weights: named, k: 3 }), "weights: (a b: 2, c: 0.5), K: 3");
});

test("a number or a word", () => {
  const either = schema.simplified({
    anyOf: [{ type: "integer", minimum: 1 }, { enum: ["auto"] }],
  });
  assert.deepEqual(schema.readEither("auto", either), { value: "auto" });
  assert.deepEqual(schema.readEither("12", either), { value: 12 });
  assert.equal(schema.readEither("0", either).error, "Enter auto or a whole number of 1 or more.");
  assert.equal(schema.acceptedText(either), "Accepted: auto or a whole number of 1 or more.");
  const weight = schema.simplified({
    anyOf: [
      { type: "number", exclusiveMinimum: 0, maximum: 1e9 },
      { const: "auto", type: "string" },
    ],
    default: 1,
  });
  assert.deepEqual(schema.readEither("0.5", weight), { value: 0.5 });
  assert.deepEqual(schema.readEither(" auto ", weight), { value: "auto" });
  for (const text of ["", "0", "-1", "Auto", "1e10", "true"]) {
    assert.match(schema.readEither(text, weight).error, /Enter auto or a number above 0/, text);
  }
});

test("texts with a pattern", () => {
  const text = { type: "string", pattern: "^[a-z]+$", nullable: false };
  assert.deepEqual(schema.readText("abc", text), { value: "abc" });
  assert.match(schema.readText("<script>", text).error, /must match/);
});

test("references and null are resolved", () => {
  const defs = { Metric: { enum: ["cosine", "euclidean"] } };
  const property = schema.simplified(
    { anyOf: [{ $ref: "#/$defs/Metric" }, { type: "null" }] },
    defs,
  );
  assert.deepEqual(schema.literalsOf(property), ["cosine", "euclidean"]);
  assert.equal(property.nullable, true);
  assert.equal(schema.simplified({ type: "integer" }).nullable, false);
  assert.deepEqual(schema.literalsOf({ const: false }), [false]);
});

test("values of plain kinds", () => {
  assert.equal(schema.valueOf("true", { type: "boolean" }), true);
  assert.equal(schema.valueOf("yes", { type: "boolean" }), undefined);
  assert.equal(schema.valueOf("2", { enum: [1, 2] }), 2);
  assert.equal(schema.valueOf("3", { enum: [1, 2] }), undefined);
  assert.equal(schema.valueOf("toString", { type: "boolean" }), undefined);
});

test("parameters in short", () => {
  assert.equal(schema.shownParams({}), "defaults");
  assert.equal(schema.shownParams(null), "defaults");
  assert.equal(schema.shownParams({ linkage: "ward", k: null }), "linkage: ward, K: none");
  // In the words of the form, not the names of requests.
  assert.equal(
    schema.shownParams({ n_clusters: 3, C: 2, growable: true, sizes: [1, 2] }),
    "number of clusters: 3, weight of the loss C: 2, new rows may be added later: yes, sizes: 1 2",
  );
  const properties = { k: { default: 8 }, sizes: { default: [1, 2] } };
  assert.deepEqual(schema.changedParams({ properties }, { k: 8, sizes: [1, 2], new: 1 }), {
    new: 1,
  });
  assert.deepEqual(schema.changedParams({ properties }, { k: 9, sizes: [2, 1] }), { k: 9, sizes: [2, 1] }); // prettier-ignore
  assert.deepEqual(schema.changedParams(undefined, { k: 1 }), { k: 1 });
});

test("the parameters that tell a run from others of its method", () => {
  const ofHac = { properties: { linkage: { default: "average" }, metric: { default: "l2" } } };
  const telling = (params, ...others) => schema.tellingParams(ofHac, params, [params, ...others]);
  const average = { linkage: "average", metric: "l2" };
  assert.deepEqual(telling(average), {});
  assert.deepEqual(telling(average, { linkage: "ward", metric: "l2" }), { linkage: "average" });
  assert.deepEqual(telling({ linkage: "ward", metric: "l2" }, average), { linkage: "ward" });
});
