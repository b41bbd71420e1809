// The errors of a classifier on its tree: categories, colours, confusions as curves.

import assert from "node:assert/strict";
import { test } from "node:test";

import * as colouring from "../../../app/dashboard/js/tree/draw/colouring.js";
import { errorLinks } from "../../../app/dashboard/js/tree/draw/error_links.js";
import { contrast, errorScale } from "../../../app/dashboard/js/tree/draw/palettes.js";
import { Picture } from "../../../app/dashboard/js/tree/draw/picture.js";
import { fit, place } from "../../../app/dashboard/js/tree/draw/place.js";
import * as errors from "../../../app/dashboard/js/tree/model/errors.js";
import { readLook } from "../../../app/dashboard/js/tree/model/look.js";
import { build, rows } from "../../../app/dashboard/js/tree/model/scene.js";
import { LIFE, storeOf, THEME } from "./trees_kit.js";

// LIFE: life 0, plants 1 (rose 2, oak 3), fungi 4, animals 5 (cat 6, dog 7)
const rate = (node, f1, recall = f1) => ({
  node,
  f1,
  recall,
  precision: f1,
  support: 4,
  n_given: 3,
});
const confusion = (truth, given, count) => ({
  ...{ true: `n${truth}`, true_node: truth, predicted: `n${given}`, predicted_node: given, count },
});
const TABLES = {
  node: [
    rate(0, 1),
    rate(1, 0.85),
    rate(2, 0),
    rate(3, 0.9),
    rate(5, 0.5, 0.75),
    rate(6, null, null),
  ],
  class: [rate(2, 0), { ...rate(9, 0), node: null }],
  confusions: [confusion(6, 7, 5), confusion(2, 6, 3), confusion(3, 6, 2), confusion(2, 99, 1)],
};
const JOB = "job_0123456789abcdef";
const known = errors.errorsIn(JOB, TABLES);

const viewOf = (look = {}, store = storeOf(LIFE)) => ({
  ...{ store, theme: THEME, cut: null, byNode: new Map(), labels: null, coarse: false },
  look: { ...readLook({ color: JOB }), ...look },
  errors: known,
});

test("tables that were not requested", () => {
  const { class: classes } = TABLES;
  assert.deepEqual([...errors.errorsIn(JOB, { class: classes }).rates.keys()], [2]);
  assert.deepEqual(errors.errorsIn(JOB, {}), {
    ...{ job: JOB, rates: new Map(), isWhole: false, confusions: [] },
  });
});

test("categories from the worst to the best", () => {
  const of = (goodness) => errors.categoryOf(rate(1, goodness), "f1");
  assert.deepEqual(
    [0, 0.19, 0.2, 0.59, 0.6, 0.79, 0.8, 0.9, 1].map(of),
    [0, 0, 1, 2, 3, 3, 4, 5, 5],
  );
  assert.equal(of(1 - 0.2), 4);
  assert.equal(of(null), -1);
  assert.equal(errors.categoryOf(undefined, "f1"), -1);
  assert.equal(errors.categoryOf(rate(5, 0.5, 0.75), "missed"), 3);
  assert.equal(errors.categoryName(4, "f1"), "F1 0.8–0.9");
  assert.deepEqual([5, 0].map((at) => errors.categoryName(at, "missed")), ["0–10 % missed", "80–100 % missed"]); // prettier-ignore
});

test("an evaluation without its nodes knows the classes", () => {
  assert.ok(known.isWhole);
  const classes = errors.errorsIn(JOB, { ...TABLES, node: [] });
  assert.ok(!classes.isWhole);
  assert.deepEqual([...classes.rates.keys()], [2]);
});

