// Other trees of the same rows: each as a small picture, with what stands in another cluster there.

import { aborted, problemOf } from "../../net/problem.js";
import { get } from "../../net/requests.js";
import * as router from "../../router.js";
import { bdi, el, replace, unique } from "../../ui/dom.js";
import { moment } from "../../ui/format.js";
import { fetchedImage } from "../../ui/images.js";
import { problemBox, waiting } from "../../ui/notices.js";
import { clusteringOf } from "../model/grown.js";
import { movedPoints } from "../model/moved.js";
import { sameRows } from "../model/same_rows.js";
import { sidesText } from "./moved_leaves.js";
import { crossTable, movedText } from "./moved_panel.js";

/** @import { Assignments, Job, Page, Tree, TreeSummary } from "../../net/answers.js" */
/** @import { TreeView } from "../draw/view.js" */

/** The most trees, and the most rows of which clusters are compared. */
const MOST = 8;
const MOST_ROWS = 100_000;
const SMALL_PX = 160;
/** Clusters where neither tree says how many. */
const FEW = 8;

/**
 * The panel, hidden where there is no other tree of these rows; they are sought when its tab is first shown.
 *
 * @param {TreeView} view
 * @param {Tree} head
 * @param {() => Promise<Map<string, string>>} methodTitles by id
 */
export function relatedPanel(view, head, methodTitles) {
  const { signal } = view;
  const title = unique("related");
  const list = el("div", { class: "stack" });
  const element = el(
    "section",
    { class: "card stack", "aria-labelledby": title, hidden: true },
    el("h2", { id: title }, "Other trees of these rows"),
    list,
  );
  const start = async () => {
    try {
      const jobs = await relatedJobs(head, signal);
      if (!jobs.length) return;
      const titles = await methodTitles();
      replace(
        list,
        jobs.map((job) => itemOf(job, titles.get(job.method) ?? job.method)),
      );
      element.hidden = false;
    } catch (error) {
      // The page is whole without them.
      if (!aborted(error)) element.hidden = true;
    }
  };
  /**
   * @param {RelatedJob} job
   * @param {string} method
   */
  const itemOf = ({ tree, name, created_at: created }, method) => {
    const place = el("div", { class: "table-tree" });
    const item = el(
      "section",
      { class: "stack tight" },
      el("h3", {}, el("a", { href: router.href(`/trees/${tree}`) }, method)),
      el("span", { class: "field-hint block" }, bdi(name ?? ""), " · ", moment(created)),
      place,
      view.total.size <= MOST_ROWS && movedOf(tree),
      el("a", { href: router.href("/compare", { left: head.id, right: tree }) }, "Side by side"),
    );
    const theme = document.documentElement.dataset.theme === "dark" ? "&theme=dark" : "";
    const alt = `The tree of ${method}`;
    fetchedImage(`/v1/trees/${tree}.svg?px=${SMALL_PX}${theme}`, { alt, width: `${SMALL_PX}` }, signal) // prettier-ignore
      .then(
        (image) => replace(place, image),
        (error) => {
          if (problemOf(error).status !== 404) return;
          item.remove();
          element.hidden = !list.firstChild;
        },
      );
    return item;
  };
  /** @param {string} tree */
  const movedOf = (tree) => {
    const place = el("div", { class: "stack tight", "aria-live": "polite" });
    let isLoaded = false;
    const load = async () => {
      replace(place, waiting());
      try {
        const moved = await movedBetween(head, tree, clustersOf(view), signal);
        replace(
          place,
          el("p", {}, el("strong", {}, movedText(moved)), `, ${sidesText(moved)}.`),
          crossTable(moved),
        );
        isLoaded = true;
      } catch (error) {
        if (!aborted(error)) replace(place, problemBox(problemOf(error), { level: "h3" }));
      }
    };
    const details = el("details", { class: "numbers" }, el("summary", {}, "What moved"), place);
    details.addEventListener("toggle", () => details.open && !isLoaded && load());
    return details;
  };
  let isStarted = false;
  const follow = () => {
    if (isStarted || view.look.tab !== "compare") return;
    isStarted = true;
    start();
  };
  view.on("look", follow);
  follow();
  return element;
}

/**
 * The clusters of the cut that is shown.
 *
 * @param {TreeView} view
 */
const clustersOf = (view) => view.cut?.clusters.length ?? FEW;

/** @typedef {{ tree: string, method: string, name: string | null, created_at: string }} RelatedJob */

/**
 * The newest fits on the same rows that made another tree, which is still there.
 *
 * @param {Tree} head
 * @param {AbortSignal} signal
 * @returns {Promise<RelatedJob[]>}
 */
async function relatedJobs({ id, job: own }, signal) {
  if (!own) return [];
  const quiet = { signal, quiet: true };
  /** @type {[Job, Page<Job>, Page<TreeSummary>]} */
  const [{ inputs }, { items }, trees] = await Promise.all([
    get(`/v1/jobs/${own}`, quiet),
    get("/v1/jobs?kind=fit&status=succeeded&limit=200", quiet),
    get("/v1/trees?limit=200", quiet),
  ]);
  // A fit outlives its tree.
  const kept = new Set(trees.items.map((tree) => tree.id).filter((other) => other !== id));
  return sameRows(inputs, items)
    .filter(({ result }) => kept.has(String(result?.tree)))
    .slice(0, MOST)
    .map(({ result, method, name, created_at: created }) => ({
      ...{ tree: String(result?.tree), method: String(method), name, created_at: created },
    }));
}

/**
 * Which points stand in other clusters of the other tree. A partition has its clusters, a hierarchy as many.
 *
 * @param {Tree} head
 * @param {string} other id
 * @param {number} k clusters where both are hierarchies
 * @param {AbortSignal} signal
 */
async function movedBetween(head, other, k, signal) {
  const quiet = { signal, quiet: true };
  /** @type {Tree} */
  const second = await get(`/v1/trees/${other}.json?depth=0`, quiet);
  const flat = [head, second].find(({ kind }) => kind === "partition");
  /** @type {(tree: Tree, clusters: number) => Promise<Assignments>} */
  const assigned = (tree, clusters) => {
    const cut = tree.kind === "partition" ? "" : `?k=${clusters}`;
    return get(`/v1/trees/${tree.id}/assignments.json${cut}`, quiet);
  };
  const first = await assigned(flat ?? head, k);
  const n = first.clusters.filter(({ size }) => size > 0).length;
  const rest = await assigned(flat === second ? head : second, n);
  const [before, after] = flat === second ? [rest, first] : [first, rest];
  return movedPoints(clusteringOf(before), clusteringOf(after));
}
