// A list of resources of the service: searched, filtered, page by page, with changes and deletion.

import { aborted, hasStatus, problemOf } from "../net/problem.js";
import { get, send } from "../net/requests.js";
import { sleep } from "../net/timers.js";
import * as router from "../router.js";
import { button, field, relabel, select } from "../ui/controls.js";
import { confirm, toast, toastError } from "../ui/dialogs.js";
import { bdi, el, focusFirst, replace } from "../ui/dom.js";
import { ago, count, moment, plural } from "../ui/format.js";
import { problemBox, waiting } from "../ui/notices.js";
import { table } from "../ui/tables.js";
import { annotationButton, tagButtons } from "./annotations.js";

/** @import { Page } from "../net/answers.js" */
/** @import { Mounted } from "../router.js" */
/** @import { Option } from "../ui/controls.js" */
/** @import { Child } from "../ui/dom.js" */
/** @import { Column } from "../ui/tables.js" */
/** @import { Annotated } from "./annotations.js" */

/** @typedef {Annotated & { created_at: string }} Listed */

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
 *   what: [singular: string, plural: string],
 *   removal: string,
 *   pathOf: (row: Row) => string,
 *   annotatedAt?: (row: Row) => string,
 *   isBusy?: (row: Row) => boolean,
 *   selection?: (rows: Row[]) => Child,
 * }} ListOptions `path`: of the list, to which the search and the `filters` are sent; `removal`: what
 *   else deleting removes; `pathOf`: where to delete a row; `annotatedAt`: where its name and tags are, if
 *   that is elsewhere; `isBusy`: whether a row may still change by itself, so that the page looks again;
 *   `selection`: shows a column of boxes, and gives what to show for the rows that are chosen
 */

const LIMIT = 50;
const TYPED_MS = 250;
/** How many entries the service looks through for a page of a search. */
const SCANNED = 1000;
/** @type {Option[]} */
const ORDERS = [
  ["newest", "Newest first"],
  ["oldest", "Oldest first"],
];

/**
 * Build the page into `root`.
 *
 * @template {Listed} Row
 * @param {HTMLElement} root
 * @param {ListOptions<Row>} options
 * @returns {Promise<Mounted>}
 */
