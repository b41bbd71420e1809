// The dialog of "Copy as code".

import { log } from "../net/log.js";
import { callsBehind, curl, python } from "../net/recipe.js";
import { key } from "../net/session.js";
import { button } from "./controls.js";
import { copy, dialog } from "./dialogs.js";
import { el, replace } from "./dom.js";
import { tabs } from "./menus.js";

let since = 0;

/** Begin a page: the requests from now on are its own. */
export function newPage() {
  since = Date.now();
}

/** Show the requests of the page that is open. */
export function showRecipe() {
  const steps = callsBehind(log, location.hash, since);
  const base = new URL(".", document.baseURI).href;
  const keyed = Boolean(key.get());
  dialog({
    title: "The requests of this page, as code",
    wide: true,
    body: steps.length
      ? [
          keyed &&
            el(
              "p",
              { class: "quiet" },
              "The key is read from ",
              el("code", {}, "$UMBEL_API_KEY"),
              "; it is not in the text.",
            ),
          tabs("Language", [
            {
              label: "curl",
              body: () => listing(curl(steps, { base, keyed }), "Needs curl and jq."),
            },
            {
              label: "Python",
              body: () => listing(python(steps, { base, keyed }), "Needs httpx."),
            },
          ]),
        ]
      : el("p", {}, "This page has not sent any request yet. Upload a file or run a method first."),
  });
}

/**
 * @param {string} text
 * @param {string} hint
 */
function listing(text, hint) {
  const done = el("span", { class: "quiet", role: "status" });
  return el(
    "div",
    { class: "stack tight" },
    el("pre", { class: "listing", tabindex: "0" }, text),
    el(
      "div",
      { class: "row" },
      button("Copy", {
        kind: "primary",
        onclick: async () => replace(done, (await copy(text)) ? "Copied." : ""),
      }),
      done,
      el("span", { class: "quiet" }, hint),
    ),
  );
}
