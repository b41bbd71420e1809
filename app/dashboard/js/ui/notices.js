// Notices: problems, warnings, waiting.

import { button } from "./controls.js";
import { placeOf } from "../net/problem.js";
import { bdi, el } from "./dom.js";
import { STEPS } from "./step_titles.js";

/** @import { ProblemDetails } from "../net/problem.js" */

/**
 * A problem in the service's own words. `retry` adds a button that tries again.
 *
 * @param {ProblemDetails} problem a Problem, or the body of one
 * @param {{ retry?: () => unknown, level?: "h1" | "h2" | "h3" | "h4" }} [options]
 */
export function problemBox(problem, { retry, level = "h2" } = {}) {
  const requestId = problem.requestId ?? problem.request_id;
  const details = (problem.errors ?? []).filter(
    (error) => error.detail && error.detail !== problem.detail,
  );
  return el(
    "section",
    { class: `notice ${problem.away ? "calm" : "bad"}`, role: "alert" },
    el(level, { class: "notice-title" }, bdi(problem.title ?? "Something went wrong")),
    problem.detail && el("p", {}, bdi(plainText(problem.detail))),
    details.length > 0 &&
      el(
        "ul",
        {},
        details.map((error) =>
          el("li", {}, el("code", {}, placeOf(error).join(".")), " ", bdi(plainText(error.detail))),
        ),
      ),
    requestId && el("p", { class: "quiet" }, "Request ", el("code", {}, requestId)),
    retry && button("Try again", { onclick: () => retry() }),
  );
}

/**
 * The service's warnings; false if there are none.
 *
 * @param {readonly string[]} texts
 */
export const warningBox = (texts) =>
  texts.length > 0 &&
  el(
    "section",
    { class: "notice warn", "aria-label": "Warnings" },
    el("h3", { class: "notice-title" }, warningCount(texts)),
    el(
      "ul",
      {},
      texts.map((text) => el("li", {}, bdi(plainText(text)))),
    ),
  );

/** Names of parameters and fields of answers in brackets, which say nothing to a reader of the page. */
const CODE_ASIDE = / \(`[^`()]+`(?:(?:, | and )`[^`()]+`)*\)/g;
/** What to send instead, by parameters of requests. */
const BY_REQUEST = /(?:^| )[^.?]*\?(?:columns|id_column|label_column|text_column)=.*$/;
/** A step that prepares features, as requests have it. */
const STEP = /`preprocess: \[\{"step": ?"(\w+)"\}\]`/g;

/**
 * A text of the service without the names of what its requests and answers have.
 *
 * @param {string} text
 */
export const plainText = (text) =>
  text
    .replace(STEP, (own, step) => (Object.hasOwn(STEPS, step) ? `the step “${STEPS[step]}”` : own))
    .replace(BY_REQUEST, "")
    .replace(CODE_ASIDE, "") || text;

/**
 * "1 warning", "3 warnings".
 *
 * @param {readonly string[]} texts
 */
export const warningCount = (texts) =>
  texts.length === 1 ? "1 warning" : `${texts.length} warnings`;

/** A waiting indicator; read out politely. */
export const waiting = (text = "Loading…") =>
  el(
    "p",
    { class: "waiting", role: "status" },
    el("span", { class: "spinner", "aria-hidden": "true" }),
    text,
  );
