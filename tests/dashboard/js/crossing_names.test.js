// Names on branches that cross the view.

import assert from "node:assert/strict";
import { test } from "node:test";

import { home } from "../../../app/dashboard/js/tree/draw/camera.js";
import { compose, frameFor } from "../../../app/dashboard/js/tree/draw/composition.js";
import { Ground, within } from "../../../app/dashboard/js/tree/draw/label_places.js";
import { place } from "../../../app/dashboard/js/tree/draw/place.js";
import { tint } from "../../../app/dashboard/js/tree/draw/tint.js";
import { build } from "../../../app/dashboard/js/tree/model/scene.js";
import { storeOf, stubCanvas, THEME } from "./trees_kit.js";

stubCanvas();

test("a line is cut at the edges of the picture", () => {
  const picture = { width: 100, height: 50 };
  assert.deepEqual(within([-50, 25], [150, 25], picture, 10), [[10, 25], [90, 25]]); // prettier-ignore
  assert.deepEqual(within([50, 20], [50, 30], picture, 10), [[50, 20], [50, 30]]); // prettier-ignore
  assert.equal(within([0, 5], [100, 5], picture, 10), null);
  assert.equal(within([-50, 0], [-10, 50], picture, 10), null);
});

test("a text along a line takes its place once", () => {
  const ground = new Ground(200, 200);
  assert.equal(ground.takeAlong(30, 30, 100, 100, 12), true);
  assert.equal(ground.takeAlong(30, 100, 100, 30, 12), false);
  assert.equal(ground.take(150, 20, 20, 20), true);
  assert.equal(ground.takeAlong(150, 190, 260, 190, 12), false);
});

test("between inner nodes and the ground a circle names the branches in view, upright and inside", () => {
  //  a root with 12 nodes at a tenth of its height over 40 leaves each
  const store = storeOf([
    "",
    10,
    ...Array.from({ length: 12 }, (_, k) => [
      null,
      9,
      ...Array.from({ length: 40 }, (__, leaf) => [`leaf ${k} ${leaf}`, 0]),
    ]),
  ]);
  const scene = build(store, { root: 0, folded: new Set(), scale: "height" });
  const window = { width: 900, height: 700 };
  const options = { ...window, shape: "circular", theme: THEME, banded: false };
  const frame = frameFor(store, scene, options);
  const own = tint(scene, THEME, { by: "none" });
  const drawn = (camera) => compose({ store, scene, frame, camera, theme: THEME, tint: own }).layers.texts; // prettier-ignore
  const [x, y] = place(frame, home()).at(0.3, 0.5);
  for (const k of [8, 12]) {
    const texts = drawn({ k, kd: k, x: 450 - k * x, y: 350 - k * y });
    assert.ok(texts.length >= 10, `${k}: ${texts.length}`);
    for (const text of texts) {
      assert.match(text.text, /^leaf \d+ \d+$/);
      assert.ok(Math.cos(text.turn) > -1e-6);
      assert.ok(text.x >= 0 && text.x <= 900 && text.y >= 0 && text.y <= 700);
    }
  }
  // Near the leaves they have their own places, and each name stands once.
  const whole = drawn(home()).map(({ text }) => text);
  assert.equal(new Set(whole).size, whole.length);
});

test("where the edge of a narrow circle is near, tips too close for names have them along their branches", () => {
  //  a root over 60 groups of 20 named leaves
  const store = storeOf([
    "",
    10,
    ...Array.from({ length: 60 }, (_, k) => [
      null,
      9,
      ...Array.from({ length: 20 }, (__, leaf) => [`leaf ${k} ${leaf}`, 0]),
    ]),
  ]);
  const scene = build(store, { root: 0, folded: new Set(), scale: "height" });
  const window = { width: 358, height: 430 };
  const frame = frameFor(store, scene, { ...window, shape: "circular", theme: THEME, banded: false }); // prettier-ignore
  const own = tint(scene, THEME, { by: "none" });
  const [x, y] = place(frame, home()).at(0.02, 0.95);
  const k = 8;
  const camera = { k, kd: k, x: 179 - k * x, y: 215 - k * y };
  const texts = compose({ store, scene, frame, camera, theme: THEME, tint: own }).layers.texts;
  const inside = texts.filter((text) => text.x >= 0 && text.x <= 358 && text.y >= 0 && text.y <= 430); // prettier-ignore
  assert.ok(inside.length >= 15, `${inside.length}`);
  assert.equal(new Set(inside.map(({ whole }) => whole)).size, inside.length);
  for (const { text } of inside) assert.match(text, /[a-z]/);
});
