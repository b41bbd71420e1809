// Links that show the tree to people without a key: made, listed, revoked.

import { url } from "../../net/connection.js";
import { shares } from "../../net/editions.js";
import { aborted, messageOf, problemOf } from "../../net/problem.js";
import { button, field, select } from "../../ui/controls.js";
import { copy, dialog, toast, toastError } from "../../ui/dialogs.js";
import { bdi, el, focusFirst, replace } from "../../ui/dom.js";
import { moment } from "../../ui/format.js";
import { problemBox } from "../../ui/notices.js";
import { embedText, expiryOf, shownText, viewOf } from "../model/share.js";

/** @import { Share } from "../../net/answers.js" */
/** @import { TreeView } from "../draw/view.js" */

/** @param {TreeView} view */
export function shareDialog(view) {
  const { source, look, signal } = view;
  const name = el("input", { type: "text", maxlength: 1000, autocomplete: "off" });
  const days = select(
    [
      [1, "in a day"],
      [7, "in a week"],
      [30, "in 30 days"],
      [365, "in a year"],
    ],
    { value: 7 },
  );
  const rows = el("input", { type: "checkbox" });
  const embed = el("input", { type: "checkbox" });
  const map = el("input", { type: "checkbox", checked: true });
  const nameRow = field("For", name, { hint: "whom it is for; only you see it" });
  const heading = el("input", {
    type: "text",
    maxlength: 1000,
    autocomplete: "off",
    value: view.title,
  });
  const note = el("textarea", { rows: 2, maxlength: 10_000 });
  const newLink = el("div", { class: "stack tight", role: "status" });
  const list = el("ul", { class: "share-list" });

  const load = async () => {
    try {
      const { items } = await shares.of(source.tree, signal);
      replace(list, items.length ? items.map(item) : el("li", { class: "quiet" }, "None so far."));
    } catch (error) {
      if (!aborted(error)) {
        replace(list, el("li", {}, problemBox(problemOf(error), { level: "h4", retry: load })));
      }
    }
  };
  /** @param {Share} share */
  const item = (share) => {
    const label = share.name || "A link";
    return el(
      "li",
      { class: "row apart" },
      el(
        "div",
        {},
        bdi(label),
        el("p", { class: "quiet" }, `${shownText(share)} · ends ${moment(share.expires_at)}`),
      ),
      button("Revoke", {
        kind: "small danger",
        "aria-label": `Revoke “${label}”`,
        onclick: async () => {
          try {
            await shares.revoke(share.id);
            toast("The link opens nothing any more.", { kind: "good" });
            await load();
            focusFirst(element, "h3");
          } catch (error) {
            if (!aborted(error)) toastError(error);
          }
        },
      }),
    );
  };
  const make = async () => {
    try {
      const share = await shares.make(source.tree, {
        name: name.value.trim() || null,
        title: heading.value.trim() || null,
        note: note.value.trim() || null,
        view: viewOf(look),
        edition: look.edition,
        names: look.names,
        map: map.checked ? view.map : null,
        rows: rows.checked,
        embed: embed.checked,
        expires_at: expiryOf(Number(days.value), Date.now()),
      });
      const address = url(share.page).href;
      replace(
        newLink,
        el("p", {}, "This is the only time that the link is shown:"),
        copied("Link", address),
        share.embed && copied("To embed it", embedText(address)),
      );
      nameRow.setError(null);
      focusFirst(newLink, "input");
      await load();
    } catch (error) {
      if (!aborted(error)) nameRow.setError(messageOf(error));
    }
  };
  const body = el(
    "div",
    { class: "stack" },
    el(
      "p",
      { class: "quiet" },
      look.edition
        ? "Whoever has the link sees the current state of this edition, and nothing else."
        : "Whoever has the link sees this tree, and nothing else.",
    ),
    el("p", { class: "quiet" }, "It opens where you are now: this part, cut and node."),
    field("Title", heading, { hint: "the heading of the page" }),
    field("Note", note, { hint: "optional; all who open the link read it" }),
    nameRow,
    field("Ends", days),
    view.map && el("label", { class: "check" }, map, "With the map beside the tree"),
    el("label", { class: "check" }, rows, "With the points under each node"),
    el("label", { class: "check" }, embed, "May be shown within another page"),
    newLink,
    el("h3", { tabindex: "-1" }, "Links to this tree"),
    list,
  );
  const { element } = dialog({
    title: "Share",
    body,
    actions: [{ label: "Close" }, { label: "Make a link", kind: "primary", submit: true }],
    onsubmit: async () => {
      await make();
      return false;
    },
  });
  // From here Enter makes the link.
  heading.focus();
  load();
}

/**
 * Text in a field, with a button that copies it.
 *
 * @param {string} label
 * @param {string} text
 */
function copied(label, text) {
  const input = el("input", { type: "text", class: "code", readonly: true, value: text });
  input.addEventListener("focus", () => input.select());
  return el(
    "div",
    { class: "row share-made" },
    field(label, input),
    button("Copy", {
      kind: "small",
      "aria-label": `Copy: ${label}`,
      onclick: async () => (await copy(text)) && toast("Copied.", { kind: "good" }),
    }),
  );
}
