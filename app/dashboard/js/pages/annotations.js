// What a user says of a dataset, job or tree: its name, notes and tags, shown and changed.

import { problemOf } from "../net/problem.js";
import { send } from "../net/requests.js";
import { button, field } from "../ui/controls.js";
import { dialog, toast } from "../ui/dialogs.js";
import { bdi, el, replace } from "../ui/dom.js";
import { problemBox } from "../ui/notices.js";

/** @typedef {{ id: string, name: string | null, description: string | null, tags: string[] }} Annotated */

/**
 * The tags of a row as buttons that look for more of the same; null for none.
 *
 * @param {string[]} tags
 * @param {(tag: string) => unknown} onchoose
 */
export const tagButtons = (tags, onchoose) =>
  tags.length > 0 &&
  el(
    "span",
    { class: "tags" },
    tags.map((tag) =>
      el(
        "button",
        { type: "button", class: "tag", title: `All with the tag ${tag}`, onclick: () => onchoose(tag) }, // prettier-ignore
        bdi(tag),
      ),
    ),
  );

/**
 * A button that opens a form for name, notes and tags.
 *
 * @param {Annotated} thing
 * @param {{ path: string, label?: string, onchanged: () => unknown }} options `path`: of the thing;
 *   `label`: null text for a button with a picture alone
 */
export const annotationButton = (thing, { path, label = "", onchanged }) =>
  button(label, {
    kind: label ? "" : "ghost small icon-only",
    iconName: "edit",
    "aria-label": label ? undefined : `Name and tags of ${thing.name ?? thing.id}`,
    onclick: () => openForm(thing, path, onchanged),
  });

/**
 * @param {Annotated} thing
 * @param {string} path
 * @param {() => unknown} onchanged
 */
function openForm(thing, path, onchanged) {
  const name = el("input", { type: "text", value: thing.name ?? "", maxlength: 1000 });
  const notes = el("textarea", { rows: 4, maxlength: 10_000 }, thing.description ?? "");
  const tags = el("input", { type: "text", value: thing.tags.join(", "), autocomplete: "off" });
  const trouble = el("div");
  dialog({
    title: "Name, notes and tags",
    body: el(
      "div",
      { class: "stack" },
      field("Name", name),
      field("Notes", notes),
      field("Tags", tags, { help: "Separated by commas." }),
      trouble,
    ),
    actions: [
      { label: "Cancel", onclick: (close) => (close(), false) },
      { label: "Save", kind: "primary", submit: true },
    ],
    onsubmit: async () => {
      const body = {
        name: name.value.trim() || null,
        description: notes.value.trim() || null,
        tags: tagsIn(tags.value),
      };
      try {
        await send("PATCH", path, body);
      } catch (error) {
        replace(trouble, problemBox(problemOf(error), { level: "h3" }));
        return false;
      }
      toast("Saved.", { kind: "good" });
      onchanged();
      return true;
    },
  });
}

/**
 * The tags in a line of text, each once.
 *
 * @param {string} text
 */
export const tagsIn = (text) => [
  ...new Set(
    text
      .split(",")
      .map((tag) => tag.trim())
      .filter(Boolean),
  ),
];
