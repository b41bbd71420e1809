// A form that is loaded when it is first unfolded, and folds again once it has made something.
// `openOnce` unfolds it without a click, the first time alone: who folds it keeps it folded.

import { aborted, problemOf } from "../../net/problem.js";
import { el, replace } from "../../ui/dom.js";
import { problemBox, waiting } from "../../ui/notices.js";

/** @typedef {HTMLDetailsElement & { openOnce: () => void }} FoldedForm */

/**
 * @template Result
 * @param {string} summary
 * @param {(done: (result: Result) => unknown) => Promise<HTMLElement>} form
 * @param {(result: Result) => unknown} ondone
 * @returns {FoldedForm}
 */
export function foldedForm(summary, form, ondone) {
  const place = el("div");
  const element = el(
    "details",
    { class: "more", ontoggle: () => fill() },
    el("summary", {}, summary),
    place,
  );
  /** @param {Result} result */
  const done = (result) => {
    // The button that made it is folded away; who has gone on to something else stays there.
    const at = document.activeElement;
    const isHere = !at || at === document.body || element.contains(at);
    element.open = false;
    ondone(result);
    if (isHere) element.querySelector("summary")?.focus({ preventScroll: true });
  };
  const fill = async () => {
    if (!element.open || place.childElementCount) return;
    replace(place, waiting());
    try {
      replace(place, await form(done));
    } catch (error) {
      if (aborted(error)) return;
      const retry = () => (replace(place), fill());
      replace(place, problemBox(problemOf(error), { level: "h3", retry }));
    }
  };
  let isOpened = false;
  const openOnce = () => {
    if (isOpened) return;
    isOpened = true;
    element.open = true;
  };
  return Object.assign(element, { openOnce });
}
