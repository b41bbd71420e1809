// The leaves that stand in another group of the other tree: from where to where.

import { button } from "../../ui/controls.js";
import { bdi, bdiName, el, replace } from "../../ui/dom.js";
import { count, percent, plural } from "../../ui/format.js";
import { table } from "../../ui/tables.js";

/** @import { Tangle } from "../../net/answers.js" */
/** @import { Child } from "../../ui/dom.js" */
/** @import { TangleView } from "../draw/tangle_view.js" */

/** @typedef {Tangle["moved"][number]} Moved */

/** Longer tables are scrolled. */
const FEW = 25;

/**
 * The card. `show` fills it; its names point at their leaves in the picture.
 *
 * @param {{ view: TangleView, csv: () => unknown }} options `csv`: saves all of them
 */
export function movedLeaves({ view, csv }) {
  const body = el("div", { class: "stack" });
  const element = el(
    "section",
    { class: "card tree-panel", "aria-labelledby": "moved-leaves-title", hidden: true },
    el("h2", { id: "moved-leaves-title" }, "What moved"),
    body,
  );
  /** @param {Moved} moved */
  const point = ({ ends }) => {
    const row = view.shown?.sides.left.rowOf.get(ends[0]);
    if (row !== undefined) view.point({ side: "left", row });
  };
  /** @param {Tangle} answer */
  const show = (answer) => {
    element.hidden = answer.n_groups === 0;
    const list = table({
      caption: "Leaves that moved",
      columns: [
        {
          label: "Leaf",
          head: true,
          sort: ({ name }) => name,
          cell: (moved) =>
            el(
              "button",
              {
                type: "button",
                class: "linklike",
                title: "Show it in the picture",
                onclick: () => {
                  point(moved);
                  view.root.scrollIntoView({ block: "nearest" });
                },
              },
              bdiName(moved.name),
            ),
        },
        { label: "From, on the left", cell: (moved) => groupWords(moved.from) },
        { label: "To, on the right", cell: (moved) => groupWords(moved.to) },
        {
          label: "How far",
          numeric: true,
          sort: ({ share }) => share,
          cell: ({ share }) =>
            el(
              "span",
              { title: "Share of all leaves in the largest group that it left or joined" },
              percent(share),
            ),
        },
      ],
      rows: answer.moved,
    });
    list.classList.toggle("long", answer.moved.length > FEW);
    replace(
      body,
      el("p", {}, summary(answer)),
      answer.moved.length > 0 && list,
      answer.moved.length > 0 &&
        el(
          "div",
          { class: "row" },
          button("What moved as CSV", { kind: "small", iconName: "download", onclick: csv }),
        ),
    );
  };
  return { element, show };
}

/**
 * "7 of 100 leaves stand in another group. 31 of the 40 groups on the left are on the right, too."
 *
 * @param {Pick<Tangle, "n_groups" | "n_kept" | "n_moved" | "moved">} answer
 */
export function summary({ n_groups: groups, n_kept: kept, n_moved: moves, moved }) {
  const first = moves
    ? `${plural(moves, "leaf stands", "leaves stand")} in another group; dark lines join them.`
    : "No leaf left a group that both trees have.";
  const listed =
    moves > moved.length ? ` The ${count(moved.length)} that moved farthest are listed.` : "";
  const both =
    groups === 1
      ? `The one group on the left is ${kept ? "" : "not "}on the right, too.`
      : `${count(kept)} of the ${count(groups)} groups on the left are on the right, too.`;
  return `${first}${listed} ${both}`;
}

/**
 * "animals: dog, cow, pig and 4 more", by the names of others in it.
 *
 * @param {Moved["from"]} group
 * @returns {Child}
 */
export function groupWords(group) {
  if (!group) return "none";
  const { name, names, n_names: all } = group;
  const more = all > names.length ? ` and ${count(all - names.length)} more` : "";
  return [name && [el("strong", {}, bdiName(name)), ": "], bdi(names.join(", ")), more];
}

/**
 * How many clusters each of two trees of the same rows has.
 *
 * @param {{ before: unknown[], after: unknown[] }} moved
 */
export function sidesText({ before, after }) {
  const here = `of ${plural(before.length, "cluster")} here (rows) and`;
  return before.length === after.length
    ? `${here} there (columns)`
    : `${here} ${count(after.length)} there (columns)`;
}
