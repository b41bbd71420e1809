// The palette's lists, which grow while somebody chooses in them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { placeAgain } from "../../../app/dashboard/js/pages/choice_order.js";

const choice = (label, about = "Tree") => ({ label, about, go: () => {} });

test("what is chosen stays chosen, also among namesakes", () => {
  const [page, iris, other] = [choice("Iris", "Page"), choice("iris"), choice("iris")];
  const shown = [page, iris, other];
  const node = choice("iris", "Node");
  assert.equal(placeAgain(shown, 2, [page, node, iris, other]), 3);
  assert.equal(placeAgain(shown, 2, [page, choice("iris"), node, choice("iris")]), 3);
  assert.equal(placeAgain(shown, 1, [iris, other]), 0);
  assert.equal(placeAgain(shown, 2, [page]), 2);
});
