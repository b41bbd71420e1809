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
  if (!COLUMNS.has(role)) return dataset.shape.length === 2 && hasWidthOf(role, dataset.shape);
  const mayBeSeveral = isOfLabels && isOfLabelRole(dataset) && SEVERAL.has(dataset.format ?? "");
  return isColumn(dataset.shape) || mayBeSeveral;
}

/** Roles whose matrix has a row and a column for each point. */
const SQUARE = new Set(["distances", "similarity"]);
/** Roles of pairs of points. */
const PAIRS = new Set(["must_link", "cannot_link"]);

/**
 * @param {string} role
 * @param {number[]} lengths of a matrix
 */
function hasWidthOf(role, [rows, columns]) {
  if (SQUARE.has(role)) return rows === columns;
  return !PAIRS.has(role) || columns === 2;
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

/**
 * Whether a method needs data of a role, or one of several that it is among.
 *
 * @param {Pick<Method, "inputs" | "one_of" | "some_of">} method
 * @param {string} role
 */
export const isNeededBy = ({ inputs, one_of: oneOf, some_of: someOf }, role) =>
  Boolean(inputs[role]?.required) || oneOf.includes(role) || someOf.includes(role);

/** The most points of which each pair is compared by the method that is chosen at first. */
const MOST_BY_PAIRS = 20_000;

/**
 * The method that a run begins with, until another one is chosen: for points the tree of all of them, for
 * the scores of a classifier the tree of its classes; "" for other data.
 *
 * @param {Pick<Dataset, "shape">} dataset
 * @param {string | null} role
 */
export function firstMethod({ shape: lengths }, role) {
  if (role === "logits") return "l2h";
  if (role !== "features" || lengths?.length !== 2) return "";
  return lengths[0] > MOST_BY_PAIRS ? "scc" : "hac";
}

/**
 * Whether a list of texts names the classes of a classifier's scores: it has one for each of their columns,
 * and not one for each row.
 *
 * @param {Pick<Dataset, "role" | "shape" | "dtype">} texts
 * @param {Pick<Dataset, "role" | "shape">} scores
 */
export function namesClassesOf(texts, scores) {
  if (scores.role !== "logits" || scores.shape?.length !== 2 || !isColumnOf(texts)) return false;
  const [rows, classes] = scores.shape;
  const isText = (texts.dtype ?? "").startsWith("str");
  return isText && isOfLabelRole(texts) && texts.shape?.[0] === classes && rows !== classes;
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
