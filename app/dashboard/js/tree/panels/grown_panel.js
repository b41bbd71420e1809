// How a tree grew: the jobs that continued each other with more rows, as a slider, each with its tree
// and what moved since the one before.

import { aborted, hasStatus, problemOf } from "../../net/problem.js";
import { get } from "../../net/requests.js";
import * as router from "../../router.js";
import { field } from "../../ui/controls.js";
import { bdi, el, replace, unique } from "../../ui/dom.js";
import { count, moment, percent, plural } from "../../ui/format.js";
import { fetchedImage } from "../../ui/images.js";
import { problemBox } from "../../ui/notices.js";
import { chain, movedSince } from "../model/grown.js";

/** @import { Assignments, Job, Page, Tree } from "../../net/answers.js" */
/** @import { TreeView } from "../draw/view.js" */

/** @typedef {{ job: Job, tree: string }} Step */

/** How many earlier jobs are followed at most. */
const MOST_STEPS = 50;
/** How many clusters of each step are compared; fewer where a tree has no such cut. */
const CLUSTERS = [12, 2];
const PICTURE_PX = 300;

/**
 * The panel, hidden unless the tree's job continued another or was continued.
 *
 * @param {TreeView} view
 * @param {Tree} head
 */
export function grownPanel(view, head) {
  const { signal } = view;
  const quiet = { signal, quiet: true };
  const title = unique("grown");
  /** @type {Step[]} The oldest first. */
  let steps = [];
  const time = el("input", { type: "range", min: "0", step: "1" });
  time.addEventListener("input", () => draw());
  const body = el("div", { class: "stack tight", "aria-live": "polite" });
  const picture = el("div", { class: "table-tree" });
  const element = el(
    "section",
    { class: "card stack tree-grown", "aria-labelledby": title, hidden: true },
    el("h2", { id: title }, "How it grew"),
    field("Step", time, { help: "From the first rows to the newest." }),
    body,
    picture,
  );
  /** @type {Map<string, Promise<Tree>>} */
  const heads = new Map();
  /** @param {string} tree */
  const headOf = (tree) => {
    const known = heads.get(tree) ?? get(`/v1/trees/${tree}.json?depth=0`, quiet);
    heads.set(tree, known);
    return known;
  };
  /** @param {string} tree @param {number} k */
  const cutOf = (tree, k) => get(`/v1/trees/${tree}/assignments.json?k=${k}`, quiet);

  const draw = async () => {
    const at = Number(time.value);
    const { job, tree } = steps[at];
    const isThis = tree === view.source.tree;
    const name = job.name ?? job.id;
    time.setAttribute("aria-valuetext", `${at + 1} of ${steps.length}, ${name}`);
    const isCurrent = () => at === Number(time.value) && !signal.aborted;
    try {
      const now = await headOf(tree);
      if (!isCurrent()) return;
      const facts = [
        el("strong", {}, bdi(name)),
        ` · ${plural(now.n_points, "point")} · ${moment(job.created_at)}`,
        isThis
          ? " · this tree"
          : [" · ", el("a", { href: router.href(`/trees/${tree}`, { tab: "drift" }) }, "Open it")],
      ];
      replace(body, el("p", {}, facts));
      drawPicture(tree, isCurrent);
      if (at === 0) return;
      const text = await movedText(steps[at - 1].tree, tree, now);
      if (isCurrent()) replace(body, el("p", {}, facts), el("p", { class: "quiet" }, text));
    } catch (error) {
      if (aborted(error) || !isCurrent()) return;
      heads.delete(tree);
      replace(picture);
      replace(body, el("p", {}, bdi(name)), hasStatus(error, 404) ? el("p", { class: "quiet" }, GONE) : problemBox(problemOf(error), { level: "h3", retry: draw })); // prettier-ignore
    }
  };
  /** @param {string} earlier @param {string} tree @param {Tree} now */
  const movedText = async (earlier, tree, now) => {
    const then = await headOf(earlier);
    const [k, before, after] = await bothCut(earlier, tree);
    const more = `${plural(now.n_points - then.n_points, "new point")}.`;
    const moved = movedSince(before, after);
    if (!moved) return more;
    const share = percent(moved.total ? moved.moved / moved.total : 0);
    return `${more} Cut into ${plural(k, "cluster")} before and after, ${count(moved.moved)} of the ${plural(moved.total, "earlier point")} (${share}) are in another cluster.`;
  };
  /**
   * Both trees cut into the same number of clusters.
   *
   * @param {string} earlier
   * @param {string} later
   * @returns {Promise<[number, Assignments, Assignments]>}
   */
  const bothCut = async (earlier, later) => {
    for (const k of CLUSTERS) {
      try {
        return [k, ...(await Promise.all([cutOf(earlier, k), cutOf(later, k)]))];
      } catch (error) {
        if (!hasStatus(error, 422) || k === CLUSTERS.at(-1)) throw error;
      }
    }
    throw new TypeError("There is no number of clusters to cut into.");
  };
  /** @param {string} tree @param {() => boolean} isCurrent */
  const drawPicture = async (tree, isCurrent) => {
    const theme = document.documentElement.dataset.theme === "dark" ? "&theme=dark" : "";
    const plain = `/v1/trees/${tree}.svg?px=${PICTURE_PX}${theme}`;
    const attributes = { alt: "The tree of this step", width: `${PICTURE_PX}` };
    // A tree of few leaves has no such clusters.
    for (const path of [`${plain}&color_by=cluster:${CLUSTERS[0]}`, plain]) {
      try {
        const image = await fetchedImage(path, attributes, signal);
        if (isCurrent()) replace(picture, image);
        return;
      } catch {
        if (isCurrent()) replace(picture);
      }
    }
  };
  const start = async () => {
    if (!head.job) return;
    try {
      /** @type {Job} */
      const own = await get(`/v1/jobs/${head.job}`, quiet);
      const path = `/v1/jobs?kind=fit&method=${own.method}&status=succeeded&limit=200`;
      /** @type {Page<Job>} */
      const { items } = await get(path, quiet);
      const all = new Map([...items, own].map((job) => [job.id, job]));
      for (let job = own, at = 0; at < MOST_STEPS; at += 1) {
        const base = job.inputs.base;
        if (typeof base !== "string") break;
        job = all.get(base) ?? (await get(`/v1/jobs/${base}`, quiet));
        all.set(job.id, job);
      }
      await show(own, all);
    } catch (error) {
      // Without its job nothing is known of what it grew from.
      if (aborted(error) || hasStatus(error, 404)) return;
      element.hidden = false;
      replace(body, problemBox(problemOf(error), { level: "h3", retry: start }));
    }
  };
  /** @param {Job} own @param {Map<string, Job>} all */
  const show = async (own, all) => {
    steps = chain(own.id, all).flatMap((job) => {
      const tree = job.result?.tree;
      return tree ? [{ job, tree }] : [];
    });
    element.hidden = steps.length < 2;
    if (element.hidden) return;
    time.max = String(steps.length - 1);
    time.value = String(steps.findIndex(({ tree }) => tree === view.source.tree));
    await draw();
  };
  start();
  return element;
}

const GONE = "The tree of this step was deleted.";
