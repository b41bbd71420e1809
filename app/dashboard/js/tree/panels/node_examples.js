// The items under a node: the most central, the least sure, or some at random.

import { aborted, problemOf } from "../../net/problem.js";
import { button, select } from "../../ui/controls.js";
import { bdi, el, replace } from "../../ui/dom.js";
import { count, number, plural } from "../../ui/format.js";
import { problemBox, waiting } from "../../ui/notices.js";
import { briefly } from "../draw/item_words.js";
import { itemFacts, itemImage } from "./item_values.js";

/** @import { ItemDetails, ItemExamples, NodeDetails } from "../../net/answers.js" */
/** @import { Option } from "../../ui/controls.js" */
/** @import { TreeView } from "../draw/view.js" */

const N = 12;
/** @type {Option[]} */
const ORDERS = [
  ["central", "Most central"],
  ["unsure", "Least sure"],
  ["random", "Random"],
];
/** What the user has chosen; the next node is shown likewise. */
let chosen = "central";

/**
 * The section; false where nothing is attached. What it has requested ends with `signal`.
 *
 * @param {TreeView} view
 * @param {NodeDetails} node
 * @param {AbortSignal} signal
 */
export function nodeExamples(view, node, signal) {
  const { items } = view;
  if (!items || !node.size) return false;
  const isRanked = Boolean(items.attachment.result?.basis);
  const orders = isRanked ? ORDERS : ORDERS.slice(-1);
  let seed = 0;
  const place = el("div", { class: "stack tight", "aria-live": "polite" });
  const by = select(orders, {
    value: chosen,
    "aria-label": "Order of the examples",
    onchange: () => {
      chosen = by.value;
      seed = 0;
      load();
    },
  });
  const load = async () => {
    replace(place, waiting());
    const wanted = by.value;
    try {
      const options = { by: wanted, n: N, seed, signal };
      const found = await items.source.examples(node.id, options);
      if (wanted === by.value) replace(place, shown(found));
    } catch (error) {
      if (aborted(error)) return;
      replace(place, problemBox(problemOf(error), { level: "h4", retry: load }));
    }
  };
  /** @param {ItemExamples} found */
  const shown = (found) => [
    el("p", { class: "quiet" }, orderText(found)),
    el(
      "ul",
      { class: items.columns.some(({ kind }) => kind === "image") ? "items is-tiled" : "items" },
      found.items.map((item) => tile(item)),
    ),
    found.by === "random" &&
      found.n_items > found.items.length &&
      button("Others", {
        kind: "small",
        onclick: () => {
          seed += 1;
          load();
        },
      }),
  ];
  /** @param {ItemDetails & { score: number | null }} item */
  const tile = (item) => {
    const [first] = briefly(items.columns, item.values, 1);
    return el(
      "li",
      {},
      itemImage(items.columns, item, signal),
      el(
        "details",
        {},
        el("summary", {}, bdi(first?.[1] ?? `Item ${count(item.item)}`)),
        itemFacts(items.columns, item),
        el("p", { class: "quiet" }, detailText(item)),
      ),
    );
  };
  load();
  return el(
    "section",
    { class: "stack tight node-examples" },
    el("div", { class: "row apart" }, el("h3", {}, "Examples"), by),
    !isRanked && el("p", { class: "quiet" }, UNRANKED),
    place,
  );
}

const UNRANKED =
  "In no order: the features or logits of the fit were not there when the items were attached.";

/** @param {ItemDetails & { score: number | null }} item */
const detailText = ({ item, score }) =>
  `Item ${count(item)}${score === null ? "" : `, ${number(score)}`}`;

/** @param {ItemExamples} examples */
function orderText({ by, basis, n_items: all, n_compared: compared, items }) {
  const of = `${count(items.length)} of ${plural(all, "item")}`;
  const among = compared < all ? `, among ${count(compared)} of them` : "";
  if (by === "random") return `${of}, drawn at random.`;
  if (basis === "logits") {
    const margin = by === "central" ? "largest" : "smallest";
    return `${of}, with the ${margin} margin between the best class and the second${among}.`;
  }
  const where = by === "central" ? "nearest to" : "farthest from";
  return `${of}, ${where} their mean in the features of the fit${among}.`;
}
