// The answer first: what the service knows of the tree in a few sentences, each leading to what it names.

import { bdi, el, replace, unique } from "../../ui/dom.js";
import {
  apartSentence,
  confusionsSentence,
  groupsSentence,
  trustSentence,
} from "./answer_words.js";
import { readable } from "../../net/names.js";
import { clusterNames, eachIsolated } from "../model/cluster_names.js";
import { cutText } from "../model/cut.js";

/** @import { ConfusedPair, Level } from "../../net/answers.js" */
/** @import { Part } from "./answer_words.js" */
/** @import { TreeView } from "../draw/view.js" */

/**
 * @typedef {{
 *   level?: Level | null,
 *   pairs?: ConfusedPair[],
 *   promise?: string | null,
 *   isCalibrated?: boolean,
 *   drift?: string | null,
 *   moved?: string | null,
 * }} Known what the panels have found so far; `level`: null where none stands out; `isCalibrated`: whether the
 *   tree can be
 */

/**
 * The panel; `tell` it what becomes known. Hidden while it has nothing to say.
 *
 * @param {TreeView} view
 * @param {{
 *   onchoose: (node: number) => unknown,
 *   oncut: (k: number) => unknown,
 *   onpanel: (name: string) => unknown,
 * }} handlers
 */
export function answerPanel(view, { onchoose, oncut, onpanel }) {
  const title = unique("answer");
  const list = el("ul", { class: "answer-list" });
  const element = el(
    "section",
    { class: "card tree-panel tree-answer", "aria-labelledby": title, hidden: true },
    el("h2", { id: title }, "What it shows"),
    list,
  );
  /** @type {Known} */
  const known = {};
  /** What the sentences were made of last. */
  let drawn = "";

  /** @param {Part} part */
  const partOf = (part) => {
    if (typeof part === "string") return part;
    const { text, node, k, panel } = part;
    const onclick = () => {
      if (node !== undefined) onchoose(node);
      if (k !== undefined) oncut(k);
      if (panel) onpanel(panel);
    };
    const shown = bdi(eachIsolated(readable(text)));
    return el("button", { type: "button", class: "linklike", onclick }, shown);
  };
  const draw = () => {
    const { cut, store, support } = view;
    const names = cut ? clusterNames(cut, store) : new Map();
    const { level, pairs, promise, isCalibrated, drift, moved } = known;
    /** @type {(Part[] | null)[]} */
    const sentences = [
      level === undefined ? null : groupsSentence(level, cut, names),
      store.isDescribed
        ? ["Clusters are called by the features in which they differ most from their siblings."]
        : null,
      pairs ? confusionsSentence(pairs) : null,
      apartSentence(store),
      trustSentence(support, promise ?? null, isCalibrated ?? false),
      drift ? [`${drift} `, { text: "Drift", panel: "drift" }] : null,
      moved
        ? [`${moved} since the earlier tree: `, { text: "what moved", panel: "moved" }, "."]
        : null,
    ];
    const sayings = sentences.filter((sentence) => sentence !== null);
    const text = JSON.stringify(sayings);
    if (text === drawn) return;
    drawn = text;
    replace(list, ...sayings.map((sentence) => el("li", {}, sentence.map(partOf))));
    element.hidden = !sayings.length;
  };
  /** @param {Known} more */
  const tell = (more) => {
    Object.assign(known, more);
    draw();
  };
  let shown = "";
  // Zooming draws too.
  view.on("drawn", () => {
    const now = `${cutText(view.cut?.cut ?? null)} ${view.store.n}`;
    if (now === shown) return;
    shown = now;
    draw();
  });
  view.on("named", draw);
  return Object.assign(element, { tell });
}
