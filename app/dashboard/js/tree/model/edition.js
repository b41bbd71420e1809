// What a user changes of a tree, as the operations that the service takes. Pure.

/** @import { EditionOperation, NodeDetails } from "../../net/answers.js" */

/**
 * @typedef {{ name: string, note: string, colour: string | null }} Marks what a form says of a node:
 *   "" for nothing
 */

/** The colour that a node is offered first. */
export const FIRST_COLOUR = "#0072b2";

/**
 * What a node has now.
 *
 * @param {NodeDetails} details
 * @returns {Marks}
 */
export function marksOf({ name, note, colour }) {
  return {
    name: name ?? "",
    note: typeof note === "string" ? note : "",
    colour: typeof colour === "string" ? colour : null,
  };
}

/**
 * The operations that give a node what a form says.
 *
 * @param {number} node
 * @param {Marks} before
 * @param {Marks} after
 * @returns {EditionOperation[]}
 */
export function markOperations(node, before, after) {
  /** @type {EditionOperation[]} */
  const operations = [];
  const name = after.name.trim();
  if (name !== before.name) operations.push({ op: "rename", node, name: name || null });
  const text = after.note.trim();
  if (text !== before.note) operations.push({ op: "note", node, text: text || null });
  if (after.colour !== before.colour) {
    operations.push({ op: "colour", node, colour: after.colour });
  }
  return operations;
}

/**
 * The operation that moves a node among its siblings; null where it is the first or last already.
 *
 * @param {number} parent
 * @param {number[]} siblings from left to right, the node among them
 * @param {number} node
 * @param {1 | -1} step
 * @returns {EditionOperation | null}
 */
export function movedOperation(parent, siblings, node, step) {
  const at = siblings.indexOf(node);
  const to = at + step;
  if (at < 0 || to < 0 || to >= siblings.length) return null;
  const children = [...siblings];
  children.splice(at, 1);
  children.splice(to, 0, node);
  return { op: "reorder", node: parent, children };
}

/**
 * Why these nodes cannot be merged; null if they can.
 *
 * @param {{ id: number, parent: number | null }[]} nodes
 * @param {number} siblings how many children their parent has
 */
export function hindrance(nodes, siblings) {
  if (nodes.length < 2) return "Choose two or more nodes that lie under the same node.";
  if (nodes.some(({ parent }) => parent === null || parent !== nodes[0].parent)) {
    return "Only nodes that lie under the same node can be merged.";
  }
  if (nodes.length === siblings) {
    return "These are all that lie under that node: it has them together already.";
  }
  return null;
}
