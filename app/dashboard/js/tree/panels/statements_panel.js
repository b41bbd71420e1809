// What the user knows of the tree: nodes and points that are one cluster, or do not belong together.

import { messageOf } from "../../net/problem.js";
import { whole } from "../../net/requests.js";
import { button, field } from "../../ui/controls.js";
import { toastError } from "../../ui/dialogs.js";
import { bdi, el, focusFirst, replace, unique } from "../../ui/dom.js";
import { count, plural } from "../../ui/format.js";
import * as model from "../model/statements.js";
import { contradicted, nodeText, wordsOf } from "./statement_words.js";

/** @import { Statements, Tree } from "../../net/answers.js" */
/** @import { TreeView } from "../draw/view.js" */
/** @import { Choice, Contradiction, Draft, Kind, Statement } from "../model/statements.js" */

/**
 * @typedef {{
 *   statements: () => Statement[],
 *   oncontradictions: (contradictions: Contradiction[]) => unknown,
 *   onjob: (job: string | null) => unknown,
 * }} RunHandlers
 * @typedef {HTMLElement & {
 *   start: (head: Tree, running: string | null) => unknown,
 *   draw: () => unknown,
 *   settle: () => unknown,
 * }} RunForm `draw` after each change; `settle` to forget what was wrong
 */

const STORED = "umbel.statements";
/** @type {readonly [Kind, string][]} */
const SAYINGS = [
  ["known", "A cluster I know"],
  ["together", "These are one"],
  ["apart", "These do not belong together"],
];

/**
 * The panel: `start` once the tree is known, `toggle` a node or a point for the next
 * statement, and whether it `isChosen`. The view emits "chosen" after each change.
 *
 * @param {TreeView} view
 * @param {(view: TreeView, handlers: RunHandlers) => RunForm} runAgain the form that runs a method
 */
