// The clusters of a cut as tables: a line for each cluster, and a line for each class or leaf.

import { aborted, problemOf } from "../../net/problem.js";
import { button } from "../../ui/controls.js";
import { csvOf } from "../../ui/csv.js";
import { dialog } from "../../ui/dialogs.js";
import { bdi, bdiName, el, replace } from "../../ui/dom.js";
import { saveBlob } from "../../ui/downloads.js";
import { count, number, percent, plural } from "../../ui/format.js";
import { problemBox, waiting } from "../../ui/notices.js";
import { table } from "../../ui/tables.js";
import { clusterNames, clusterNumbers } from "../model/cluster_names.js";
import { clusterRows, namesUnder } from "../model/cut_rows.js";

/** @import { Clusters } from "../../net/answers.js" */
/** @import { Column } from "../../ui/tables.js" */
/** @import { TreeView } from "../draw/view.js" */
/** @import { Cut } from "../model/cut.js" */
/** @import { Cluster, Leaf } from "../model/cut_rows.js" */

/** More leaves stand in a file alone. */
const MOST_LEAVES = 5000;
/** More rows of a table are in the file. */
const MOST_ROWS = 1000;
const NAMES = 8;
/** Longer tables are scrolled. */
const FEW = 12;

/**
 * Open the tables of a cut.
 *
 * @param {TreeView} view
 * @param {Cut} cut
 * @param {{
 *   file: (what: string) => string,
 *   saveLeaves: () => unknown,
 *   onname?: (k: number) => unknown,
 * }} options `file`: the name of a file of the cut; `saveLeaves` saves a line for each leaf; `onname` names
 *   the clusters where some have only numbers
 */
export function cutTables(view, cut, { file, saveLeaves, onname }) {
  const { source, signal } = view;
  const body = el("div", { class: "stack" }, waiting());
  const load = async () => {
    try {
      const few = view.total.leaves <= MOST_LEAVES;
      const [clusters, leaves] = await Promise.all([
        source.cut(cut, signal),
        few ? source.leafClusters(cut, signal) : null,
      ]);
      replace(body, content(clusters, leaves?.leaves ?? null));
    } catch (error) {
      if (aborted(error)) return;
      replace(body, problemBox(problemOf(error), { level: "h3", retry: load }));
    }
  };
  /**
   * @param {Clusters} answer
   * @param {Leaf[] | null} leaves
   */
  const content = (answer, leaves) => {
    const clusters = named(answer.clusters, view);
    const under = namesUnder(leaves ?? []);
    const first = table({
      caption: "Clusters",
      columns: clusterColumns(answer, under, view.total.size),
      rows: clusters,
      most: MOST_ROWS,
    });
    first.classList.toggle("long", clusters.length > FEW);
    const withNames = leaves?.filter(({ leaf_name: name }) => name !== null) ?? [];
    const noun = isOfClasses(leaves) ? "class" : "leaf";
    const second =
      withNames.length > 0 &&
      table({
        caption: "The cluster of each leaf",
        columns: leafColumns(noun),
        rows: withNames,
        most: MOST_ROWS,
      });
    if (second) second.classList.toggle("long", withNames.length > FEW);
    const numbered = view.cut ? clusterNumbers(view.cut, view.store) : null;
    const bare = answer.clusters.filter((one) => !one.name && numbered?.has(one.node)).length;
    const name = () => {
      close();
      onname?.(answer.n_clusters);
    };
    return [
      el("h3", {}, plural(answer.n_clusters, "cluster")),
      onname &&
        bare > 0 &&
        el(
          "div",
          { class: "row" },
          el("span", { class: "quiet" }, `${count(bare)} of them have only numbers.`),
          button("Name them…", { kind: "small", onclick: name }),
        ),
      first,
      el(
        "div",
        { class: "row" },
        button("Clusters as CSV", {
          kind: "small",
          iconName: "download",
          onclick: () =>
            saveBlob(csvOf(clusterRows(clusters, under, view.total.size)), file("clusters")),
        }),
      ),
      second && [el("h3", {}, `The cluster of each ${noun}`), second],
      el(
        "div",
        { class: "row" },
        button(`A line for each ${noun} as CSV`, {
          kind: "small",
          iconName: "download",
          onclick: saveLeaves,
        }),
      ),
    ];
  };
  const { close } = dialog({
    title: "Clusters as a table",
    body,
    wide: true,
    actions: [{ label: "Close" }],
  });
  load();
}

