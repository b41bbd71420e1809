// The dialog of "Copy as code".

import { curl, python, story } from "../net/recipe.js";
import { key, log } from "../net/requests.js";
import { button, copy, dialog, el, replace, tabs } from "./dom.js";

let since = 0;

/** A page has been opened: what it asks from now on is its own. */
export function newPage() {
  since = Date.now();
}

export function showRecipe() {
  const steps = story(log, location.hash, since);
  const base = new URL(".", document.baseURI).href;
  const keyed = Boolean(key.get());
  const panel = (write, hint) => () => {
    const text = write(steps, { base, keyed });
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
  };
  dialog({
    title: "What this page did, as code",
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
            { label: "curl", body: panel(curl, "Needs curl and jq.") },
            { label: "Python", body: panel(python, "Needs httpx.") },
          ]),
        ]
      : el(
          "p",
          {},
          "This page has not asked the service for anything yet. Upload a file or run a method first.",
        ),
  });
}
