// Statements and their contradictions in words. Pure.

import { count, plural } from "../../ui/format.js";

/** @import { Contradiction, Part, Statement } from "../model/statements.js" */

const SHOWN_ROWS = 3;

/**
 * A statement in words: what it says, and of what.
 *
 * @param {Statement} statement
 * @param {(node: number) => string | null} nameOf
 */
export function wordsOf(statement, nameOf) {
  const { known, together, apart, name } = statement;
  const parts = apart ?? together ?? (known === undefined ? [] : [known]);
  return {
    says: apart
      ? "Do not belong together"
      : together && parts.length > 1 && !name
        ? "Are one cluster"
        : name
          ? "A cluster I know"
          : "One cluster",
    name: name ?? null,
    parts: parts.map((part) => partText(part, nameOf)),
  };
}

/**
 * A node by its name, and by its id where it has none or only a number.
 *
 * @param {number} node
 * @param {string | null} name
 */
export function nodeText(node, name) {
  if (!name) return node === 0 ? "root" : `node ${node}`;
  return /^\d+$/.test(name) ? `node ${node} “${name}”` : name;
}

/**
 * "rose", "node 17", "point 4", "12 points (4, 7, 9, …)".
 *
 * @param {Part} part
 * @param {(node: number) => string | null} nameOf
 */
function partText(part, nameOf) {
  if (typeof part === "number") return nodeText(part, nameOf(part));
  const { rows } = part;
  if (rows.length === 1) return `point ${count(rows[0])}`;
  const shown = rows.slice(0, SHOWN_ROWS).map((row) => count(row));
  const more = rows.length > SHOWN_ROWS ? ", …" : "";
  return `${plural(rows.length, "point")} (${shown.join(", ")}${more})`;
}

/**
 * What the other statements are that each statement contradicts, in words, by its place.
 *
 * @param {Contradiction[]} contradictions
 * @returns {Map<number, string[]>}
 */
export function contradicted(contradictions) {
  /** @type {Map<number, string[]>} */
  const texts = new Map();
  for (const { statements, n_rows: nRows, rows } of contradictions) {
    const shown = rows.slice(0, SHOWN_ROWS).map((row) => count(row));
    const few = `${shown.join(", ")}${nRows > SHOWN_ROWS ? ", …" : ""}`;
    const common = nRows ? `: ${plural(nRows, "point")} in common (${few})` : "";
    for (const place of statements) {
      const others = statements.filter((one) => one !== place).map((one) => one + 1);
      const what = others.length
        ? `Contradicts ${others.length === 1 ? "statement" : "statements"} ${listed(others)}`
        : "Contradicts itself";
      texts.set(place, [...(texts.get(place) ?? []), `${what}${common}.`]);
    }
  }
  return texts;
}

/** @param {number[]} numbers */
const listed = (numbers) =>
  numbers.length < 2
    ? numbers.join("")
    : `${numbers.slice(0, -1).join(", ")} and ${numbers[numbers.length - 1]}`;
