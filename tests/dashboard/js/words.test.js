import assert from "node:assert/strict";
import { test } from "node:test";

import { home } from "../../../app/dashboard/js/tree/draw/camera.js";
import { compose, frameFor } from "../../../app/dashboard/js/tree/draw/composition.js";
import { noMemory } from "../../../app/dashboard/js/tree/draw/label_places.js";
import { mapNames, MOST_NEW, Spots } from "../../../app/dashboard/js/tree/draw/map_names.js";
import { tint } from "../../../app/dashboard/js/tree/draw/tint.js";
import { build } from "../../../app/dashboard/js/tree/model/scene.js";
import { Store } from "../../../app/dashboard/js/tree/model/store.js";
import { stubCanvas, THEME } from "./trees_kit.js";
import { readableWords } from "./words_kit.js";

stubCanvas();

const SHAPES = ["circular", "rectangular", "icicle"];
const PAGES = [
  { width: 1000, height: 700 },
  { width: 358, height: 480 },
];

/**
 * The view of a tree of `n` leaves: the largest nodes are divided while fewer than 3000 are shown, each
 * about in a third and two thirds.
 */
function viewOf(n, nameOf = (at) => `king_penguin ${at}`) {
  const nodes = [{ id: 0, parent: null, n_leaves: n, points_before: 0 }];
  const queue = [nodes[0]];
  while (queue.length && nodes.length < 3000) {
    queue.sort((a, b) => a.n_leaves - b.n_leaves);
    const top = queue.pop();
    if (top.n_leaves < 2) break;
    const first = Math.max(1, Math.round(top.n_leaves / (top.id % 2 ? 3 : 2)));
    let before = top.points_before;
    for (const leaves of [first, top.n_leaves - first]) {
      const kid = { id: nodes.length, parent: top.id, n_leaves: leaves, points_before: before };
      before += leaves;
      nodes.push(kid);
      queue.push(kid);
    }
    top.open = true;
  }
  for (const node of nodes) {
    const { n_leaves: leaves, points_before: at } = node;
    Object.assign(node, { size: leaves, height: leaves > 1 ? Math.log(leaves) : 0 });
    node.hidden = leaves > 1 && !node.open ? 2 : 0;
    node.name = leaves === 1 ? nameOf(at) : null;
    node.called = leaves > 1 ? `${nameOf(at)}, ${nameOf(at + 1)}, …` : null;
  }
  const store = new Store();
  store.graft({ root: 0, max_nodes: 3000, axis: null, nodes });
  return store;
}

function texts(store, shape, page, camera = home(), memory = noMemory()) {
  const scene = build(store, { root: 0, folded: new Set(), scale: "height" });
  const frame = frameFor(store, scene, { ...page, shape, theme: THEME, banded: true });
  const own = tint(scene, THEME, { by: "none" });
  const options = { store, scene, frame, camera, theme: THEME, tint: own, memory };
  return compose(options).layers.texts;
}

test("every picture has 15 to 60 readable words, or one for each leaf", () => {
  for (const n of [20, 200, 1000, 12_000, 100_000]) {
    const store = viewOf(n);
    for (const page of PAGES) {
      for (const shape of SHAPES) {
        const count = readableWords(texts(store, shape, page), page);
        const place = `${n} leaves, ${shape}, ${page.width} px: ${count}`;
        assert.ok(count >= (shape === "icicle" && page.width < 400 ? 8 : 15), place);
        if (n > 1000 && shape !== "icicle") assert.ok(count <= 60, place);
      }
    }
  }
});

test("words stay where they are while one moves a little", () => {
  const store = viewOf(12_000);
  const memory = noMemory();
  const [page] = PAGES;
  const at = (k) => {
    const x = (1 - k) * 500;
    const camera = { k, kd: k, x, y: (1 - k) * 350 };
    return new Set(texts(store, "circular", page, camera, memory).map(({ whole }) => whole));
  };
  let last = at(1);
  for (let k = 1.01; k < 1.1; k += 0.01) {
    const next = at(k);
    const kept = [...last].filter((text) => next.has(text)).length;
    assert.ok(kept >= 0.9 * Math.min(last.size, next.size), `${kept} of ${last.size} at ${k}`);
    last = next;
  }
});

test("odd names are readable or plainly cut", () => {
  const kinds = {
    long: (at) => `${at}${"W".repeat(10_000)}`,
    short: (at) => String.fromCharCode(97 + (at % 26)),
    equal: () => "the same for all",
    emoji: (at) => "🦊🎉👩‍👩‍👧 ".repeat(1 + (at % 3)),
    "right to left": (at) => `שלום עולם ${at} مرحبا`,
    wide: (at) => "日本語の名前".repeat(1 + (at % 4)),
    markup: (at) => `<script>alert(${at})</script>`,
  };
  for (const [kind, nameOf] of Object.entries(kinds)) {
    for (const n of [20, 300]) {
      for (const shape of SHAPES) {
        const found = texts(viewOf(n, nameOf), shape, PAGES[0]);
        readableWords(found, PAGES[0]);
        const least = kind === "equal" || kind === "short" ? 1 : 10;
        assert.ok(found.length >= least, `${kind}, ${shape}: ${found.length}`);
        for (const { text } of found) assert.ok(text.length < 120, text);
      }
    }
  }
});

