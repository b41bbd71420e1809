// Inputs that are typed in: texts, labels, class paths, edges; one a line, or a list as JSON. Pure.

/**
 * @typedef {string | (string | string[] | number[] | null)[]} InputValue an id, several ids, or what was typed in
 * @typedef {{ value?: InputValue, error?: string }} InputReading
 */

/**
 * What is typed, by role; `json`: whether a list as JSON is read as such.
 *
 * @type {Record<string, { hint: string, json: boolean }>}
 */
const TYPED = {
  names: { hint: "One per line", json: false },
  feature_names: { hint: "One per line", json: false },
  documents: { hint: "One per line", json: false },
  labels: { hint: "One per line, an empty line where it is unknown; or a JSON list", json: true },
  hierarchy: { hint: "A class path per line: animal/cat", json: true },
  graph: { hint: "A pair of labels per line: cat, dog", json: true },
  must_link: { hint: "A pair of rows per line, by number from 0 or name: 3, 7", json: true },
  cannot_link: { hint: "A pair of rows per line, by number from 0 or name: 3, 7", json: true },
};

/** Roles that are pairs. */
const PAIRS = new Set(["graph", "must_link", "cannot_link"]);

/**
 * Whether inputs of a role can be typed in.
 *
 * @param {string} role
 */
export const isTyped = (role) => Object.hasOwn(TYPED, role);

/**
 * How to type the input in.
 *
 * @param {string} role
 */
export const hintOf = (role) => TYPED[role].hint;

/**
 * The input in a typed text, or what is wrong with it.
 *
 * @param {string} text
 * @param {string} role
 * @returns {InputReading}
 */
export function typedInput(text, role) {
  if (TYPED[role].json && /^\s*\[/.test(text)) return jsonIn(text);
  const lines = text.split(/\r?\n/);
  while (lines.length && !lines.at(-1)) lines.pop();
  if (!lines.length) return { error: "Type one per line, or choose nothing." };
  if (role === "labels") return { value: lines.map((line) => line.trim() || null) };
  if (role === "hierarchy") return { value: lines.map((line) => line.trim()).filter(Boolean) };
  if (!PAIRS.has(role)) return { value: lines };
  const { value, error } = pairsIn(lines);
  const areRows = role !== "graph" && value?.flat().every((end) => /^\d+$/.test(end));
  return error ? { error } : { value: areRows ? value?.map((pair) => pair.map(Number)) : value };
}

/**
 * The text that means an input.
 *
 * @param {Exclude<InputValue, string>} value
 * @param {string} role
 */
export function textOf(value, role) {
  /** @param {string | number} end */
  const isPlain = (end) => PAIRS.has(role) && !String(end).includes(",");
  const isByLine = value.every((item) => !Array.isArray(item) || item.every(isPlain));
  if (!isByLine) return JSON.stringify(value);
  return value.map((item) => (Array.isArray(item) ? item.join(", ") : (item ?? ""))).join("\n");
}

/**
 * @param {string} text
 * @returns {InputReading}
 */
function jsonIn(text) {
  try {
    const value = JSON.parse(text);
    return Array.isArray(value) && value.length ? { value } : { error: "The list is empty." };
  } catch (error) {
    return { error: `This is not a list as JSON: ${/** @type {Error} */ (error).message}.` };
  }
}

/**
 * @param {string[]} lines
 * @returns {{ value?: string[][], error?: string }}
 */
function pairsIn(lines) {
  const pairs = lines
    .map((line) => line.split(line.includes("\t") ? "\t" : ",").map((label) => label.trim()))
    .filter((pair) => pair.length > 1 || pair[0]);
  const wrong = pairs.find((pair) => pair.length !== 2 || !pair.every(Boolean));
  if (wrong) return { error: `Type two labels per line with a comma between, not "${wrong}".` };
  return { value: pairs };
}
