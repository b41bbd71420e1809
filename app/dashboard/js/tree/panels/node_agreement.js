// Which of the trees that a consensus was made from have a node.

import { aborted, hasStatus, messageOf } from "../../net/problem.js";
import * as router from "../../router.js";
import { bdi, el, replace } from "../../ui/dom.js";
import { plural } from "../../ui/format.js";
import { waiting } from "../../ui/notices.js";

/** @import { Agreement, NodeDetails } from "../../net/answers.js" */
/** @import { TreeView } from "../draw/view.js" */

/** The most trees of a list. */
const MOST = 12;

/**
 * The section for an inner node; null where the tree is no consensus.
 *
 * @param {TreeView} view
 * @param {NodeDetails} node
 */
export function nodeAgreement(view, node) {
  if (view.method !== "consensus" || !node.children.length) return null;
  const place = el("div", { class: "stack tight" }, waiting());
  view.source.agreement(node.id).then(
    (agreement) => replace(place, ...lists(agreement)),
    (error) => {
      if (aborted(error)) return;
      replace(place, el("p", { class: "quiet" }, hasStatus(error, 404) ? GONE : messageOf(error)));
    },
  );
  return el("section", {}, el("h3", {}, "Which trees agree"), place);
}

/** @param {Agreement} agreement */
const lists = ({ having, lacking }) => [
  list(`${plural(having.length, "tree")} ${having.length === 1 ? "has" : "have"} it`, having),
  list(`${plural(lacking.length, "tree")} ${lacking.length === 1 ? "does" : "do"} not`, lacking),
];

/**
 * @param {string} title
 * @param {string[]} trees
 */
function list(title, trees) {
  if (!trees.length) return null;
  return el(
    "div",
    {},
    el("p", {}, title),
    el(
      "ul",
      { class: "node-children" },
      trees
        .slice(0, MOST)
        .map((tree) => el("li", {}, el("a", { href: router.href(`/trees/${tree}`) }, bdi(tree)))),
      trees.length > MOST && el("li", { class: "quiet" }, `and ${trees.length - MOST} more`),
    ),
  );
}

const GONE = "The record of the trees that it was made from is gone.";
