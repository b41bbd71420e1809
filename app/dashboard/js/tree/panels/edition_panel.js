// Work kept: which edition of the tree is shown, and the changes of its nodes, each saved at once.

import { editions } from "../../net/editions.js";
import { aborted, hasStatus, isAway, messageOf } from "../../net/problem.js";
import { button, field, optionElements } from "../../ui/controls.js";
import { confirm, dialog, toast, toastError } from "../../ui/dialogs.js";
import { bdi, el, replace, unique } from "../../ui/dom.js";
import { distinct, moment } from "../../ui/format.js";
import { menu } from "../../ui/menus.js";
import { labelOf } from "./edition_words.js";
import { editionNode } from "./edition_node.js";
import { historyDialog } from "./history_dialog.js";
import { shareDialog } from "./share_dialog.js";

/** @import { Edition, EditionOperation } from "../../net/answers.js" */
/** @import { Held } from "../../net/editions.js" */
/** @import { TreeView } from "../draw/view.js" */

/** @typedef {EditionOperation | { op: "undo" } | { op: "redo" }} Step */
/** @typedef {"saved" | "saving" | "conflict" | "failed"} State */

const NEW = "new";
/** @type {Record<State, string>} */
const STATES = {
  saved: "Saved",
  saving: "Saving…",
  conflict: "Changed by somebody else: the current state is shown; your last change was not saved",
  failed: "Your last change was not saved",
};

/**
 * The panel; `start` offers the editions there are, `choose` shows one, or null for the tree itself.
 *
 * @param {TreeView} view
 */
