// The clusters of a fit as a table: the size of each, the method's values, its distinctive features.

import { readable } from "../forms/parameter_names.js";
import { aborted, hasStatus, problemOf } from "../net/problem.js";
import { get } from "../net/requests.js";
import * as router from "../router.js";
import { button } from "../ui/controls.js";
import { csvOf } from "../ui/csv.js";
import { bdi, bdiName, el, replace, svg } from "../ui/dom.js";
import { download, fileName, saveBlob } from "../ui/downloads.js";
import { count, number, plural } from "../ui/format.js";
import { problemBox } from "../ui/notices.js";
import { table } from "../ui/tables.js";

/** @import { Job, Model, Tree, TreeNode } from "../net/answers.js" */
/** @import { Child } from "../ui/dom.js" */
/** @import { Column } from "../ui/tables.js" */

/**
 * @typedef {{ term: string, weight: number }} Term a feature and how much it distinguishes a cluster
 * @typedef {[low: string, high: string]} Ends names of the ends of an interval
 * @typedef {{
 *   tree: Tree,
 *   nodes: TreeNode[],
 *   terms: Map<number, Term[]>,
 *   values: Map<string, Ends | null>,
 * }} Clusters `nodes`: those that are clusters; `terms` by node; `values`: the names of the numbers that
 *   the method gives of its nodes, with their intervals
 */

/** Larger trees have no table, only their picture. */
const MOST = 1000;
/** Longer tables are scrolled. */
const FEW = 25;
const TERMS = 6;
const PLAIN = new Set(["id", "parent", "height", "size"]);
/** @type {Record<string, string>} */
const TITLES = { kappa: "Concentration κ", drift: "Drift, degrees", weight: "Weight" };
const INTERVAL_PX = 64;

/**
 * A card for the clusters of `job`, filled once they are loaded; hidden if its tree is not a list
 * of clusters.
 *
 * @param {Job} job
 * @param {AbortSignal} signal
 */
export function clustersCard(job, signal) {
  const element = el("section", {
    class: "card",
    "aria-labelledby": "clusters-title",
    hidden: true,
  });
  const load = async () => {
    try {
      const clusters = await clustersOf(job, signal);
      element.hidden = !clusters;
      if (clusters) replace(element, content(clusters, job, signal));
    } catch (error) {
      // That the tree was deleted is reported where its picture would stand.
      if (aborted(error) || hasStatus(error, 404)) return;
      element.hidden = false;
      replace(
        element,
        el("h2", { id: "clusters-title" }, "Clusters"),
        problemBox(problemOf(error), { level: "h3", retry: load }),
      );
    }
  };
  load();
  return element;
}

/**
 * The clusters of a job's tree; null if it is not a list of clusters.
 *
 * @param {Job} job
 * @param {AbortSignal} signal
 * @returns {Promise<Clusters | null>}
 */
async function clustersOf({ result }, signal) {
  const path = `/v1/trees/${result?.tree}.json`;
  /** @type {Tree} */
  const head = await get(`${path}?depth=0`, { signal, quiet: true });
  const isFlat = head.kind === "partition";
  const isList = isFlat || "kappa" in head.nodes[0];
  if (!isList || head.n_leaves > MOST || head.n_leaves >= head.n_points) return null;
  /** @type {Promise<Tree>} */
  const loading = get(path, { signal });
  const [tree, model] = await Promise.all([loading, modelOf(result?.model, signal)]);
  // The root of a partition contains all its clusters.
  const nodes = isFlat ? tree.nodes.filter((node) => node.parent === 0) : tree.nodes;
  const topTerms = termsIn(model);
  const described = [nodes, tree.nodes].find((list) => list.length === topTerms.length) ?? [];
  return {
    tree,
    nodes,
    terms: new Map(described.map((node, at) => [node.id, topTerms[at]])),
    values: valuesOf(nodes),
  };
}

/**
 * A model; null if there is none or it was deleted.
 *
 * @param {string | undefined} id
 * @param {AbortSignal} signal
 * @returns {Promise<Model | null>}
 */
