// Which datasets a model can take: of its width or columns, and as rows held out never the fitted ones. Pure.

import { plural } from "../ui/format.js";
import { isColumnRole } from "./roles.js";

/** @import { Dataset } from "../net/answers.js" */
/**
 * @typedef {Pick<Dataset, "id" | "sha256" | "member" | "shape" | "columns">} Rows
 * @typedef {Record<string, Rows[]>} Fitted the datasets of the fit by role; none where they are gone
 * @typedef {(dataset: Rows, role: string) => string | null} Refusal why a dataset cannot be the input; null
 *   where it can, as far as is known
 */

/** @param {Rows} dataset the names of the columns that are features, if it is a table */
const featuresOf = ({ columns }) =>
  columns?.filter(({ role }) => role === "feature").map(({ name }) => name) ?? null;

/**
 * Which datasets the model takes. `heldOut`: only those that it was not fitted to.
 *
 * @param {Fitted} fitted
 * @param {{ heldOut?: boolean }} [options]
 * @returns {Refusal}
 */
export function refusalOf(fitted, { heldOut = false } = {}) {
  return (dataset, role) => {
    if (isColumnRole(role)) return null;
    if (heldOut && (fitted[role] ?? []).some((one) => isSame(one, dataset))) return TRAINED;
    const [first] = fitted[role] ?? [];
    return first ? misfit(dataset, first) : null;
  };
}

/**
 * @param {Rows} one
 * @param {Rows} other
 */
const isSame = (one, other) =>
  one.id === other.id || (one.sha256 === other.sha256 && one.member === other.member);

/**
 * @param {Rows} dataset
 * @param {Rows} fitted
 */
function misfit(dataset, fitted) {
  const wanted = featuresOf(fitted);
  if (wanted && dataset.columns) {
    const own = new Set(dataset.columns.map(({ name }) => name));
    const missing = wanted.filter((name) => !own.has(name));
    const rest = missing.length > 3 ? ` and ${missing.length - 3} more` : "";
    const names = missing.slice(0, 3).map(short).join(", ");
    return missing.length ? `It lacks ${missing.length > 1 ? "columns" : "the column"} ${names}${rest}.` : null; // prettier-ignore
  }
  const width = dataset.shape?.length === 2 ? dataset.shape[1] : null;
  const needed = fitted.shape?.length === 2 ? fitted.shape[1] : null;
  if (width === null || needed === null || width === needed) return null;
  return `It has ${plural(width, "column")}; the model takes ${needed}.`;
}

/** @param {string} name */
const short = (name) => (name.length > 60 ? `${name.slice(0, 59)}…` : name);

/**
 * The columns to read a table with, where it has all fitted ones and uses others besides; else null.
 *
 * @param {Fitted} fitted
 * @param {Rows} dataset
 * @param {string} role
 */
export function columnsFor(fitted, dataset, role) {
  const [first] = fitted[role] ?? [];
  const wanted = first && featuresOf(first);
  const used = featuresOf(dataset);
  if (!wanted || !used || misfit(dataset, first)) return null;
  return wanted.length === used.length && used.every((name) => wanted.includes(name)) ? null : wanted; // prettier-ignore
}

const TRAINED =
  "The model was fitted to these rows. Choose rows that it has not seen: its answers to rows that it has learned are too good.";

/**
 * Whether the leaves of a method's trees are classes of the data rather than groups that it finds.
 *
 * @param {Pick<import("../net/answers.js").Method, "classifies" | "inputs">} method
 */
export const isOfClasses = ({ classifies, inputs }) =>
  classifies || "logits" in inputs || "labels" in inputs;
