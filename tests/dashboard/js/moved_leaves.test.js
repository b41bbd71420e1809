// Words for what moved between two trees.

import assert from "node:assert/strict";
import { test } from "node:test";

import { sidesText, summary } from "../../../app/dashboard/js/tree/panels/moved_leaves.js";
import { sameRows } from "../../../app/dashboard/js/tree/model/same_rows.js";

/** @param {number} n */
const listed = (n) => Array.from({ length: n }, () => /** @type {any} */ ({}));

test("what moved is counted, and what is listed of it", () => {
  assert.equal(
    summary({ n_groups: 40, n_kept: 31, n_moved: 0, moved: [] }),
    "No leaf left a group that both trees have. 31 of the 40 groups on the left are on the right, too.",
  );
  assert.equal(
    summary({ n_groups: 1, n_kept: 0, n_moved: 1, moved: listed(1) }),
    "1 leaf stands in another group; dark lines join them. The one group on the left is not on the right, too.",
  );
  assert.match(
    summary({ n_groups: 9, n_kept: 9, n_moved: 300, moved: listed(200) }),
    /300 leaves stand .* The 200 that moved farthest are listed\./,
  );
});

test("trees of the same rows come from the same dataset", () => {
  const jobs = ["ds_1", "ds_2", "ds_1"].map((features) => ({ inputs: { features } }));
  assert.deepEqual(sameRows({ features: "ds_1", names: "ds_2" }, jobs), [jobs[0], jobs[2]]);
  assert.deepEqual(sameRows({ features: [[1]] }, jobs), []);
});

test("how many clusters each of two trees has", () => {
  const clusters = listed(5);
  assert.equal(
    sidesText({ before: clusters, after: clusters }),
    "of 5 clusters here (rows) and there (columns)",
  );
  assert.equal(
    sidesText({ before: clusters, after: listed(3) }),
    "of 5 clusters here (rows) and 3 there (columns)",
  );
});
