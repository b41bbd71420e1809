// Heatmaps of a tree: made by a job, read in tiles.

import { get, raw, whole } from "./requests.js";
import { treeJobs } from "./tree_jobs.js";

/** @import { Heatmap, HeatmapAxes, Page } from "./answers.js" */
/** @import { HeatmapTerms } from "../tree/model/heatmap.js" */
/** @import { TreeJobs } from "./tree_jobs.js" */

/** @type {TreeJobs<Heatmap>} */
const jobs = treeJobs("heatmap");

/**
 * A finished heatmap with these terms: an earlier one, or a new one. Throws the Problem of a refusal or
 * of a failed job.
 *
 * @param {string} tree
 * @param {HeatmapTerms} terms
 * @param {{ signal: AbortSignal, onstage: (stage: string) => unknown }} options
 * @returns {Promise<Heatmap>}
 */
export async function heatmapOf(tree, terms, { signal, onstage }) {
  /** @type {Page<Heatmap>} */
  const { items } = await whole(`/v1/trees/${tree}/heatmaps`, { signal });
  const { cut, ...own } = terms;
  /** @param {Heatmap} heatmap */
  const isSame = ({ status, result, cut: made }) =>
    status === "succeeded" &&
    cutText(made) === cutText(cut) &&
    Object.entries(own).every(
      ([name, value]) => result && new Map(Object.entries(result)).get(name) === value,
    );
  const known = items.find(isSame);
  if (known) return known;
  const body = { ...own, ...(cut ? { cut } : {}) };
  return jobs.make(tree, body, { signal, onprogress: (_, { stage }) => onstage(stage) });
}

/** @param {unknown} cut */
const cutText = (cut) =>
  JSON.stringify(Object.entries(cut ?? {}).filter(([, value]) => value !== null));

/**
 * @param {string} heatmap id
 * @param {AbortSignal} signal
 * @returns {Promise<HeatmapAxes>}
 */
export const axesOf = (heatmap, signal) =>
  get(`${jobs.pathOf(heatmap)}/axes`, { signal, quiet: true });

/**
 * The cells of a tile by rows, as steps from the lowest value to the highest.
 *
 * @param {string} heatmap id
 * @param {{ level: number, row: number, column: number }} tile
 * @param {AbortSignal} signal
 */
export async function tileOf(heatmap, { level, row, column }, signal) {
  const path = `${jobs.pathOf(heatmap)}/tiles/${level}/${row}/${column}`;
  const answer = await raw(path, { signal, accept: "application/octet-stream", quiet: true });
  return new Uint16Array(await answer.arrayBuffer());
}
