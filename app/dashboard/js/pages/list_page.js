// A list of things the service keeps: filtered, page by page, with deletion.

import { aborted, get, send, sleep } from "../net/requests.js";
import {
  button,
  confirm,
  el,
  field,
  problemBox,
  replace,
  said,
  table,
  toast,
  waiting,
} from "../ui/dom.js";
import { plural } from "../ui/format.js";

const LIMIT = 50;

/**
 * Build the page into `root`.
 *   title, lead, actions : the head
 *   path : of the list; `filters`: [{name, label, options}] are sent to the service
 *   columns : as for a table; `text(row)`: what the filter by words looks in
 *   what : ["job", "jobs"]; `removal`: what deleting takes with it; `pathOf(row)`: what to delete
 *   busy(row) : whether it may still change by itself, so that the page looks again
 *   selected(rows) : called when the choice changes; shows a column of boxes
 */
export async function listPage(
  root,
  {
    router,
    params,
    title,
    lead,
    actions,
    path,
    filters = [],
    columns,
    text,
    what,
    removal,
    pathOf,
    busy,
    empty,
    selection,
  },
) {
  const ends = new AbortController();
  const { signal } = ends;
  const before = []; // Cursors of the pages before this one, as far as this visit knows.
  let cursor = params.cursor ?? null;
  let page = { items: [], next_cursor: null };
  const chosen = new Set();

  const search = el("input", {
    type: "search",
    value: params.q ?? "",
    autocomplete: "off",
    spellcheck: "false",
  });
  const selects = filters.map((filter) => ({
    ...filter,
    control: el(
      "select",
      {},
      el("option", { value: "" }, "All"),
      filter.options.map(([value, label]) =>
        el("option", { value, selected: params[filter.name] === value }, label),
      ),
    ),
  }));
  const said_ = el("p", { class: "quiet", role: "status" });
  const place = el("div", {}, waiting());
  const wrong = el("div", {});
  const newer = button("Newer", { iconName: "back", onclick: () => turn(before.pop() ?? null) });
  const older = button("Older", { onclick: () => (before.push(cursor), turn(page.next_cursor)) });
  const choice = el("div", { class: "row", "aria-live": "polite" });

  const rowsShown = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    return page.items.filter((row) => {
      const all = text(row).toLowerCase();
      return words.every((word) => all.includes(word));
    });
  };
  const all = [
    ...(selection
      ? [
          {
            label: "Choose",
            hidden: true,
            class: "tight",
            cell: (row) =>
              el("input", {
                type: "checkbox",
                checked: chosen.has(row.id),
                "aria-label": `Choose ${row.name ?? row.id}`,
                onchange: (event) => {
                  if (event.target.checked) chosen.add(row.id);
                  else chosen.delete(row.id);
                  drawChoice();
                },
              }),
          },
        ]
      : []),
    ...columns,
    {
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
    },
  ];
  const shown = table({
    caption: title,
    columns: all,
    rows: [],
    empty: empty ?? `No ${what[1]} yet.`,
  });
  shown.classList.add("folds");

  const drawChoice = () => {
    const rows = page.items.filter((row) => chosen.has(row.id));
    replace(choice, selection?.(rows));
  };
  const draw = () => {
    const rows = rowsShown();
    // The row that has the focus keeps it when the list is drawn again.
    const at =
      shown.contains(document.activeElement) && document.activeElement.getAttribute("aria-label");
    shown.show(rows);
    if (at) shown.querySelector(`[aria-label="${CSS.escape(at)}"]`)?.focus();
    const more = page.next_cursor || before.length || cursor ? " on this page" : "";
    replace(
      said_,
      rows.length === page.items.length
        ? `${plural(rows.length, what[0], what[1])}${more}`
        : `${rows.length} of ${plural(page.items.length, what[0], what[1])}${more}`,
    );
    newer.disabled = !cursor;
    older.disabled = !page.next_cursor;
    drawChoice();
  };
  const remember = () => {
    const wanted = Object.fromEntries(selects.map(({ name, control }) => [name, control.value]));
    router.set({ ...wanted, q: search.value, cursor }, { replace: true });
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
      replace(wrong);
      if (!place.contains(shown)) replace(place, shown);
    } catch (error) {
      if (!aborted(error) && !signal.aborted) replace(place, problemBox(error, { retry: reload }));
    }
  };
  const turn = (to) => {
    cursor = to;
    chosen.clear();
    remember();
    reload();
  };
  const remove = async (row) => {
    const sure = await confirm({
      title: `Delete this ${what[0]}?`,
      text: el(
        "span",
        {},
        said(row.name ?? row.id),
        ` is deleted. ${removal} This cannot be undone.`,
      ),
      yes: "Delete",
      danger: true,
    });
    if (!sure) return;
    try {
      await send("DELETE", pathOf(row), undefined, { signal });
      toast(`The ${what[0]} is deleted.`, { kind: "good" });
    } catch (error) {
      if (aborted(error)) return;
      if (error.status !== 404) {
        toast(error.detail || error.message, { kind: "bad" });
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
  replace(
    root,
    el(
      "header",
      { class: "page-head" },
      el("div", {}, el("h1", {}, title), lead && el("p", { class: "lead" }, lead)),
      actions && el("div", { class: "row" }, actions),
    ),
    el(
      "div",
      { class: "toolbar" },
      grown(field("Filter this page", search)),
      selects.map(({ label, control }) => field(label, control)),
      choice,
    ),
    place,
    wrong,
    el(
      "nav",
      { class: "row apart", "aria-label": "Pages of the list" },
      said_,
      el("div", { class: "row" }, newer, older),
    ),
  );
  await reload();

  // Look again while something on the page is under way and somebody can see it.
  (async () => {
    for (;;) {
      await sleep(2000, signal);
      if (document.hidden || !busy || !page.items.some(busy)) continue;
      await load({ quiet: true }).catch((error) => {
        if (signal.aborted) throw error;
      });
    }
  })().catch(() => {});
  return () => ends.abort();
}

function grown(row) {
  row.classList.add("grow");
  return row;
}
