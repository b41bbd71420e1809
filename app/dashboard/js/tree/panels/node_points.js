// The points under a node, page by page, and all of them as a file.

import { aborted, problemOf } from "../../net/problem.js";
import { button } from "../../ui/controls.js";
import { bdiName, el, replace } from "../../ui/dom.js";
import { download } from "../../ui/downloads.js";
import { count } from "../../ui/format.js";
import { problemBox } from "../../ui/notices.js";
import { table } from "../../ui/tables.js";

/** @import { Members, NodeDetails } from "../../net/answers.js" */
/** @import { Column } from "../../ui/tables.js" */
/** @import { TreeView } from "../draw/view.js" */
/** @import { Choosing } from "../model/statements.js" */

/** @typedef {Members["items"][number]} Member */

/**
 * The points under a node, loaded on request; false if there are none.
 *
 * @param {TreeView} view
 * @param {NodeDetails} node
 * @param {string | null} labels id of a dataset
 * @param {Choosing} choosing
 */
export function nodePoints(view, node, labels, choosing) {
  const { source, signal } = view;
  const place = el("div", { class: "stack" });
  const first = button(`Show ${node.size === 1 ? "the point" : `the ${count(node.size)} points`}`, {
    kind: "small",
    onclick: () => open(null, []),
  });
  const save = button("CSV", {
    kind: "small",
    iconName: "download",
    "aria-label": "Points as CSV",
    onclick: () =>
      download(source.membersPath(node.id, labels), `${view.fileName()}-node-${node.id}.csv`, {
        signal,
      }),
  });
  /**
   * @param {string | null} cursor
   * @param {Member[]} before the points of the pages before
   */
  const open = async (cursor, before) => {
    try {
      const page = await source.members(node.id, { labels, cursor });
      const { next_cursor: next } = page;
      const rows = [...before, ...page.items];
      const columns = pointColumns(rows, labels, choosing);
      replace(
        place,
        table({ caption: "Points under the node", columns, rows }),
        next &&
          button(`More (${count(page.total - rows.length)} left)`, {
            kind: "small",
            onclick: () => open(next, rows),
          }),
      );
    } catch (error) {
      if (!aborted(error)) {
        const retry = () => open(cursor, before);
        replace(place, problemBox(problemOf(error), { level: "h4", retry }));
      }
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

/**
 * @param {Member[]} rows
 * @param {string | null} labels
 * @param {Choosing} choosing
 */
function pointColumns(rows, labels, choosing) {
  /** @type {Column<Member>[]} */
  const columns = [
    { label: "Row", numeric: true, head: true, cell: (member) => count(member.row) },
  ];
  if (rows.some((member) => member.name !== null)) {
    columns.push({
      label: "Leaf",
      cell: ({ name, leaf }) => (name === null ? `node ${leaf}` : bdiName(name)),
    });
  }
  if (labels) {
    columns.push({
      label: "Label",
      cell: ({ label }) => (label === null || label === undefined ? "–" : bdiName(label)),
    });
  }
  columns.push({
    label: "Choose",
    hidden: true,
    cell: ({ row, name }) => {
      const choice = { row, name };
      return el("input", {
        type: "checkbox",
        "aria-label": `Choose point ${count(row)}`,
        title: "Choose",
        checked: choosing.isChosen(choice),
        dataset: { choice: JSON.stringify(choice) },
        onchange: () => choosing.toggle(choice),
      });
    },
  });
  return columns;
}
