// Namings in words. Pure.

import { percent, plural } from "../../ui/format.js";

/** @import { Naming } from "../../net/answers.js" */

const NOTHING = { n_named: 0, routed: null, answered: null, sent: null };

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
 * What came of a naming: how many nodes it names, how far names alone tell rows apart and how often
 * questions about nodes are answered rightly, what was sent to a language model, its warnings.
 *
 * @param {Naming} naming
 */
export function resultText({ result, warnings }) {
  const { n_named: n, routed, answered, sent } = result ?? NOTHING;
  const named = `${plural(n, "node")} ${n === 1 ? "has a name" : "have names"}.`;
  const led = routed ? [routedText(routed)] : [];
  const share =
    typeof answered === "number"
      ? [
          `The question about a node is answered rightly for ${percent(answered)} of rows (by chance ${percent(0.5)}).`,
        ]
      : [];
  const disclosure = sent
    ? [`Evidence of ${plural(sent.n_nodes, "node")} was sent to ${sent.model} at ${sent.to}.`]
    : [];
  return [named, ...led, ...share, ...disclosure, ...warnings].join(" ");
}

/**
 * How far names alone tell rows apart, beside chance.
 *
 * @param {NonNullable<NonNullable<Naming["result"]>["routed"]>} routed
 */
function routedText({ share, low, high, draw, n_rows: n }) {
  const between = `${percent(low)} to ${percent(high)}`;
  return `Names alone lead ${plural(n, "row")} to the right child in ${percent(share)} of splits (${between}; by chance ${percent(draw)}).`;
}
