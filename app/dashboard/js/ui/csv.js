// Tables as CSV files, and CSV answers as tables.

/** A cell; what a spreadsheet would take for a formula gets an apostrophe before it. */
export function cell(value) {
  const text = value === null || value === undefined ? "" : String(value);
  const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Rows of values, the head first, as a file. */
export function csvOf(rows) {
  const text = rows.map((row) => row.map(cell).join(",")).join("\r\n");
  return new Blob([`${text}\r\n`], { type: "text/csv" });
}

/** The rows of a CSV text, each a list of texts. */
export function rowsOf(text) {
  const rows = [[]];
  // A field, quoted or not, and what ends it.
  for (const [, quoted, plain, end] of text.matchAll(
    /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/g,
  )) {
    rows.at(-1).push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end === "") break;
    if (end !== ",") rows.push([]);
  }
  return rows.filter((row) => row.length > 1 || row[0] !== "");
}
