// Jobs that continued each other with more rows, and which rows are in other clusters since. Pure.

import { movedPoints } from "./moved.js";

/** @import { Assignments, Job } from "../../net/answers.js" */
/** @import { Moved } from "./moved.js" */

/**
 * The jobs from the first one that a job goes back to, up to the newest that continues it. Where several
 * continue one, the newest is followed. O(jobs).
 *
 * @param {string} id
 * @param {Map<string, Job>} all by id
 * @returns {Job[]} the oldest first
 */
export function chain(id, all) {
  /** @type {Map<string, Job>} */
  const next = new Map();
  for (const job of all.values()) {
    const { base } = job.inputs;
    if (typeof base !== "string") continue;
    const known = next.get(base);
    if (!known || known.created_at < job.created_at) next.set(base, job);
  }
  const seen = new Set([id]);
  /** @type {Job[]} */
  const steps = [];
  /** @param {string | undefined} other */
  const isNew = (other) => other !== undefined && all.has(other) && !seen.has(other);
  let own = all.get(id);
  if (own) steps.push(own);
  while (own) {
    const base = /** @type {string | undefined} */ (own.inputs.base);
    if (base === undefined || !isNew(base)) break;
    seen.add(base);
    own = all.get(base);
    if (own) steps.unshift(own);
  }
  let later = next.get(id);
  while (later && isNew(later.id)) {
    seen.add(later.id);
    steps.push(later);
    later = next.get(later.id);
  }
  return steps;
}

/**
 * Which of the earlier rows, the first ones of the later tree, are in other clusters than before; null
 * where the later tree has fewer rows.
 *
 * @param {Assignments} before
 * @param {Assignments} after
 * @returns {Moved | null}
 */
export function movedSince(before, after) {
  const n = before.assignments.length;
  if (after.assignments.length < n) return null;
  const first = { ...after, assignments: after.assignments.slice(0, n) };
  return movedPoints(clusteringOf(before), clusteringOf(first));
}

/**
 * The clusters of rows, noise as one more.
 *
 * @param {Assignments} answer
 */
export const clusteringOf = ({ assignments, clusters }) => ({
  assignments: assignments.map((cluster) => (cluster < 0 ? clusters.length : cluster)),
  names: [...clusters.map(({ name, node }) => name ?? `node ${node}`), "noise"],
});

/** How many clusters of the result are followed; fewer where it has no such cut. */
const CLUSTERS = [12, 6, 2];

/**
 * The numbers of clusters that a result of so many leaves can be followed by, the best first.
 *
 * @param {number} leaves
 */
export const followed = (leaves) =>
  [...new Set([Math.min(leaves, CLUSTERS[0]), ...CLUSTERS])].filter((k) => k > 1 && k <= leaves);
