// What a calibration promises and found, in words and points. Pure.

import { number, percent, plural } from "../../ui/format.js";

/** @import { Calibration, CalibrationResult, CurveStep, Merges, PairNeed, SelectiveCurve } from "../../net/answers.js" */
/** @import { Point } from "../../ui/charts.js" */

/**
 * What is promised of answers to new rows.
 *
 * @param {CalibrationResult} result
 */
export function promiseText({ loss, per, answer, alpha, n_promised: nPromised }) {
  const by = answer === "set" ? "the fewest nodes that hold" : "the deepest node that holds";
  if (loss === "distance") {
    const edges = `${number(alpha)} ${alpha === 1 ? "edge" : "edges"}`;
    return `The answer to a new row lies at most ${edges} below a node that holds its class, on average.`;
  }
  if (loss === "cost") {
    return `The expected cost of the answer to a new row is at most ${number(alpha)}.`;
  }
  const whom =
    per === "all"
      ? "over all rows"
      : `for the rows of each of ${plural(nPromised, per, per === "class" ? "classes" : "subtrees")}`;
  return `New rows are answered by ${by} their class, with a probability of at least ${percent(1 - alpha)} ${whom}.`;
}

/**
 * The last step of a curve that is no higher than a threshold; null without one.
 *
 * @param {SelectiveCurve} curve
 */
export function stepAt({ steps, threshold }) {
  if (threshold === null) return null;
  return steps.findLast((step) => step.threshold <= threshold) ?? steps[0];
}

/**
 * How deep the answers to the calibration's rows are at its threshold.
 *
 * @param {CurveStep} step
 * @param {CurveStep} leaves the first step, where every row is answered by a leaf
 */
export const depthText = (step, leaves) =>
  `Answers by one node then tell ${percent(step.coverage)} of the class: they lie at depth ` +
  `${number(step.depth)} of ${number(leaves.depth)} on average, and ${percent(step.error)} of these rows ` +
  `are answered wrongly. By their leaf, ${percent(leaves.error)} are.`;

/**
 * A calibration in a list of them.
 *
 * @param {Calibration} calibration
 */
export function labelOf({ name, result }) {
  if (!result) return name ?? "";
  const bound = result.loss === "miss" ? `alpha ${number(result.alpha)}` : `${result.loss} ${number(result.alpha)}`; // prettier-ignore
  const whom = result.per === "all" ? "all rows" : `by ${result.per}`;
  const facts = [bound, whom, result.answer === "set" && "sets", plural(result.n_rows, "row")];
  const text = facts.filter(Boolean).join(", ");
  return name ? `${name} · ${text}` : text;
}

/**
 * How often answers are wrong, by how much they tell; from little to much.
 *
 * @param {CurveStep[]} steps
 * @returns {Point[]}
 */
export const curvePoints = (steps) =>
  steps.map(({ coverage, error }) => /** @type {Point} */ ([coverage, error])).reverse();

/**
 * The accuracy by how many bits of the class are kept; from one class to all.
 *
 * @param {Merges} merges
 * @returns {Point[]}
 */
export const mergePoints = ({ steps }) =>
  steps.map(({ bits, accuracy }) => /** @type {Point} */ ([bits, accuracy])).reverse();

/**
 * "25 % (15.4–37 %)": the share of a pair's rows that are confused, with its interval.
 *
 * @param {PairNeed} pair
 */
export const rateText = ({ rate, low, high }) =>
  `${percent(rate)} (${number(Math.round(low * 1000) / 10)}–${number(Math.round(high * 1000) / 10)}\u00a0%)`;

/**
 * Nodes in the order in which merging pays: those that make most rows right for each bit lost first.
 *
 * @param {Merges["nodes"]} nodes
 */
export const byPrice = (nodes) =>
  [...nodes].sort((a, b) => b.gain * a.lost_bits - a.gain * b.lost_bits);

/**
 * The share of a pair's rows that is confused whatever the data, as far as is known.
 *
 * @param {Pick<PairNeed, "expected" | "learned">} pair
 */
export const staysOf = ({ expected, learned }) => {
  const known = [expected, learned].filter((share) => share !== null);
  return known.length ? Math.min(...known) : 0;
};
