// A list of resources of the service: filtered, page by page, with deletion.

import { aborted, hasStatus, problemOf } from "../net/problem.js";
import { get, send } from "../net/requests.js";
import { sleep } from "../net/timers.js";
import * as router from "../router.js";
import { button, field, select } from "../ui/controls.js";
import { confirm, toast, toastError } from "../ui/dialogs.js";
import { bdi, el, focusFirst, replace } from "../ui/dom.js";
import { ago, moment, plural } from "../ui/format.js";
import { problemBox, waiting } from "../ui/notices.js";
import { table } from "../ui/tables.js";

/** @import { Page } from "../net/answers.js" */
/** @import { Mounted } from "../router.js" */
/** @import { Option } from "../ui/controls.js" */
/** @import { Child } from "../ui/dom.js" */
/** @import { Column } from "../ui/tables.js" */

/** @typedef {{ id: string, name: string | null, created_at: string }} Listed */

/**
 * @template {Listed} Row
 * @typedef {{
 *   params: Record<string, string>,
 *   title: string,
 *   lead: string,
 *   actions?: Child,
 *   path: string,
 *   filters?: { name: string, label: string, options: Option[] }[],
 *   columns: Column<Row>[],
 *   text: (row: Row) => string,
 *   what: [singular: string, plural: string],
 *   removal: string,
 *   pathOf: (row: Row) => string,
 *   isBusy?: (row: Row) => boolean,
 *   selection?: (rows: Row[]) => Child,
 * }} ListOptions `path`: of the list, to which the `filters` are sent; `text`: the words that a row is
 *   found by; `removal`: what else deleting removes; `pathOf`: where to delete a row; `isBusy`: whether a
 *   row may still change by itself, so that the page looks again; `selection`: shows a column of boxes,
 *   and gives what to show for the rows that are chosen
 */

const LIMIT = 50;

/**
 * Build the page into `root`.
 *
 * @template {Listed} Row
 * @param {HTMLElement} root
 * @param {ListOptions<Row>} options
 * @returns {Promise<Mounted>}
 */
