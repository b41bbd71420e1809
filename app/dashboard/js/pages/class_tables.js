// The tables of a classifier's evaluation, also beside the tables of a second classifier on the same rows. Pure.

/** @import { ClassRow, ClassifierTables, LevelRow, SizeRow } from "../net/answers.js" */

/**
 * A row of a table and what the second classifier has there; null where it has nothing.
 *
 * @template Row
 * @typedef {{ own: Row, other: Row | null }} Pair
 */

/** Differences below this are rounding. */
const EQUAL = 1e-12;

/**
 * The rows of one table with the rows of another that have the same key; `keysOf` gives the keys of a row, the
 * surest first. A row is used once.
 *
 * @template Row
 * @param {readonly Row[]} rows
 * @param {readonly Row[] | null} others null: there is no second classifier
 * @param {(row: Row, isOther: boolean) => (string | null)[]} keysOf
 * @returns {Pair<Row>[]}
 */
export function paired(rows, others, keysOf) {
  /** @type {Map<string, Row>} */
  const known = new Map();
  for (const other of others ?? []) {
    for (const key of keysOf(other, true)) if (key !== null && !known.has(key)) known.set(key, other); // prettier-ignore
  }
  const used = new Set();
  return rows.map((own) => {
    const key = keysOf(own, false).find((candidate) => candidate !== null && known.has(candidate));
    const other = known.get(key ?? "") ?? null;
    if (key === undefined || other === null || used.has(other)) return { own, other: null };
    used.add(other);
    return { own, other };
  });
}

/**
 * The classes with the second classifier's: the same path of names, or else the same label.
 *
 * @param {ClassRow[]} rows
 * @param {ClassRow[] | null} others
 * @param {{ own: Map<number, string>, other: Map<number, string> }} paths of the nodes of both trees, as
 *   far as they are known
 */
export const pairedClasses = (rows, others, paths) =>
  paired(rows, others, ({ node, label }, isOther) => {
    const path = node === null ? undefined : (isOther ? paths.other : paths.own).get(node);
    return path === undefined || path === label ? [label] : [path, label];
  });

/**
 * The levels with the second classifier's. Null if the two have different trees, whose levels mean
 * different things.
 *
 * @param {LevelRow[]} rows
 * @param {LevelRow[] | null} others
 * @returns {Pair<LevelRow>[] | null}
 */
export function pairedLevels(rows, others) {
  const isSame =
    !others ||
    (rows.length === others.length && rows.every((row, at) => row.n_nodes === others[at].n_nodes));
  return isSame ? paired(rows, others, ({ level }) => [String(level)]) : null;
}

/**
 * The sizes of classes with the second classifier's, without sizes that no class has.
 *
 * @param {SizeRow[]} rows
 * @param {SizeRow[] | null} others
 */
export const pairedSizes = (rows, others) =>
  paired(rows, others, ({ training_examples: size }) => [size]).filter(
    ({ own, other }) => own.n_classes > 0 || (other?.n_classes ?? 0) > 0,
  );

/**
 * How much more the first classifier has; null where one of them has no value.
 *
 * @param {number | null | undefined} own
 * @param {number | null | undefined} other
 */
export function difference(own, other) {
  if (typeof own !== "number" || typeof other !== "number") return null;
  const gain = own - other;
  return Math.abs(gain) < EQUAL ? 0 : gain;
}

/**
 * The order of classes by how much more F1 the first classifier has, the most first; those that cannot be
 * compared last.
 *
 * @param {Pair<ClassRow>} a
 * @param {Pair<ClassRow>} b
 */
export function byGain(a, b) {
  const [first, second] = [a, b].map(({ own, other }) => difference(own.f1, other?.f1) ?? -2);
  return second - first;
}

/**
 * How many classes have a higher F1 than by the second classifier, a lower one, and the same.
 *
 * @param {Pair<ClassRow>[]} pairs
 */
export function gains(pairs) {
  const differences = pairs
    .map(({ own, other }) => difference(own.f1, other?.f1))
    .filter((gain) => gain !== null);
  return {
    n: differences.length,
    higher: differences.filter((gain) => gain > 0).length,
    lower: differences.filter((gain) => gain < 0).length,
    same: differences.filter((gain) => gain === 0).length,
  };
}

/**
 * The path of names of each node from below the root, "animal/cat".
 *
 * @param {readonly { id: number, parent: number | null, name: string | null }[]} nodes parents before
 *   children
 */
export function pathsOf(nodes) {
  /** @type {Map<number, string>} */
  const paths = new Map();
  for (const { id, parent, name } of nodes) {
    const above = parent === null ? "" : (paths.get(parent) ?? "");
    paths.set(id, parent === null ? "" : above ? `${above}/${name ?? ""}` : (name ?? ""));
  }
  return paths;
}

/**
 * Whether every class of one table has a partner of the same label in the other, so that paths are not
 * needed.
 *
 * @param {Partial<Pick<ClassifierTables, "class">>} a
 * @param {Partial<Pick<ClassifierTables, "class">>} b
 */
export function sameLabels({ class: own = [] }, { class: others = [] }) {
  const labels = new Set(others.map(({ label }) => label));
  return own.every(({ label }) => labels.has(label));
}