test("nodes in the colours of their errors", () => {
  const view = viewOf();
  const scene = build(view.store, { root: 0, folded: new Set(), scale: "level" });
  const scale = errorScale(THEME, "okabe-ito", errors.N_CATEGORIES);
  const tint = colouring.tinted(view, scene);
  const colour = (id) => tint.colours[tint.band[rows(scene).get(id)]];
  assert.deepEqual([0, 1, 2, 3, 5].map(colour), [scale[5], scale[4], scale[0], scale[5], scale[2]]);
  assert.equal(colour(6), THEME.other);
  assert.equal(colour(4), THEME.other);
  assert.ok(tint.banded && colouring.isBanded(view.look));
  assert.equal(colouring.colorBy(view), null);
  assert.equal(colouring.pictureColor(view), null);
  assert.equal(colouring.categoryText(view, scene, rows(scene).get(5)), "F1 0.50, precision 0.50, recall 0.75; 4 rows"); // prettier-ignore
  assert.match(colouring.categoryText(view, scene, rows(scene).get(6)), /never given/);
  assert.equal(colouring.categoryText(view, scene, rows(scene).get(4)), "");
  // Until they are loaded nothing is coloured.
  assert.equal(colouring.tinted({ ...view, errors: null }, scene).by, "none");
});

test("the legend counts the nodes of each category, the best first", () => {
  const { list } = colouring.legendEntries(viewOf());
  assert.deepEqual(list.map(({ size }) => size), [2, 1, 0, 1, 0, 1]); // prettier-ignore
  assert.equal(list[0].text, "F1 0.9–1");
  const missed = colouring.legendEntries(viewOf({ measure: "missed" })).list;
  assert.deepEqual(missed.map(({ size }) => size), [2, 1, 1, 0, 0, 1]); // prettier-ignore
});

test("the scale of greys grows darker with the errors", () => {
  const grey = errorScale({ ...THEME, shared: "#ccd2d9" }, "grey", 6);
  const contrasts = grey.map((colour) => contrast(colour, THEME.paper));
  assert.deepEqual([...contrasts].sort((a, b) => b - a), contrasts); // prettier-ignore
  assert.equal(new Set(errorScale(THEME, "okabe-ito", 6)).size, 6);
});

test("confusions join what is shown", () => {
  const linksOf = (folded, store = storeOf(LIFE)) => {
    const scene = build(store, { root: 0, folded: new Set(folded), scale: "level" });
    const rowOf = (id) => rows(scene).get(id) ?? -1;
    const links = errors.linksOf(known, store, scene, rowOf);
    return links.map(({ from, to, count }) => [scene.id[from], scene.id[to], count]);
  };
  assert.deepEqual(linksOf([]), [[6, 7, 5], [2, 6, 3], [3, 6, 2]]); // prettier-ignore
  // In a folded node they are put together, and those within it disappear.
  assert.deepEqual(linksOf([1, 5]), [[1, 5, 5]]);
  assert.deepEqual(linksOf([0]), []);
  const many = { ...known, confusions: Array.from({ length: 40 }, (_, at) => confusion(2, 6 + (at % 2), 1)) }; // prettier-ignore
  const store = storeOf(LIFE);
  const scene = build(store, { root: 0, folded: new Set(), scale: "level" });
  const links = errors.linksOf(many, store, scene, (id) => rows(scene).get(id) ?? -1);
  assert.deepEqual(links.map(({ count }) => count), [20, 20]); // prettier-ignore
});

test("a curve leads from the true label to a dot at the given one", () => {
  const store = storeOf(LIFE);
  const scene = build(store, { root: 0, folded: new Set(), scale: "level" });
  const [from, to] = [rows(scene).get(2), rows(scene).get(6)];
  for (const shape of ["circular", "rectangular", "icicle"]) {
    const at = place(fit(shape, { width: 600, height: 500 }), { k: 1, kd: 1, x: 0, y: 0 });
    const picture = new Picture(600, 500);
    errorLinks(picture, scene, at, [{ from, to, count: 2 }], "#000000");
    const [curve, dot] = picture.layers.front;
    const [x, y] = at.at(scene.u[to], scene.v[to]);
    assert.equal(curve.kind, "stroke");
    assert.deepEqual([...dot.path.data.slice(1, 3)], [...Float32Array.of(x, y)], shape);
  }
});
