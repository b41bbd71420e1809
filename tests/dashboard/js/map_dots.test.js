import assert from "node:assert/strict";
import { test } from "node:test";

import { Ground } from "../../../app/dashboard/js/tree/draw/label_places.js";

test("a place that a line or a dot takes is free for a name only where none is clear", () => {
  const ground = new Ground(100, 40);
  ground.draw(20, 20, 24, 20);
  assert.equal(ground.take(10, 15, 40, 10, true), false);
  assert.equal(ground.take(10, 15, 40, 10), true);
  assert.equal(ground.take(60, 15, 30, 10, true), true);
  assert.equal(ground.take(60, 15, 30, 10), false);
});
