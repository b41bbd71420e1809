// Items of a tree: values of nodes as colours, strips and words, and conditions.

import assert from "node:assert/strict";
import { isCalledAsRow } from "../../../app/dashboard/js/tree/model/outlier_orders.js";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import {
  columnEntries,
  columnTint,
  shownColumn,
  stripEntries,
  withItems,
} from "../../../app/dashboard/js/tree/draw/item_tints.js";
import {
  briefly,
  conditionWords,
  itemText,
  matchText,
  nodeText,
  stepTexts,
} from "../../../app/dashboard/js/tree/draw/item_words.js";
import {
  categoryAt,
  conditionsIn,
  conditionsText,
  conditionText,
  isMatched,
  matchesQuery,
  MOST_CONDITIONS,
  MOST_STRIPS,
  N_STEPS,
  pictureStrips,
  rangeOf,
  stepOf,
  withCondition,
} from "../../../app/dashboard/js/tree/model/items.js";
import { mapColours } from "../../../app/dashboard/js/tree/draw/map_colours.js";
import { tint } from "../../../app/dashboard/js/tree/draw/tint.js";

const GROUP = {
  column: 0, name: "group", kind: "category", of_nodes: true, n_categories: 30,
  categories: [{ text: "plant", count: 3 }, { text: "animal", count: 2 }],
}; // prettier-ignore
const WEIGHT = { column: 1, name: "weight", kind: "number", of_nodes: true, quantiles: [0, 1, 2, 3, 9] }; // prettier-ignore
const SEEN = { column: 2, name: "seen", kind: "date", of_nodes: true, first: "2024-01-01T00:00:00+00:00", last: "2024-01-10T00:00:00+00:00" }; // prettier-ignore
const PHOTO = { column: 3, name: "photo", kind: "image", of_nodes: false };

//      0
//     / \
//    1   2
const GROUPS = { shape: [3, 2], values: Float32Array.of(0, 0.6, 0, 1, 1, 1) };
const WEIGHTS = { shape: [3, 1], values: Float32Array.of(4.5, 9, NaN) };
const SCENE = { n: 3, id: Int32Array.of(0, 1, 2), kind: Uint8Array.of(0, 1, 1) };
const THEME = {
  ink: "#000000", other: "#888888", paper: "#ffffff", text: "#101010", series: ["#0072b2", "#d55e00"],
}; // prettier-ignore

test("categories of nodes", () => {
  assert.deepEqual([0, 1, 2, 3, -1].map((id) => categoryAt(GROUP, GROUPS, id)), [0, 0, 1, -1, -1]); // prettier-ignore
  assert.deepEqual([0, 1, 2].map((id) => categoryAt(WEIGHT, WEIGHTS, id)), [4, N_STEPS - 1, -1]); // prettier-ignore
  assert.equal(stepOf(5, [5, 5]), 4);
  assert.equal(stepOf(1e308, [-1e308, 1e308]), N_STEPS - 1);
  assert.deepEqual(rangeOf(SEEN), [1704067200, 1704844800]);
  assert.equal(rangeOf(PHOTO), null);
});

test("values in words", () => {
  assert.equal(nodeText(GROUP, GROUPS, 0), "60 % plant");
  assert.equal(nodeText(GROUP, GROUPS, 2), "animal");
  assert.equal(nodeText(WEIGHT, WEIGHTS, 0), "4.5");
  assert.equal(nodeText(WEIGHT, WEIGHTS, 2), "");
  assert.equal(nodeText(SEEN, { shape: [1, 1], values: Float32Array.of(1704067200) }, 0), "2024-01-01"); // prettier-ignore
  assert.deepEqual(stepTexts(WEIGHT).slice(0, 2), ["0 – 1", "1 – 2"]);
  assert.equal(itemText("date", "2024-01-01T00:00:00Z"), "2024-01-01");
  const values = { photo: { image: "/v1/x" }, group: "plant", weight: null, seen: "2024-01-01T10:00:00Z" }; // prettier-ignore
  assert.deepEqual(briefly([PHOTO, GROUP, WEIGHT, SEEN], values, 2), [
    ["group", "plant"],
    ["seen", "2024-01-01 10:00:00Z"],
  ]);
  assert.equal(matchText({ shape: [1, 2], values: Int32Array.of(1200, 37) }), "37 of 1,200 items match"); // prettier-ignore
});

