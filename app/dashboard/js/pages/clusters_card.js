// The clusters that a fit has found, as a table: how large each is, what the method says of it, the
// features that tell it from the others.

import { readable } from "../forms/schema_form.js";
import { aborted, download, get, saveBlob } from "../net/requests.js";
import { csvOf } from "../ui/csv.js";
import { button, el, problemBox, replace, said, svg, table, toast } from "../ui/dom.js";
import { count, number, plural } from "../ui/format.js";

/** Larger trees have no table: they are looked at by their picture. */
const MOST = 1000;
/** So many stand on the page as they are; a longer table is scrolled. */
const FEW = 25;
const TERMS = 6;
const PLAIN = new Set(["id", "parent", "height", "size"]);
const TITLES = { kappa: "Concentration κ", drift: "Drift, degrees", weight: "Weight" };
const DRAWN = 64;

/** The names of all nodes by id; none where the tree is gone or too large for a table. */
export async function namesOf(treeId, signal) {
  const path = `/v1/trees/${treeId}.json`;
  try {
    const head = await get(`${path}?depth=0`, { signal, quiet: true });
    const { nodes } = head.n_leaves > MOST ? head : await get(path, { signal, quiet: true });
    return new Map(nodes.map((node) => [node.id, node.name]));
  } catch (error) {
    if (error.status !== 404) throw error;
    return new Map();
  }
}

/**
 * A card for what `job` has left, filled once it is here; hidden where its tree is no list of
 * clusters.
 */
export function clustersCard(job, { router, signal }) {
  const element = el("section", {
    class: "card",
    "aria-labelledby": "clusters-title",
    hidden: true,
  });
  const load = async () => {
    try {
      const found = await clustersOf(job, signal);
      element.hidden = !found;
      if (found) replace(element, drawn(found, job, router, signal));
    } catch (error) {
      // A tree that was deleted is said where its picture would stand.
      if (aborted(error) || error.status === 404) return;
      element.hidden = false;
      replace(
        element,
        el("h2", { id: "clusters-title" }, "Clusters"),
        problemBox(error, { level: "h3", retry: load }),
      );
    }
  };
  load();
  return element;
}

/** {tree, nodes, terms}: the nodes that are clusters, their telling features by id; or null. */
async function clustersOf(job, signal) {
  const path = `/v1/trees/${job.result.tree}.json`;
  const head = await get(`${path}?depth=0`, { signal, quiet: true });
  const isList = head.kind === "partition" || "kappa" in head.nodes[0];
  if (!isList || head.n_leaves > MOST || head.n_leaves >= head.n_points) return null;
  const [tree, model] = await Promise.all([
    get(path, { signal }),
    job.result.model ? get(`/v1/models/${job.result.model}`, { signal, quiet: true }) : null,
  ]).catch((error) => {
    if (error.status !== 404) throw error;
    return Promise.all([get(path, { signal }), null]);
  });
  // The root of a partition is all of its clusters together.
  const nodes =
    head.kind === "partition" ? tree.nodes.filter((one) => one.parent === 0) : tree.nodes;
  const told = model?.stages.at(0)?.facts.top_terms ?? [];
  const by = [nodes, tree.nodes].find((list) => list.length === told.length) ?? [];
  const terms = new Map(by.map((node, at) => [node.id, told[at]]));
  return { tree, nodes, terms };
}

function drawn({ tree, nodes, terms }, job, router, signal) {
  const isFlat = tree.kind === "partition";
  const file = (job.name ?? tree.id)
    .replaceAll(/[^\p{L}\p{N}._]+/gu, "-")
    .slice(0, 80)
    .replaceAll(/^-+|-+$/g, "");
  const save = async (path, name) => {
    try {
      await download(path, name, { signal });
    } catch (error) {
      if (!aborted(error)) toast(error.detail || error.message, { kind: "bad" });
    }
  };
  const own = ownOf(nodes);
  const list = table({
    caption: "Clusters and what is known of them",
    columns: columnsOf({ tree, nodes, terms, own, isFlat }, router),
    rows: nodes,
  });
  list.classList.add("clusters", "folds");
  list.classList.toggle("long", nodes.length > FEW);
  const parts = [
    el("p", {}, summary(tree, nodes, own)),
    list,
    own.has("drift") &&
      el(
        "p",
        { class: "quiet" },
        "Drift is how far a mean has turned from the first period to the last. ",
        el("a", { href: router.href(`/trees/${tree.id}`) }, "How they move from period to period"),
        " stands below the tree.",
      ),
    el(
      "div",
      { class: "row" },
      button("Clusters as CSV", {
        kind: "small",
        iconName: "download",
        onclick: () => saveBlob(csvOf(csvRows(tree, nodes, terms, own)), `${file}-clusters.csv`),
      }),
      button("Rows with their cluster as CSV", {
        kind: "small",
        iconName: "download",
        onclick: () =>
          save(`/v1/trees/${tree.id}/assignments.csv?k=${tree.n_leaves}`, `${file}-rows.csv`),
      }),
    ),
  ];
  return [el("h2", { id: "clusters-title" }, "Clusters"), el("div", { class: "stack" }, parts)];
}

