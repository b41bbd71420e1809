// What a service with an embedder makes vectors of. Pure.

/** @import { Dataset } from "./answers.js" */

/**
 * @typedef {"documents" | "items"} EmbeddedRole
 * @typedef {Pick<Dataset, "status" | "role" | "format" | "dtype" | "shape" | "columns" | "problem">} Embeddable
 */

const NOT_EMBEDDED = new Set(["labels", "hierarchy", "graph", "must_link", "cannot_link"]);

/**
 * As what a dataset can be embedded in place of being used as rows: texts without other features, or a
 * zip of images; null for others.
 *
 * @param {Embeddable} dataset
 * @returns {EmbeddedRole | null}
 */
export function embeddedRole(dataset) {
  const { status, role, format, dtype, shape, columns } = dataset;
  if (isTextsRefused(dataset)) return "documents";
  if (status !== "ready" || NOT_EMBEDDED.has(role ?? "")) return null;
  if (format === "zip") return "items";
  if (role === "documents") return "documents";
  if (columns?.length) {
    const roles = new Set(columns.map((column) => column.role));
    return roles.has("text") && !roles.has("feature") ? "documents" : null;
  }
  return dtype === "str" && shape?.length === 1 ? "documents" : null;
}

/**
 * Whether a table of texts was refused as features, of which it has none: it is to be read anew.
 *
 * @param {Pick<Embeddable, "status" | "role" | "problem">} dataset
 */
export function isTextsRefused({ status, role, problem }) {
  const detail = String(problem?.detail ?? "");
  const hasNone = detail.includes("no column of the table is a feature");
  return status === "invalid" && role === "features" && hasNone && detail.includes("(text)");
}
