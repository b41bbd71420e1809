// A layer of a tree as clusters that colour it: disjoint nodes, which need not hold every row. Pure.

/** @import { Layer } from "../../net/answers.js" */
/** @import { CutClusters } from "./cut.js" */
/** @import { Store } from "./store.js" */

/**
 * The clusters of a layer, numbered in the drawing order, which is that of ids.
 *
 * @param {Layer} layer
 * @param {Pick<Store, "has" | "slot" | "before">} store
 * @returns {CutClusters}
 */
export function layerCut(layer, store) {
  const order = layer.clusters.map(({ node }) => node).sort((a, b) => a - b);
  const category = new Map(order.map((node, at) => [node, at]));
  const clusters = layer.clusters.map(({ node, size, name }) => ({
    ...{ node, size, name, category: category.get(node) ?? 0 },
    points_before: store.has(node) ? store.before[store.slot(node)] : 0,
  }));
  const sizes = clusters.map(({ size }) => size).sort((a, b) => a - b);
  return {
    cut: { k: layer.k },
    n_clusters: clusters.length,
    n_noise: layer.n_noise,
    heights: null,
    smallest: sizes[0] ?? 0,
    median: sizes[sizes.length >> 1] ?? 0,
    largest: sizes.at(-1) ?? 0,
    warnings: [],
    clusters,
  };
}
