// What the colours mean. A click leaves one category in colour, another click all of them.

import { button, el, replace, said } from "../../ui/dom.js";
import { count } from "../../ui/format.js";
import { colourOf } from "../draw/tint.js";

const MOST = 24;
const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const much = (size) => (size < 100_000 ? count(size) : short.format(size));

/** Entries of the legend as it is now: [{category, text, size, colour}], the rest in `others`. */
export function entries(view, theme = view.theme) {
  const { looked, labels, cut } = view;
  const length = theme.series.length;
  if (looked.color.startsWith("ds_")) {
    if (labels?.dataset !== looked.color) return { list: [], others: 0, cycles: false };
    const list = labels.texts.slice(0, length).map((text, category) => ({
      category,
      text,
      size: labels.sizes[category],
      colour: colourOf(theme, category, false),
    }));
    return { list, others: Math.max(0, labels.n - list.length), cycles: false };
  }
  if (looked.color !== "cut" || !cut) return { list: [], others: 0, cycles: false };
  const list = cut.clusters.slice(0, MOST).map((one) => ({
    category: one.category,
    node: one.node,
    text: one.name || `Cluster ${one.category + 1}`,
    size: one.size,
    colour: colourOf(theme, one.category, true),
  }));
  return { list, others: Math.max(0, cut.n_clusters - list.length), cycles: true };
}

/** @param {object} own {onalone(category or null), onpoint(node or null)} */
export function legend(view, own) {
  const list = el("ul", { class: "tree-legend" });
  const note = el("p", { class: "quiet" });
  const element = el("div", { class: "tree-legend-place" }, list, note);
  const draw = () => {
    const { list: found, others, cycles } = entries(view);
    const { alone } = view.looked;
    const known = found.some((one) => one.category === alone);
    replace(
      list,
      found.map(({ category, text, size, colour, node }) =>
        el(
          "li",
          {},
          el(
            "button",
            {
              type: "button",
              class: "tree-key",
              "aria-pressed": String(alone === category),
              title: "Show this one alone in colour",
              onclick: () => own.onalone(alone === category ? null : category),
              onpointerenter: () => own.onpoint(node ?? null),
              onpointerleave: () => own.onpoint(null),
            },
            el("span", { class: "tree-swatch", style: { background: colour } }),
            said(text, { class: "tree-key-text" }),
            el("span", { class: "tree-key-size" }, much(size)),
          ),
        ),
      ),
    );
    replace(
      note,
      others > 0 &&
        (cycles
          ? `and ${count(others)} smaller clusters; colours begin anew after ${view.theme.series.length}.`
          : `${count(others)} more categories share a grey.`),
      alone !== null &&
        known &&
        button("Colour all again", { kind: "ghost small", onclick: () => own.onalone(null) }),
    );
    note.hidden = !note.childNodes.length;
    element.hidden = found.length === 0;
  };
  element.draw = draw;
  return element;
}
