// The key of a service with keys: requested when needed, kept while the tab is open. Where people
// sign in, the way there.

import { url } from "../net/connection.js";
import { get, raw } from "../net/requests.js";
import { key, signedIn } from "../net/session.js";
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
      signInLink(),
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

/** The link to the issuer where people sign in; hidden where none do. */
function signInLink() {
  const place = el("p", { hidden: true });
  get("sign-in/session", { quiet: true }).then(
    (/** @type {{ available: boolean }} */ session) => {
      if (!session.available) return;
      place.append("Or ", el("a", { href: url("sign-in").pathname }, "sign in"), " as yourself.");
      place.hidden = false;
    },
    () => {}, // Then a key is the way.
  );
  return place;
}

async function signOut() {
  try {
    const response = await raw("sign-out", { method: "POST", quiet: true });
    if (response.status === 204) location.reload();
    // The issuer ends its session, too, and sends the browser back.
    else location.assign((await response.json()).address);
  } catch (error) {
    toast(error instanceof Error ? error.message : String(error));
  }
}

/** The buttons that forget the key and sign out; nothing while there is neither. */
export function keyTools() {
  const place = el("span", { class: "key-tools" });
  const draw = () =>
    replace(
      place,
      signedIn() && button("Sign out", { kind: "ghost", iconName: "key", onclick: signOut }),
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
