// The key of a service that has some: asked for when it is needed, kept for the session only.

import { key } from "../net/requests.js";
import { button, dialog, el, field, replace, said, toast } from "./dom.js";

/** Ask the user for a key; the key, or null. */
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
  if (key.get()) row.wrong(problem.detail);
  const asked = dialog({
    title: "This service asks for a key",
    body: [
      el("p", {}, said(problem.detail || "Give a key of this service to go on.")),
      el(
        "p",
        { class: "quiet" },
        "Keys are made by who runs it: ",
        el("code", {}, "umbel keys new TENANT"),
      ),
      row,
    ],
    actions: [{ label: "Go on", kind: "primary", submit: true }],
    onsubmit: (close) => {
      const given = input.value.trim();
      if (!given) {
        row.wrong("Give a key.");
        input.focus();
        return false;
      }
      close(given);
      return false;
    },
  });
  asked.element.dataset.stays = "";
  input.focus();
  return (await asked.closed) ?? null;
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
