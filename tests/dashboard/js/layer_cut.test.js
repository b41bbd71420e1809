// The clusters of a layer, as colours of the tree.

import assert from "node:assert/strict";
import { test } from "node:test";

import { layerCut } from "../../../app/dashboard/js/tree/model/layer_cut.js";

const store = { before: [0, 3, 9], has: (id) => id < 3, slot: (id) => id };
const cluster = (node, size) => ({ id: 0, node, size, name: `n${node}` });

test("clusters keep their order, by size, and are numbered as they are drawn", () => {
  const clusters = [cluster(2, 9), cluster(7, 5), cluster(1, 4)];
  const cut = layerCut({ k: 3, smallest: 4, strength: 0.4, p_value: 0.01, n_noise: 2, clusters }, store); // prettier-ignore
  assert.deepEqual(
    cut.clusters.map(({ node, category, points_before: before }) => [node, category, before]),
    [
      [2, 1, 9],
      [7, 2, 0],
      [1, 0, 3],
    ],
  );
  assert.deepEqual([cut.smallest, cut.median, cut.largest, cut.n_noise], [4, 5, 9, 2]);
});
