// A tree learned from statements about an earlier one: which points moved, and the way back.

import { aborted, hasStatus, problemOf } from "../../net/problem.js";
import { get } from "../../net/requests.js";
import * as router from "../../router.js";
import { bdiName, el, replace, unique } from "../../ui/dom.js";
import { count, number, plural, treeTitle } from "../../ui/format.js";
import { problemBox } from "../../ui/notices.js";
import { table } from "../../ui/tables.js";
import { clusteringOf } from "../model/grown.js";
import { folded, movedPoints } from "../model/moved.js";

/** @import { Assignments, Dataset, Job, Tree } from "../../net/answers.js" */
/** @import { Column } from "../../ui/tables.js" */
/** @import { Moved } from "../model/moved.js" */
/** @import { TreeView } from "../draw/view.js" */

/** The most clusters on a side of the table. */
const MOST = 12;

/**
 * The panel, hidden unless the tree was learned from statements about an earlier one.
 *
 * @param {TreeView} view
 * @param {Tree} head
 * @param {{ onmoved: (text: string) => unknown }} handlers
 */
export function movedPanel(view, head, { onmoved }) {
  const { signal } = view;
  const title = unique("moved");
  const element = el("section", {
    class: "card tree-moved",
    "aria-labelledby": title,
    hidden: true,
  });
  const heading = el("h2", { id: title, tabindex: "-1" }, "What moved");
  const load = async () => {
    try {
      const labels = await labelsOf(head, signal);
      if (!labels?.tree) return;
      element.hidden = false;
      const [earlier, moved] = await comparison(head, labels.tree, signal);
      replace(element, ...content(heading, head, earlier, labels, moved));
      onmoved(movedText(moved));
    } catch (error) {
      if (aborted(error) || signal.aborted) return;
      element.hidden = false;
      const isGone = hasStatus(error, 404);
      replace(
        element,
        heading,
        isGone
          ? el("p", { class: "quiet" }, GONE)
          : problemBox(problemOf(error), { level: "h3", retry: load }),
      );
    }
  };
  load();
  return element;
}

/**
 * The labels that the tree was learned from; null where there are none any more.
 *
 * @param {Tree} head
 * @param {AbortSignal} signal
 * @returns {Promise<Dataset | null>}
 */
async function labelsOf({ job: id }, signal) {
  if (!id) return null;
  try {
    /** @type {Job} */
    const { inputs } = await get(`/v1/jobs/${id}`, { signal, quiet: true });
    const { labels } = inputs;
    if (typeof labels !== "string" || !labels.startsWith("ds_")) return null;
    return await get(`/v1/datasets/${labels}`, { signal, quiet: true });
  } catch (error) {
    if (hasStatus(error, 404)) return null;
    throw error;
  }
}

/**
 * The earlier tree, and which points are in other clusters now; a hierarchy is cut into as many
 * clusters as there are now.
 *
 * @param {Tree} head
 * @param {string} from
 * @param {AbortSignal} signal
 * @returns {Promise<[Tree, Moved]>}
 */
async function comparison(head, from, signal) {
  const quiet = { signal, quiet: true };
  /** @type {[Tree, Assignments]} */
  const [earlier, after] = await Promise.all([
    get(`/v1/trees/${from}.json?depth=0`, quiet),
    get(`/v1/trees/${head.id}/assignments.json${cutOf(head, MOST)}`, quiet),
  ]);
  const k = after.clusters.filter(({ size }) => size > 0).length;
  /** @type {Assignments} */
  const before = await get(`/v1/trees/${from}/assignments.json${cutOf(earlier, k)}`, quiet);
  return [earlier, movedPoints(clusteringOf(before), clusteringOf(after))];
}

/**
 * @param {Tree} tree
 * @param {number} k clusters that a hierarchy is cut into
 */
const cutOf = ({ kind }, k) => (kind === "partition" ? "" : `?k=${k}`);

/**
 * @param {HTMLElement} heading
 * @param {Tree} head
 * @param {Tree} earlier
 * @param {Dataset} labels
 * @param {Moved} moved
 */
function content(heading, head, earlier, labels, moved) {
  const name = treeTitle(earlier);
  const share = moved.total ? (100 * moved.moved) / moved.total : 0;
  const isCut = earlier.kind !== "partition";
  return [
    el(
      "header",
      { class: "row apart" },
      heading,
      el(
        "div",
        { class: "row" },
        el(
          "a",
          { class: "button", href: router.href(`/trees/${earlier.id}`, { statements: labels.id }) },
          "Back to the earlier tree",
        ),
        el(
          "a",
          {
            class: "button",
            href: router.href("/compare", { left: earlier.id, right: head.id }),
          },
          "Compare the trees",
        ),
      ),
    ),
    el(
      "p",
      {},
      el("strong", {}, movedText(moved)),
      ` (${number(share)} %) since `,
      bdiName(name),
      isCut && `, cut into ${plural(moved.before.length, "cluster")}`,
      ". Old and new clusters are paired by their largest overlaps, in bold; points outside of a ",
      "pair have moved.",
    ),
    crossTable(moved),
  ];
}

/** @param {Moved} moved */
export const movedText = ({ moved, total }) => `${count(moved)} of ${plural(total, "point")} moved`;

/** @param {Moved} moved */
export function crossTable(moved) {
  const { before, after, cells } = folded(moved, MOST);
  /** @typedef {{ cluster: { name: string, size: number }, at: number }} Line */
  /** @type {Column<Line>[]} */
  const columns = [
    { label: "Before", head: true, cell: ({ cluster }) => bdiName(cluster.name) },
    ...after.map(({ name }, column) => ({
      label: name,
      numeric: true,
      /** @param {Line} line */
      cell: ({ at }) => {
        const { points, isPair } = cells[at][column];
        if (!points) return el("span", { class: "quiet" }, "0");
        return isPair ? el("strong", {}, count(points)) : count(points);
      },
    })),
    { label: "All", numeric: true, cell: ({ cluster }) => count(cluster.size) },
  ];
  const rows = before.map((cluster, at) => ({ cluster, at }));
  return table({ caption: "Points by old and new cluster", columns, rows });
}

const GONE =
  "The tree that this one was learned from was deleted, so that nothing can be compared.";
