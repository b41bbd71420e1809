// The changes of an edition: who made them, when, and whether they hold.

import { editions } from "../../net/editions.js";
import { aborted, problemOf } from "../../net/problem.js";
import { button } from "../../ui/controls.js";
import { dialog } from "../../ui/dialogs.js";
import { bdi, el, replace } from "../../ui/dom.js";
import { moment } from "../../ui/format.js";
import { problemBox } from "../../ui/notices.js";
import { changeText, labelOf } from "./edition_words.js";

/** @import { Edition, EditionChange } from "../../net/answers.js" */

/**
 * @param {Edition} edition
 * @param {AbortSignal} signal
 */
export function historyDialog(edition, signal) {
  const list = el("ol", { class: "edition-history" });
  const foot = el("div", { class: "row" });
  /** @param {string | null} cursor */
  const load = async (cursor) => {
    try {
      const page = await editions.history(edition.id, cursor, signal);
      list.append(...page.items.map(item));
      const { next_cursor: next } = page;
      replace(foot, next && button("Earlier ones", { kind: "small", onclick: () => load(next) }));
    } catch (error) {
      if (!aborted(error)) {
        replace(foot, problemBox(problemOf(error), { level: "h3", retry: () => load(cursor) }));
      }
    }
  };
  load(null);
  dialog({
    title: "History",
    body: [el("p", {}, bdi(labelOf(edition))), list, foot],
    actions: [{ label: "Close" }],
  });
}

/** @param {EditionChange} change */
const item = (change) => {
  const isUndone = change.kind === "edit" && !change.holds;
  return el(
    "li",
    {},
    bdi(changeText(change)),
    isUndone && el("span", { class: "quiet" }, " · undone"),
    el("p", { class: "quiet" }, `${moment(change.at)}${change.by ? ` · ${change.by}` : ""}`),
  );
};
