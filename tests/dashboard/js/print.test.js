// Figures for print: sizes on paper, and the picture as the items that the service takes.

import assert from "node:assert/strict";
import { test } from "node:test";

import { itemsOf } from "../../../app/dashboard/js/tree/draw/figures.js";
import { Picture } from "../../../app/dashboard/js/tree/draw/picture.js";
import {
  fileDpi,
  layoutSize,
  PAPERS,
  tooNarrow,
  wrongLength,
} from "../../../app/dashboard/js/tree/model/paper_sizes.js";
import { printQuery } from "../../../app/dashboard/js/tree/panels/print_dialog.js";
import { stubCanvas } from "./trees_kit.js";

stubCanvas();

/**
 * @param {number} a
 * @param {number} b
 */
const close = (a, b) => assert.ok(Math.abs(a - b) < 1e-9, `${a} and ${b}`);

test("a view is laid out so that its labels have their size on paper", () => {
  const view = { width: 1000, height: 500 };
  // Labels of 11 px are 8.25 pt at 96 px an inch: one px of the layout is one px of CSS.
  const { width, height } = layoutSize({ width: 85, height: null }, 8.25, view);
  close(width, (85 / 25.4) * 96);
  close(height, width / 2);
  const small = layoutSize({ width: 85, height: 60 }, 5.5, view);
  close(small.width, 1.5 * (85 / 25.4) * 96);
  close(small.height / small.width, 60 / 85);
});

test("presets are sizes that the service takes, and others give a message", () => {
  for (const {
    size: { width, height },
  } of PAPERS) {
    assert.equal(wrongLength(width), null);
    if (height) assert.equal(wrongLength(height), null);
  }
  for (const mm of [0, 9.9, 2001, NaN]) assert.match(wrongLength(mm) ?? "", /10 to 2000/);
});

test("a picture as items: lower layers first, texts with their room", () => {
  const picture = new Picture(100, 50);
  picture.text("texts", 1, 2, "rose", { size: 10, colour: "#000000", halo: "#ffffff", turn: 0.5 });
  picture.stroke("strokes", "#112233", 2, { dash: [4, 2], alpha: 0.5, cap: "round" }).move(0, 0);
  picture.fill("areas", "#445566").box(0, 0, 1, 1);
  const [area, stroke, text] = itemsOf(picture, "sans-serif");
  assert.deepEqual(area, { kind: "fill", colour: "#445566", alpha: 1, path: "M0 0L1 0L1 1L0 1Z" });
  assert.deepEqual(stroke, {
    kind: "stroke",
    colour: "#112233",
    alpha: 0.5,
    path: "M0 0",
    width: 2,
    dash: [4, 2],
    cap: "round",
  });
  assert.equal(text.wide, 4 * 6);
  assert.deepEqual([text.kind, text.text, text.halo, text.turn], ["text", "rose", "#ffffff", 0.5]);
});

test("the query of a picture of the service", () => {
  const options = {
    paper: { width: 85, height: null },
    pt: 7,
    dpi: 600,
    theme: "light",
    title: "",
  };
  assert.equal(printQuery({ ...options, form: "png", legend: true }).dpi, 600);
  assert.equal(printQuery({ ...options, form: "pdf", legend: true }).dpi, null);
});

test("a figure too narrow for its words is refused, with what there is room for", () => {
  // Ten letters of 7 points: 70 / 72 inches.
  assert.equal(tooNarrow(24.7, 7), null);
  assert.match(tooNarrow(20, 7) ?? "", /words of 7 points: take 24.7 mm/);
  assert.equal(tooNarrow(20, 5), null);
  for (const { size, pt } of PAPERS) assert.equal(tooNarrow(size.width, pt), null);
});

test("a PNG of a poster has as many dots as the service makes", () => {
  const poster = { width: 841, height: 1189 };
  const dpi = fileDpi(poster, 300, 1);
  assert.ok(Math.ceil((841 / 25.4) * dpi) * Math.ceil((1189 / 25.4) * dpi) <= 20_971_520);
  assert.ok(dpi > 110);
  assert.equal(fileDpi({ width: 85, height: null }, 600, 1.4), 600);
});
