// Which points are in other clusters than before. Pure.

/**
 * @typedef {{ name: string, size: number }} Cluster
 * @typedef {{ assignments: number[], names: string[] }} Clustering the cluster of each point
 * @typedef {{
 *   before: Cluster[],
 *   after: Cluster[],
 *   counts: number[][],
 *   pairs: Set<string>,
 *   moved: number,
 *   total: number,
 * }} Moved `counts`: points by old and new cluster; `pairs`: "old new" that are taken for the same
 */

/**
 * Old and new clusters, paired by their largest overlaps, each at most once; points outside of a pair
 * have moved. Clusters without points are left out.
 *
 * @param {Clustering} before
 * @param {Clustering} after of the same points
 * @returns {Moved}
 */
export function movedPoints(before, after) {
  const rows = present(before);
  const columns = present(after);
  const counts = rows.order.map(() => columns.order.map(() => 0));
  before.assignments.forEach((cluster, at) => {
    counts[rows.place[cluster]][columns.place[after.assignments[at]]] += 1;
  });
  const overlaps = counts
    .flatMap((line, row) => line.map((points, column) => ({ row, column, points })))
    .filter(({ points }) => points > 0)
    .sort((a, b) => b.points - a.points || a.row - b.row || a.column - b.column);
  const isPaired = { rows: new Set(), columns: new Set() };
  /** @type {Set<string>} */
  const pairs = new Set();
  let stayed = 0;
  for (const { row, column, points } of overlaps) {
    if (isPaired.rows.has(row) || isPaired.columns.has(column)) continue;
    isPaired.rows.add(row);
    isPaired.columns.add(column);
    pairs.add(`${row} ${column}`);
    stayed += points;
  }
  const total = before.assignments.length;
  return {
    ...{ before: rows.clusters, after: columns.clusters, counts, pairs, total },
    moved: total - stayed,
  };
}

/**
 * The clusters that have points, the largest first, and the place of each.
 *
 * @param {Clustering} clustering
 */
function present({ assignments, names }) {
  const sizes = names.map(() => 0);
  for (const cluster of assignments) sizes[cluster] += 1;
  const order = names
    .map((_, cluster) => cluster)
    .filter((cluster) => sizes[cluster] > 0)
    .sort((a, b) => sizes[b] - sizes[a] || a - b);
  const place = names.map(() => -1);
  order.forEach((cluster, at) => {
    place[cluster] = at;
  });
  const clusters = order.map((cluster) => ({ name: names[cluster], size: sizes[cluster] }));
  return { order, place, clusters };
}

/**
 * The table for a screen: of more than `most` clusters on a side, the smaller ones are one.
 *
 * @param {Moved} table
 * @param {number} most
 * @returns {Pick<Moved, "before" | "after" | "counts" | "pairs">}
 */
export function folded({ before, after, counts, pairs }, most) {
  const rows = groups(before, most);
  const columns = groups(after, most);
  /** @param {string} pair */
  const isShown = (pair) => {
    const [row, column] = pair.split(" ").map(Number);
    return rows[row]?.length === 1 && columns[column]?.length === 1;
  };
  return {
    pairs: new Set([...pairs].filter(isShown)),
    before: rows.map((group) => joined(group, before)),
    after: columns.map((group) => joined(group, after)),
    counts: rows.map((own) =>
      columns.map((others) =>
        own.reduce((sum, row) => sum + others.reduce((part, at) => part + counts[row][at], 0), 0),
      ),
    ),
  };
}

/**
 * @param {Cluster[]} clusters
 * @param {number} most
 */
function groups(clusters, most) {
  const places = clusters.map((_, at) => at);
  if (clusters.length <= most) return places.map((at) => [at]);
  return [...places.slice(0, most - 1).map((at) => [at]), places.slice(most - 1)];
}

/**
 * @param {number[]} group
 * @param {Cluster[]} clusters
 * @returns {Cluster}
 */
function joined(group, clusters) {
  if (group.length === 1) return clusters[group[0]];
  const size = group.reduce((sum, at) => sum + clusters[at].size, 0);
  return { name: `${group.length} smaller`, size };
}