test("a mixed inner node has the colour of no category, a mean colours all", () => {
  const groups = columnTint(SCENE, THEME, { column: GROUP, values: GROUPS });
  const colourOf = (own, row) => own.colours[own.branch[row]];
  assert.deepEqual([0, 1, 2].map((row) => colourOf(groups, row)), ["#000000", "#0072b2", "#d55e00"]); // prettier-ignore
  assert.ok(groups.banded);
  const weights = columnTint(SCENE, THEME, { column: WEIGHT, values: WEIGHTS });
  assert.equal(colourOf(weights, 1), "#d55e00");
  assert.notEqual(colourOf(weights, 0), "#000000");
  const { list, others } = columnEntries(GROUP, THEME);
  assert.deepEqual(list.map(({ text, size }) => [text, size]), [["plant", 3], ["animal", 2]]); // prettier-ignore
  assert.equal(others, 28);
  assert.equal(columnEntries(WEIGHT, THEME).list.length, N_STEPS);
  const [key, ...more] = columnEntries({ ...WEIGHT, quantiles: [3, 3, 3, 3, 3] }, THEME).list;
  assert.deepEqual([key.text, key.category, more], ["3", N_STEPS >> 1, []]);
});

test("strips, and what fades where nothing matches", () => {
  const own = tint(SCENE, THEME, { by: "none" });
  const items = {
    attachment: { id: "at_1" }, columns: [GROUP, WEIGHT], strips: [0, 1, 7],
    values: new Map([[0, GROUPS], [1, WEIGHTS]]),
    matches: { shape: [3, 2], values: Int32Array.of(5, 2, 3, 2, 2, 0) },
  }; // prettier-ignore
  const shown = withItems({ items, theme: THEME }, SCENE, own);
  assert.equal(shown.strips.length, 2);
  assert.equal(shown.branch[1], own.branch[1]);
  assert.notEqual(shown.branch[2], own.branch[2]);
  assert.equal(shown.colours.length, shown.text.length);
  assert.equal(shown.colours.length, shown.soft.length);
  assert.deepEqual(stripEntries(items, THEME).map(({ list }) => list.map(({ text }) => text)), [
    ["group:", "plant", "animal"], ["weight:", "0 – 1", "4 – 5", "8 – 9"],
  ]); // prettier-ignore
  const [first] = shown.strips;
  // An inner node stands for tips too narrow to be seen.
  assert.notEqual(first.colours[first.band[0]], THEME.other);
  assert.equal(withItems({ items: null, theme: THEME }, SCENE, own), own);
  assert.equal(isMatched(items.matches, -1), true);
  assert.equal(shownColumn({ look: { color: "at_1.1" }, items })?.column, WEIGHT);
  assert.equal(shownColumn({ look: { color: "at_2.1" }, items }), null);
});

test("the map has the colours of the items", () => {
  const store = {
    n: 3, id: [0, 1, 2], kids: [[1, 2], null, null], before: [0, 0, 3], size: [5, 3, 2],
    category: [-1, -1, -1],
  }; // prettier-ignore
  const items = { attachment: { id: "at_1" }, columns: [GROUP], values: new Map([[0, GROUPS]]) };
  const look = { color: "at_1.0", alone: null };
  const { runs, palette } = mapColours({
    look,
    theme: THEME,
    cut: null,
    store,
    items,
    errors: null,
  });
  assert.deepEqual(runs.map(({ first, n, index }) => [first, n, palette[index]]), [
    [0, 3, "#0072b2"],
    [3, 2, "#d55e00"],
  ]); // prettier-ignore
});

