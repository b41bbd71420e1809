// A node in a list: its name leads to it.

import { bdiName, el } from "../../ui/dom.js";

/** @typedef {(node: number) => unknown} Choose shows a node in the picture */

/**
 * A name that leads to its node.
 *
 * @param {number} node
 * @param {string | null} name
 * @param {Choose} onchoose
 */
export const nodeLink = (node, name, onchoose) =>
  el(
    "button",
    { type: "button", class: "linklike", onclick: () => onchoose(node) },
    bdiName(name ?? `node ${node}`),
  );
