// The roles of inputs: their names, and which datasets can serve as them. Pure.

import { sentence, shape } from "../ui/format.js";

/** @import { Dataset, Method } from "../net/answers.js" */

/** @type {Record<string, string>} */
const TITLES = {
  feature_names: "Names of the features",
  base: "Earlier job to continue from",
  top_classes: "Best classes",
  items: "Table with named columns",
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
  "hierarchy",
  "names",
  "feature_names",
  "tasks",
  "targets",
  "timestamps",
  "documents",
  "sample_weight",
]);

/**
 * Whether a role has one value per row.
 *
 * @param {string} role
 */
export const isColumnRole = (role) => COLUMNS.has(role);

/** The role that takes columns of any kinds under their names; only an upload as it has these. */
const TABLE = "items";

/** Formats of which one file holds features and labels. */
const LABELLED = new Set(["libsvm", "arff"]);

/** Formats in which a row may have several labels. */
const SEVERAL = new Set([
  ...LABELLED,
  ...["npz", "arrow-stream", "arrow-file", "parquet", "json", "jsonl"],
]);

/**
 * Whether a dataset holds features and labels at once.
 *
 * @param {Pick<Dataset, "format">} dataset
 */
export const isLabelled = ({ format }) => LABELLED.has(format ?? "");

/** @param {number[]} lengths */
const isColumn = (lengths) => lengths.length === 1 || (lengths.length === 2 && lengths[1] === 1);

/**
 * The height, width and channels of an image in an array of images; null for anything else.
 *
 * @param {Pick<Dataset, "shape">} dataset
 */
export const imageOf = ({ shape: lengths }) =>
  lengths && (lengths.length === 3 || lengths.length === 4) ? lengths.slice(1) : null;

/**
 * Whether a dataset can be the input `role`, as far as is known.
 *
 * @param {Pick<Dataset, "role" | "shape" | "format"> & Partial<Pick<Dataset, "columns" | "member">>} dataset
 * @param {string} role
 * @param {boolean} [takesImages] whether the role takes arrays of images as well
 */
export function fits(dataset, role, takesImages = false) {
  if (dataset.columns && !dataset.member) return hasColumnFor(dataset.columns, role);
  const isOfLabels = role === "labels" || role === "hierarchy";
  if (isLabelled(dataset)) return isOfLabels || !COLUMNS.has(role);
  if ((dataset.role === TABLE) !== (role === TABLE)) return false;
  if (dataset.role && COLUMNS.has(dataset.role) !== COLUMNS.has(role)) return false;
  if (!dataset.shape) return true;
  if (takesImages && imageOf(dataset)) return true;
  if (!COLUMNS.has(role)) return dataset.shape.length === 2;
  const mayBeSeveral = isOfLabels && isOfLabelRole(dataset) && SEVERAL.has(dataset.format ?? "");
  return isColumn(dataset.shape) || mayBeSeveral;
}

/** The column of a table that is the value of a role. @type {Record<string, string>} */
const COLUMN_OF = { labels: "label", names: "id", documents: "text", sample_weight: "weight" };

/**
 * @param {NonNullable<Dataset["columns"]>} columns
 * @param {string} role
 */
function hasColumnFor(columns, role) {
  if (columns.length === 1) return true;
  const own = COLUMNS.has(role) ? COLUMN_OF[role] : "feature";
  return columns.some((column) => column.role === own);
}

/** @param {Pick<Dataset, "role">} dataset */
const isOfLabelRole = ({ role }) => role === "labels" || role === "hierarchy";

/**
 * The datasets that fit `role`, the ones uploaded as it first.
 *
 * @param {Dataset[]} datasets
 * @param {string} role
 * @param {boolean} [takesImages] whether the role takes arrays of images as well
 */
export const fitting = (datasets, role, takesImages = false) =>
  datasets
    .filter((dataset) => fits(dataset, role, takesImages))
    .sort((a, b) => Number(b.role === role) - Number(a.role === role));

/**
 * "train · 6,664 × 119 float16".
 *
 * @param {Dataset} dataset
 */
export const labelOf = ({ name, id, shape: lengths, dtype, status }) =>
  `${name ?? id} · ${lengths ? `${shape(lengths)} ${dtype ?? ""}` : status}`.trim();

/**
 * Why a method does not take the images at hand, as a clause without its subject; "" where it does, or
 * where something else is at hand that it may take.
 *
 * @param {Pick<Method, "inputs">} method
 * @param {Pick<Dataset, "role" | "shape" | "format">[]} datasets what was uploaded for the run
 */
export function refusalOf({ inputs }, datasets) {
  const image = datasets.map(imageOf).find(Boolean);
  if (!image || !datasets.every((dataset) => imageOf(dataset) || isColumnOf(dataset))) return "";
  const roles = Object.entries(inputs);
  if (roles.some(([, { images }]) => images)) return "";
  const takes = roles.some(([role]) => role === "features")
    ? "rows of numbers"
    : roles.filter(([, { required }]) => required).map(([role]) => roleTitle(role).toLowerCase()).join(", "); // prettier-ignore
  return `takes ${takes || "other inputs"}, not images of ${shape(image)}`;
}

/** @param {Pick<Dataset, "shape">} dataset */
const isColumnOf = ({ shape: lengths }) => Boolean(lengths && isColumn(lengths));

/**
 * The column that is probably the labels where none is: the only texts that are used as nothing, and that
 * repeat among the first values.
 *
 * @template {{ type: string, role?: string | null, examples: string[] }} Column
 * @param {Column[]} columns
 * @returns {Column | null}
 */
export function labelColumn(columns) {
  if (columns.some(({ role }) => role === "label")) return null;
  const texts = columns.filter(({ type, role }) => type === "text" && !role);
  const [only] = texts;
  return texts.length === 1 && new Set(only.examples).size < only.examples.length ? only : null;
}
