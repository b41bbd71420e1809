// What the nodes of a tree are called, for tables away from its picture: with the newest names that somebody
// gave, else the names of the newest naming, else the service's own.

import { editions } from "./editions.js";
import { namings } from "./namings.js";
import { hasStatus } from "./problem.js";
import { get } from "./requests.js";

/** @import { View } from "./answers.js" */

/** All nodes of small trees; of others the largest. */
const MOST_NODES = 5000;

/**
 * Names by node; none if the tree is gone.
 *
 * @param {string} tree id
 * @param {AbortSignal} signal
 * @returns {Promise<Map<number, string>>}
 */
export async function calledNames(tree, signal) {
  try {
    const [edited, named] = await Promise.all([
      editions.of(tree, signal),
      namings.of(tree, signal),
    ]);
    const shown = new URLSearchParams({ max_nodes: String(MOST_NODES), scale: "depth" });
    if (named.length) shown.set("names", named[0].id);
    if (edited.items.length) shown.set("edition", edited.items[0].id);
    /** @type {View} */
    const { nodes } = await get(`/v1/trees/${tree}/view?${shown}`, { signal, quiet: true });
    return new Map(
      nodes.flatMap(({ id, name, called, n_leaves: leaves }) => {
        const best = (leaves === 1 && called) || name || called;
        return best ? [[id, best]] : [];
      }),
    );
  } catch (error) {
    if (!hasStatus(error, 404)) throw error;
    return new Map();
  }
}
