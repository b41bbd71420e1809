import assert from "node:assert/strict";
import { test } from "node:test";

import { shortened } from "../../../app/dashboard/js/ui/format.js";

test("a text is cut at a whole name, never within a character", () => {
  assert.equal(shortened("oak", 3), "oak");
  assert.equal(shortened("oak, elm, rose", 10), "oak, elm, …");
  assert.equal(shortened("a very long name", 6), "a very…");
  assert.equal(shortened("🦊🦊🦊", 2), "🦊🦊…");
});
