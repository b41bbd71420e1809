// One node: its facts, its children, the labels and the points under it.

import { connection } from "../../net/connection.js";
import { aborted, hasStatus, isAway, problemOf } from "../../net/problem.js";
import { button } from "../../ui/controls.js";
import { bdi, bdiName, el, replace, unique } from "../../ui/dom.js";
import { download } from "../../ui/downloads.js";
import { count, number, plural, shortened } from "../../ui/format.js";
import { fetchedImage } from "../../ui/images.js";
import { problemBox, waiting } from "../../ui/notices.js";
import { byLabels, colourOfLabel, shownErrors } from "../draw/colouring.js";
import { nodeAgreement } from "./node_agreement.js";
import { nodeExamples } from "./node_examples.js";
import { nodeErrors } from "./node_errors.js";
import { nodeOutliers } from "./node_outliers.js";
import { nodePoints } from "./node_points.js";
import {
  fact,
  isFeatures,
  isPlain,
  plainText,
  valueList,
  withInterval,
  words,
} from "./node_values.js";

/** @import { NodeDetails, NodeLabels, NodePicture } from "../../net/answers.js" */
/** @import { Selection, TreeView } from "../draw/view.js" */

/** @import { Choice, Choosing } from "../model/statements.js" */

/**
 * @typedef {{
 *   label: string,
 *   onclick: () => unknown,
 *   choice?: Choice,
 * }} NodeAction `choice`: what the action chooses, if it is pressed while that is chosen
 * @typedef {{ id: number, name: string | null }} NamedNode
 */

/** The fields of every node; those that a method adds are shown in addition. */
const KNOWN = new Set([
  "id",
  "parent",
  "name",
  "height",
  "size",
  "n_leaves",
  "points_before",
  "depth",
  "path",
  "children",
  "parent_node",
  "ancestors",
  "child_nodes",
  "labels",
  "picture",
]);
const CHILDREN = 12;
const BARS = 8;
const LONGEST_TITLE = 80;
const LONGEST_LINK = 36;
/** The panel is in view if as much of it is, px. */
const LEAST_SHOWN = 160;
const NUMBER = /^\d+$/;
/** The distance from the top of the column that scrolls, px. */
const INSET = 2;
/** The distance from the tabs, which stay at the top of the column, px. */
const GAP = 14;

/**
 * Whether `name` is an end of the interval of another value.
 *
 * @param {NodeDetails} node
 * @param {string} name
 */
const endsInterval = (node, name) =>
  ["_low", "_high"].some((end) => name.endsWith(end) && name.slice(0, -end.length) in node);

/**
 * The title of a node without a name: what it is called, and its id.
 *
 * @param {string | null} called
 * @param {number} id
 */
const titleWithout = (called, id) =>
  called
    ? [bdi(shortened(called, LONGEST_TITLE)), el("span", { class: "quiet" }, ` node ${id}`)]
    : `Node ${id}`;

/**
 * The panel: `show` another node, or `again` the selected one.
 *
 * @param {TreeView} view
 * @param {{
 *   actions: (node: NodeDetails) => NodeAction[],
 *   onchoose: (id: number, path: number[]) => unknown,
 *   choosing: Choosing,
 *   rows?: boolean,
 *   rank?: () => Promise<unknown>,
 *   stays?: () => boolean,
 *   onreveal?: () => unknown,
 * }} handlers `rows`: whether its points can be read; `rank` attaches what they can be ranked by;
 *   `stays`: whether the column does not scroll to a node that is selected; `onreveal`: the panel is
 *   about to come into view
 */
