// Which datasets the forms of new rows begin with: those that fit a model, the newest first. Pure.

import { plural } from "../ui/format.js";
import { fits } from "./roles.js";

/** @import { Dataset } from "../net/answers.js" */
/** @import { Fitted, Refusal } from "./fitted_rows.js" */

export const NEWEST = "The newest rows that fit. Choose others where these are not meant.";
export const LABELLED =
  "The newest rows that fit and have labels. Choose others where these are not meant.";
export const BEFORE_NEWEST =
  "The newest rows but one that fit. Choose others where these are not meant.";

/**
 * The datasets of new rows for a model that takes one input, the newest first; none where it is unknown
 * what fits.
 *
 * @param {Dataset[]} datasets
 * @param {{ roles: string[], fitted: Fitted, refusal: Refusal }} options `roles`: the inputs that the model
 *   needs; `refusal`: why a dataset cannot serve
 */
export function newRows(datasets, { roles, fitted, refusal }) {
  const [role] = roles;
  if (roles.length !== 1 || !fitted[role]?.length) return [];
  return datasets
    .filter(
      (dataset) =>
        dataset.shape?.length === 2 &&
        (!dataset.role || dataset.role === role) &&
        fits(dataset, role) &&
        !refusal(dataset, role),
    )
    .sort((a, b) => String(b.created_at).localeCompare(String(a.created_at)));
}

/**
 * The newest of some rows of which the labels are known, with them; null where none are.
 *
 * @param {Dataset[]} rows the newest first
 * @param {Dataset[]} datasets
 */
export function labelledRows(rows, datasets) {
  for (const each of rows) {
    const labels = labelsOf(datasets, each);
    if (labels) return { id: each.id, labels };
  }
  return null;
}

/**
 * The labels of rows where only one dataset can be it: the table itself, if it has a column of labels, else
 * the only labels of as many rows.
 *
 * @param {Dataset[]} datasets
 * @param {Dataset} rows
 * @returns {{ id: string, why: string } | null}
 */
export function labelsOf(datasets, rows) {
  const n = rows.shape?.[0];
  if (n === undefined) return null;
  if (rows.columns && fits(rows, "labels")) return { id: rows.id, why: "The labels in the same file." }; // prettier-ignore
  const possible = datasets.filter(
    (dataset) => dataset.role === "labels" && dataset.shape?.[0] === n && fits(dataset, "labels"),
  );
  if (possible.length !== 1) return null;
  return {
    id: possible[0].id,
    why: `The only labels of ${plural(n, "row")}. Choose others where these belong to other rows.`,
  };
}
