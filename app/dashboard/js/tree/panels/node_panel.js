// One node: what is known of it, its children, the labels and the points under it.

import { button, el, problemBox, replace, said, toast, unique, waiting } from "../../ui/dom.js";
import { count, number, plural } from "../../ui/format.js";
import { byLabels, colourOfLabel } from "../draw/colouring.js";
import { members } from "./node_points.js";
import { fact, isPlain, listOf, plainly, spread, tellsFeatures, words } from "./node_values.js";

const KNOWN = new Set([
  "id",
  "parent",
  "name",
  "height",
  "size",
  "n_leaves",
  "depth",
  "path",
  "children",
  "parent_node",
  "ancestors",
  "child_nodes",
  "labels",
]);
const CHILDREN = 12;
const BARS = 8;

/** Whether `name` is an end of the interval of another value. */
const endsInterval = (node, name) =>
  ["_low", "_high"].some((end) => name.endsWith(end) && name.slice(0, -end.length) in node);

/**
 * @param {object} view the TreeView
 * @param {object} own {api, actions(node) -> [{label, onclick, disabled}], go(id, path)}
 */
export function nodePanel(view, { api, actions, go }) {
  const { source, signal } = view;
  const title = unique("node");
  const body = el("div", { class: "stack" });
  const element = el(
    "section",
    { class: "card tree-panel tree-node", "aria-labelledby": title },
    el("h2", { id: title }, "Node"),
    body,
  );
  let shown = null;
  let asking = null;

  const labels = () => (byLabels(view.looked) ? view.looked.color : null);

  const hint = () =>
    replace(
      body,
      el(
        "p",
        { class: "quiet" },
        "Click a node to see what lies under it; click twice to look at its part alone or to open what is folded.",
      ),
    );

  const show = async (id, { again = false } = {}) => {
    const name = `${id} ${labels()}`;
    if (name === shown && !again) return;
    shown = name;
    asking?.abort();
    if (id === null || id < 0) {
      shown = null;
      hint();
      return;
    }
    asking = new AbortController();
    const mine = asking;
    const late = setTimeout(() => mine === asking && replace(body, waiting()), 200);
    try {
      const node = await source.node(id, labels());
      if (mine !== asking || signal.aborted) return;
      draw(node);
    } catch (error) {
      if (mine !== asking || error?.name === "AbortError") return;
      shown = null;
      const retry = error.status === 404 ? undefined : () => show(id, { again: true });
      // The page says above that the service is away; this comes by itself when it is back.
      if (error.away)
        replace(body, el("p", { class: "quiet", role: "status" }, "Waiting for the service…"));
      else replace(body, problemBox(error, { level: "h3", retry }));
    } finally {
      clearTimeout(late);
    }
  };

  const draw = (node) => {
    const leaf = node.n_leaves === 1 && !node.children.length;
    const root = view.total?.size;
    replace(
      body,
      el(
        "h3",
        { class: "node-name" },
        node.name ? said(node.name) : node.parent === null ? "Root" : `Node ${node.id}`,
      ),
      node.ancestors.length > 0 && way(node),
      el(
        "div",
        { class: "row" },
        actions(node).map((one) => button(one.label, { kind: "small", ...one })),
      ),
      el(
        "dl",
        { class: "facts node-facts" },
        fact("Points", [
          count(node.size),
          root > node.size &&
            node.parent !== null &&
            el("span", { class: "quiet" }, ` · ${number((100 * node.size) / root)} % of all`),
        ]),
        !leaf && fact("Leaves", count(node.n_leaves)),
        fact("Height", number(node.height)),
        fact("Depth", count(node.depth)),
        fact("Id", el("code", {}, String(node.id))),
        Object.entries(node)
          .filter(
            ([name, value]) => !KNOWN.has(name) && isPlain(value) && !endsInterval(node, name),
          )
          .map(([name, value]) =>
            fact(
              words(name),
              `${name}_low` in node
                ? spread(value, node[`${name}_low`], node[`${name}_high`])
                : plainly(value),
            ),
          ),
      ),
      node.labels && mixOf(node.labels),
      Object.entries(node)
        .filter(([name, value]) => !KNOWN.has(name) && !isPlain(value))
        .map(([name, value]) =>
          el("section", { class: "node-extra" }, el("h3", {}, words(name)), listOf(value)),
        ),
      Object.values(node).some(tellsFeatures) && featuresFile(),
      node.child_nodes.length > 0 && childrenOf(node),
      members(view, { api, node, labels: labels() }),
    );
  };

  const featuresFile = () =>
    button("Features of all nodes", {
      kind: "small",
      iconName: "download",
      "aria-label": "Features of all nodes as CSV",
      onclick: () =>
        api
          .download(source.featuresPath, `${view.fileName()}-features.csv`, { signal })
          .catch((error) => error?.name !== "AbortError" && toast(error.message, { kind: "bad" })),
    });

  const way = (node) =>
    el(
      "p",
      { class: "node-way quiet" },
      node.ancestors.length > 4 && "… › ",
      node.ancestors
        .slice(-4)
        .map((one, at) => [
          at > 0 && " › ",
          link(one, node.path.slice(0, node.path.indexOf(one.id) + 1)),
        ]),
    );

  const link = (one, path) =>
    el(
      "button",
      {
        type: "button",
        class: "linklike",
        onclick: () => go(one.id, path),
        onpointerenter: () => view.mark([one.id]),
        onpointerleave: () => view.mark(null),
      },
      one.name ? said(one.name) : one.id === 0 ? "root" : `node ${one.id}`,
    );

  const mixOf = (found) =>
    el(
      "section",
      {},
      el("h3", {}, "Labels"),
      el(
        "p",
        { class: "quiet" },
        found.n === 0
          ? "No point under it has a label."
          : [
              `Purity ${number(found.purity)}, entropy ${number(found.entropy)}; ${plural(found.n_labels, "label")} `,
              found.per === "leaf" ? "of its leaves" : "of its points",
            ],
      ),
      el(
        "ul",
        { class: "node-bars" },
        found.mix.slice(0, BARS).map((one) =>
          el(
            "li",
            {},
            said(one.label ?? "no label", { class: "node-bar-name" }),
            el(
              "span",
              { class: "node-bar" },
              el("span", {
                style: {
                  width: `${Math.max(1, 100 * one.share)}%`,
                  background: colourOfLabel(view, one.label),
                },
              }),
            ),
            el("span", { class: "numeric" }, count(one.count)),
          ),
        ),
      ),
      found.n_labels > BARS &&
        el("p", { class: "quiet" }, `and ${count(found.n_labels - BARS)} more`),
    );

  const childrenOf = (node) => {
    const list = el("ul", { class: "node-children" });
    let much = CHILDREN;
    const fill = () =>
      replace(
        list,
        node.child_nodes
          .slice(0, much)
          .map((one) =>
            el(
              "li",
              {},
              link(one, [...node.path, one.id]),
              el("span", { class: "quiet" }, ` ${plural(one.size, "point")}`),
            ),
          ),
        node.child_nodes.length > much &&
          el(
            "li",
            {},
            button("Show more", {
              kind: "ghost small",
              onclick: () => ((much = Infinity), fill()),
            }),
          ),
        node.children.length > node.child_nodes.length &&
          much === Infinity &&
          el(
            "li",
            { class: "quiet" },
            `and ${count(node.children.length - node.child_nodes.length)} smaller`,
          ),
      );
    fill();
    return el("section", {}, el("h3", {}, plural(node.children.length, "child", "children")), list);
  };

  view.addEventListener("select", ({ detail }) => show(detail.id));
  element.show = show;
  element.again = () => view.looked.node !== null && show(view.looked.node);
  hint();
  const unwatch = api.connection.watch((away) => !away && shown === null && element.again());
  signal.addEventListener("abort", () => {
    asking?.abort();
    unwatch();
  });
  return element;
}
