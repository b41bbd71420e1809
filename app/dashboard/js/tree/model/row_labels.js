// Which datasets label the rows or the leaves of a tree, and what they are called. Pure.

/** @import { Dataset } from "../../net/answers.js" */

/**
 * The columns by which a table labels its rows; of other datasets none.
 *
 * @param {Dataset} dataset
 */
const labelColumn = ({ columns }) => columns?.find(({ role }) => role === "label")?.name ?? null;

/**
 * Whether a dataset has a label for each row, or for each leaf: it is one column, or a table that has
 * such a column.
 *
 * @param {Dataset} dataset
 * @param {(rows: number) => boolean} isLong whether so many rows are all rows, or all leaves
 */
export function labelsRows(dataset, isLong) {
  const { role, status, shape } = dataset;
  if (status !== "ready" || !shape?.length || !isLong(shape[0])) return false;
  const isColumn = shape.length === 1 && (role === "labels" || role === "names" || role === null);
  return isColumn || labelColumn(dataset) !== null;
}

/**
 * @param {Dataset} dataset
 * @returns {[value: string, label: string]}
 */
export function labelOption(dataset) {
  const own = dataset.name ?? dataset.id;
  const column = dataset.shape?.length === 1 ? null : labelColumn(dataset);
  return [dataset.id, column === null ? own : `${column} of ${own}`];
}