export function statementsPanel(view, runAgain) {
  const { signal } = view;
  const { tree } = view.source;
  const title = unique("statements");
  let draft = model.draftsIn(stored()).get(tree) ?? model.emptyDraft();
  /** @type {Map<number, string[]>} */
  let wrongs = new Map();

  const hint = el("p", { class: "quiet" }, HINT);
  const chosen = el("ul", { class: "chosen-list", "aria-label": "Chosen" });
  const name = el("input", {
    type: "text",
    maxlength: 1000,
    autocomplete: "off",
    oninput: () => nameRow.setError(null),
  });
  const nameRow = field("Name", name, { hint: "of a cluster that you know" });
  const few = el("p", { class: "field-wrong", role: "alert", hidden: true });
  const form = el(
    "form",
    {
      class: "stack tight",
      onsubmit: (event) => {
        event.preventDefault();
        say("known");
      },
    },
    el("h3", {}, "Chosen"),
    chosen,
    nameRow,
    el(
      "div",
      { class: "row" },
      SAYINGS.map(([kind, label]) => button(label, { kind: "small", onclick: () => say(kind) })),
    ),
    few,
  );
  const list = el("ol", { class: "statements" });
  const undo = button("Undo", {
    kind: "small",
    onclick: () => {
      change(model.undone(draft));
      speak(`Undone. ${plural(draft.statements.length, "statement")}.`);
      if (undo.disabled) focusFirst(element, ".statements button, h2");
    },
  });
  const known = el(
    "section",
    { class: "stack tight" },
    el("header", { class: "row apart" }, el("h3", {}, "Statements"), undo),
    list,
  );
  const spoken = el("p", { class: "visually-hidden", role: "status" });
  /** @param {string} text */
  const speak = (text) => replace(spoken, text);
  const run = runAgain(view, {
    statements: () => draft.statements,
    oncontradictions: (contradictions) => showContradictions(contradictions),
    onjob: (job) => keep({ ...draft, job }),
  });
  const element = el(
    "section",
    { class: "card tree-panel tree-statements", "aria-labelledby": title },
    el("h2", { id: title, tabindex: "-1" }, "What you know"),
    hint,
    form,
    known,
    run,
    spoken,
  );

  /** @param {Draft} next */
  const keep = (next) => {
    draft = next;
    try {
      localStorage.setItem(STORED, model.withDraft(stored(), tree, draft));
    } catch {
      // Then it stays on the page until it is left.
    }
  };
  /** @param {Draft} next */
  const change = (next) => {
    const isOther = next.statements !== draft.statements;
    keep(next);
    if (isOther) {
      wrongs = new Map();
      run.settle();
    }
    draw();
    view.emit("chosen");
  };

  /** @param {Kind} kind */
  const say = (kind) => {
    const hindrance = model.hindrance(kind, draft.chosen, name.value);
    const isOfName = kind === "known";
    nameRow.setError(isOfName && hindrance);
    replace(few, !isOfName && hindrance);
    few.hidden = isOfName || !hindrance;
    if (hindrance) {
      if (isOfName) name.focus();
      return;
    }
    change(model.withStatement(draft, kind, name.value));
    name.value = "";
    view.mark(null);
    speak(`Statement ${draft.statements.length} was added.`);
    // What was pressed is gone with what was chosen.
    focusFirst(list, "li:last-child button");
  };
  /** @param {number} place */
  const remove = (place) => {
    change(model.without(draft, place));
    view.mark(null);
    speak(
      `Statement ${place + 1} was removed. ${plural(draft.statements.length, "is", "are")} left.`,
    );
    undo.focus();
  };
  /** @param {Contradiction[]} contradictions */
  const showContradictions = (contradictions) => {
    wrongs = contradicted(contradictions);
    draw();
  };

  const draw = () => {
    const { statements } = draft;
    few.hidden = true;
    hint.hidden = draft.chosen.length > 0 || statements.length > 0;
    form.hidden = !draft.chosen.length;
    known.hidden = !statements.length && !draft.past.length;
    undo.disabled = !draft.past.length;
    replace(chosen, draft.chosen.map(chip));
    replace(
      list,
      statements.map((statement, place) => line(statement, place)),
    );
    run.draw();
  };

  /** @param {Choice} choice */
  const chip = (choice) => {
    const text = choiceText(choice);
    return el(
      "li",
      "node" in choice ? pointing([choice.node]) : {},
      bdi(text),
      button("", {
        kind: "ghost small icon-only",
        iconName: "close",
        "aria-label": `Leave out ${text}`,
        onclick: () => {
          change(model.toggled(draft, choice));
          if (!focusFirst(chosen, "button")) focusFirst(element, "h2");
        },
      }),
    );
  };
  /**
   * @param {Statement} statement
   * @param {number} place
   */
  const line = (statement, place) => {
    const { says, name: called, parts } = wordsOf(statement, nameOf);
    const wrong = wrongs.get(place) ?? [];
    const id = unique("wrong");
    return el(
      "li",
      { class: wrong.length ? "is-wrong" : null, ...pointing(model.nodesOf(statement)) },
      el(
        "div",
        { class: "statement-line" },
        el(
          "p",
          {},
          el("strong", {}, says, called !== null && [": ", bdi(called)]),
          el(
            "span",
            { class: "statement-parts" },
            parts.map((part, at) => [at > 0 && " · ", bdi(part)]),
          ),
        ),
        button("", {
          kind: "ghost small icon-only",
          iconName: "close",
          "aria-label": `Remove statement ${place + 1}`,
          "aria-describedby": wrong.length ? id : null,
          onclick: () => remove(place),
        }),
      ),
      wrong.length > 0 &&
        el(
          "ul",
          { class: "statement-wrong", id },
          wrong.map((text) => el("li", {}, text)),
        ),
    );
  };

  /** @param {number[]} nodes */
  const pointing = (nodes) => ({
    onpointerenter: () => view.mark(nodes),
    onpointerleave: () => view.mark(null),
  });
  /** @param {number} node */
  const nameOf = (node) => draft.names[node] ?? view.nameOf(node);

  /**
   * @param {Tree} head
   * @param {string | null} dataset whose statements are restored where there are none yet
   */
  const start = async (head, dataset) => {
    run.start(head, draft.job);
    if (!dataset || !model.isEmpty(draft)) return;
    try {
      const path = `/v1/datasets/${encodeURIComponent(dataset)}/statements`;
      const answer = /** @type {Statements} */ (await whole(path, { signal }));
      if (answer.tree !== tree || !model.isEmpty(draft)) return;
      change({ ...draft, statements: /** @type {Statement[]} */ (answer.items) });
    } catch (error) {
      if (!signal.aborted) {
        toastError(new Error(`Statements were not restored: ${messageOf(error)}`));
      }
    }
  };
  draw();
  return Object.assign(element, {
    start,
    /** @param {Choice} choice */
    isChosen: (choice) => model.isChosen(draft, choice),
    /** @param {Choice} choice */
    toggle: (choice) => {
      change(model.toggled(draft, choice));
      speak(`${count(draft.chosen.length)} chosen.`);
    },
  });
}

/** @param {Choice} choice */
const choiceText = (choice) =>
  "row" in choice ? `point ${count(choice.row)}` : nodeText(choice.node, choice.name);

function stored() {
  try {
    return localStorage.getItem(STORED);
  } catch {
    return null;
  }
}

const HINT =
  "Choose nodes or points, and say which are a cluster that you know, which are one, and which do " +
  "not belong together. Run again, and new clusters are found that are like those.";
