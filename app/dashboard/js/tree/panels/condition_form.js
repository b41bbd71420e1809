// A condition on the items: what does not match fades, and how many match is told.

import { aborted, isAway, problemOf } from "../../net/problem.js";
import { button, field, optionElements, select } from "../../ui/controls.js";
import { el, replace } from "../../ui/dom.js";
import { matchText, valueText } from "../draw/item_words.js";
import { conditionIn, conditionQuery, rangeOf } from "../model/items.js";

/** @import { ItemColumn } from "../../net/answers.js" */
/** @import { Condition } from "../model/items.js" */
/** @import { TreeView } from "../draw/view.js" */

/** The number of categories that a select offers. */
const MOST_OPTIONS = 200;

/**
 * The form; `start` takes the condition of the address over, `isShown` says whether it is that of a query.
 *
 * @param {TreeView} view
 */
export function conditionForm(view) {
  const { look } = view;
  const column = el("select");
  column.addEventListener("change", () => fill({ column: Number(column.value) }));
  const controls = el("div", { class: "items-condition" });
  const count = el("p", { class: "quiet", role: "status" });
  /** @type {string | null} The condition that is shown, as a query. */
  let shown = null;
  /** @type {() => Condition} */
  let read = () => ({ column: 0 });
  const clear = button("Show all", {
    kind: "ghost small",
    hidden: true,
    onclick: () => {
      fill({ column: Number(column.value) });
      apply("");
    },
  });
  const element = el(
    "form",
    {
      class: "stack tight items-filter",
      "aria-label": "Filter",
      hidden: true,
      onsubmit: (event) => {
        event.preventDefault();
        apply(conditionQuery(read()));
      },
    },
    field("Filter by", column),
    controls,
    el("div", { class: "row" }, button("Filter", { kind: "small", type: "submit" }), clear),
    count,
  );
  const usable = () => (view.items?.columns ?? []).filter(({ kind }) => kind !== "image");
  /**
   * The controls of a column's kind.
   *
   * @param {Condition} condition
   */
  const fill = ({ column: at, equals, contains, low, high }) => {
    const chosen = usable().find((each) => each.column === at);
    if (!chosen) return;
    column.value = String(at);
    if (chosen.kind === "category") {
      const options = (chosen.categories ?? []).slice(0, MOST_OPTIONS);
      const value = select([["", "any"], ...options.map(({ text }) => option(text))], { value: equals }); // prettier-ignore
      read = () => ({ column: at, equals: value.value });
      replace(controls, field("is", value));
    } else if (chosen.kind === "text") {
      const value = el("input", { type: "search", value: contains ?? "", maxlength: 200 });
      read = () => ({ column: at, contains: value.value });
      replace(controls, field("contains", value));
    } else {
      const [from, to] = ends(chosen, low, high);
      read = () => ({ column: at, low: from.value, high: to.value });
      replace(controls, field("from", from), field("to", to));
    }
  };
  /** @param {string} query */
  const apply = async (query) => {
    const { items } = view;
    if (!items) return;
    try {
      items.matches = query ? await items.source.matches(query) : null;
    } catch (error) {
      if (!aborted(error) && !isAway(error)) replace(count, problemOf(error).detail ?? "");
      return;
    }
    look.where = query || null;
    shown = look.where;
    replace(count, items.matches && matchText(items.matches));
    clear.hidden = !items.matches;
    if (view.scene.n) view.recolour();
    view.emit("look");
  };
  const start = async () => {
    const columns = usable();
    element.hidden = !columns.length;
    clear.hidden = true;
    shown = null;
    if (view.items) view.items.matches = null;
    replace(count);
    replace(column, optionElements(columns.map(({ column: at, name }) => [at, name])));
    const condition = conditionIn(look.where);
    const known = condition && columns.some(({ column: at }) => at === condition.column);
    if (columns.length) fill(known ? condition : { column: columns[0].column });
    if (known) await apply(conditionQuery(condition));
  };
  /** @param {string | null} query */
  const isShown = (query) => query === shown;
  return Object.assign(element, { start, isShown });
}

/**
 * @param {string} text
 * @returns {[string, string]}
 */
const option = (text) => [text, text];

/**
 * The controls of both ends of a range, which show the ends there are.
 *
 * @param {ItemColumn} column
 * @param {string} [low]
 * @param {string} [high]
 */
function ends(column, low = "", high = "") {
  const range = rangeOf(column);
  const type = column.kind === "date" ? "date" : "number";
  return [low, high].map((value, at) =>
    el("input", {
      type,
      step: "any",
      value,
      placeholder: range ? valueText(column, range[at]) : "",
    }),
  );
}
