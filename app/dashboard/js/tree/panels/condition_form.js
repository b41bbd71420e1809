// Conditions on the items, all of which must hold: what does not match fades, and the number of matches is shown.

import { aborted, isAway, problemOf } from "../../net/problem.js";
import { button, field, optionElements, select } from "../../ui/controls.js";
import { bdi, el, replace } from "../../ui/dom.js";
import { conditionWords, matchText, valueText } from "../draw/item_words.js";
import {
  conditionsIn,
  conditionsText,
  matchesQuery,
  MOST_CONDITIONS,
  rangeOf,
  withCondition,
} from "../model/items.js";

/** @import { ItemColumn } from "../../net/answers.js" */
/** @import { Condition } from "../model/items.js" */
/** @import { TreeView } from "../draw/view.js" */

/** The number of categories that a select offers. */
const MOST_OPTIONS = 200;

/**
 * The form; `start` takes the conditions of the address over, `isShown` says whether they are a text's
 * conditions.
 *
 * @param {TreeView} view
 */
export function conditionForm(view) {
  const { look } = view;
  const column = el("select");
  column.addEventListener("change", () => fill(conditionOn(Number(column.value))));
  const controls = el("div", { class: "items-condition" });
  const list = el("ul", {
    class: "tags items-conditions",
    "aria-label": "Conditions",
    hidden: true,
  });
  const count = el("p", { class: "quiet", role: "status" });
  /** @type {Condition[]} Those that are shown, or will be once the service has answered. */
  let conditions = [];
  /** @type {string | null} Those that are shown, as text. */
  let shown = null;
  /** @type {() => Condition} */
  let read = () => ({ column: 0 });
  const clear = button("Show all", {
    kind: "ghost small",
    hidden: true,
    onclick: () => {
      fill({ column: Number(column.value) });
      apply([]);
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
        apply(withCondition(conditions, read()));
      },
    },
    field("Filter by", column),
    controls,
    el("div", { class: "row" }, button("Filter", { kind: "small", type: "submit" }), clear),
    list,
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
  /**
   * The condition on a column that the form changes: of a text it adds another one.
   *
   * @param {number} at
   */
  const conditionOn = (at) =>
    conditions.find((each) => each.column === at && !each.contains) ?? { column: at };
  /** @param {Condition[]} next */
  const apply = async (next) => {
    const { items } = view;
    if (!items) return;
    if (next.length > MOST_CONDITIONS) {
      replace(count, `At most ${MOST_CONDITIONS} conditions are combined; remove one first.`);
      return;
    }
    conditions = next;
    try {
      const matches = next.length ? await items.source.matches(matchesQuery(next)) : null;
      // Others may have been requested meanwhile, or other items.
      if (conditions !== next || view.items !== items) return;
      items.matches = matches;
    } catch (error) {
      if (conditions !== next) return;
      conditions = conditionsIn(shown);
      if (!aborted(error) && !isAway(error)) replace(count, problemOf(error).detail ?? "");
      return;
    }
    look.where = conditionsText(next) || null;
    shown = look.where;
    drawList();
    replace(count, items.matches && matchText(items.matches));
    clear.hidden = !items.matches;
    if (view.scene.n) view.recolour();
    view.emit("look");
  };
  const drawList = () => {
    const columns = new Map(usable().map((each) => [each.column, each]));
    list.hidden = !conditions.length;
    replace(
      list,
      conditions.map((condition) => {
        const own = columns.get(condition.column);
        const words = own ? conditionWords(own, condition) : "";
        return el(
          "li",
          {},
          bdi(words),
          button("", {
            kind: "ghost small icon-only",
            iconName: "close",
            "aria-label": `Remove: ${words}`,
            onclick: () => remove(condition),
          }),
        );
      }),
    );
  };
  /** @param {Condition} condition */
  const remove = async (condition) => {
    const at = conditions.indexOf(condition);
    if (column.value === String(condition.column)) fill({ column: condition.column });
    await apply(conditions.filter((each) => each !== condition));
    // The button that had the focus is gone.
    const buttons = list.querySelectorAll("button");
    (buttons[Math.min(at, buttons.length - 1)] ?? column).focus();
  };
  const start = async () => {
    const columns = usable();
    element.hidden = !columns.length;
    clear.hidden = true;
    shown = null;
    if (view.items) view.items.matches = null;
    replace(count);
    replace(column, optionElements(columns.map(({ column: at, name }) => [at, name])));
    const known = conditionsIn(look.where).filter((each) =>
      columns.some(({ column: at }) => at === each.column),
    );
    conditions = [];
    drawList();
    if (columns.length) fill(known.at(-1) ?? { column: columns[0].column });
    if (known.length) await apply(known);
  };
  /** @param {string | null} text */
  const isShown = (text) => text === shown;
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
