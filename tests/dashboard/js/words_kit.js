// The words of a picture as boxes: whether they are readable, on the page and apart.

import assert from "node:assert/strict";

import { width } from "../../../app/dashboard/js/tree/draw/text.js";

const FAMILY = "sans-serif";

/** The corners of a text, in order. */
function corners({ x, y, text, size, align = "left", turn = 0, weight = 400 }) {
  const long = width(text, size, FAMILY, weight);
  const left = align === "left" ? 0 : align === "right" ? -long : -long / 2;
  const tall = 0.4 * size;
  const [c, s] = [Math.cos(turn), Math.sin(turn)];
  return [
    [left, -tall],
    [left + long, -tall],
    [left + long, tall],
    [left, tall],
  ].map(([dx, dy]) => [x + dx * c - dy * s, y + dx * s + dy * c]);
}

/** Whether two boxes share more than edges: no line along a side parts them. */
function overlap(a, b) {
  for (const box of [a, b]) {
    for (const at of [0, 1]) {
      const [dx, dy] = [box[at + 1][0] - box[at][0], box[at + 1][1] - box[at][1]];
      const length = Math.hypot(dx, dy) || 1;
      const [one, two] = [a, b].map((each) => each.map(([x, y]) => (dx * x + dy * y) / length));
      if (Math.max(...one) <= Math.min(...two) + 0.5) return false;
      if (Math.max(...two) <= Math.min(...one) + 0.5) return false;
    }
  }
  return true;
}

/** The number of words, after checking that each has 6 px, is on the page and overlaps no other. */
export function readableWords(texts, { width: wide, height }) {
  const boxes = texts.map(corners);
  texts.forEach(({ text, size }, at) => {
    assert.ok(size >= 6, `${text}: ${size} px`);
    for (const [x, y] of boxes[at]) {
      assert.ok(x >= -1 && y >= -1 && x <= wide + 1 && y <= height + 1, `${text} at ${x}, ${y}`);
    }
    for (let other = 0; other < at; other += 1) {
      assert.ok(!overlap(boxes[at], boxes[other]), `${text} over ${texts[other].text}`);
    }
  });
  return texts.length;
}
