// Which points are in other clusters than before. Pure.

/**
 * @typedef {{ name: string, size: number }} Cluster
 * @typedef {{ assignments: number[], names: string[] }} Clustering the cluster of each point
 * @typedef {{ row: number, column: number, points: number, isPair: boolean }} Overlap of an old and a new
 *   cluster, by their places; `isPair`: they are taken for the same
 * @typedef {{
 *   before: Cluster[],
 *   after: Cluster[],
 *   overlaps: Overlap[],
 *   moved: number,
 *   total: number,
 * }} Moved
 * @typedef {{ before: Cluster[], after: Cluster[], cells: { points: number, isPair: boolean }[][] }} Table
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
  /** @type {Map<number, number>} */
  const counts = new Map();
  before.assignments.forEach((cluster, at) => {
    const row = rows.place[cluster];
    const key = row * columns.clusters.length + columns.place[after.assignments[at]];
    counts.set(key, (counts.get(key) ?? 0) + 1);
  });
  /** @type {Overlap[]} */
  const overlaps = [...counts]
    .sort(([a, few], [b, many]) => many - few || a - b)
    .map(([key, points]) => {
      const column = key % columns.clusters.length;
      return { row: (key - column) / columns.clusters.length, column, points, isPair: false };
    });
  const paired = { rows: new Set(), columns: new Set() };
  let stayed = 0;
  for (const overlap of overlaps) {
    if (paired.rows.has(overlap.row) || paired.columns.has(overlap.column)) continue;
    paired.rows.add(overlap.row);
    paired.columns.add(overlap.column);
    overlap.isPair = true;
    stayed += overlap.points;
  }
  const total = before.assignments.length;
  return {
    ...{ before: rows.clusters, after: columns.clusters, overlaps, total },
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
  return { place, clusters };
}

/**
 * The table for a screen: of more than `most` clusters on a side, the smaller ones are one.
 *
 * @param {Moved} moved
 * @param {number} most
 * @returns {Table}
 */
export function folded({ before, after, overlaps }, most) {
  const rows = shortened(before, most);
  const columns = shortened(after, most);
  const cells = rows.map(() => columns.map(() => ({ points: 0, isPair: false })));
  for (const { row, column, points, isPair } of overlaps) {
    const cell = cells[Math.min(row, rows.length - 1)][Math.min(column, columns.length - 1)];
    cell.points += points;
    if (rows[row] === before[row] && columns[column] === after[column]) cell.isPair = isPair;
  }
  return { before: rows, after: columns, cells };
}

/**
 * @param {Cluster[]} clusters
 * @param {number} most
 */
function shortened(clusters, most) {
  if (clusters.length <= most) return clusters;
  const smaller = clusters.slice(most - 1);
  const size = smaller.reduce((sum, cluster) => sum + cluster.size, 0);
  return [...clusters.slice(0, most - 1), { name: `${smaller.length} smaller`, size }];
}
