// All trees; two of them can be laid side by side, several evaluated.

import { uploads } from "../forms/drop_zone.js";
import { methods } from "../forms/method_picker.js";
import { el, menu, said } from "../ui/dom.js";
import { ago, count, moment } from "../ui/format.js";
import { treeDownloads } from "./job_result.js";
import { listPage } from "./list_page.js";

export async function mount(root, { router, params }) {
  const titles = new Map((await methods()).map((one) => [one.id, one.title]));
  const list = el("div", { class: "page-part" });
  let leave = null;
  const draw = async () => {
    leave?.();
    leave = await listPage(list, options);
  };
  const drop = uploads({ ontree: () => draw(), sample: false });
  const options = {
    router,
    params,
    title: "Trees",
    lead: "What jobs have made and what was imported, the newest first.",
    path: "/v1/trees",
    what: ["tree", "trees"],
    removal: "The model that belongs to it goes with it; the job's record stays.",
    pathOf: (tree) => `/v1/trees/${tree.id}`,
    text: (tree) => [tree.name, tree.id, tree.method, titles.get(tree.method), tree.kind].join(" "),
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
      rows.length === 1 &&
        el("span", { class: "quiet" }, "Choose one more to see two side by side."),
    ],
    columns: [
      {
        label: "Tree",
        head: true,
        sort: (tree) => tree.name ?? titles.get(tree.method) ?? tree.method,
        cell: (tree) =>
          el(
            "a",
            { href: router.href(`/trees/${tree.id}`) },
            said(tree.name ?? `${titles.get(tree.method) ?? tree.method} tree`),
          ),
      },
      {
        label: "Method",
        cell: (tree) =>
          tree.method === "import" ? "imported" : (titles.get(tree.method) ?? tree.method),
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
      {
        label: "Made",
        sort: (tree) => tree.created_at,
        cell: (tree) =>
          el(
            "time",
            { datetime: tree.created_at, title: moment(tree.created_at) },
            ago(tree.created_at),
          ),
      },
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
  root.append(
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
      drop.element,
    ),
  );
  await draw();
  return () => {
    leave?.();
    drop.stop();
  };
}