async function modelOf(id, signal) {
  if (!id) return null;
  try {
    return await get(`/v1/models/${id}`, { signal, quiet: true });
  } catch (error) {
    if (!hasStatus(error, 404)) throw error;
    return null;
  }
}

/**
 * The distinctive features of each node, as the first stage of a model holds them.
 *
 * @param {Model | null} model
 * @returns {Term[][]}
 */
function termsIn(model) {
  const terms = model?.stages.at(0)?.facts.top_terms;
  return Array.isArray(terms) ? terms : [];
}

/**
 * The names of the numbers that a method gives of its nodes, with the ends of their intervals.
 *
 * @param {TreeNode[]} nodes
 * @returns {Map<string, Ends | null>}
 */
export function valuesOf(nodes) {
  const names = Object.keys(nodes[0] ?? {}).filter(
    (name) => !PLAIN.has(name) && nodes.some((node) => typeof node[name] === "number"),
  );
  /** @type {(name: string) => Ends} */
  const endsOf = (name) => [`${name}_low`, `${name}_high`];
  const withInterval = new Set(
    names.filter((name) => endsOf(name).every((end) => names.includes(end))),
  );
  const ends = new Set([...withInterval].flatMap(endsOf));
  return new Map(
    names
      .filter((name) => !ends.has(name))
      .map((name) => [name, withInterval.has(name) ? endsOf(name) : null]),
  );
}

/**
 * A node's value as a number; NaN if it has none.
 *
 * @param {TreeNode} node
 * @param {string} name
 */
const numberIn = (node, name) => (typeof node[name] === "number" ? node[name] : NaN);

/**
 * @param {Clusters} clusters
 * @param {Job} job
 * @param {AbortSignal} signal
 * @returns {Child}
 */
function content(clusters, job, signal) {
  const { tree, nodes, values } = clusters;
  const file = fileName(job.name ?? tree.id);
  const list = table({
    caption: "Clusters and their values",
    columns: columnsOf(clusters),
    rows: nodes,
  });
  list.classList.add("clusters", "folds");
  list.classList.toggle("long", nodes.length > FEW);
  return [
    el("h2", { id: "clusters-title" }, "Clusters"),
    el(
      "div",
      { class: "stack" },
      el("p", {}, summary(clusters)),
      list,
      values.has("drift") &&
        el(
          "p",
          { class: "quiet" },
          "Drift is how far a mean has turned from the first period to the last. ",
          el(
            "a",
            { href: router.href(`/trees/${tree.id}`) },
            "How they move from period to period",
          ),
          " stands below the tree.",
        ),
      el(
        "div",
        { class: "row" },
        button("Clusters as CSV", {
          kind: "small",
          iconName: "download",
          onclick: () => saveBlob(csvOf(csvRows(clusters)), `${file}-clusters.csv`),
        }),
        button("Rows with their cluster as CSV", {
          kind: "small",
          iconName: "download",
          onclick: () =>
            download(`/v1/trees/${tree.id}/assignments.csv`, `${file}-rows.csv`, { signal }),
        }),
      ),
    ),
  ];
}

/** @param {string} name */
const titleOf = (name) => TITLES[name] ?? readable(name);

/**
 * "12 clusters of 3 to 90 points; concentration κ 4 to 31."
 *
 * @param {Clusters} clusters
 */
function summary({ tree, nodes, values }) {
  const leaves = nodes.filter((node) => tree.kind === "partition" || node.height === 0);
  const sizes = leaves.map((node) => node.size);
  const isOnePoint = sizes.length === 1 && sizes[0] === 1;
  const parts = [
    `${plural(leaves.length, "cluster")} of ${span(sizes)} ${isOnePoint ? "point" : "points"}`,
  ];
  if (values.has("kappa")) {
    parts.push(`concentration κ ${span(leaves.map((node) => numberIn(node, "kappa")))}`);
  }
  return `${parts.join("; ")}.`;
}

/**
 * "3 to 90", or the one value.
 *
 * @param {number[]} values
 */
export function span(values) {
  const known = values.filter(Number.isFinite);
  const low = number(Math.min(...known));
  const high = number(Math.max(...known));
  return low === high ? low : `${low} to ${high}`;
}

