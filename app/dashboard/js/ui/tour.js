// A short tour of a page: a few steps, each beside what it speaks of. Once dismissed, it never returns.

import { button } from "./controls.js";
import { el, replace, unique } from "./dom.js";

/** @typedef {{ at: HTMLElement, title: string, text: string }} Step */

const STORED = "umbel.tour";
const DONE = "done";

function isDone() {
  try {
    return localStorage.getItem(STORED) === DONE;
  } catch {
    return false;
  }
}

/**
 * Begin a tour unless one was dismissed before.
 *
 * @param {Step[]} steps
 * @param {AbortSignal} signal aborted when the page is left
 */
export function tour(steps, signal) {
  if (isDone()) return;
  const before = document.activeElement;
  const title = unique("tour");
  const heading = el("h2", { id: title, tabindex: "-1" });
  const text = el("p", {});
  const place = el("p", { class: "quiet" });
  const next = button("Next", { kind: "primary small", onclick: () => show(at + 1) });
  const back = button("Back", { kind: "small", onclick: () => show(at - 1) });
  const card = el(
    "section",
    { class: "tour", role: "dialog", "aria-labelledby": title },
    heading,
    text,
    el(
      "div",
      { class: "row apart" },
      place,
      el(
        "div",
        { class: "row" },
        button("Dismiss", { kind: "ghost small", onclick: () => end() }),
        back,
        next,
      ),
    ),
  );
  let at = 0;
  /** @param {number} step */
  const show = (step) => {
    steps[at]?.at.classList.remove("is-toured");
    if (step >= steps.length) {
      end();
      return;
    }
    at = step;
    const { at: element, title: name, text: says } = steps[at];
    replace(heading, name);
    replace(text, says);
    replace(place, `${at + 1} of ${steps.length}`);
    replace(next, at === steps.length - 1 ? "Done" : "Next");
    back.disabled = at === 0;
    element.classList.add("is-toured");
    element.scrollIntoView({ block: "center" });
    heading.focus({ preventScroll: true });
  };
  const leave = () => {
    steps[at]?.at.classList.remove("is-toured");
    card.remove();
  };
  const end = () => {
    leave();
    try {
      localStorage.setItem(STORED, DONE);
    } catch {
      // Then it returns at the next visit.
    }
    if (before instanceof HTMLElement && before.isConnected) before.focus();
  };
  card.addEventListener("keydown", (event) => event.key === "Escape" && end());
  signal.addEventListener("abort", leave);
  document.body.append(card);
  show(0);
}
