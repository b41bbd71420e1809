// Tables as CSV files, and CSV responses as tables. Pure.

/**
 * A cell; a text that a spreadsheet would take for a formula gets an apostrophe before it.
 *
 * @param {unknown} value
 */
export function cell(value) {
  const text = value === null || value === undefined ? "" : String(value);
  const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/**
 * Rows of values, the head first, as a file.
 *
 * @param {readonly (readonly unknown[])[]} rows
 */
export function csvOf(rows) {
  const text = rows.map((row) => row.map(cell).join(",")).join("\r\n");
  return new Blob([`${text}\r\n`], { type: "text/csv" });
}

/**
 * The rows of a CSV text, each a list of texts; empty lines are left out.
 *
 * @param {string} text
 */
export function rowsOf(text) {
  /** @type {string[]} */
  let row = [];
  const rows = [row];
  // A field, quoted or not, and what ends it.
  for (const [, quoted, plain, end] of text.matchAll(
    /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/g,
  )) {
    row.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end === "") break;
    if (end !== ",") rows.push((row = []));
  }
  return rows.filter((fields) => fields.length > 1 || fields[0] !== "");
}