/**
 * @param {Clusters} clusters
 * @returns {Column<TreeNode>[]}
 */
function columnsOf({ tree, nodes, terms, values }) {
  const isFlat = tree.kind === "partition";
  const byId = new Map(tree.nodes.map((node) => [node.id, node]));
  /**
   * @param {TreeNode | undefined} node
   * @returns {Child}
   */
  const nameOf = (node) =>
    node?.name ? bdiName(node.name) : node?.parent === null ? "root" : `node ${node?.id}`;
  /** @type {Column<TreeNode>[]} */
  const columns = [
    {
      label: isFlat ? "Cluster" : "Node",
      head: true,
      sort: (node) => node.id,
      cell: (node) =>
        el(
          "a",
          { href: router.href(`/trees/${tree.id}`, { node: String(node.id) }) },
          nameOf(node),
        ),
    },
  ];
  if (!isFlat) {
    columns.push({
      label: "Under",
      cell: ({ parent }) => (parent === null ? "–" : nameOf(byId.get(parent))),
    });
  }
  columns.push(
    { label: "Points", numeric: true, sort: (node) => node.size, cell: (node) => count(node.size) },
    {
      label: "Share",
      numeric: true,
      sort: (node) => node.size,
      cell: (node) => `${((100 * node.size) / tree.n_points).toFixed(1)} %`,
    },
  );
  for (const [name, ends] of values) {
    columns.push({
      label: titleOf(name),
      numeric: true,
      sort: (node) => numberIn(node, name),
      cell: (node) => el("span", { title: String(node[name] ?? "") }, number(node[name])),
    });
    if (ends) columns.push(intervalColumn(name, ends, nodes));
  }
  if (terms.size > 0) {
    columns.push({
      label: "Distinctive features",
      class: "cluster-terms",
      cell: (node) =>
        (terms.get(node.id) ?? [])
          .slice(0, TERMS)
          .map(({ term, weight }, at) => [at > 0 && ", ", bdi(term, { title: number(weight) })]),
    });
  }
  return columns;
}

/**
 * A column with the ends of the interval, drawn on the scale of all nodes.
 *
 * @param {string} name
 * @param {Ends} ends
 * @param {TreeNode[]} nodes
 * @returns {Column<TreeNode>}
 */
function intervalColumn(name, [low, high], nodes) {
  const lowest = Math.min(...nodes.map((node) => numberIn(node, low)));
  const highest = Math.max(...nodes.map((node) => numberIn(node, high)));
  /** @param {number} value */
  const at = (value) => {
    const share = highest > lowest ? (value - lowest) / (highest - lowest) : 0.5;
    return Math.round((4 + share * (INTERVAL_PX - 8)) * 10) / 10;
  };
  return {
    label: "95% interval",
    class: "one-line",
    sort: (node) => numberIn(node, high) - numberIn(node, low),
    cell: (node) => {
      const [from, to] = [numberIn(node, low), numberIn(node, high)];
      return el(
        "span",
        { class: "interval" },
        svg(
          "svg",
          { viewBox: `0 0 ${INTERVAL_PX} 12`, class: "interval-drawn", "aria-hidden": "true" },
          svg("line", { x1: at(from), x2: at(to), y1: 6, y2: 6 }),
          svg("circle", { cx: at(numberIn(node, name)), cy: 6, r: 2.6 }),
        ),
        el("span", { title: `${from} to ${to}` }, `${number(from)} to ${number(to)}`),
      );
    },
  };
}

/**
 * @param {Clusters} clusters
 * @returns {unknown[][]}
 */
function csvRows({ tree, nodes, terms, values }) {
  const names = [...values].flatMap(([name, ends]) => [name, ...(ends ?? [])]);
  const hasTerms = terms.size > 0;
  return [
    ["node", "parent", "name", "size", "share", ...names, ...(hasTerms ? ["features"] : [])],
    ...nodes.map((node) => [
      node.id,
      node.parent,
      node.name,
      node.size,
      node.size / tree.n_points,
      ...names.map((name) => node[name]),
      ...(hasTerms ? [(terms.get(node.id) ?? []).map(({ term }) => term).join("; ")] : []),
    ]),
  ];
}
