// Which names the nodes have: their own, or a naming's.

import { namings } from "../../net/namings.js";
import { aborted, isAway } from "../../net/problem.js";
import { optionElements } from "../../ui/controls.js";
import { dialog, toast, toastError } from "../../ui/dialogs.js";
import { el, replace } from "../../ui/dom.js";
import { distinct, moment } from "../../ui/format.js";
import { labelOf, resultText } from "./naming_words.js";

/** @import { Naming } from "../../net/answers.js" */
/** @import { Option } from "../../ui/controls.js" */
/** @import { TreeView } from "../draw/view.js" */

/** @typedef {{ element: HTMLElement, run: () => Promise<Naming | null> }} NamingForm */

const NEW = "new";

/**
 * The control; `start` offers the namings there are, `choose` shows the names of one, or their own, `make`
 * asks for a new one.
 *
 * @param {TreeView} view
 * @param {{ form: (k?: number) => Promise<NamingForm> }} handlers `form` makes that of a new naming
 */
export function namesControl(view, { form }) {
  const { source, look, signal } = view;
  /** @type {Naming[]} */
  let known = [];
  const list = el("select");
  list.addEventListener("change", () => {
    const { value } = list;
    draw();
    if (value === NEW) make();
    else choose(value || null);
  });
  const draw = () => {
    const options = distinct(
      known.map((naming) => ({
        value: naming.id,
        label: labelOf(naming),
        detail: moment(naming.created_at),
      })),
    );
    const isListed = !look.names || known.some(({ id }) => id === look.names);
    /** @type {Option[]} */
    const linked = isListed ? [] : [[look.names ?? "", "The link's"]];
    replace(
      list,
      optionElements([["", "Own"], ...options, ...linked, [NEW, "Name nodes…"]], look.names),
    );
  };
  /** @param {string | null} naming id */
  const choose = async (naming) => {
    try {
      await view.setNames(naming);
    } catch (error) {
      if (aborted(error)) return;
      if (!isAway(error)) toastError(error);
    }
    draw();
  };
  /** @param {number} [k] the clusters to be named, and all nodes above them */
  const make = async (k) => {
    try {
      const { element: body, run } = await form(k);
      dialog({
        title: "Name nodes",
        body,
        actions: [{ label: "Cancel" }, { label: "Name nodes", kind: "primary", submit: true }],
        onsubmit: async () => {
          const naming = await run();
          if (!naming) return false;
          known = [naming, ...known];
          toast(resultText(naming), { kind: "good" });
          await choose(naming.id);
          return true;
        },
      });
    } catch (error) {
      if (!aborted(error)) toastError(error);
    }
  };
  const start = async () => {
    known = await namings.of(source.tree, signal);
    draw();
  };
  draw();
  const element = el("label", { class: "tree-inline" }, el("span", {}, "Names"), list);
  return Object.assign(element, { start, choose, draw, make });
}
