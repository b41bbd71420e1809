// The lists of a calibration: labels that look wrong, pairs that need more data; and what merging gains.

import { lineChart } from "../../ui/charts.js";
import { bdiName } from "../../ui/dom.js";
import { number, percent } from "../../ui/format.js";
import { table } from "../../ui/tables.js";
import { nodeLink as link } from "./node_link.js";
import { byPrice, mergePoints, rateText, staysOf } from "./trust_words.js";

/** @import { Merges, PairNeed, Suspect } from "../../net/answers.js" */
/** @import { Column } from "../../ui/tables.js" */
/** @import { Choose } from "./node_link.js" */

/** The most rows of a list. */
const MOST = 8;

/**
 * @param {Suspect[]} suspects
 * @param {Choose} onchoose
 */
export function suspectTable(suspects, onchoose) {
  /** @type {Column<Suspect>[]} */
  const columns = [
    { label: "Row", head: true, cell: ({ row }) => number(row), sort: ({ row }) => row }, // prettier-ignore
    { label: "Labelled", cell: ({ label, label_name: name }) => bdiName(name ?? `node ${label}`) },
    { label: "Likely", cell: ({ likely, likely_name: name }) => bdiName(name ?? `node ${likely}`) },
    {
      label: "Probabilities",
      numeric: true,
      cell: ({ of_label: own, of_likely: other }) => `${percent(own)}, ${percent(other)}`,
      sort: ({ of_label: own, of_likely: other }) => other - own,
    },
    {
      label: "They part at",
      numeric: true,
      cell: ({ meet }) => link(meet, `${meet}`, onchoose),
    },
  ];
  return table({
    caption: "Rows whose labels look wrong",
    columns,
    rows: suspects,
    most: MOST,
    empty: "No label looks wrong.",
  });
}

/**
 * @param {PairNeed[]} pairs
 * @param {Choose} onchoose
 */
export function pairTable(pairs, onchoose) {
  /** @type {Column<PairNeed>[]} */
  const columns = [
    {
      label: "Pair",
      head: true,
      cell: (pair) => [
        link(pair.node, pair.node_name, onchoose),
        " and ",
        link(pair.other, pair.other_name, onchoose),
      ],
    },
    { label: "Confused", numeric: true, cell: rateText, sort: ({ rate }) => rate },
    {
      label: "Stays",
      numeric: true,
      cell: (pair) => percent(staysOf(pair)),
      sort: staysOf,
    },
    {
      label: "To gain",
      numeric: true,
      cell: ({ gain }) => percent(gain),
      sort: ({ gain }) => gain,
    },
  ];
  return table({
    caption: "Pairs that need more data",
    columns,
    rows: pairs,
    most: MOST,
    empty: "No rows are confused.",
  });
}

/**
 * The curve of all merges, and the nodes that gain most.
 *
 * @param {Merges} merges
 * @param {Choose} onchoose
 */
export function mergeFigures(merges, onchoose) {
  /** @type {Column<Merges["nodes"][number]>[]} */
  const columns = [
    { label: "Node", head: true, cell: ({ node, name }) => link(node, name, onchoose) },
    { label: "Rows made right", numeric: true, cell: ({ gain }) => percent(gain) },
    { label: "Bits lost", numeric: true, cell: ({ lost_bits: lost }) => number(lost) },
    {
      label: "Right for a bit",
      numeric: true,
      cell: ({ gain, lost_bits: lost }) => (lost > 0 ? percent(gain / lost) : "–"),
    },
  ];
  return [
    lineChart({
      title: "Accuracy by what is still distinguished",
      points: mergePoints(merges),
      across: "bits of the class that remain",
      up: "share of rows",
    }),
    table({
      caption: "Nodes whose classes gain most as one",
      columns,
      rows: byPrice(merges.nodes),
      most: MOST,
      empty: "No merge makes a row right.",
    }),
  ];
}
