// The page of one tree: the picture in the middle, what can be done with it around.

import { button, copy, el, problemBox, replace, said, toast } from "../ui/dom.js";
import { count, number, plural } from "../ui/format.js";
import { fileMenu } from "./draw/figures.js";
import { locate } from "./draw/locate.js";
import { TreeView } from "./draw/view.js";
import { cutOf, cutText, read, write } from "./model/look.js";
import { INNER } from "./model/scene.js";
import { FIRST, source as sourceOf } from "./model/source.js";
import { NONE } from "./model/store.js";
import { colourPanel } from "./panels/colour_panel.js";
import { cutPanel } from "./panels/cut_panel.js";
import { mirror, told } from "./panels/keyboard_tree.js";
import { drawing, shapesBar } from "./panels/layout_bar.js";
import { nodePanel } from "./panels/node_panel.js";
import { pathsPanel } from "./panels/paths_panel.js";
import { finder } from "./panels/search_box.js";
import { crumbs, nameOf, tip } from "./panels/tooltip.js";

const WRITE_MS = 180;
const MINUS = "M5 12h14";
const WHOLE = "M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5";

export async function mount(root, { api, router, params, id }) {
  const ended = new AbortController();
  const { signal } = ended;
  const source = sourceOf(api, id, signal);
  const looked = read(params);
  root.classList.add("wide", "tree-page");
  const stage = el("div", { class: "tree-stage" });
  // In the page before it is measured.
  root.append(el("div", { class: "tree-work" }, el("section", { class: "card tree-main" }, stage)));
  const view = new TreeView(stage, { source, looked, signal });
  const parts = build(root, { view, api, router, stage, signal });
  const address = followed(view, router, `/trees/${id}`);
  try {
    const head = source.head();
    head.catch(() => {});
    await view.start();
    const unwatch = api.connection.watch((away) => !away && view.detail.again());
    signal.addEventListener("abort", unwatch);
    parts.begin();
    parts.entitle(await head);
  } catch (error) {
    ended.abort();
    throw error;
  }
  return {
    unmount: () => {
      address.stop();
      ended.abort();
    },
    update: (next) => {
      const wanted = read(next);
      if (address.is(wanted)) parts.change(wanted);
    },
  };
}

/** The address says what is looked at, a moment later. Another root is a step in the history. */
function followed(view, router, path) {
  const { looked } = view;
  let timer;
  let before = write(looked);
  const put = () => {
    const now = write(looked);
    // A cut that nobody has chosen is not part of the address.
    if (view.suggestedCut && now.cut === view.suggestedCut) now.cut = null;
    if (JSON.stringify(now) === JSON.stringify(before) || view.signal.aborted) return;
    const stays = now.root === before.root;
    before = now;
    if (stays) router.set(now);
    else router.navigate(path, now);
  };
  view.addEventListener("looked", () => {
    clearTimeout(timer);
    timer = setTimeout(put, WRITE_MS);
  });
  return {
    stop: () => clearTimeout(timer),
    /** The address has become this; whether that is news. */
    is: (wanted) => {
      const now = write(wanted);
      if (JSON.stringify(now) === JSON.stringify(before)) return false;
      clearTimeout(timer);
      before = now;
      return true;
    },
  };
}