export async function listPage(root, options) {
  const { params, title, lead, actions, path, columns, text, what, removal, pathOf } = options;
  const { filters = [], isBusy, selection } = options;
  const ends = new AbortController();
  const { signal } = ends;
  /** @type {(string | null)[]} Cursors of the pages before this one, as far as this visit knows. */
  const before = [];
  /** @type {string | null} */
  let cursor = params.cursor ?? null;
  /** @type {Page<Row>} */
  let page = { items: [], next_cursor: null };
  /** @type {Set<string>} */
  const chosen = new Set();

  const search = el("input", {
    type: "search",
    value: params.q ?? "",
    autocomplete: "off",
    spellcheck: "false",
  });
  const selects = filters.map(({ name, label, options: choices }) => ({
    name,
    label,
    control: select([["", "All"], ...choices], { value: params[name] }),
  }));
  const summary = el("p", { class: "quiet", role: "status" });
  const place = el("div", {}, waiting());
  const newer = button("Newer", { iconName: "back", onclick: () => turn(before.pop() ?? null) });
  const older = button("Older", {
    onclick: () => {
      before.push(cursor);
      turn(page.next_cursor);
    },
  });
  const choice = el("div", { class: "row", "aria-live": "polite" });

  /** @type {Column<Row>} */
  const boxes = {
    label: "Choose",
    hidden: true,
    class: "tight",
    cell: (row) =>
      el("input", {
        type: "checkbox",
        checked: chosen.has(row.id),
        "aria-label": `Choose ${row.name ?? row.id}`,
        onchange: (event) => {
          if (event.currentTarget.checked) chosen.add(row.id);
          else chosen.delete(row.id);
          drawChoice();
        },
      }),
  };
  /** @type {Column<Row>} */
  const removals = {
    label: "Delete",
    hidden: true,
    class: "tight",
    cell: (row) =>
      button("", {
        kind: "ghost small icon-only",
        iconName: "trash",
        "aria-label": `Delete ${row.name ?? row.id}`,
        onclick: () => remove(row),
      }),
  };
  const list = table({
    caption: title,
    columns: [...(selection ? [boxes] : []), ...columns, removals],
    empty: `No ${what[1]} yet.`,
  });
  list.classList.add("folds");

  const rowsShown = () => {
    const words = search.value.toLowerCase().split(/\s+/);
    return page.items.filter((row) => {
      const all = text(row).toLowerCase();
      return words.every((word) => all.includes(word));
    });
  };
  const drawChoice = () =>
    replace(choice, selection?.(page.items.filter((row) => chosen.has(row.id))));
  const draw = () => {
    const rows = rowsShown();
    // The focused row keeps the focus when the list is redrawn.
    const focused = document.activeElement;
    const label = focused && list.contains(focused) && focused.getAttribute("aria-label");
    list.show(rows);
    if (label) focusFirst(list, `[aria-label="${CSS.escape(label)}"]`);
    const more = page.next_cursor || before.length || cursor ? " on this page" : "";
    replace(
      summary,
      rows.length === page.items.length
        ? `${plural(rows.length, ...what)}${more}`
        : `${rows.length} of ${plural(page.items.length, ...what)}${more}`,
    );
    newer.disabled = !cursor;
    older.disabled = !page.next_cursor;
    drawChoice();
  };
  const remember = () => {
    const values = Object.fromEntries(selects.map(({ name, control }) => [name, control.value]));
    router.set({ ...values, q: search.value, cursor });
  };
  const load = async ({ quiet = false } = {}) => {
    const query = new URLSearchParams({ limit: String(LIMIT) });
    for (const { name, control } of selects) if (control.value) query.set(name, control.value);
    if (cursor) query.set("cursor", cursor);
    page = await get(`${path}${path.includes("?") ? "&" : "?"}${query}`, { signal, quiet });
    draw();
  };
  const reload = async () => {
    try {
      await load();
      if (!place.contains(list)) replace(place, list);
    } catch (error) {
      if (!aborted(error) && !signal.aborted) {
        replace(place, problemBox(problemOf(error), { retry: reload }));
      }
    }
  };
  /** @param {string | null} next */
  const turn = (next) => {
    cursor = next;
    chosen.clear();
    remember();
    reload();
  };
  /** @param {Row} row */
  const remove = async (row) => {
    const isSure = await confirm({
      title: `Delete this ${what[0]}?`,
      text: el(
        "span",
        {},
        bdi(row.name ?? row.id),
        ` is deleted. ${removal} This cannot be undone.`,
      ),
      yes: "Delete",
      danger: true,
    });
    if (!isSure) return;
    try {
      await send("DELETE", pathOf(row), undefined, { signal });
      toast(`The ${what[0]} is deleted.`, { kind: "good" });
    } catch (error) {
      if (aborted(error)) return;
      if (!hasStatus(error, 404)) {
        toastError(error);
        return;
      }
      toast(`The ${what[0]} was gone already.`);
    }
    chosen.delete(row.id);
    await reload();
    search.focus();
  };

  search.addEventListener("input", () => {
    draw();
    remember();
  });
  for (const { control } of selects) {
    control.addEventListener("change", () => {
      before.length = 0;
      turn(null);
    });
  }
  const searchRow = field("Filter this page", search);
  searchRow.classList.add("grow");
  replace(
    root,
    el(
      "header",
      { class: "page-head" },
      el("div", {}, el("h1", {}, title), el("p", { class: "lead" }, lead)),
      actions && el("div", { class: "row" }, actions),
    ),
    el(
      "div",
      { class: "toolbar" },
      searchRow,
      selects.map(({ label, control }) => field(label, control)),
      choice,
    ),
    place,
    el(
      "nav",
      { class: "row apart", "aria-label": "Pages of the list" },
      summary,
      el("div", { class: "row" }, newer, older),
    ),
  );
  await reload();

  /** Poll while something on the page is in progress and the page is visible. */
  const poll = async () => {
    for (;;) {
      await sleep(2000, signal);
      if (document.hidden || !isBusy || !page.items.some(isBusy)) continue;
      await load({ quiet: true }).catch((error) => {
        if (signal.aborted) throw error;
      });
    }
  };
  poll().catch(() => {}); // The page was left.
  return { unmount: () => ends.abort() };
}

/**
 * The column of the creation time.
 *
 * @param {string} label
 * @returns {Column<Listed>}
 */
export const createdColumn = (label) => ({
  label,
  sort: (row) => row.created_at,
  cell: (row) =>
    el("time", { datetime: row.created_at, title: moment(row.created_at) }, ago(row.created_at)),
});
