// Editions and their changes in words. Pure.

import { plural } from "../../ui/format.js";

/** @import { Edition, EditionChange, EditionOperation } from "../../net/answers.js" */

/**
 * An edition in a list of them.
 *
 * @param {Edition} edition
 */
export const labelOf = ({ name }) => name || "Without a name";

/**
 * A change in words.
 *
 * @param {EditionChange} change
 */
export function changeText({ kind, name, operations }) {
  if (kind === "create") return name ? `Began “${name}”` : "Began the edition";
  if (kind === "title") return name ? `Called it “${name}”` : "Took its name away";
  if (kind === "undo") return "Undid a change";
  if (kind === "redo") return "Repeated a change";
  const texts = operations.slice(0, MOST_TEXTS).map(operationText);
  const more = operations.length - texts.length;
  return [...texts, ...(more ? [`${plural(more, "more change")}`] : [])].join(", ");
}

const MOST_TEXTS = 4;

/** @param {EditionOperation} operation */
function operationText(operation) {
  switch (operation.op) {
    case "rename":
      return operation.name === null
        ? `took the name of node ${operation.node} away`
        : `named node ${operation.node} “${operation.name}”`;
    case "note":
      return operation.text === null
        ? `took the note at node ${operation.node} away`
        : `wrote a note at node ${operation.node}`;
    case "colour":
      return operation.colour === null
        ? `took the colour of node ${operation.node} away`
        : `coloured node ${operation.node} ${operation.colour}`;
    case "reorder":
      return `reordered what lies under node ${operation.node}`;
    case "collapse":
      return `collapsed node ${operation.node}`;
    case "expand":
      return `expanded node ${operation.node}`;
    case "merge":
      return `merged nodes ${operation.nodes.slice(0, 8).join(", ")}${
        operation.name ? ` as “${operation.name}”` : ""
      }`;
    default:
      return `dissolved node ${operation.node}`;
  }
}
