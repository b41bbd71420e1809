// Whether the runs of a comparison differ beyond chance: in words, and as a table of the tests.

import { bdi, el, unique } from "../ui/dom.js";
import { count, plural, pText } from "../ui/format.js";
import { table } from "../ui/tables.js";

/** @import { RunDifference } from "../net/answers.js" */
/** @import { Column } from "../ui/tables.js" */

/** The p-value below which a difference is called one. */
const LEVEL = 0.05;
/** With fewer classes that differ, Wilcoxon's test is never below the level. */
const FEWEST = 6;

/** @param {{ n_better: number, n_worse: number }} tested */
const differing = ({ n_better: better, n_worse: worse }) => better + worse;

/**
 * What the tests of one run say of it, as a sentence without its subject.
 *
 * @param {Pick<RunDifference, "rows" | "classes">} difference
 */
export function differenceWords({ rows, classes }) {
  const byRow = `p = ${pText(rows.p_value)} by row`;
  const byClass = `p = ${pText(classes.p_value)} by class`;
  if (!differing(rows)) return "is as pure in every row.";
  const side = rows.n_worse >= rows.n_better ? "less pure" : "purer";
  const many = Math.max(rows.n_worse, rows.n_better);
  const where = `in ${count(many)} of the ${plural(differing(rows), "row")} that differ`;
  if (classes.p_value < LEVEL) {
    const isAgainst = classes.n_worse >= classes.n_better !== rows.n_worse >= rows.n_better;
    return isAgainst
      ? `differs beyond chance (${byClass}, ${byRow}), but rows and classes point to different sides.`
      : `is ${side} beyond chance: ${where} (${byClass}, ${byRow}).`;
  }
  const few =
    differing(classes) < FEWEST
      ? ` So few classes that differ (${count(differing(classes))}) cannot show it.`
      : "";
  if (rows.p_value < LEVEL) {
    return `is ${side} ${where} (${byRow}), which may come from a few clusters: by class the difference is within chance (${byClass}).${few}`;
  }
  return `does not differ beyond chance (${byClass}, ${byRow}).${few}`;
}

/**
 * The section; null where nothing was tested.
 *
 * @param {RunDifference[] | null | undefined} differences
 * @param {(run: number) => string} nameOf a run for people
 */
export function comparisonDifferences(differences, nameOf) {
  if (!differences?.length) return null;
  const title = unique("differences");
  /** @type {Column<RunDifference>[]} */
  const columns = [
    { label: "Run", head: true, cell: ({ run }) => bdi(nameOf(run)) },
    { label: "Classes better", numeric: true, cell: ({ classes }) => count(classes.n_better) },
    { label: "Worse", numeric: true, cell: ({ classes }) => count(classes.n_worse) },
    { label: "p by class", numeric: true, cell: ({ classes }) => pText(classes.p_value) },
    { label: "Rows better", numeric: true, cell: ({ rows }) => count(rows.n_better) },
    { label: "Worse", numeric: true, cell: ({ rows }) => count(rows.n_worse) },
    { label: "p by row", numeric: true, cell: ({ rows }) => pText(rows.p_value) },
  ];
  const best = nameOf(differences[0].than);
  return el(
    "section",
    { class: "stack tight run-differences", "aria-labelledby": title },
    el("h2", { id: title }, "Beyond chance?"),
    el("p", {}, el("strong", {}, bdi(best)), " has the purest clusters. Beside it,"),
    el(
      "ul",
      {},
      differences.map(
        (difference) =>
        el("li", {}, el("strong", {}, bdi(nameOf(difference.run))), ` ${differenceWords(difference)}`), // prettier-ignore
      ),
    ),
    table({ caption: "Tests against the purest run", columns, rows: differences }),
    el(
      "p",
      { class: "quiet" },
      "The purity of a row is the mean share of its class in the smallest clusters with the others of its class. By class: Wilcoxon's signed-rank test over the classes' means; by row: the sign test, which says a difference too easily where whole clusters differ. Both two-sided, adjusted for the number of runs (Holm).",
    ),
  );
}