export async function listPage(root, options) {
  const { params, title, lead, actions, path, what, removal, pathOf } = options;
  const { filters = [], annotatedAt = pathOf, isBusy, selection } = options;
  const ends = new AbortController();
  const { signal } = ends;
  /** @type {(string | null)[]} Cursors of the pages before this one, as far as this visit knows. */
  const before = [];
  /** @type {string | null} */
  let cursor = params.cursor ?? null;
  /** @type {string | null} */
  let tag = params.tag ?? null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  /** @type {Page<Row>} */
  let page = { items: [], next_cursor: null };
  /** How many there are without any filter; null: not known. @type {number | null} */
  let total = null;
  /** Ends the load that goes on. */
  let looking = new AbortController();
  let isLooking = false;
  /** @type {Set<string>} */
  const chosen = new Set();

  const search = el("input", {
    type: "search",
    value: params.q ?? "",
    autocomplete: "off",
    spellcheck: "false",
    maxlength: 200,
    placeholder: "Name, notes, tags, id",
  });
  const tagPlace = el("div", { class: "row" });
  const selects = filters.map(({ name, label, options: choices }) => ({
    name,
    label,
    control: select([["", "All"], ...choices], { value: params[name] }),
  }));
  const order = select(ORDERS, { value: params.sort === "oldest" ? "oldest" : "newest" });
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
  /** @type {Column<Row>} */
  const changes = {
    label: "Name and tags",
    hidden: true,
    class: "tight",
    cell: (row) => annotationButton(row, { path: annotatedAt(row), onchanged: () => reload() }),
  };
  /** @type {Column<Row>[]} */
  const columns = options.columns.map((column) =>
    column.head
      ? { ...column, cell: (row) => [column.cell(row), tagButtons(row.tags, chooseTag)] }
      : column,
  );
  const empty = el("span");
  const list = table({
    caption: title,
    columns: [...(selection ? [boxes] : []), ...columns, changes, removals],
    empty,
  });
  list.classList.add("folds");

  /** @param {string | null} next */
  function chooseTag(next) {
    tag = next;
    before.length = 0;
    turn(null);
  }
  const drawTag = () =>
    replace(
      tagPlace,
      tag !== null && [
        el("span", { class: "quiet" }, "Tag"),
        el("strong", {}, bdi(tag)),
        button("All tags", { kind: "small", onclick: () => chooseTag(null) }),
      ],
    );
  const drawChoice = () =>
    replace(choice, selection?.(page.items.filter((row) => chosen.has(row.id))));
  const isFiltered = () =>
    Boolean(search.value.trim() || tag || selects.some(({ control }) => control.value));
  /** @param {number} [looked] entries that a search has looked through, while it goes on */
  const draw = (looked) => {
    const found = isFiltered() ? `No ${what[1]} found.` : `No ${what[1]} yet.`;
    replace(empty, looked === undefined ? found : `No ${what[1]} found yet.`);
    drawTag();
    // The focused row keeps the focus when the list is redrawn.
    const focused = document.activeElement;
    const label = focused && list.contains(focused) && focused.getAttribute("aria-label");
    list.show(page.items);
    if (label) focusFirst(list, `[aria-label="${CSS.escape(label)}"]`);
    replace(summary, summaryText(looked));
    const isOldest = order.value === "oldest";
    relabel(newer, isOldest ? "Older" : "Newer");
    relabel(older, isOldest ? "Newer" : "Older");
    newer.disabled = !cursor;
    older.disabled = !page.next_cursor || looked !== undefined;
    drawChoice();
  };
  /** @param {number} [looked] */
  const summaryText = (looked) => {
    const { length } = page.items;
    if (looked !== undefined) {
      return `${plural(length, ...what)} so far, ${count(looked)} looked through…`;
    }
    if (!page.next_cursor && !before.length && !cursor) return plural(length, ...what);
    const of = total !== null && !isFiltered() ? ` of ${count(total)}` : "";
    const noun = !of && length === 1 ? what[0] : what[1];
    return `${count(length)}${of} ${noun} on this page. Columns sort these.`;
  };
  const remember = () => {
    const values = Object.fromEntries(selects.map(({ name, control }) => [name, control.value]));
    const sort = order.value === "oldest" ? "oldest" : null;
    router.set({ ...values, q: search.value, tag, sort, cursor });
  };
  const queryOf = () => {
    const query = new URLSearchParams();
    for (const { name, control } of selects) if (control.value) query.set(name, control.value);
    if (search.value.trim()) query.set("q", search.value);
    if (tag !== null) query.set("tag", tag);
    if (order.value === "oldest") query.set("sort", "oldest");
    if (!isFiltered()) query.set("count", "true");
    return query;
  };
  /** Load a page; a search of many entries shows what it has found while it goes on. */
  const load = async ({ quiet = false } = {}) => {
    looking.abort();
    looking = new AbortController();
    const { signal: now } = looking;
    isLooking = false;
    const query = queryOf();
    /** @type {Row[]} */
    const items = [];
    let next = cursor;
    for (let looked = SCANNED; ; looked += SCANNED) {
      query.set("limit", String(LIMIT - items.length));
      if (next) query.set("cursor", next);
      /** @type {Page<Row>} */
      const part = await get(`${path}${path.includes("?") ? "&" : "?"}${query}`, {
        signal: AbortSignal.any([signal, now]),
        quiet,
      });
      if (!isFiltered()) total = part.count ?? null;
      items.push(...part.items);
      next = part.next_cursor;
      page = { ...part, items };
      isLooking = Boolean(next) && items.length < LIMIT;
      if (!isLooking) break;
      draw(looked);
      if (!place.contains(list)) replace(place, list);
    }
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
    clearTimeout(timer);
    timer = setTimeout(() => {
      before.length = 0;
      if (!signal.aborted) turn(null);
    }, TYPED_MS);
  });
  for (const control of [order, ...selects.map((one) => one.control)]) {
    control.addEventListener("change", () => {
      before.length = 0;
      turn(null);
    });
  }
  const searchRow = field("Search", search);
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
      field("Order", order),
      tagPlace,
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
      if (document.hidden || isLooking || !isBusy || !page.items.some(isBusy)) continue;
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
