// What a classifier does on the rows of one node: how right it is, and what it confuses the node with.

import { bdiName, el } from "../../ui/dom.js";
import { count, plural } from "../../ui/format.js";
import { shownErrors } from "../draw/colouring.js";
import { ratesText } from "../model/errors.js";

/** @import { Confusion, NodeDetails } from "../../net/answers.js" */
/** @import { TreeView } from "../draw/view.js" */

const MOST = 8;

/**
 * The section for a node; null if the tree is not coloured by errors.
 *
 * @param {TreeView} view
 * @param {NodeDetails} node
 * @param {(id: number) => unknown} onchoose
 */
export function nodeErrors(view, node, onchoose) {
  const errors = shownErrors(view);
  if (!errors) return null;
  const rates = errors.rates.get(node.id);
  const missed = errors.confusions.filter(({ true_node: id }) => id === node.id);
  const wrong = errors.confusions.filter(({ predicted_node: id }) => id === node.id);
  return el(
    "section",
    {},
    el("h3", {}, "Errors"),
    el(
      "p",
      { class: "quiet" },
      rates ? `${ratesText(rates)}.` : "Nothing is known of this node in the evaluation.",
    ),
    list("Its rows were given", missed, (one) => [one.predicted, one.predicted_node], onchoose),
    list("Given to rows of", wrong, (one) => [one.true, one.true_node], onchoose),
  );
}

/**
 * @param {string} title
 * @param {Confusion[]} confusions
 * @param {(one: Confusion) => [label: string | null, node: number | null]} of
 * @param {(id: number) => unknown} onchoose
 */
function list(title, confusions, of, onchoose) {
  if (!confusions.length) return null;
  const others = confusions.slice(MOST);
  return el(
    "div",
    {},
    el("p", {}, title),
    el(
      "ul",
      { class: "node-children" },
      confusions.slice(0, MOST).map((one) => {
        const [label, node] = of(one);
        return el(
          "li",
          {},
          node === null
            ? bdiName(label ?? "no wrong label")
            : el(
                "button",
                { type: "button", class: "linklike", onclick: () => onchoose(node) },
                bdiName(label ?? `node ${node}`),
              ),
          el(
            "span",
            { class: "quiet" },
            ` ${count(one.count)} ${one.count === 1 ? "time" : "times"}`,
          ),
        );
      }),
      others.length > 0 && el("li", { class: "quiet" }, `and ${plural(others.length, "other")}`),
    ),
  );
}
