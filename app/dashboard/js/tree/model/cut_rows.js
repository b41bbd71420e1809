// The clusters of a cut as rows of a file, with the names of their leaves. Pure.

/** @import { Clusters, LeafAssignments } from "../../net/answers.js" */

/**
 * @typedef {Clusters["clusters"][number]} Cluster
 * @typedef {LeafAssignments["leaves"][number]} Leaf
 */

/**
 * The names of the leaves in each cluster, by its node.
 *
 * @param {Leaf[]} leaves
 */
export function namesUnder(leaves) {
  /** @type {Map<number, string[]>} */
  const under = new Map();
  for (const { node, leaf_name: name } of leaves) {
    if (node === null || name === null) continue;
    const names = under.get(node);
    if (names) names.push(name);
    else under.set(node, [name]);
  }
  return under;
}

/**
 * The rows of the file, the head first.
 *
 * @param {Cluster[]} clusters
 * @param {Map<number, string[]>} under
 * @param {number} total points
 * @returns {unknown[][]}
 */
export const clusterRows = (clusters, under, total) => [
  ["cluster", "node", "name", "size", "share", "support", "n_leaves", "leaves"],
  ...clusters.map(({ id, node, name, size, support }) => {
    const names = under.get(node);
    return [id, node, name, size, size / Math.max(1, total), support, names?.length, names?.join("; ")]; // prettier-ignore
  }),
];
