// All trees; two of them can be shown side by side, several evaluated.

import { methodTitles } from "../forms/catalogue.js";
import { dropZone } from "../forms/drop_zone.js";
import * as router from "../router.js";
import { bdi, el, replace } from "../ui/dom.js";
import { count, treeTitle } from "../ui/format.js";
import { menu } from "../ui/menus.js";
import { consensusForm } from "./consensus_form.js";
import { createdColumn, listPage } from "./list_page.js";
import { treeDownloads } from "./tree_downloads.js";

/** @import { TreeSummary } from "../net/answers.js" */
/** @import { Mounted, PageContext } from "../router.js" */
/** @import { ListOptions } from "./list_page.js" */

/**
 * @param {HTMLElement} root
 * @param {PageContext} context
 * @returns {Promise<Mounted>}
 */
export async function mount(root, { params }) {
  const titles = await methodTitles();
  /** @param {TreeSummary} tree */
  const titleOf = ({ method }) => titles.get(method) ?? method;
  /** @type {ListOptions<TreeSummary>} */
  const options = {
    params,
    title: "Trees",
    lead: "Trees of jobs, and imported trees.",
    path: "/v1/trees",
    what: ["tree", "trees"],
    removal: "The model that belongs to it is deleted with it; the job's record stays.",
    pathOf: (tree) => `/v1/trees/${tree.id}`,
    selection: (rows) => [
      rows.length === 2 &&
        el(
          "a",
          {
            class: "button primary",
            href: router.href("/compare", { left: rows[0].id, right: rows[1].id }),
          },
          "Side by side",
        ),
      rows.length > 0 &&
        el(
          "a",
          {
            class: "button",
            href: router.href("/evaluations", { trees: rows.map((row) => row.id).join(",") }),
          },
          "Evaluate",
        ),
      rows.length > 1 && consensusForm(rows),
      rows.length === 1 &&
        el("span", { class: "quiet" }, "Choose one more to see two side by side."),
    ],
    columns: [
      {
        label: "Tree",
        head: true,
        sort: treeTitle,
        cell: (tree) => el("a", { href: router.href(`/trees/${tree.id}`) }, bdi(treeTitle(tree))),
      },
      {
        label: "Method",
        cell: (tree) => (tree.method === "import" ? "imported" : titleOf(tree)),
      },
      {
        label: "Points",
        numeric: true,
        sort: (tree) => tree.n_points,
        cell: (tree) => count(tree.n_points),
      },
      {
        label: "Leaves",
        numeric: true,
        sort: (tree) => tree.n_leaves,
        cell: (tree) => count(tree.n_leaves),
      },
      {
        label: "Depth",
        numeric: true,
        sort: (tree) => tree.max_depth,
        cell: (tree) => count(tree.max_depth),
      },
      createdColumn("Created"),
      {
        label: "Download",
        hidden: true,
        class: "tight",
        cell: (tree) =>
          menu("", () => treeDownloads(tree.id, tree.name), {
            kind: "ghost small icon-only",
            iconName: "download",
            "aria-label": `Download ${tree.name ?? tree.id}`,
          }),
      },
    ],
  };
  const list = el("div", { class: "page-part" });
  /** @type {Mounted | null} */
  let page = null;
  const reload = async () => {
    page?.unmount();
    page = await listPage(list, options);
  };
  const zone = dropZone({
    ontree: reload,
    sample: false,
  });
  replace(
    root,
    list,
    el(
      "section",
      { class: "card", "aria-labelledby": "more-trees" },
      el("h2", { id: "more-trees" }, "Import a tree"),
      el(
        "p",
        { class: "quiet" },
        "Newick, JSON (flat or nested), a SciPy linkage, class paths: another tool's tree or a true hierarchy.",
      ),
      zone.element,
    ),
  );
  await reload();
  return {
    unmount: () => {
      page?.unmount();
      zone.stop();
    },
  };
}