function build(root, { view, api, router, stage, signal }) {
  const { source, looked } = view;
  const say = el("p", { class: "visually-hidden", role: "status" });
  const heading = el("h1", {}, "Tree");
  const facts = el("p", { class: "quiet" });
  const compare = el(
    "a",
    { class: "button", href: router.href("/compare", { left: source.tree }) },
    "Compare",
  );
  const trouble = el("div", { class: "tree-trouble" });
  const complain = (error, again) => {
    // That the service is away is said above all pages.
    if (signal.aborted || error?.name === "AbortError" || error.away) return;
    const isGone = error.status === 404;
    const shown = isGone ? GONE : error;
    const retry = again && !isGone ? () => (replace(trouble), again()) : undefined;
    replace(trouble, problemBox(shown, { retry }));
  };
  const go = async (id, path) => {
    const isThere = await locate(view, id, path);
    if (!isThere && !signal.aborted) toast("The node could not be shown.", { kind: "bad" });
  };

  const bar = shapesBar(view);
  const way = crumbs(view);
  const find = finder({
    source,
    signal,
    nameOf: (id) => nameOf(view, id),
    go,
    onproblem: complain,
  });
  const keyboard = mirror(view, {
    search: () => find.focusField(),
    up: way.up,
    say: (text) => replace(say, text),
  });
  const much = el("p", { class: "tree-drawn quiet", hidden: true });
  bar.append(zoomButtons(view));
  stage.append(keyboard, much, tip(view, stage));

  const cut = cutPanel(view, { api, onproblem: (error) => complain(error, () => cut.start()) });
  const colours = colourPanel(view, {
    onproblem: complain,
    onchange: () => {
      cut.draw();
      node.again();
    },
  });
  const node = nodePanel(view, { api, go, actions: (one) => actions(one) });
  const actions = (one) => {
    const row = view.rowOf(one.id);
    const isInner = one.children.length > 0 && one.id !== looked.root;
    const isOpen = row !== NONE && view.scene.kind[row] === INNER;
    const turn = () => view.toggle(one.id).then(() => node.show(one.id, { again: true }));
    return [
      { label: row === NONE ? "Show it" : "Bring near", onclick: () => go(one.id, one.path) },
      isInner && row !== NONE && { label: isOpen ? "Fold" : "Open", onclick: turn },
      isInner && { label: "Only this part", onclick: () => view.reroot(one.id) },
    ].filter(Boolean);
  };

  const link = button("Copy link", {
    onclick: async () =>
      (await copy(location.href)) && toast("The link opens this very view.", { kind: "good" }),
  });
  replace(
    root,
    el(
      "header",
      { class: "tree-head" },
      el("div", { class: "tree-title" }, heading, facts),
      el("div", { class: "tree-tools" }, find, compare, link, fileMenu(view, { api })),
    ),
    trouble,
    el(
      "div",
      { class: "tree-work" },
      el(
        "section",
        { class: "card tree-main", "aria-label": "Picture of the tree" },
        bar,
        way,
        stage,
      ),
      el("aside", { class: "tree-side", "aria-label": "About the tree" }, cut, colours, node),
    ),
    say,
  );
  view.addEventListener("problem", ({ detail }) => complain(detail.error, detail.again));
  view.addEventListener("drawn", () => counted(view, much));
  view.addEventListener(
    "hover",
    ({ detail }) =>
      detail.row !== NONE && detail.x === null && replace(say, told(view, detail.row)),
  );

  return {
    /** What the service says of the tree as a whole. */
    entitle(head) {
      const { leaves, size, height } = view.total;
      const name =
        head.name ?? (head.method === "import" ? "Imported tree" : `Tree of ${head.method}`);
      view.title = name;
      replace(heading, said(name));
      document.title = `${name} · Umbel`;
      const job = head.job && el("a", { href: router.href(`/jobs/${head.job}`) }, head.method);
      const whole =
        looked.root === 0 &&
        ` · ${plural(leaves, "leaf", "leaves")} · ${plural(size, "point")} · height ${number(height)}`;
      replace(facts, job || (head.method === "import" ? "imported" : head.method), whole);
      const moved = pathsPanel(view, { api, method: head.method });
      if (moved) root.append(moved);
    },
    /** The first picture is there: the rest. */
    async begin() {
      counted(view, much);
      if (view.forgiven)
        toast(
          `Shown without what the link named: ${view.forgiven.detail || view.forgiven.message}`,
        );
      if (looked.node !== null) node.show(looked.node);
      try {
        await view.wholeTree();
      } catch (error) {
        complain(error);
      }
      colours.start();
      cut.start();
    },
    /** Back, forward, or a link to another view of the same tree. */
    async change({ color, cut: line, ...rest }) {
      if (!view.store.has(rest.root) && !(await view.fetch(rest.root, FIRST))) return;
      const isPainted = rest.palette === looked.palette;
      Object.assign(looked, rest);
      bar.draw();
      if (!isPainted) view.repaint();
      await view.show({ camera: view.cameraOf(looked.camera) });
      node.show(looked.node);
      const wanted = line ?? cutOf(view.suggestedCut);
      if (wanted !== null && cutText(wanted) !== cutText(looked.cut)) cut.choose(wanted);
      if (color !== looked.color) await colours.choose(color);
      else colours.draw();
    },
  };
}

const GONE = {
  title: "The tree is not there any more",
  detail: "It was deleted meanwhile. What has been loaded stays on the page until you leave it.",
};

function zoomButtons(view) {
  const one = (label, title, path, onclick) =>
    el(
      "button",
      {
        type: "button",
        class: "button ghost small icon-only",
        "aria-label": label,
        title,
        onclick,
      },
      drawing(path),
    );
  return el(
    "div",
    { class: "tree-zooms", role: "group", "aria-label": "Zoom" },
    button("", {
      kind: "ghost small icon-only",
      iconName: "plus",
      "aria-label": "Zoom in",
      title: "Zoom in (+)",
      onclick: () => view.zoom(1.6),
    }),
    one("Zoom out", "Zoom out (-)", MINUS, () => view.zoom(1 / 1.6)),
    one("Show the whole picture", "Whole picture (0)", WHOLE, () => view.whole()),
  );
}

/** How much of the tree is here, where it is not all of it. */
function counted({ scene, store }, place) {
  place.hidden = store.complete;
  replace(place, `${count(scene.n)} nodes here, more as you go nearer`);
}
