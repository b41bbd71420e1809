// Tables, sorted by a click on a column's head where the column says so.

import { el, replace } from "./dom.js";

/**
 * A table. `columns`: [{label, cell(row) -> node or text, numeric, sort(row) -> value, head: true
 * for the column that names the row, hidden: a label for screen readers only}]. `rows` may be
 * changed later with `.show(rows)`. `empty` stands where there are none.
 */
export function table({ caption, columns, rows = [], empty = "Nothing here yet.", rowAttrs } = {}) {
  let shown = rows;
  let by = null;
  let down = false;
  const body = el("tbody");
  const heads = columns.map((column) => {
    const text = column.hidden
      ? el("span", { class: "visually-hidden" }, column.label)
      : column.label;
    const inside = column.sort
      ? el("button", { type: "button", class: "sort", onclick: () => order(column) }, text)
      : text;
    return el("th", { scope: "col", class: column.numeric ? "numeric" : "" }, inside);
  });
  const order = (column) => {
    down = by === column ? !down : Boolean(column.numeric);
    by = column;
    heads.forEach((head, at) => {
      if (columns[at] === column) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    draw();
  };
  const draw = () => {
    const sorted = by ? [...shown].sort((a, b) => compare(by.sort(a), by.sort(b), down)) : shown;
    replace(
      body,
      sorted.length === 0 &&
        el("tr", { class: "empty" }, el("td", { colspan: columns.length }, empty)),
      sorted.map((row) =>
        el(
          "tr",
          rowAttrs?.(row) ?? {},
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
  element.show = (next) => {
    shown = next;
    draw();
  };
  return element;
}

function compare(a, b, down) {
  const empty = (value) => value === null || value === undefined || Number.isNaN(value);
  if (empty(a) || empty(b)) return empty(a) - empty(b);
  const found = typeof a === "number" ? a - b : String(a).localeCompare(String(b));
  return down ? -found : found;
}
