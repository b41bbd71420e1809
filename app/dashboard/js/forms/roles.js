// The roles of inputs: their names, and which datasets can serve as them. Pure.

import { sentence, shape } from "../ui/format.js";

/** @import { Dataset } from "../net/answers.js" */

/** @type {Record<string, string>} */
const TITLES = {
  feature_names: "Names of the features",
  base: "Earlier job to continue from",
  hierarchy: "True hierarchy",
  top_classes: "Best classes",
};

/**
 * The name of a role for people.
 *
 * @param {string} role
 */
export const roleTitle = (role) => TITLES[role] ?? sentence(role);

/** Roles with one value per row. */
const COLUMNS = new Set([
  "labels",
  "names",
  "feature_names",
  "tasks",
  "targets",
  "timestamps",
  "documents",
]);

/** Roles that hold texts, which can be typed in. */
export const TEXTS = new Set(["names", "feature_names", "documents"]);

/** @param {number[]} lengths */
const isColumn = (lengths) => lengths.length === 1 || (lengths.length === 2 && lengths[1] === 1);

/**
 * Whether a dataset can be the input `role`, as far as is known.
 *
 * @param {Pick<Dataset, "role" | "shape">} dataset
 * @param {string} role
 */
export function fits(dataset, role) {
  if (dataset.role && COLUMNS.has(dataset.role) !== COLUMNS.has(role)) return false;
  if (!dataset.shape) return true;
  return COLUMNS.has(role) ? isColumn(dataset.shape) : dataset.shape.length === 2;
}

/**
 * The datasets that fit `role`, the ones uploaded as it first.
 *
 * @param {Dataset[]} datasets
 * @param {string} role
 */
export const fitting = (datasets, role) =>
  datasets
    .filter((dataset) => fits(dataset, role))
    .sort((a, b) => Number(b.role === role) - Number(a.role === role));

/**
 * "train · 6,664 × 119 float16".
 *
 * @param {Dataset} dataset
 */
export const labelOf = ({ name, id, shape: lengths, dtype, status }) =>
  `${name ?? id} · ${lengths ? `${shape(lengths)} ${dtype ?? ""}` : status}`.trim();
