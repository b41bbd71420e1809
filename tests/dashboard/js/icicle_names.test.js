import assert from "node:assert/strict";
import { test } from "node:test";

import { home, zoomed } from "../../../app/dashboard/js/tree/draw/camera.js";
import { compose, frameFor } from "../../../app/dashboard/js/tree/draw/composition.js";
import { tint } from "../../../app/dashboard/js/tree/draw/tint.js";
import { build } from "../../../app/dashboard/js/tree/model/scene.js";
import { Store } from "../../../app/dashboard/js/tree/model/store.js";
import { stubCanvas, THEME } from "./trees_kit.js";
import { readableWords } from "./words_kit.js";

stubCanvas();

const WINDOW = { width: 900, height: 700 };

/** A tree whose nodes are split in two as `first(n_leaves)` says, and all have names. */
function splitting(n, first) {
  const nodes = [];
  const stack = [[n, null]];
  while (stack.length) {
    const [leaves, parent] = stack.pop();
    const id = nodes.length;
    const name = leaves === 1 ? `leaf ${id}` : null;
    const called = leaves === 1 ? null : `below ${id}`;
    const common = { id, parent, name, called, hidden: 0, points_before: 0 };
    nodes.push({ ...common, height: leaves - 1, n_leaves: leaves, size: leaves });
    if (leaves === 1) continue;
    const left = first(leaves);
    stack.push([leaves - left, id], [left, id]);
  }
  const store = new Store();
  store.graft({ root: 0, max_nodes: nodes.length, axis: null, nodes });
  return store;
}

test("an icicle of a tree that takes off leaf after leaf has names at the ground", () => {
  const shapes = {
    first: () => 1,
    last: (n) => n - 1,
    both: (n) => (n % 2 ? 1 : n - 1),
    some: (n) => Math.max(1, Math.floor(n / 50)),
  };
  for (const [name, first] of Object.entries(shapes)) {
    const store = splitting(1200, first);
    for (const scale of ["height", "rank", "level", "depth"]) {
      const scene = build(store, { root: 0, folded: new Set(), scale });
      const room = { ...WINDOW, shape: "icicle", theme: THEME, banded: false };
      const frame = frameFor(store, scene, room);
      for (const near of [1, 8]) {
        const camera = near === 1 ? home() : zoomed(frame, home(), near, 450, 600);
        const own = tint(scene, THEME, { by: "none" });
        const picture = compose({ store, scene, frame, camera, theme: THEME, tint: own });
        const { texts } = picture.layers;
        const place = `${name}, ${scale}, ${near}: ${texts.length}`;
        assert.ok(texts.length >= 12 && texts.length <= 75, place);
        if (near > 1) continue; // Names in cells that begin beyond the edge.
        assert.equal(new Set(texts.map(({ whole }) => whole)).size, texts.length, place);
        readableWords(texts, WINDOW);
      }
    }
  }
});
