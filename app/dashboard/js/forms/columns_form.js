// The columns of a table: their first values, and what each is used as, to be confirmed or changed.

import { button, select } from "../ui/controls.js";
import { bdi, el } from "../ui/dom.js";
import { table } from "../ui/tables.js";
import { labelColumn } from "./roles.js";

/** @import { Dataset } from "../net/answers.js" */
/** @typedef {NonNullable<Dataset["columns"]>[number]} TableColumn */
/**
 * @typedef {{
 *   columns: string[],
 *   id_column?: string,
 *   label_column?: string,
 *   text_column?: string,
 *   weight_column?: string,
 * }} ColumnChoice the query of an upload that chooses them
 */

/** @type {[role: string, label: string][]} */
const ROLES = [
  ["feature", "Feature"],
  ["id", "Id of the row"],
  ["label", "Label"],
  ["text", "Text"],
  ["weight", "Weight"],
  ["", "Not used"],
];
const NUMERIC = new Set(["number", "integer", "boolean", "vector"]);
const SHOWN = 200;

/** @param {TableColumn} column */
const roleOf = (column) => ROLES.find(([role]) => role === (column.role ?? ""))?.[1] ?? "";

/**
 * The columns with what they are used as. `choose`: the control of a column in place of its role.
 *
 * @param {TableColumn[]} columns
 * @param {(column: TableColumn) => HTMLElement | string} [choose]
 */
export function columnsTable(columns, choose = roleOf) {
  const element = table({
    caption: "Columns of the table",
    columns: [
      { label: "Column", head: true, cell: ({ name }) => bdi(name || "(no name)") },
      { label: "Holds", cell: ({ type }) => type },
      { label: "Used as", cell: choose },
      {
        label: "First values",
        class: "quiet",
        cell: ({ examples }) => bdi(examples.join(" · ")),
      },
    ],
    rows: columns,
    most: SHOWN,
  });
  element.classList.add("folds");
  return element;
}

/**
 * Ask once what the columns are. `onkeep`: they are used as proposed; `onchange`: as chosen.
 *
 * @param {TableColumn[]} columns
 * @param {{ onkeep: () => unknown, onchange: (choice: ColumnChoice) => unknown }} handlers
 */
export function columnsForm(columns, { onkeep, onchange }) {
  /** @type {Map<TableColumn, HTMLSelectElement>} */
  const controls = new Map();
  const likely = labelColumn(columns);
  const wrong = el("p", { class: "field-wrong", role: "alert", hidden: true });
  /** @param {TableColumn} column */
  const choose = (column) => {
    const roles = ROLES.filter(([role]) => role !== "feature" || NUMERIC.has(column.type));
    const control = select(roles, {
      value: column === likely ? "label" : (column.role ?? ""),
      "aria-label": `Use ${column.name} as`,
    });
    controls.set(column, control);
    return control;
  };
  const submit = () => {
    const wanted = columns.map((column) => ({
      column,
      role: controls.get(column)?.value ?? column.role ?? "",
    }));
    if (wanted.every(({ column, role }) => role === (column.role ?? ""))) return onkeep();
    const problem = wrongIn(wanted.map(({ role }) => role));
    wrong.hidden = !problem;
    wrong.textContent = problem;
    return problem ? undefined : onchange(choiceOf(wanted));
  };
  return el(
    "form",
    {
      class: "stack tight columns-form",
      onsubmit: (event) => {
        event.preventDefault();
        submit();
      },
    },
    el("p", {}, "This is how the table is read. Change what is not so."),
    likely && el("p", { class: "quiet" }, bdi(likely.name), " repeats its texts, so these may be the labels."), // prettier-ignore
    columnsTable(columns, choose),
    wrong,
    el("div", { class: "row" }, button("Use it so", { kind: "primary", type: "submit" })),
  );
}

/** @param {string[]} roles what is wrong with them, if anything */
function wrongIn(roles) {
  const twice = ["id", "label", "text", "weight"].find(
    (role) => roles.filter((own) => own === role).length > 1,
  );
  if (twice) return `Only one column can be the ${twice}.`;
  if (!roles.includes("feature")) return "Choose at least one column as a feature.";
  return "";
}

/**
 * @param {{ column: TableColumn, role: string }[]} wanted
 * @returns {ColumnChoice}
 */
function choiceOf(wanted) {
  /** @param {string} role */
  const named = (role) =>
    wanted.filter((own) => own.role === role).map(({ column }) => column.name);
  return {
    columns: named("feature"),
    id_column: named("id")[0],
    label_column: named("label")[0],
    text_column: named("text")[0],
    weight_column: named("weight")[0],
  };
}
