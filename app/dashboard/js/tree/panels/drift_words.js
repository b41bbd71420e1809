// What moved between two samples, in words. Pure.

import { capitalized, count, percent, plural } from "../../ui/format.js";

/** @import { Drift, DriftMove, DriftResult } from "../../net/answers.js" */

/**
 * What was found.
 *
 * @param {DriftResult} result
 */
export function findingText({ n_moves: n, n_reference: before, n_batch: after }) {
  const samples = `${plural(before, "row")} of the reference and ${plural(after, "row")} of the batch`;
  return n
    ? `${plural(n, "change")} between ${samples}.`
    : `No change was found between ${samples}.`;
}

/**
 * What is promised of it.
 *
 * @param {DriftResult} result
 */
export const promiseText = ({ level }) =>
  `Had nothing changed, anything would be found with a probability of at most ${percent(level)}. ` +
  `At most about ${percent(level)} of what is found is false.`;

/**
 * "Mass moved at 2 of 98 nodes tested, confidence at none of 40."
 *
 * @param {DriftResult} result
 */
export function aspectsText({ aspects }) {
  const texts = aspects.map(
    ({ aspect, n_moved: n, n_tested: of }, at) =>
      `${aspect}${at ? "" : " moved"} at ${n || "none"} of ${plural(of, "node")}${at ? "" : " tested"}`,
  );
  return texts.length ? `${capitalized(texts.join(", "))}.` : "Nothing could be tested.";
}

/** @type {Record<DriftMove["aspect"], Record<DriftMove["direction"], string>>} */
const CHANGES = {
  mass: { gained: "More rows", lost: "Fewer rows" },
  confidence: { gained: "Surer", lost: "Less sure" },
  purity: { gained: "Purer", lost: "Less pure" },
};

/**
 * What has changed at a node: "More rows".
 *
 * @param {DriftMove} move
 */
export const changeText = ({ aspect, direction }) => CHANGES[aspect][direction];

/**
 * What the two shares of a move are of: "of the rows of rose, tulip", "labelled rose".
 *
 * @param {DriftMove} move
 */
export function shareText({ aspect, parent, parent_name: name, label }) {
  if (aspect === "mass") {
    return `of the rows of ${name ?? (parent ? `node ${parent}` : "the root")}`;
  }
  return aspect === "purity" ? `labelled ${label}` : "mean probability of the leaf";
}

/**
 * A drift in a list of them.
 *
 * @param {Drift} drift
 */
export function labelOf({ name, result }) {
  if (!result) return name ?? "";
  const changes = result.n_moves ? plural(result.n_moves, "change") : "no change";
  const text = `${changes}, ${plural(result.n_batch, "row")} against ${count(result.n_reference)}`;
  return name ? `${name} · ${text}` : text;
}
