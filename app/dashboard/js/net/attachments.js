// What is attached to a tree: items, a row for each of its rows or leaves.

import { readNpy } from "./npy.js";
import { get, raw, whole } from "./requests.js";
import { treeJobs } from "./tree_jobs.js";

/** @import { Attachment, ItemColumn, ItemDetails, ItemExamples, ItemOutlier } from "./answers.js" */
/** @import { TreeJobs } from "./tree_jobs.js" */

/** The most attachments that are looked through for texts. */
const MOST_LOOKED_AT = 10;

/** @type {TreeJobs<Attachment>} */
export const attachments = treeJobs("attachment");

/**
 * The newest attachment of a tree with a column of texts, or `shown` where that has one; null without.
 *
 * @param {string} tree
 * @param {Attachment | null} shown
 * @param {AbortSignal} signal
 * @returns {Promise<Attachment | null>}
 */
export async function withTexts(tree, shown, signal) {
  const known = await attachments.of(tree, signal);
  const ordered = shown ? [shown, ...known.filter(({ id }) => id !== shown.id)] : known;
  for (const attachment of ordered.slice(0, MOST_LOOKED_AT)) {
    const columns = await itemsSource(attachment.id, signal).columns();
    if (columns.some(({ kind }) => kind === "text")) return attachment;
  }
  return null;
}

/**
 * The requests about one attachment; they end with `signal` and throw the Problem of a failure.
 *
 * @param {string} id
 * @param {AbortSignal} signal
 */
export function itemsSource(id, signal) {
  const base = attachments.pathOf(id);
  /** @param {string} path */
  const matrix = async (path) => {
    const answer = await raw(`${base}/${path}`, { signal, accept: "application/x-npy", quiet: true }); // prettier-ignore
    return readNpy(await answer.arrayBuffer());
  };
  return {
    /** @returns {Promise<ItemColumn[]>} */
    columns: async () => (await whole(`${base}/columns`, { signal })).items,
    /**
     * The value of each node in a column and, of a category, its share: by node id, NaN for none.
     *
     * @param {number} column
     */
    values: (column) => matrix(`columns/${column}/nodes.npy`),
    /**
     * Under each node, the number of items and of those that match: by node id.
     *
     * @param {string} conditions the query
     */
    matches: (conditions) => matrix(`matches.npy?${conditions}`),
    /**
     * @param {number} node
     * @param {{ by: string, n: number, seed?: number, signal: AbortSignal }} options
     * @returns {Promise<ItemExamples>}
     */
    examples: (node, { by, n, seed = 0, signal: own }) =>
      get(`${base}/nodes/${node}/examples?by=${by}&n=${n}&seed=${seed}`, {
        signal: AbortSignal.any([signal, own]),
        quiet: true,
      }),
    /**
     * @param {number} node
     * @param {string} suffix
     * @param {{ by: string, n: number }} options
     */
    outliersPath: (node, suffix, { by, n }) =>
      `${base}/nodes/${node}/outliers.${suffix}?by=${by}&n=${n}`,
    /**
     * @param {number} node
     * @param {{ by: string, n: number, signal: AbortSignal }} options
     * @returns {Promise<ItemOutlier[]>}
     */
    outliers: async (node, { by, n, signal: own }) => {
      const path = `${base}/nodes/${node}/outliers?by=${by}&n=${n}`;
      const { items } = await get(path, { signal: AbortSignal.any([signal, own]), quiet: true });
      return items;
    },
    /**
     * @param {number} item
     * @param {AbortSignal} own
     * @returns {Promise<ItemDetails>}
     */
    item: (item, own) =>
      get(`${base}/items/${item}`, { signal: AbortSignal.any([signal, own]), quiet: true }),
  };
}
