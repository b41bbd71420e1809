// What colours the tree, by which palette, and what the colours mean.

import { el, field, replace, select, toast } from "../../ui/dom.js";
import { setColor } from "../draw/colouring.js";
import { PALETTES } from "../draw/palettes.js";
import { legend } from "./legend.js";

const OWN = [
  ["cut", "Clusters of the cut"],
  ["none", "Nothing"],
];

/**
 * @param {object} own {onproblem(error), onchange()}
 * @returns {HTMLElement} with `.start()`, `.draw()`, `.choose(color)`
 */
export function colourPanel(view, { onproblem, onchange }) {
  const { looked, source } = view;
  let options = OWN;
  const color = el("select", { onchange: () => choose(color.value) });
  const palette = select(PALETTES, {
    onchange: () => {
      looked.palette = palette.value;
      view.repaint();
      draw();
      onchange();
      view.dispatchEvent(new CustomEvent("looked"));
    },
  });
  const key = legend(view, {
    onalone: (category) => {
      looked.alone = category;
      view.recolour();
      key.draw();
      view.dispatchEvent(new CustomEvent("looked"));
    },
    onpoint: (node) => view.mark(node === null ? null : [node]),
  });
  const choose = async (value) => {
    try {
      await setColor(view, value);
      draw();
      onchange();
    } catch (error) {
      draw();
      if (error?.name !== "AbortError" && !error.away)
        toast(error.detail || error.message, { kind: "bad" });
    }
  };
  const draw = () => {
    replace(
      color,
      options.map(([value, label]) =>
        el("option", { value, selected: value === looked.color }, label),
      ),
    );
    palette.value = looked.palette;
    key.draw();
  };
  /** Labels that fit: one for each row, or for each leaf. */
  const fits = (one) => {
    const { size, leaves } = view.total;
    const said = one.role === "labels" || one.role === "names" || one.role === null;
    return (
      said &&
      one.status === "ready" &&
      one.shape?.length === 1 &&
      (one.shape[0] === size || one.shape[0] === leaves)
    );
  };
  const start = async () => {
    draw();
    try {
      const { items } = await source.datasets();
      const first = (one) => Number(one.role === "labels");
      const found = items.filter(fits).sort((a, b) => first(b) - first(a));
      options = [...OWN, ...found.map((one) => [one.id, one.name ?? one.id])];
    } catch (error) {
      if (error?.name !== "AbortError") onproblem(error);
    }
    if (!options.some(([value]) => value === looked.color))
      options = [...options, [looked.color, "Labels of the link"]];
    draw();
  };
  view.addEventListener("drawn", () => key.draw());
  const element = el(
    "section",
    { class: "card tree-panel", "aria-labelledby": "colours-title" },
    el("h2", { id: "colours-title" }, "Colour"),
    el("div", { class: "tree-pair" }, field("By", color), field("Palette", palette)),
    key,
  );
  return Object.assign(element, { start, draw, choose });
}