test("conditions in an address", () => {
  assert.equal(conditionText({ column: 1, low: "", high: "" }), "");
  const single = conditionText({ column: 0, equals: "a&b;c" });
  assert.equal(single, "column=0&equals=a%26b%3Bc");
  assert.deepEqual(conditionsIn(single), [{ column: 0, equals: "a&b;c" }]);
  for (const text of [null, undefined, "", ";;", "column=1", "column=x&low=1", "low=1"]) {
    assert.deepEqual(conditionsIn(text), []);
  }
  const several = [
    { column: 0, equals: "a&b;c" },
    { column: 1, low: "1", high: "2" },
    { column: 2, contains: "column=1&low=1;" },
  ];
  const text = conditionsText(several);
  assert.deepEqual(conditionsIn(text), several);
  // Each once, what can be read, and no more than are combined.
  assert.deepEqual(conditionsIn(`${text};nonsense;${text}`), several);
  const many = Array.from({ length: 12 }, (_, column) => ({ column, low: "1" }));
  assert.deepEqual(conditionsIn(conditionsText(many)), many.slice(0, MOST_CONDITIONS));
});

test("another condition takes the place of that on its column, a text comes beside it", () => {
  const low = { column: 1, low: "1" };
  const [a, b] = [{ column: 0, contains: "a" }, { column: 0, contains: "b" }]; // prettier-ignore
  assert.deepEqual(withCondition([], low), [low]);
  assert.deepEqual(withCondition([low, a], { column: 1, high: "3" }), [a, { column: 1, high: "3" }]); // prettier-ignore
  assert.deepEqual(withCondition([low, a], { column: 1, low: "", high: "" }), [a]);
  assert.deepEqual(withCondition([low, a], b), [low, a, b]);
  assert.deepEqual(withCondition([a, b], { column: 0, contains: "a" }), [a, b]);
  assert.deepEqual(withCondition([low, a, b], { column: 0, contains: "" }), [low]);
});

test("conditions as the service takes them, and in words", () => {
  const query = matchesQuery([
    { column: 0, equals: "a&b" },
    { column: 1, low: "1", high: "" },
  ]);
  assert.deepEqual(
    new URLSearchParams(query).getAll("where").map((text) => JSON.parse(text)),
    [
      { column: 0, equals: ["a&b"] },
      { column: 1, low: "1" },
    ],
  );
  assert.equal(conditionWords(WEIGHT, { column: 1, low: "1", high: "2" }), "weight from 1 to 2");
  assert.equal(conditionWords(GROUP, { column: 0, equals: "plant" }), "group is plant");
});

test("a picture by the service has the strips of the page, as many as it takes", async () => {
  const attachment = { id: "at_x" };
  assert.equal(pictureStrips({ attachment, strips: [3, 0] }), "at_x.3,at_x.0");
  assert.equal(pictureStrips({ attachment, strips: [] }), null);
  assert.equal(pictureStrips(null), null);
  const contract = JSON.parse(await readFile("openapi/openapi.json", "utf-8"));
  const picture = contract.paths["/v1/trees/{tree_id}.{form}"].get.parameters;
  const { description } = picture.find(({ name }) => name === "strips");
  assert.match(description, new RegExp(`^Pictures: up to ${MOST_STRIPS} columns`));
  const matches = contract.paths["/v1/attachments/{attachment_id}/matches"].get.parameters.map(
    (entry) => (entry.$ref ? contract.components.parameters[entry.$ref.split("/").at(-1)] : entry),
  );
  const { schema } = matches.find(({ name }) => name === "where");
  assert.equal(schema.maxItems, MOST_CONDITIONS);
});

test("a leaf that is called as its row needs no column beside it", () => {
  const row = { item: 3, leaf: 9, name: "ash", point: "ash" };
  assert.ok(isCalledAsRow(row, "point"));
  assert.ok(isCalledAsRow({ ...row, name: "3" }, undefined));
  assert.ok(!isCalledAsRow(row, undefined));
});
