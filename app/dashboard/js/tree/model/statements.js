// What a user says of a tree's nodes and points: statements, and drafts of them. Pure.

/**
 * @typedef {{ node: number, name: string | null } | { row: number, name: string | null }} Choice
 * @typedef {{
 *   isChosen: (choice: Choice) => boolean,
 *   toggle: (choice: Choice) => unknown,
 * }} Choosing
 * @typedef {number | { rows: number[] }} Part
 * @typedef {{ known?: Part, together?: Part[], apart?: Part[], name?: string }} Statement
 * @typedef {"known" | "together" | "apart"} Kind
 * @typedef {{
 *   chosen: Choice[],
 *   statements: Statement[],
 *   past: Statement[][],
 *   names: Record<string, string>,
 *   job: string | null,
 * }} Draft `past`: the statements before each change; `names`: of nodes by id; `job`: the run from it
 * @typedef {{
 *   statements: number[],
 *   detail: string,
 *   n_rows: number,
 *   rows: number[],
 * }} Contradiction of statements, by their places; `rows`: the first points that they have in common
 */

/** Drafts are kept for this many trees, the last ones. */
const MOST_DRAFTS = 20;
const MOST_PAST = 50;

/** @returns {Draft} */
export const emptyDraft = () => ({ chosen: [], statements: [], past: [], names: {}, job: null });

/** @param {Draft} draft */
export const isEmpty = ({ chosen, statements, past, job }) =>
  !chosen.length && !statements.length && !past.length && !job;

/**
 * @param {Choice} a
 * @param {Choice} b
 */
const isSame = (a, b) =>
  "node" in a ? "node" in b && a.node === b.node : "row" in b && a.row === b.row;

/**
 * @param {Draft} draft
 * @param {Choice} choice
 */
export const isChosen = (draft, choice) => draft.chosen.some((one) => isSame(one, choice));

/**
 * The draft with a node or a point chosen, or no longer.
 *
 * @param {Draft} draft
 * @param {Choice} choice
 * @returns {Draft}
 */
export function toggled(draft, choice) {
  const others = draft.chosen.filter((one) => !isSame(one, choice));
  const isNew = others.length === draft.chosen.length;
  return { ...draft, chosen: isNew ? [...others, choice] : others };
}

/**
 * The reason against a statement of this kind about the choice; null if there is none.
 *
 * @param {Kind} kind
 * @param {Choice[]} chosen
 * @param {string} name
 */
export function hindrance(kind, chosen, name) {
  if (!chosen.length) return "Choose a node or points first.";
  if (kind === "known" && !name.trim()) return "A cluster that you know needs a name.";
  if (kind !== "known" && chosen.length < 2) return "Choose two or more nodes or points first.";
  return null;
}

/**
 * The statement about the choice. Chosen points are one part of a cluster; apart, each is a part.
 *
 * @param {Kind} kind
 * @param {Choice[]} chosen
 * @param {string} name
 * @returns {Statement}
 */
export function statementOf(kind, chosen, name) {
  const nodes = chosen.flatMap((one) => ("node" in one ? [one.node] : []));
  const rows = chosen.flatMap((one) => ("row" in one ? [one.row] : []));
  if (kind === "apart") return { apart: [...nodes, ...rows.map((row) => ({ rows: [row] }))] };
  const parts = [...nodes, ...(rows.length ? [{ rows }] : [])];
  const named = name.trim() ? { name: name.trim() } : {};
  return kind === "known" && parts.length === 1
    ? { known: parts[0], ...named }
    : { together: parts, ...named };
}

/**
 * The draft with one more statement about what was chosen.
 *
 * @param {Draft} draft
 * @param {Kind} kind
 * @param {string} name
 * @returns {Draft}
 */
export function withStatement(draft, kind, name) {
  const names = draft.chosen.flatMap((one) =>
    "node" in one && one.name ? [[one.node, one.name]] : [],
  );
  const statements = [...draft.statements, statementOf(kind, draft.chosen, name)];
  return {
    ...changed(draft, statements),
    chosen: [],
    names: { ...draft.names, ...Object.fromEntries(names) },
  };
}

/**
 * The draft without a statement.
 *
 * @param {Draft} draft
 * @param {number} place
 */
export const without = (draft, place) =>
  changed(
    draft,
    draft.statements.filter((_, at) => at !== place),
  );

/**
 * @param {Draft} draft
 * @param {Statement[]} statements
 * @returns {Draft}
 */
const changed = (draft, statements) => ({
  ...draft,
  statements,
  past: [...draft.past, draft.statements].slice(-MOST_PAST),
});

/**
 * The draft before its last change of statements.
 *
 * @param {Draft} draft
 * @returns {Draft}
 */
export const undone = (draft) => ({
  ...draft,
  statements: draft.past.at(-1) ?? draft.statements,
  past: draft.past.slice(0, -1),
});

/**
 * The nodes of a statement.
 *
 * @param {Statement} statement
 */
export const nodesOf = ({ known, together, apart }) =>
  [...(known === undefined ? [] : [known]), ...(together ?? []), ...(apart ?? [])].filter(
    (part) => typeof part === "number",
  );

/**
 * A number of new clusters to begin with: as many as the tree has now, without those that are known.
 *
 * @param {Statement[]} statements
 * @param {number} clusters of the cut that is shown
 */
export function newClusters(statements, clusters) {
  const names = new Set();
  let unnamed = 0;
  for (const { name, apart } of statements) {
    if (name) names.add(name);
    else unnamed += apart?.length ?? 1;
  }
  return Math.max(1, clusters - names.size - unnamed);
}

/**
 * The drafts in a stored text, by tree, the last one last; none if it is not readable.
 *
 * @param {string | null} text
 * @returns {Map<string, Draft>}
 */
export function draftsIn(text) {
  try {
    const stored = JSON.parse(text ?? "[]");
    /** @type {[string, Draft][]} */
    const drafts = Array.isArray(stored) ? stored : [];
    return new Map(drafts.map(([tree, draft]) => [tree, { ...emptyDraft(), ...draft }]));
  } catch {
    return new Map();
  }
}

/**
 * The text to store after the draft of a tree has changed.
 *
 * @param {string | null} text stored before
 * @param {string} tree
 * @param {Draft} draft
 */
export function withDraft(text, tree, draft) {
  const drafts = draftsIn(text);
  drafts.delete(tree);
  if (!isEmpty(draft)) drafts.set(tree, draft);
  return JSON.stringify([...drafts].slice(-MOST_DRAFTS));
}