/** Points about places that follow the tree. */
function mapOf(store, n) {
  const xy = new Float32Array(2 * n);
  const centre = new Float64Array(2 * store.n);
  for (let slot = 0; slot < store.n; slot += 1) {
    const up = store.parent[slot];
    const far = Math.sqrt(store.size[slot] / n);
    for (const axis of [0, 1]) {
      const turned = Math.sin(12.9898 * (slot + 1) + 78.233 * axis) * 43758.5453;
      const random = turned - Math.floor(turned) - 0.5;
      centre[2 * slot + axis] = up < 0 ? 0 : centre[2 * up + axis] + 3 * far * random;
    }
    if (store.kids[slot]) continue;
    for (let at = 0; at < store.size[slot]; at += 1) {
      const place = store.before[slot] + at;
      xy[2 * place] = centre[2 * slot] + far * Math.sin(at);
      xy[2 * place + 1] = centre[2 * slot + 1] + far * Math.cos(2.4 * at);
    }
  }
  return { xy, n };
}

test("names of a map lie on their points, as many as have room, near and far", () => {
  for (const n of [200, 12_000, 1_000_000]) {
    const store = viewOf(n);
    const points = mapOf(store, n);
    const spots = new Spots(points);
    for (const [width, height] of [
      [1000, 700],
      [358, 300],
    ]) {
      // prettier-ignore
      for (const near of [1, 4]) {
        const k = 150 * near * (width / 1000);
        const [x0, y0] = near > 1 ? points.xy.slice(2 * (n >> 1), 2 * (n >> 1) + 2) : [0, 0];
        const px = (x, y) => [width / 2 + (x - x0) * k, height / 2 - (y - y0) * k];
        const options = { k, px, width, height, family: "sans-serif", memory: noMemory() };
        let names = mapNames(store, spots, options);
        for (let frame = 0; spots.isBehind; frame += 1) {
          assert.ok(frame < 20 && names.length > 0);
          assert.ok(spots.fresh <= MOST_NEW);
          names = mapNames(store, spots, options);
        }
        readableWords(names, { width, height });
        const place = `${n} points, ${width} px, ${near} times: ${names.length}`;
        assert.ok(names.length >= (width < 400 ? 5 : 15) && names.length <= 60, place);
        for (const { id, x, y, width: wide } of names) {
          const { x: sx, y: sy } = spots.known.get(id);
          const [ox, oy] = px(sx, sy);
          assert.ok(Math.abs(y - oy) <= 20 && Math.abs(x + wide / 2 - ox) <= wide / 2 + 10);
        }
        const again = mapNames(store, spots, options);
        const ids = new Set(names.map(({ id }) => id));
        const kept = again.filter(({ id }) => ids.has(id)).length;
        assert.ok(kept >= 0.9 * names.length, `${place}, ${kept} kept`);
        assert.equal(spots.fresh, 0);
      }
    }
  }
});

/** The view of a tree that gives off one leaf at a time; leaves have numbers as rows have. */
function chain(n, called) {
  const nodes = [{ id: 0, parent: null, n_leaves: n, points_before: 0 }];
  for (let at = 0; at < n - 1; at += 1) {
    const parent = at ? 2 * at : 0;
    nodes.push({ id: 2 * at + 1, parent, n_leaves: 1, points_before: at });
    nodes.push({ id: 2 * at + 2, parent, n_leaves: n - at - 1, points_before: at + 1 });
  }
  for (const node of nodes) {
    const { n_leaves: leaves, points_before: at } = node;
    Object.assign(node, { size: leaves, height: leaves - 1, hidden: 0 });
    node.name = leaves === 1 ? String(at) : null;
    node.called = leaves > 1 ? called : null;
  }
  const store = new Store();
  store.graft({ root: 0, max_nodes: 3000, axis: null, nodes });
  return store;
}

test("a crowded picture has neither numbers of some rows nor parts of names inside", () => {
  const page = { width: 240, height: 240 };
  const store = chain(150, "unpronounceability, incomprehensibility, …");
  const words = texts(store, "circular", page);
  assert.deepEqual(
    words.filter(({ text }) => /^\d+$/.test(text)),
    [],
  );
  const inside = words.filter(({ weight }) => weight === 600).map(({ text }) => text);
  assert.deepEqual(
    inside.filter((text) => /[^ ]…$/.test(text)),
    [],
  );
});