/**
 * The clusters with the names that the picture and its legend have, where they have none themselves.
 *
 * @param {Cluster[]} clusters
 * @param {TreeView} view
 */
function named(clusters, { cut, store }) {
  const names = cut ? clusterNames(cut, store) : null;
  const called = new Map(cut?.clusters.map(({ node, category }) => [node, names?.get(category)]));
  return clusters.map((one) => ({ ...one, name: one.name ?? called.get(one.node) ?? null }));
}

/**
 * Whether leaves are classes: some hold several points.
 *
 * @param {Leaf[] | null} leaves
 */
const isOfClasses = (leaves) => leaves?.some(({ leaf_size: size }) => size > 1) ?? false;

/**
 * @param {Clusters} answer
 * @param {Map<number, string[]>} under
 * @param {number} total points
 */
function clusterColumns({ clusters }, under, total) {
  /** @type {Column<Cluster>[]} */
  const columns = [
    {
      label: "Cluster",
      head: true,
      sort: ({ name, node }) => name ?? `node ${node}`,
      cell: ({ name, node }) =>
        name ? bdiName(name, { class: "cluster-name", title: name }) : `Node ${node}`,
    },
    { label: "Node", numeric: true, sort: ({ node }) => node, cell: ({ node }) => String(node) },
    {
      label: "Points",
      numeric: true,
      sort: ({ size }) => size,
      cell: ({ size }) => count(size),
    },
    {
      label: "Share",
      numeric: true,
      sort: ({ size }) => size,
      cell: ({ size }) => percent(size / Math.max(1, total)),
    },
  ];
  if (clusters.some(({ support }) => typeof support === "number")) {
    columns.push({
      label: "Support",
      numeric: true,
      sort: ({ support }) => support,
      cell: ({ support }) => (typeof support === "number" ? number(support) : "–"),
    });
  }
  if (under.size) {
    // Where each leaf is a point, it would be the same column again.
    if (clusters.some(({ node, size }) => under.get(node)?.length !== size)) {
      columns.push({
        label: "Leaves",
        numeric: true,
        sort: ({ node }) => under.get(node)?.length ?? 0,
        cell: ({ node }) => count(under.get(node)?.length ?? 0),
      });
    }
    columns.push({ label: "Which", cell: ({ node }) => bdi(listText(under.get(node) ?? [])) });
  }
  return columns;
}

/** @param {string[]} names */
const listText = (names) =>
  `${names.slice(0, NAMES).join(", ")}${names.length > NAMES ? ` and ${count(names.length - NAMES)} more` : ""}`;

/**
 * @param {string} noun
 * @returns {Column<Leaf>[]}
 */
const leafColumns = (noun) => [
  {
    label: noun === "class" ? "Class" : "Leaf",
    head: true,
    sort: ({ leaf_name: name }) => name,
    cell: ({ leaf_name: name }) => bdiName(name ?? ""),
  },
  {
    label: "Points",
    numeric: true,
    sort: ({ leaf_size: size }) => size,
    cell: ({ leaf_size: size }) => count(size),
  },
  {
    label: "Cluster",
    sort: ({ name, cluster }) => name ?? String(cluster),
    cell: ({ name, cluster, node }) =>
      cluster === -1 ? "noise" : name ? bdiName(name) : `Node ${node}`,
  },
];
