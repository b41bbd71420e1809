// How the points under a node stand in it: the farthest, the nearest and the most doubtful.

import { aborted, problemOf } from "../../net/problem.js";
import { button, select } from "../../ui/controls.js";
import { bdi, bdiName, el, replace } from "../../ui/dom.js";
import { download } from "../../ui/downloads.js";
import { count, number } from "../../ui/format.js";
import { problemBox, waiting } from "../../ui/notices.js";
import { table } from "../../ui/tables.js";
import { itemText } from "../draw/item_words.js";
import { drawnName } from "../draw/text.js";
import { isCalledAsRow, ORDERS, ordersOf } from "../model/outlier_orders.js";

/** @import { ItemColumn, ItemOutlier, NodeDetails } from "../../net/answers.js" */
/** @import { Column } from "../../ui/tables.js" */
/** @import { TreeView } from "../draw/view.js" */

const N = 25;
/** A file has so many at most, as many as the service compares. */
const MOST = 100_000;
/** What the user has chosen; the next node is shown likewise. */
let chosen = "far";
/** Whether the outliers were wanted of a node that is drawn anew once its points are ranked. */
let isWanted = false;

/**
 * The section: loaded on request, and at once for the next nodes. What it has requested ends with
 * `signal`.
 *
 * @param {TreeView} view
 * @param {NodeDetails} node
 * @param {{ signal: AbortSignal, rank: () => Promise<unknown> }} options `rank` attaches the points, if
 *   nothing is known by which to rank them
 */
export function nodeOutliers(view, node, { signal, rank }) {
  if (node.size < 2) return false;
  const { items } = view;
  const place = el("div", { class: "stack tight", "aria-live": "polite" });
  if (!items?.attachment.result?.basis) {
    const isUnranked = items?.attachment.result?.basis === null;
    const make = async () => {
      replace(place, waiting("Ranking the points…"));
      isWanted = true;
      try {
        await rank();
      } catch (error) {
        isWanted = false;
        if (!aborted(error)) replace(place, problemBox(problemOf(error), { level: "h4" }));
      }
    };
    return el(
      "section",
      { class: "stack tight node-outliers" },
      el("h3", {}, "Outliers"),
      isUnranked
        ? el("p", { class: "quiet" }, UNRANKED)
        : el("div", { class: "row" }, button("Show outliers", { kind: "small", onclick: make })),
      place,
    );
  }
  const orders = ordersOf(items.attachment.result.basis, node.id === 0);
  const by = select(orders, {
    value: orders.some(([order]) => order === chosen) ? chosen : orders[0][0],
    "aria-label": "Order of the outliers",
    onchange: () => {
      chosen = by.value;
      load();
    },
  });
  const path = (/** @type {string} */ suffix, /** @type {number} */ n) =>
    items.source.outliersPath(node.id, suffix, { by: by.value, n });
  const load = async () => {
    replace(place, waiting());
    const wanted = by.value;
    try {
      const found = await items.source.outliers(node.id, { by: wanted, n: N, signal });
      if (wanted !== by.value) return;
      replace(
        place,
        table({
          caption: `${ORDERS[wanted]} points`,
          columns: columnsOf(found, items.columns),
          rows: found,
          empty: "Nothing is known of these points.",
        }),
        node.size > found.length &&
          el(
            "p",
            { class: "quiet" },
            `The first ${count(found.length)} of ${count(node.size)}; the file has all.`,
          ),
      );
      if (isWanted) place.parentElement?.scrollIntoView({ block: "nearest" });
      isWanted = false;
    } catch (error) {
      if (aborted(error)) return;
      replace(place, problemBox(problemOf(error), { level: "h4", retry: load }));
    }
  };
  load();
  return el(
    "section",
    { class: "stack tight node-outliers" },
    el(
      "div",
      { class: "row apart" },
      el("h3", {}, "Outliers"),
      el(
        "div",
        { class: "row" },
        by,
        button("CSV", {
          kind: "small",
          iconName: "download",
          "aria-label": "Outliers as CSV",
          onclick: () =>
            download(path("csv", MOST), `${view.fileName()}-node-${node.id}-${by.value}.csv`, {
              signal: view.signal,
            }),
        }),
      ),
    ),
    place,
  );
}

/**
 * The columns that have something to show.
 *
 * @param {ItemOutlier[]} rows
 * @param {ItemColumn[]} columns of the items
 */
function columnsOf(rows, columns) {
  const hasIds = rows.some(({ id }) => id !== undefined && id !== null);
  const first = columns.find(
    ({ kind, name }) =>
      kind !== "image" && rows.some((row) => row[name] !== null && row[name] !== String(row.item)),
  );
  /** @type {Column<ItemOutlier>[]} */
  const shown = [
    { label: "Row", numeric: true, sort: ({ item }) => item, cell: ({ item }) => count(item) },
  ];
  if (hasIds) shown.unshift({ label: "Id", head: true, cell: ({ id }) => bdi(String(id ?? "–")) });
  if (first) {
    shown.splice(hasIds ? 1 : 0, 0, {
      label: first.name,
      head: !hasIds,
      cell: (row) => bdi(itemText(first.kind, row[first.name] ?? row[`items: ${first.name}`]) || "–"), // prettier-ignore
    });
  }
  if (!rows.every((row) => isCalledAsRow(row, first?.name))) {
    shown.push({
      label: "Leaf",
      cell: ({ name, leaf }) => (name === null ? `node ${leaf}` : bdiName(drawnName(name))),
    });
  }
  if (rows.some(({ distance }) => distance !== null)) {
    shown.push({
      label: "Distance",
      numeric: true,
      sort: ({ distance }) => distance,
      cell: ({ distance }) =>
        el("span", { title: "To the mean of the points under the node" }, number(distance)),
    });
  }
  if (rows.some(({ doubt }) => doubt !== null)) {
    shown.push({
      label: "Doubt",
      numeric: true,
      sort: ({ doubt }) => doubt,
      cell: ({ doubt, nearest }) =>
        el("span", { title: doubtText(nearest !== null) }, number(doubt)),
    });
  }
  return shown;
}

/** @param {boolean} isBySiblings */
const doubtText = (isBySiblings) =>
  isBySiblings
    ? "Its distance, divided by that to the nearest mean of the node's siblings: above 1 it is nearer there"
    : "1 less the margin between its best class and the second";

const UNRANKED =
  "Nothing is known by which these points could be ranked: the features or logits of the fit are not there.";