export function nodePanel(
  view,
  { actions, onchoose, choosing, rows = true, rank, stays = () => false, onreveal },
) {
  const { source, signal } = view;
  const title = unique("node");
  const body = el("div", { class: "stack" });
  const element = el(
    "section",
    { class: "card tree-panel tree-node", "aria-labelledby": title, hidden: true },
    el("h2", { id: title }, "Node"),
    body,
  );
  /** @type {string | null} */
  let shown = null;
  /** @type {number | null} The node that can be read now. */
  let drawn = null;
  /** @type {AbortController | null} */
  let request = null;

  const labels = () => (byLabels(view.look) ? view.look.color : null);
  /**
   * A node's name; not the number of a cluster that is called otherwise.
   *
   * @param {{ id: number, name: string | null }} node
   */
  const nameOf = ({ id, name }) =>
    NUMBER.test(name ?? "") && view.calledOf(id) !== name ? null : name;

  /**
   * @param {number | null} id
   * @param {{ anew?: boolean, isWanted?: boolean }} [options] `anew`: even if the node is shown already;
   *   `isWanted`: the user has just requested it, and it comes into view
   */
  const show = async (id, { anew = false, isWanted = false } = {}) => {
    const { names, edition } = view.look;
    const kept = `${names} ${edition} ${view.revision} ${view.items?.attachment.id}`;
    const name = `${id} ${labels()} ${shownErrors(view)?.job} ${kept}`;
    if (name === shown && !anew) {
      if (isWanted) reveal();
      return;
    }
    shown = name;
    request?.abort();
    if (id === null || id < 0) {
      shown = drawn = request = null;
      element.hidden = true;
      replace(body);
      return;
    }
    element.hidden = false;
    element.setAttribute("aria-busy", "true");
    const current = new AbortController();
    request = current;
    // The same node once more stays in place, so that nothing below it moves.
    const wait = () => current === request && id !== drawn && replace(body, waiting());
    const late = setTimeout(wait, 200);
    try {
      const node = await source.node(id, labels());
      if (current !== request || signal.aborted) return;
      draw(node, AbortSignal.any([current.signal, signal]));
      drawn = id;
      if (isWanted) reveal();
    } catch (error) {
      if (current !== request || aborted(error)) return;
      shown = drawn = null;
      const retry = hasStatus(error, 404) ? undefined : () => show(id, { anew: true });
      // The page reports that the service is unreachable; this panel loads by itself when it is
      // back.
      if (isAway(error)) {
        replace(body, el("p", { class: "quiet", role: "status" }, "Waiting for the service…"));
      } else replace(body, problemBox(problemOf(error), { level: "h3", retry }));
    } finally {
      clearTimeout(late);
      if (current === request) element.setAttribute("aria-busy", "false");
    }
  };

  /** Bring the panel into view: in the column beside the tree, or, below it, up to the middle of the page. */
  const reveal = () => {
    onreveal?.();
    const column = element.parentElement;
    if (!column) return;
    if (column.scrollHeight > column.clientHeight) {
      const bar = column.querySelector(":scope > .sheet-head, :scope > .tree-tabs");
      const covered = bar ? bar.getBoundingClientRect().height + GAP : INSET;
      column.scrollTop +=
        element.getBoundingClientRect().top - column.getBoundingClientRect().top - covered;
    }
    const { top } = element.getBoundingClientRect();
    if (top > innerHeight - LEAST_SHOWN) scrollBy({ top: top - innerHeight / 2 });
  };

  /**
   * @param {NodeDetails} node
   * @param {AbortSignal} own ends when another node is shown
   */
  const draw = (node, own) => {
    const isLeaf = node.n_leaves === 1 && !node.children.length;
    const total = view.total.size;
    const added = Object.entries(node).filter(([name]) => !KNOWN.has(name));
    replace(
      body,
      el(
        "h3",
        { class: "node-name" },
        nameOf(node)
          ? bdiName(node.name ?? "")
          : node.parent === null
            ? "Root"
            : titleWithout(view.calledOf(node.id), node.id),
      ),
      node.ancestors.length > 0 && way(node),
      el(
        "div",
        { class: "row" },
        actions(node).map(({ label, onclick, choice }) =>
          button(label, {
            kind: "small",
            onclick,
            "aria-pressed": choice && String(choosing.isChosen(choice)),
            dataset: choice && { choice: JSON.stringify(choice) },
          }),
        ),
      ),
      el(
        "dl",
        { class: "facts node-facts" },
        fact("Points", [
          count(node.size),
          total > node.size &&
            node.parent !== null &&
            el("span", { class: "quiet" }, ` · ${number((100 * node.size) / total)} % of all`),
        ]),
        !isLeaf && fact("Leaves", count(node.n_leaves)),
        fact("Height", number(node.height)),
        fact("Depth", count(node.depth)),
        fact("Id", el("code", {}, String(node.id))),
        added.map(
          ([name, value]) =>
            isPlain(value) &&
            !endsInterval(node, name) &&
            fact(
              words(name),
              `${name}_low` in node
                ? withInterval(value, node[`${name}_low`], node[`${name}_high`])
                : plainText(value),
            ),
        ),
      ),
      node.picture && pictureOf(node.picture),
      nodeExamples(view, node, own),
      node.labels && labelShares(node.labels),
      nodeErrors(view, node, goTo),
      nodeAgreement(view, node),
      added.map(
        ([name, value]) =>
          !isPlain(value) &&
          el("section", { class: "node-extra" }, el("h3", {}, words(name)), valueList(value)),
      ),
      Object.values(node).some(isFeatures) && featuresFile(),
      node.child_nodes.length > 0 && childrenOf(node),
      rank && nodeOutliers(view, node, { signal: own, rank }),
      rows && nodePoints(view, node, labels(), choosing),
    );
  };

  /** @param {number} id of a node that may not be loaded */
  const goTo = async (id) => {
    try {
      const { path } = await source.node(id, null);
      await onchoose(id, path);
    } catch (error) {
      if (!aborted(error)) replace(body, problemBox(problemOf(error), { level: "h3" }));
    }
  };

  const featuresFile = () =>
    button("Features of all nodes", {
      kind: "small",
      iconName: "download",
      "aria-label": "Features of all nodes as CSV",
      onclick: () => download(source.featuresPath, `${view.fileName()}-features.csv`, { signal }),
    });

  /**
   * The way to a node: of ancestors that are called the same, the nearest.
   *
   * @param {NodeDetails} node
   */
  const way = (node) => {
    /** @param {NamedNode} step */
    const text = (step) => nameOf(step) ?? view.calledOf(step.id);
    const steps = node.ancestors.filter((step, at, all) => {
      const own = text(step);
      return at === 0 || at === all.length - 1 || !own || own !== text(all[at + 1]);
    });
    return el(
      "p",
      { class: "node-way quiet" },
      steps.length > 4 && "… › ",
      steps.slice(-4).map((ancestor, at) => {
        const path = node.path.slice(0, node.path.indexOf(ancestor.id) + 1);
        return [at > 0 && " › ", link(ancestor, path)];
      }),
    );
  };

  /**
   * @param {NamedNode} target
   * @param {number[]} path ids from the root to the target
   */
  const link = (target, path) =>
    el(
      "button",
      {
        type: "button",
        class: "linklike",
        onclick: () => onchoose(target.id, path),
        onpointerenter: () => view.mark([target.id]),
        onpointerleave: () => view.mark(null),
      },
      nameOf(target)
        ? bdiName(target.name ?? "")
        : target.id === 0
          ? "root"
          : bdi(shortened(view.calledOf(target.id) ?? `node ${target.id}`, LONGEST_LINK)),
    );

  /** @param {NodePicture} picture */
  const pictureOf = ({ address, caption }) => {
    const place = el("div", { class: "node-picture" });
    fetchedImage(address, { alt: caption }, signal).then(
      (image) => replace(place, image),
      (error) => {
        if (aborted(error)) return;
        replace(place, el("p", { class: "quiet" }, "The picture could not be loaded."));
      },
    );
    return el("figure", {}, place, el("figcaption", { class: "quiet" }, caption));
  };

  /** @param {NodeLabels} shares */
  const labelShares = (shares) =>
    el(
      "section",
      {},
      el("h3", {}, "Labels"),
      el(
        "p",
        { class: "quiet" },
        shares.n === 0
          ? "No point under this node has a label."
          : [
              `Purity ${number(shares.purity)}, entropy ${number(shares.entropy)}; ${plural(shares.n_labels, "label")} `,
              shares.per === "leaf" ? "of its leaves" : "of its points",
            ],
      ),
      el(
        "ul",
        { class: "node-bars" },
        shares.mix.slice(0, BARS).map((share) =>
          el(
            "li",
            {},
            bdiName(share.label ?? "no label", { class: "node-bar-name" }),
            el(
              "span",
              { class: "node-bar" },
              el("span", {
                style: {
                  width: `${Math.max(1, 100 * share.share)}%`,
                  background: colourOfLabel(view, share.label),
                },
              }),
            ),
            el("span", { class: "numeric" }, count(share.count)),
          ),
        ),
      ),
      shares.n_labels > BARS &&
        el("p", { class: "quiet" }, `and ${count(shares.n_labels - BARS)} more`),
    );

  /** @param {NodeDetails} node */
  const childrenOf = (node) => {
    const list = el("ul", { class: "node-children" });
    const hidden = node.children.length - node.child_nodes.length;
    /**
     * @param {number} most
     * @returns {HTMLElement}
     */
    const fill = (most) =>
      replace(
        list,
        node.child_nodes
          .slice(0, most)
          .map((child) =>
            el(
              "li",
              {},
              link(child, [...node.path, child.id]),
              el("span", { class: "quiet" }, ` ${plural(child.size, "point")}`),
            ),
          ),
        node.child_nodes.length > most &&
          el("li", {}, button("Show more", { kind: "ghost small", onclick: () => fill(Infinity) })),
        hidden > 0 &&
          most === Infinity &&
          el("li", { class: "quiet" }, `and ${count(hidden)} smaller`),
      );
    fill(CHILDREN);
    return el("section", {}, el("h3", {}, plural(node.children.length, "child", "children")), list);
  };

  const again = () => {
    if (view.look.node !== null) show(view.look.node);
  };
  /** @param {Selection} selection */
  const follow = ({ id }) => show(id, { isWanted: !stays() });
  const showChosen = () => {
    /** @type {NodeListOf<HTMLElement>} */
    const controls = body.querySelectorAll("[data-choice]");
    for (const control of controls) {
      const isChosen = choosing.isChosen(JSON.parse(control.dataset.choice ?? ""));
      if (control instanceof HTMLInputElement) control.checked = isChosen;
      else control.setAttribute("aria-pressed", String(isChosen));
    }
  };
  view.on("select", follow);
  view.on("named", again);
  view.on("chosen", showChosen);
  const unwatch = connection.watch((away) => !away && shown === null && again());
  signal.addEventListener("abort", () => {
    request?.abort();
    unwatch();
  });
  return Object.assign(element, { show, again });
}