export function editionPanel(view) {
  const { source, look, signal } = view;
  const title = unique("edition");
  /** @type {Edition[]} */
  let known = [];
  /** @type {Held | null} */
  let held = null;
  /** Changes are sent, and editions opened, one after the other: none replaces what a later one holds. */
  let sending = Promise.resolve();

  const list = el("select");
  const state = el("p", { class: "edition-state quiet", role: "status" });
  const undo = button("Undo", { kind: "small", onclick: () => change([{ op: "undo" }]) });
  const redo = button("Redo", { kind: "small", onclick: () => change([{ op: "redo" }]) });
  const node = editionNode(view, { change: (operations) => change(operations) });
  const more = menu(
    "Edition",
    () => [
      { label: "Name…", onselect: rename },
      { label: "History", onselect: () => held && historyDialog(held.edition, signal) },
      { label: "Copy", onselect: copy },
      { label: "Remove…", danger: true, onselect: remove },
    ],
    { kind: "small" },
  );
  const share = button("Share…", {
    kind: "small",
    onclick: () => shareDialog(view),
  });
  const tools = el("div", { class: "row" }, undo, redo, more, share);
  const element = el(
    "section",
    { class: "card tree-panel edition", "aria-labelledby": title },
    el("h2", { id: title }, "Edit and share"),
    el("label", { class: "tree-inline" }, el("span", {}, "Edition"), list),
    tools,
    state,
    node,
  );

  /** @param {State | null} next */
  const show = (next) => {
    element.dataset.state = next ?? "";
    replace(state, next && STATES[next]);
  };
  const draw = () => {
    const options = distinct(
      known.map((edition) => ({
        value: edition.id,
        label: labelOf(edition),
        detail: moment(edition.created_at),
      })),
    );
    replace(
      list,
      optionElements(
        [["", "None: the original tree"], ...options, [NEW, "New edition…"]],
        look.edition,
      ),
    );
    const { edition } = held ?? {};
    undo.disabled = !edition?.undo;
    redo.disabled = !edition?.redo;
    for (const control of [undo, redo, more]) control.hidden = !edition;
  };

  /**
   * Show an edition, null for the tree itself, after the changes before.
   *
   * @param {string | null} id
   */
  const choose = (id) => {
    sending = sending.then(() => open(id));
    return sending;
  };

  /** @param {string | null} id */
  const open = async (id) => {
    try {
      const next = id === null ? null : await editions.read(id, signal);
      if (next && !known.some((each) => each.id === id)) known = [next.edition, ...known];
      if (id !== look.edition || next?.edition.revision !== held?.edition.revision) {
        await view.setEdition(id);
      }
      held = next;
      show(next && "saved");
    } catch (error) {
      if (!aborted(error) && !isAway(error)) toastError(error);
    }
    draw();
  };

  /**
   * Save changes, after those before; what is shown follows.
   *
   * @param {Step[]} operations
   * @returns {Promise<number[] | null>} the new nodes; null where it was not saved
   */
  const change = (operations) => {
    const saved = sending.then(() => save(operations));
    sending = saved.then(() => {});
    return saved;
  };

  /** @param {Step[]} operations */
  const save = async (operations) => {
    show("saving");
    try {
      const own = held ?? (await first());
      const { edition, etag } = await editions.change(own, operations);
      take({ edition, etag });
      await view.setEdition(edition.id);
      show("saved");
      edition.warnings.forEach((sentence) => toast(sentence));
      return edition.new_nodes;
    } catch (error) {
      if (aborted(error) || signal.aborted) return null;
      if (held && hasStatus(error, 412)) {
        await open(held.edition.id);
        show("conflict");
        toast(STATES.conflict, { kind: "bad" });
      } else {
        show("failed");
        if (!isAway(error)) toast(messageOf(error), { kind: "bad" });
      }
      return null;
    } finally {
      draw();
    }
  };

  /** The edition that the first change of the tree itself begins. */
  const first = async () => {
    const edition = await editions.begin(source.tree, { name: null });
    known = [edition, ...known];
    await open(edition.id);
    if (!held) throw new TypeError("The new edition could not be read.");
    return held;
  };

  /** @param {Held} next */
  const take = (next) => {
    held = next;
    known = known.map((each) => (each.id === next.edition.id ? next.edition : each));
  };

  /**
   * Ask for a name; resolves to null where there is none to be given.
   *
   * @param {{ title: string, name: string, action: string, onname: (name: string) => Promise<unknown> }} options
   */
  const askName = ({ title: heading, name, action, onname }) => {
    const input = el("input", { type: "text", maxlength: 1000, value: name, autocomplete: "off" });
    const row = field("Name", input, { hint: "may be empty" });
    dialog({
      title: heading,
      body: row,
      actions: [{ label: "Cancel" }, { label: action, kind: "primary", submit: true }],
      onsubmit: async () => {
        try {
          await onname(input.value.trim());
          return true;
        } catch (error) {
          row.setError(messageOf(error));
          return false;
        }
      },
    });
  };
  const begin = () =>
    askName({
      title: "New edition",
      name: "",
      action: "Begin",
      onname: async (name) => {
        const edition = await editions.begin(source.tree, { name: name || null });
        known = [edition, ...known];
        await choose(edition.id);
      },
    });
  const rename = () => {
    if (!held) return;
    const { edition } = held;
    askName({
      title: "Name of the edition",
      name: edition.name ?? "",
      action: "Save",
      onname: async (name) => {
        take(await editions.rename(edition.id, name));
        draw();
      },
    });
  };
  const copy = async () => {
    if (!held) return;
    const { id, name } = held.edition;
    try {
      const edition = await editions.begin(source.tree, { from: id, name: `${name ?? ""} copy`.trim() }); // prettier-ignore
      known = [edition, ...known];
      await choose(edition.id);
    } catch (error) {
      toastError(error);
    }
  };
  const remove = async () => {
    if (!held) return;
    const { edition } = held;
    const sure = await confirm({
      title: "Remove this edition?",
      text: ["The edition ", bdi(labelOf(edition)), " goes with its history; the tree stays."],
      yes: "Remove",
      danger: true,
    });
    if (!sure) return;
    try {
      await editions.remove(edition.id);
      known = known.filter(({ id }) => id !== edition.id);
      await choose(null);
    } catch (error) {
      toastError(error);
    }
  };

  list.addEventListener("change", () => {
    const { value } = list;
    draw();
    if (value === NEW) begin();
    else choose(value || null);
  });
  addEventListener(
    "keydown",
    (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || event.key.toLowerCase() !== "z") {
        return;
      }
      const { target } = event;
      const isText = target instanceof Element && target.closest("input, textarea, dialog");
      const step = event.shiftKey ? redo : undo;
      if (isText || step.hidden || step.disabled) return;
      event.preventDefault();
      step.click();
    },
    { signal },
  );
  const start = async () => {
    known = (await editions.of(source.tree, signal)).items;
    if (look.edition) await choose(look.edition);
    draw();
  };
  draw();
  return Object.assign(element, { start, choose, nameNode: node.nameNode });
}