/** The numbers that a method gives of its nodes: name -> {low, high} where there is an interval. */
function ownOf(nodes) {
  const names = Object.keys(nodes[0] ?? {}).filter(
    (name) => !PLAIN.has(name) && nodes.some((node) => typeof node[name] === "number"),
  );
  const ends = (name) => [`${name}_low`, `${name}_high`];
  const within = new Set(
    names.flatMap((name) => (ends(name).every((one) => names.includes(one)) ? ends(name) : [])),
  );
  return new Map(
    names
      .filter((name) => !within.has(name))
      .map((name) => [name, within.has(`${name}_low`) ? ends(name) : null]),
  );
}

const titleOf = (name) => TITLES[name] ?? readable(name);

function summary(tree, nodes, own) {
  const leaves = nodes.filter((node) => tree.kind === "partition" || node.height === 0);
  const sizes = leaves.map((node) => node.size);
  const parts = [
    `${plural(leaves.length, "cluster")} of ${range(sizes)} ${sizes[0] === 1 && sizes.length === 1 ? "point" : "points"}`,
  ];
  if (own.has("kappa")) parts.push(`concentration κ ${range(leaves.map((node) => node.kappa))}`);
  return `${parts.join("; ")}.`;
}

function range(values) {
  const known = values.filter(Number.isFinite);
  const [low, high] = [Math.min(...known), Math.max(...known)].map(number);
  return low === high ? low : `${low} to ${high}`;
}

function columnsOf({ tree, nodes, terms, own, isFlat }, router) {
  const byId = new Map(tree.nodes.map((node) => [node.id, node]));
  const called = (node) =>
    node.name ? said(node.name) : node.parent === null ? "root" : `node ${node.id}`;
  const link = (node) =>
    el("a", { href: router.href(`/trees/${tree.id}`, { node: String(node.id) }) }, called(node));
  const numberOf = (name) => ({
    label: titleOf(name),
    numeric: true,
    sort: (node) => node[name],
    cell: (node) => el("span", { title: String(node[name] ?? "") }, number(node[name] ?? null)),
  });
  return [
    { label: isFlat ? "Cluster" : "Node", head: true, sort: (node) => node.id, cell: link },
    !isFlat && {
      label: "Under",
      cell: (node) => (node.parent === null ? "–" : called(byId.get(node.parent))),
    },
    { label: "Points", numeric: true, sort: (node) => node.size, cell: (node) => count(node.size) },
    {
      label: "Share",
      numeric: true,
      sort: (node) => node.size,
      cell: (node) => `${((100 * node.size) / tree.n_points).toFixed(1)} %`,
    },
    ...[...own].flatMap(([name, ends]) => [numberOf(name), ends && interval(name, ends, nodes)]),
    terms.size > 0 && {
      label: "Features that tell it",
      class: "cluster-terms",
      cell: (node) =>
        (terms.get(node.id) ?? [])
          .slice(0, TERMS)
          .map(({ term, weight }, at) => [at > 0 && ", ", said(term, { title: number(weight) })]),
    },
  ].filter(Boolean);
}

/** A column with the ends of the interval, and where it lies between those of all others. */
function interval(name, [low, high], nodes) {
  const lowest = Math.min(...nodes.map((node) => node[low]));
  const highest = Math.max(...nodes.map((node) => node[high]));
  const at = (value) => {
    const share = highest > lowest ? (value - lowest) / (highest - lowest) : 0.5;
    return Math.round((4 + share * (DRAWN - 8)) * 10) / 10;
  };
  return {
    label: "95% interval",
    class: "one-line",
    sort: (node) => node[high] - node[low],
    cell: (node) =>
      el(
        "span",
        { class: "interval" },
        svg(
          "svg",
          { viewBox: `0 0 ${DRAWN} 12`, class: "interval-drawn", "aria-hidden": "true" },
          svg("line", { x1: at(node[low]), x2: at(node[high]), y1: 6, y2: 6 }),
          svg("circle", { cx: at(node[name]), cy: 6, r: 2.6 }),
        ),
        el(
          "span",
          { title: `${node[low]} to ${node[high]}` },
          `${number(node[low])} to ${number(node[high])}`,
        ),
      ),
  };
}

function csvRows(tree, nodes, terms, own) {
  const numbers = [...own].flatMap(([name, ends]) => [name, ...(ends ?? [])]);
  const hasTerms = terms.size > 0;
  return [
    ["node", "parent", "name", "size", "share", ...numbers, ...(hasTerms ? ["features"] : [])],
    ...nodes.map((node) => [
      node.id,
      node.parent,
      node.name,
      node.size,
      node.size / tree.n_points,
      ...numbers.map((name) => node[name]),
      ...(hasTerms ? [(terms.get(node.id) ?? []).map(({ term }) => term).join("; ")] : []),
    ]),
  ];
}
