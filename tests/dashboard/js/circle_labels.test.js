import assert from "node:assert/strict";
import { test } from "node:test";

import { home } from "../../../app/dashboard/js/tree/draw/camera.js";
import { compose, frameFor } from "../../../app/dashboard/js/tree/draw/composition.js";
import { runsOf } from "../../../app/dashboard/js/tree/draw/name_runs.js";
import { place } from "../../../app/dashboard/js/tree/draw/place.js";
import { width } from "../../../app/dashboard/js/tree/draw/text.js";
import { tint } from "../../../app/dashboard/js/tree/draw/tint.js";
import { build, LEAF } from "../../../app/dashboard/js/tree/model/scene.js";
import { storeOf, stubCanvas, THEME } from "./trees_kit.js";

stubCanvas();

const WHOLE = { root: 0, folded: new Set(), scale: "depth" };

/** A root over pairs of leaves, named by `nameOf(pair, leaf)`. */
const pairs = (n, nameOf) =>
  storeOf([
    "",
    2,
    ...Array.from({ length: n }, (_, pair) => [
      null,
      1,
      [nameOf(pair, 0), 0],
      [nameOf(pair, 1), 0],
    ]),
  ]);

const drawn = (store, window) => {
  const scene = build(store, WHOLE);
  const options = { ...window, shape: "circular", theme: THEME, banded: false };
  const frame = frameFor(store, scene, options);
  const picture = compose({
    store,
    scene,
    frame,
    camera: home(),
    theme: THEME,
    tint: tint(scene, THEME, { by: "none" }),
  });
  return { scene, frame, picture, texts: picture.layers.texts };
};

/** Where a text along a radius begins and ends. */
const ends = ({ x, y, text, size, align, turn }) => {
  const long = width(text, size, THEME.family) * (align === "right" ? -1 : 1);
  return [[x, y], [x + long * Math.cos(turn), y + long * Math.sin(turn)]]; // prettier-ignore
};

test("neighbouring tips of one name are a run, those without a name are not", () => {
  //      root
  //    /   |   \
  //   o    o    o
  //  a a  a b  - -
  const store = pairs(3, (pair, leaf) => [["a", "a"], ["a", "b"], ["", ""]][pair][leaf]); // prettier-ignore
  const scene = build(store, WHOLE);
  const tips = [...scene.kind.keys()].filter((row) => scene.kind[row] === LEAF);
  const runs = runsOf(store, scene, tips);
  assert.deepEqual(
    runs.map(({ rows, leaves }) => [rows, leaves]),
    [[3, 3], [1, 1], [1, 1], [1, 1]],
  ); // prettier-ignore
  assert.ok(Math.abs(runs[0].to - 0.5) < 1e-9 && runs[0].from === 0);
});

test("no label of a circle leaves its window, however many leaves and however long their names", () => {
  for (const window of [{ width: 1000, height: 700 }, { width: 360, height: 470 }]) {
    for (const n of [6, 100, 700]) {
      const { texts } = drawn(pairs(n, (pair, leaf) => `a rather long name ${pair} ${leaf}`), window);
      assert.ok(texts.length > 10, `${n}: ${texts.length}`);
      for (const text of texts) {
        for (const [x, y] of ends(text)) {
          const inside = x >= 0 && y >= 0 && x <= window.width && y <= window.height;
          assert.ok(inside, `${n} leaves: ${text.text} at ${x}, ${y}`);
        }
      }
    }
  }
}); // prettier-ignore

test("a circle of few leaves leaves room for their whole names, above and below too", () => {
  const name = (pair, leaf) => `high Mg ${pair}, low Na ${leaf}`;
  const { texts, frame } = drawn(pairs(4, name), { width: 1000, height: 640 });
  const shown = texts.map(({ text }) => text).filter((text) => text.startsWith("high"));
  const all = [0, 1, 2, 3].flatMap((pair) => [name(pair, 0), name(pair, 1)]);
  assert.deepEqual(shown.sort(), all);
  assert.ok(frame.radius > 120, `${frame.radius}`);
  const short = drawn(pairs(4, (pair, leaf) => `${pair}${leaf}`), { width: 1000, height: 640 });
  assert.ok(short.frame.radius > 270, `${short.frame.radius}`);
}); // prettier-ignore

