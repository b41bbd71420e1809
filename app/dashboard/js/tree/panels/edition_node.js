// The changes of the selected node: its name, note and colour, its place among its siblings, collapsed,
// merged or dissolved.

import { aborted, hasStatus, messageOf } from "../../net/problem.js";
import { button, field, relabel } from "../../ui/controls.js";
import { bdiName, el, replace } from "../../ui/dom.js";
import { plural } from "../../ui/format.js";
import * as model from "../model/edition.js";

/** @import { EditionOperation, NodeDetails } from "../../net/answers.js" */
/** @import { Selection, TreeView } from "../draw/view.js" */
/** @import { Marks } from "../model/edition.js" */

/** @typedef {(operations: EditionOperation[]) => Promise<number[] | null>} ChangeNodes */

/**
 * @param {TreeView} view
 * @param {{ change: ChangeNodes }} handlers `change` saves operations; it resolves to new nodes
 */
export function editionNode(view, { change }) {
  const { source, look, signal } = view;
  /** @type {NodeDetails | null} */
  let details = null;
  /** @type {number[]} The children of its parent, from left to right. */
  let siblings = [];
  /** @type {{ id: number, parent: number | null, name: string | null }[]} Chosen to be merged. */
  let chosen = [];
  /** What the list of them shows. */
  let listed = chosen;
  /** What the form was filled with. */
  let filled = "";
  /** Whether the field of the name takes the focus once the node is there. */
  let isAwaited = false;

  const name = el("input", { type: "text", maxlength: 1000, autocomplete: "off" });
  const note = el("textarea", { rows: 2, maxlength: 4000 });
  const hasColour = el("input", { type: "checkbox" });
  const colour = el("input", { type: "color", value: model.FIRST_COLOUR, "aria-label": "Colour" });
  const heading = el("h3", { class: "edition-node-name" });
  const nameRow = field("Name", name);
  const form = el(
    "form",
    {
      class: "stack tight",
      onsubmit: (event) => {
        event.preventDefault();
        say();
      },
    },
    nameRow,
    field("Note", note),
    el(
      "div",
      { class: "row" },
      el("label", { class: "check" }, hasColour, "Colour, with what lies below"),
      colour,
    ),
    el("div", { class: "row" }, button("Save", { kind: "small primary", type: "submit" })),
  );
  /** @param {1 | -1} step */
  const mover = (step) =>
    button(step < 0 ? "Move up" : "Move down", {
      kind: "small",
      title: `${step < 0 ? "Before the one before it" : "Behind the next"}, among its siblings`,
      onclick: () => move(step),
    });
  const up = mover(-1);
  const down = mover(1);
  const collapse = button("Collapse", { kind: "small", onclick: () => turn() });
  const dissolve = button("Dissolve", {
    kind: "small",
    title: "Take this node out; what lies under it takes its place",
    onclick: () => details && run([{ op: "dissolve", node: details.id }]),
  });
  const choose = button("Choose to merge", { kind: "small", onclick: () => toggle() });
  const list = el("ul", { class: "chosen-list", "aria-label": "Chosen to merge" });
  const merge = button("Merge", { kind: "small", onclick: () => mergeChosen() });
  const few = el("p", { class: "field-wrong", role: "alert", hidden: true });
  const hint = el(
    "p",
    { class: "quiet" },
    "Select a node to name, colour or move it. The first change begins an edition; the tree itself stays.",
  );
  const body = el(
    "div",
    { class: "stack tight" },
    heading,
    form,
    el("div", { class: "row" }, up, down, collapse, dissolve, choose),
  );
  const merging = el(
    "div",
    { class: "stack tight" },
    list,
    el("div", { class: "row" }, merge),
    few,
  );
  const element = el("div", { class: "stack tight edition-node" }, hint, body, merging);

  const draw = () => {
    hint.hidden = details !== null;
    body.hidden = details === null;
    merging.hidden = chosen.length === 0;
    if (chosen !== listed) {
      listed = chosen;
      replace(
        list,
        chosen.map((each) =>
          el(
            "li",
            {},
            bdiName(each.name || view.calledOf(each.id) || `Node ${each.id}`),
            " ",
            remover(each.id),
          ),
        ),
      );
      few.hidden = true;
    }
    relabel(merge, `Merge ${plural(chosen.length, "node")}`);
    if (!details) return;
    const { id, parent, children, collapsed } = details;
    const marks = model.marksOf(details);
    replace(
      heading,
      bdiName(details.name || (parent === null ? "Root" : view.calledOf(id) || `Node ${id}`)),
    );
    fill(id, marks);
    const at = siblings.indexOf(id);
    up.disabled = at <= 0;
    down.disabled = at < 0 || at === siblings.length - 1;
    const isInner = children.length > 0 && parent !== null;
    collapse.disabled = dissolve.disabled = !isInner;
    relabel(collapse, collapsed ? "Expand" : "Collapse");
    choose.disabled = parent === null;
    choose.setAttribute("aria-pressed", String(chosen.some((each) => each.id === id)));
    if (!isAwaited || id !== look.node) return;
    isAwaited = false;
    name.focus();
    name.select();
  };
  const nameNode = () => {
    isAwaited = true;
    draw();
  };
  /**
   * Show what a node has, unless it is shown already: then the user may have begun to change it.
   *
   * @param {number} id
   * @param {Marks} marks
   */
  const fill = (id, marks) => {
    const next = JSON.stringify([id, marks]);
    if (next === filled) return;
    filled = next;
    name.value = marks.name;
    note.value = marks.note;
    hasColour.checked = marks.colour !== null;
    colour.value = marks.colour ?? colour.value;
  };
  /** @param {number} id */
  const remover = (id) =>
    button("", {
      kind: "ghost icon-only small",
      iconName: "close",
      "aria-label": "Not this one",
      onclick: () => {
        chosen = chosen.filter((each) => each.id !== id);
        draw();
      },
    });

  const show = async () => {
    const wanted = look.node;
    if (wanted === null) {
      details = null;
      draw();
      return;
    }
    try {
      const next = await source.node(wanted, null);
      const around = next.parent === null ? null : await source.node(next.parent, null);
      if (look.node !== wanted || signal.aborted) return;
      details = next;
      siblings = around?.children ?? [];
    } catch (error) {
      if (aborted(error) || look.node !== wanted) return;
      details = null;
      isAwaited = false;
    }
    draw();
  };

  /** @param {EditionOperation[]} operations */
  const run = async (operations) => {
    const changed = await change(operations);
    if (changed) await show();
    return changed;
  };
  const say = async () => {
    if (!details) return;
    const after = {
      name: name.value,
      note: note.value,
      colour: hasColour.checked ? colour.value : null,
    };
    const operations = model.markOperations(details.id, model.marksOf(details), after);
    if (operations.length) await run(operations);
  };
  /** @param {1 | -1} step */
  const move = async (step) => {
    if (!details || details.parent === null) return;
    const operation = model.movedOperation(details.parent, siblings, details.id, step);
    if (operation) await run([operation]);
  };
  const turn = () =>
    details && run([{ op: details.collapsed ? "expand" : "collapse", node: details.id }]);
  const toggle = () => {
    if (!details) return;
    const { id, parent, name: own } = details;
    chosen = chosen.some((each) => each.id === id)
      ? chosen.filter((each) => each.id !== id)
      : [...chosen, { id, parent, name: own }];
    draw();
  };
  const mergeChosen = async () => {
    let known = Infinity;
    try {
      const { parent } = chosen[0];
      if (parent !== null) known = (await source.node(parent, null)).children.length;
    } catch (error) {
      if (!hasStatus(error, 404)) return void refuse(messageOf(error));
    }
    const hindrance = model.hindrance(chosen, known);
    if (hindrance) return void refuse(hindrance);
    const merged = await change([{ op: "merge", nodes: chosen.map(({ id }) => id), name: null }]);
    if (!merged) return undefined;
    chosen = [];
    view.select(merged[0] ?? null);
    return show();
  };
  /** @param {string} text */
  const refuse = (text) => {
    replace(few, text);
    few.hidden = false;
  };

  hasColour.addEventListener("change", () => hasColour.checked && colour.focus());
  colour.addEventListener("input", () => (hasColour.checked = true));
  /** @param {Selection} _ */
  const follow = (_) => show();
  view.on("select", follow);
  view.on("edited", show);
  // The address may name another node.
  view.on("shown", () => look.node !== (details?.id ?? null) && show());
  draw();
  return Object.assign(element, { nameNode });
}
