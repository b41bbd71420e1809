// Tables, sorted by a click on the head of a sortable column.

import { el, replace } from "./dom.js";
import { count } from "./format.js";

/** @import { Child } from "./dom.js" */

/**
 * @template Row
 * @typedef {{
 *   label: string,
 *   cell: (row: Row) => Child,
 *   numeric?: boolean,
 *   sort?: (row: Row) => string | number | null | undefined,
 *   head?: boolean,
 *   hidden?: boolean,
 *   class?: string,
 * }} Column `head`: the column that names the row; `hidden`: its label is for screen readers only
 */

/**
 * A table. `show(rows)` replaces its rows. `empty` is shown if there are none. With more than `most` rows,
 * the first ones of the order are shown, and a last line says how many there are.
 *
 * @template Row
 * @param {{
 *   caption: string,
 *   columns: Column<Row>[],
 *   rows?: Row[],
 *   empty?: Child,
 *   most?: number,
 * }} options
 */
export function table({
  caption,
  columns,
  rows = [],
  empty = "Nothing here yet.",
  most = Infinity,
}) {
  let shown = rows;
  /** @type {Column<Row> | null} */
  let sorted = null;
  let descending = false;
  const body = el("tbody");
  const heads = columns.map((column) => {
    const text = column.hidden
      ? el("span", { class: "visually-hidden" }, column.label)
      : column.label;
    const inside = column.sort
      ? el("button", { type: "button", class: "sort", onclick: () => sortBy(column) }, text)
      : text;
    return el("th", { scope: "col", class: column.numeric ? "numeric" : "" }, inside);
  });
  /** @param {Column<Row>} column */
  const sortBy = (column) => {
    descending = sorted === column ? !descending : Boolean(column.numeric);
    sorted = column;
    heads.forEach((head, at) => {
      if (columns[at] === column) {
        head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      } else head.removeAttribute("aria-sort");
    });
    draw();
  };
  const draw = () => {
    const key = sorted?.sort;
    const ordered = key ? [...shown].sort((a, b) => compare(key(a), key(b), descending)) : shown;
    replace(
      body,
      ordered.length === 0 &&
        el("tr", { class: "empty" }, el("td", { colspan: columns.length }, empty)),
      ordered.slice(0, most).map((row) =>
        el(
          "tr",
          {},
          columns.map((column) =>
            el(
              column.head ? "th" : "td",
              {
                scope: column.head ? "row" : null,
                class: column.numeric ? "numeric" : column.class,
                "data-label": column.label,
              },
              column.cell(row),
            ),
          ),
        ),
      ),
      ordered.length > most &&
        el(
          "tr",
          { class: "empty" },
          el("td", { colspan: columns.length }, `The first ${most} of ${count(ordered.length)}.`),
        ),
    );
  };
  draw();
  const element = el(
    "div",
    { class: "table-place", tabindex: "0", role: "region", "aria-label": caption },
    el(
      "table",
      {},
      el("caption", { class: "visually-hidden" }, caption),
      el("thead", {}, el("tr", {}, heads)),
      body,
    ),
  );
  /** @param {Row[]} next */
  const show = (next) => {
    shown = next;
    draw();
  };
  return Object.assign(element, { show });
}

/**
 * The order of two values, numbers as numbers, texts as in a dictionary; empty ones come last in
 * either direction.
 *
 * @param {string | number | null | undefined} a
 * @param {string | number | null | undefined} b
 * @param {boolean} [descending]
 */
export function compare(a, b, descending = false) {
  if (isEmpty(a) || isEmpty(b)) return Number(isEmpty(a)) - Number(isEmpty(b));
  const order =
    typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
  return descending ? -order : order;
}

/** @param {unknown} value */
const isEmpty = (value) => value === null || value === undefined || Number.isNaN(value);
