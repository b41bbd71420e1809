// The meaning of the colours. A click colours only one category, and selects it where it is a cluster;
// another click colours all of them.

import { button } from "../../ui/controls.js";
import { bdi, el, replace } from "../../ui/dom.js";
import { count, plural } from "../../ui/format.js";
import { legendEntries } from "../draw/colouring.js";
import { readable } from "../../net/names.js";

/** @import { TreeView } from "../draw/view.js" */

const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
/** Names of up to as many letters stand in two columns. */
const MOST_LETTERS = 14;
/** @param {number} size */
const sizeText = (size) => (size < 100_000 ? count(size) : short.format(size));

/**
 * The legend; `draw` updates it.
 *
 * @param {TreeView} view
 * @param {{
 *   onalone: (category: number | null, node?: number) => unknown,
 *   onpoint: (node: number | null) => unknown,
 * }} handlers
 */
export function legend(view, { onalone, onpoint }) {
  const keys = el("ul", { class: "tree-legend" });
  const note = el("p", { class: "quiet" });
  const element = el("div", { class: "tree-legend-place" }, keys, note);
  const draw = () => {
    const { list, others, pale } = legendEntries(view);
    const { alone } = view.look;
    keys.classList.toggle(
      "is-wide",
      list.some(({ text }) => text.length > MOST_LETTERS),
    );
    const isListed = list.some((entry) => entry.category === alone);
    replace(
      keys,
      list.map(({ category, text: name, size, colour, node }) => {
        const text = readable(name);
        return el(
          "li",
          {},
          el(
            "button",
            {
              type: "button",
              class: "tree-key",
              "aria-pressed": String(alone === category),
              title: `${text}: colour this one alone`,
              onclick: () => onalone(alone === category ? null : category, node),
              onpointerenter: () => onpoint(node ?? null),
              onpointerleave: () => onpoint(null),
            },
            el("span", { class: "tree-swatch", style: { background: colour } }),
            bdi(text, { class: "tree-key-text" }),
            el("span", { class: "tree-key-size" }, size === null ? "" : sizeText(size)),
          ),
        );
      }),
    );
    replace(
      note,
      noteText(others, pale),
      alone !== null &&
        isListed &&
        button("Colour all again", { kind: "ghost small", onclick: () => onalone(null) }),
    );
    note.hidden = !note.childNodes.length;
    element.hidden = list.length === 0;
  };
  return Object.assign(element, { draw });
}

/**
 * What the list does not show, and which colours are shared.
 *
 * @param {number} others
 * @param {number} pale
 */
function noteText(others, pale) {
  if (pale) {
    const isOne = pale === 1;
    const shared = `The ${isOne ? "smallest has a pale colour" : `${count(pale)} smallest share three pale colours by turns`}.`;
    return others > 0 ? `and ${plural(others, "smaller cluster")}. ${shared}` : shared;
  }
  if (others <= 0) return null;
  return others === 1
    ? "1 more category is grey."
    : `${count(others)} more categories share a grey.`;
}
