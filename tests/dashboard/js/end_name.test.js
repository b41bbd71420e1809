import assert from "node:assert/strict";
import { test } from "node:test";

import { endName } from "../../../app/dashboard/js/pages/end_name.js";

test("the end of a path has its name, else that of the nearest node above it which has one", () => {
  const names = new Map([
    [1, "Large birds"],
    [3, "geese"],
    [4, "2"],
  ]);
  assert.equal(endName(names, [0, 1, 3]), "geese");
  assert.equal(endName(names, [0, 1, 4]), "Large birds › leaf 2");
  assert.equal(endName(names, [0, 1, 2, 9]), "Large birds › node 9");
  assert.equal(endName(names, [0, 8, 9]), "node 9");
  assert.equal(endName(names, [0]), "root");
});