test("a circle of 200 leaves fills its window and names every leaf", () => {
  const { frame, texts, scene } = drawn(
    pairs(100, (pair, leaf) => `leaf ${pair} ${leaf}`),
    {
      width: 1000,
      height: 700,
    },
  );
  assert.equal(new Set(texts.map(({ text }) => text)).size, 200);
  assert.ok(place(frame, home()).across / (2 * Math.PI) > 0.33 * 700);
  assert.equal(scene.tips, 200);
});

test("a crowded circle names a run once, with the number of its leaves, and an arc over it", () => {
  const { texts, picture } = drawn(pairs(900, (pair) => (pair < 600 ? "Symbols" : "Flags")), {
    width: 1000,
    height: 700,
  });
  assert.deepEqual(
    texts.map(({ text }) => text.replaceAll(/[\u2068\u2069]/g, "")),
    ["Symbols · 1,200", "Flags · 600"],
  );
  assert.ok([...picture.layers.front.values()].length > 0);
}); // prettier-ignore

test("what is folded and too narrow for a label has none: names of leaves get the space", () => {
  const folded = storeOf(
    ["", 2, ...Array.from({ length: 900 }, (_, pair) => [pair % 2 ? null : "Symbols and more", 1, [`${pair} 0`, 0], [`${pair} 1`, 0]])],
    { fold: Array.from({ length: 450 }, (_, pair) => 1 + 6 * pair) },
  ); // prettier-ignore
  const { texts } = drawn(folded, { width: 1000, height: 700 });
  const tips = texts.filter(({ weight }) => weight !== 600);
  assert.ok(tips.length > 15);
  assert.ok(
    tips.every(({ text }) => /^(\d+) 0, \1 1$/.test(text)),
    tips.map(({ text }) => text).join(),
  );
});

test("among crowded leaves without names no label takes space", () => {
  const { texts, frame } = drawn(
    pairs(900, () => null),
    { width: 1000, height: 700 },
  );
  assert.deepEqual(texts, []);
  assert.equal(frame.room, 0);
  // Nor for what is folded, but too narrow for a label.
  const fold = Array.from({ length: 900 }, (_, pair) => 1 + 3 * pair);
  const nested = ["", 2, ...Array.from({ length: 900 }, () => [null, 1, [null, 0], [null, 0]])];
  assert.equal(drawn(storeOf(nested, { fold }), { width: 1000, height: 700 }).frame.room, 0);
});

test("arcs at the ground show what is folded, and only that", () => {
  const nested = ["", 2, ...Array.from({ length: 900 }, (_, pair) => [null, 1, [`${pair}`, 0], [`${pair}`, 0]])]; // prettier-ignore
  const window = { width: 1000, height: 700 };
  const ringOf = (options) => drawn(storeOf(nested, options), window).picture.layers.ring;
  assert.equal(ringOf().length, 0);
  assert.equal(ringOf({ fold: [1, 4, 7] }).length, 1);
});

/** A balanced tree of `n` named leaves: [name, height, child, child]. */
const balanced = (n) =>
  n === 1 ? ["leaf", 0] : [null, Math.log2(n), balanced(n >> 1), balanced(n - (n >> 1))];

test("names that nodes were given are drawn, among many leaves too", () => {
  const window = { width: 900, height: 700 };
  for (const shape of ["circular", "rectangular", "icicle"]) {
    for (const n of [64, 512, 2048]) {
      const store = storeOf(balanced(n));
      const slots = Array.from({ length: store.n }, (_, slot) => slot).slice(1);
      const half = slots.find((slot) => store.leaves[slot] === n / 2);
      const part = slots.find((slot) => store.leaves[slot] === n / 8);
      const other = slots.findLast((slot) => store.leaves[slot] === n / 16);
      [half, part, other].forEach((slot, at) => (store.name[slot] = `given ${at}`));
      const scene = build(store, { ...WHOLE, scale: "auto" });
      const room = { ...window, shape, theme: THEME, banded: false };
      const frame = frameFor(store, scene, room);
      const own = tint(scene, THEME, { by: "none" });
      const view = { store, scene, frame, camera: home(), theme: THEME, tint: own };
      const { texts } = compose(view).layers;
      for (const at of [0, 1, 2]) {
        const name = `given ${at}`;
        assert.ok(
          texts.some(({ whole }) => whole === name),
          `${name} in ${shape} of ${n}`,
        );
      }
    }
  }
});
