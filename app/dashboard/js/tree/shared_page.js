// The page of a link: one tree, to be looked at and not changed, for whoever has the link.

import { shares } from "../net/editions.js";
import { aborted, hasStatus, isAway, problemOf } from "../net/problem.js";
import { key } from "../net/session.js";
import { append, bdi, el, replace } from "../ui/dom.js";
import { moment, number, plural } from "../ui/format.js";
import { problemBox } from "../ui/notices.js";
import { TreeView } from "./draw/view.js";
import { NONE } from "./model/store.js";
import { treeSource } from "./model/source.js";
import { lookOf, tokenIn } from "./model/share.js";
import { breadcrumbs } from "./panels/breadcrumbs.js";
import { colourPanel } from "./panels/colour_panel.js";
import { cutPanel } from "./panels/cut_panel.js";
import { fileMenu } from "./panels/file_menu.js";
import { keyboardTree, rowText } from "./panels/keyboard_tree.js";
import { layoutBar } from "./panels/layout_bar.js";
import { mapPanel } from "./panels/map_panel.js";
import { nodePanel } from "./panels/node_panel.js";
import { searchBox } from "./panels/search_box.js";
import { tooltip } from "./panels/tooltip.js";
import { zoomButtons } from "./panels/zoom_buttons.js";

/** @import { NodeDetails, Shared } from "../net/answers.js" */
/** @import { Choosing } from "./model/statements.js" */
/** @import { Hover, Trouble } from "./draw/view.js" */

/**
 * Show the tree of the link in the address.
 *
 * @param {HTMLElement} main
 * @param {{ isFramed: boolean }} options `isFramed`: the page may be within another one
 */
export async function showShared(main, { isFramed }) {
  const root = el("div", { class: "page wide tree-page shared" });
  replace(main, root);
  const { signal } = new AbortController();
  const token = tokenIn(location.hash);
  if (!token) {
    replace(root, problemBox(INCOMPLETE, { level: "h1" }));
    return;
  }
  key.useLink(token);
  try {
    const shared = await shares.own(signal);
    if (isFramed && !shared.embed) {
      replace(root, problemBox(NOT_EMBEDDED, { level: "h1" }));
      return;
    }
    await build(root, shared, signal);
  } catch (error) {
    const ended = hasStatus(error, 401) || hasStatus(error, 410);
    replace(root, problemBox(ended ? ENDED : problemOf(error), { level: "h1" }));
  }
}

/**
 * @param {HTMLElement} root
 * @param {Shared} shared
 * @param {AbortSignal} signal
 */
async function build(root, shared, signal) {
  const { tree, edition, names, map: mapId, rows, expires_at } = shared;
  const look = { ...lookOf(shared.view), edition, names };
  const source = treeSource(tree, signal, () => ({ names, edition }));
  const stage = el("div", { class: "tree-stage" });
  const bar = el("div");
  const side = el("aside", { class: "tree-side", "aria-label": "About the tree" });
  const trouble = el("div", { class: "tree-trouble" });
  const spoken = el("p", { class: "visually-hidden", role: "status" });
  const heading = el("h1", {}, "Tree");
  const facts = el("p", { class: "quiet" });
  const note = el("div", { class: "tree-note", hidden: true });
  const tools = el("div", { class: "tree-tools" });
  const picture = el("section", { class: "card tree-main", "aria-label": "Picture of the tree" });
  const pictures = el("div", { class: "tree-and-map" }, picture);
  append(picture, bar, stage);
  replace(
    root,
    el("header", { class: "tree-head" }, el("div", { class: "tree-title" }, heading, facts), tools),
    note,
    trouble,
    el("div", { class: "tree-work" }, pictures, side),
    spoken,
  );
  const view = new TreeView(stage, { source, look, signal });
  /** @param {unknown} error */
  const complain = (error) => {
    if (aborted(error) || isAway(error)) return;
    replace(trouble, problemBox(problemOf(error)));
  };
  /**
   * @param {number} id
   * @param {number[]} path
   */
  const goTo = async (id, path) => void (await view.goTo(id, path));
  const search = searchBox(view, { onchoose: goTo, onproblem: complain });
  const crumbs = breadcrumbs(view);
  const layout = layoutBar(view);
  layout.append(zoomButtons("Zoom", view));
  bar.replaceWith(layout, crumbs);
  stage.append(
    keyboardTree(view, {
      onsearch: () => search.focusField(),
      onup: crumbs.up,
      say: (text) => replace(spoken, text),
    }),
    tooltip(view, stage),
  );
  const cut = cutPanel(view, { onproblem: complain, rows: false });
  const colours = colourPanel(view, {
    onproblem: complain,
    onchange: () => cut.draw(),
    onchoose: (id) => view.select(id),
  });
  /** @param {NodeDetails} details */
  const actions = ({ id, path, children }) => [
    { label: "Show it", onclick: () => goTo(id, path) },
    ...(children.length && id !== look.root
      ? [{ label: "Only this part", onclick: () => view.reroot(id) }]
      : []),
  ];
  const node = nodePanel(view, { actions, onchoose: goTo, choosing: NOTHING_CHOSEN, rows });
  append(tools, search, fileMenu(view, { rows: false }));
  append(side, node, cut, colours);
  /** @param {Trouble} detail */
  const ontrouble = ({ error }) => complain(error);
  /** @param {Hover} detail */
  const onhover = ({ row, x }) =>
    row !== NONE && x === null && replace(spoken, rowText(view.scene, view.store, row));
  view.on("problem", ontrouble);
  view.on("hover", onhover);
  const head = source.head();
  head.catch(() => {});
  await view.start();
  const { name } = await head;
  view.title = shared.title ?? name ?? "Tree";
  document.title = `${view.title} · Umbel`;
  replace(heading, bdi(view.title));
  const { leaves, size, height } = view.total;
  replace(
    facts,
    `${plural(leaves, "leaf", "leaves")} · ${plural(size, "point")} · height ${number(height)}` +
      ` · this link ends ${moment(expires_at)}`,
  );
  if (shared.note) note.append(...shared.note.split("\n").map((line) => el("p", {}, bdi(line))));
  note.hidden = !shared.note;
  if (look.node !== null) node.show(look.node);
  // A link shows no labels.
  colours.draw();
  cut.start();
  if (mapId) {
    look.map = (await source.map(mapId)).by;
    const map = mapPanel(view, { onchoose: goTo, only: mapId });
    append(pictures, map);
    map.draw();
  }
}

/** @type {Choosing} */
const NOTHING_CHOSEN = { isChosen: () => false, toggle: () => {} };

const INCOMPLETE = {
  title: "This link is not complete",
  detail: "It ends with the token that opens it. Copy the whole link.",
};
const ENDED = {
  title: "This link shows nothing any more",
  detail: "It has ended, or was revoked. Ask whoever gave it to you for another one.",
};
const NOT_EMBEDDED = {
  title: "This link may not be shown within another page",
  detail: "Open it in a separate window, or ask for a link that may be embedded.",
};
