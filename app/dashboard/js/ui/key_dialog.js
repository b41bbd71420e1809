// The key of a service with keys: requested when needed, kept while the tab is open.

import { key } from "../net/session.js";
import { button, field } from "./controls.js";
import { dialog, toast } from "./dialogs.js";
import { el, replace } from "./dom.js";

/** @import { Problem } from "../net/problem.js" */

/**
 * Ask the user for a key; the key, or null.
 *
 * @param {Problem} problem why one is needed
 */
export async function askForKey(problem) {
  const input = el("input", {
    type: "password",
    autocomplete: "off",
    spellcheck: "false",
    required: true,
    name: "umbel-key",
  });
  const row = field("Key", input, {
    help: "Kept in this tab until it is closed, and sent to this service only.",
  });
  if (key.get()) row.setError(problem.detail);
  const { element, closed } = dialog({
    title: "This service needs a key",
    body: [
      el(
        "p",
        {},
        "Whoever runs it creates keys, with ",
        el("code", {}, "umbel keys new TENANT"),
        ".",
      ),
      row,
    ],
    actions: [{ label: "Continue", kind: "primary", submit: true }],
    onsubmit: (close) => {
      const entered = input.value.trim();
      if (entered) close(entered);
      else {
        row.setError("Enter a key.");
        input.focus();
      }
      return false;
    },
  });
  element.dataset.stays = "";
  input.focus();
  const entered = await closed;
  return typeof entered === "string" ? entered : null;
}

/** The button that forgets the key; nothing while there is none. */
export function keyTools() {
  const place = el("span", { class: "key-tools" });
  const draw = () =>
    replace(
      place,
      key.get() &&
        button("Forget the key", {
          kind: "ghost",
          iconName: "key",
          onclick: () => {
            key.forget();
            toast("The key is forgotten.");
          },
        }),
    );
  addEventListener("keychange", draw);
  draw();
  return place;
}
