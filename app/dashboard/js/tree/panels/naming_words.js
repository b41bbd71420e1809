// Namings in words. Pure.

import { plural } from "../../ui/format.js";

/** @import { Naming } from "../../net/answers.js" */

/**
 * A naming in a list of them: "By terms", "By model, of terms".
 *
 * @param {Naming} naming
 */
export function labelOf({ name, result }) {
  const by = result ? result.by + (result.evidence ? `, of ${result.evidence}` : "") : "";
  return name ?? `By ${by}`;
}

/**
 * What came of a naming: how many nodes it names, what was sent to a language model, its warnings.
 *
 * @param {Naming} naming
 */
export function resultText({ result, warnings }) {
  const { n_named: n, sent } = result ?? { n_named: 0, sent: null };
  const named = `${plural(n, "node")} ${n === 1 ? "has a name" : "have names"}.`;
  const disclosure = sent
    ? [`Evidence of ${plural(sent.n_nodes, "node")} was sent to ${sent.model} at ${sent.to}.`]
    : [];
  return [named, ...disclosure, ...warnings].join(" ");
}
