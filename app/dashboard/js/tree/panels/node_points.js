// The points under a node, page by page, and all of them as a file.

import { button, el, problemBox, replace, said, table, toast } from "../../ui/dom.js";
import { count } from "../../ui/format.js";

/** The points under a node, asked for when they are wanted; `labels`: a dataset's id or null. */
export function members(view, { api, node, labels }) {
  const { source, signal } = view;
  const place = el("div", { class: "stack" });
  const first = button(`Show ${node.size === 1 ? "the point" : `the ${count(node.size)} points`}`, {
    kind: "small",
    onclick: () => open(),
  });
  const save = button("CSV", {
    kind: "small",
    iconName: "download",
    "aria-label": "Points as CSV",
    onclick: () =>
      api
        .download(source.membersPath(node.id, labels), `${view.fileName()}-node-${node.id}.csv`, {
          signal,
        })
        .catch((error) => error?.name !== "AbortError" && toast(error.message, { kind: "bad" })),
  });
  const open = async (cursor = null, before = []) => {
    try {
      const page = await source.members(node.id, { labels: labels, cursor });
      const rows = [...before, ...page.items];
      const named = rows.some((one) => one.name !== null && one.name !== undefined);
      replace(
        place,
        table({
          caption: "Points under the node",
          columns: [
            { label: "Row", numeric: true, head: true, cell: (one) => count(one.row) },
            ...(named
              ? [
                  {
                    label: "Leaf",
                    cell: (one) => (one.name === null ? `node ${one.leaf}` : said(one.name)),
                  },
                ]
              : []),
            ...(labels
              ? [
                  {
                    label: "Label",
                    cell: (one) =>
                      one.label === null || one.label === undefined ? "–" : said(one.label),
                  },
                ]
              : []),
          ],
          rows,
        }),
        page.next_cursor &&
          button(`More (${count(page.total - rows.length)} left)`, {
            kind: "small",
            onclick: () => open(page.next_cursor, rows),
          }),
      );
    } catch (error) {
      if (error?.name !== "AbortError")
        replace(place, problemBox(error, { level: "h4", retry: () => open(cursor, before) }));
    }
  };
  return (
    node.size > 0 &&
    el(
      "section",
      { class: "stack" },
      el("h3", {}, "Points"),
      el("div", { class: "row" }, first, save),
      place,
    )
  );
}
