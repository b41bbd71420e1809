// The page of two trees of the same points, side by side.

import { saveBlob } from "../net/requests.js";
import {
  button,
  el,
  field,
  menu,
  problemBox,
  replace,
  said,
  select,
  table,
  waiting,
} from "../ui/dom.js";
import { count, number, plural } from "../ui/format.js";
import { pngOf, svgOf } from "./draw/figures.js";
import { titleOf } from "./draw/labels.js";
import { TangleView } from "./draw/tangle_view.js";
import { source as sourceOf } from "./model/source.js";
import { measuring } from "./panels/tree_measures.js";

const SIZES = [50, 100, 200, 400, 1000];
const TURNS = [
  ["both", "Both trees"],
  ["other", "The right tree"],
  ["none", "Neither"],
];
const ROWS = 12;

export async function mount(root, { api, router, params }) {
  const ended = new AbortController();
  const { signal } = ended;
  root.classList.add("wide", "tree-page");
  const state = {
    left: params.left,
    right: params.right,
    nodes: sizeOf(params.nodes),
    rotate: turnOf(params.rotate),
    labels: params.labels ?? null,
  };
  const trees = (await api.get("/v1/trees?limit=200", { signal, quiet: true })).items;
  for (const id of [state.left, state.right]) {
    if (!/^tr_\w+$/.test(id ?? "") || trees.some((one) => one.id === id)) continue;
    trees.push(await api.get(`/v1/trees/${id}.json?depth=0`, { signal, quiet: true }));
  }
  const parts = build(root, { api, router, state, trees, signal });
  parts.load();
  return { unmount: () => ended.abort() };
}

const sizeOf = (text) => (SIZES.includes(Number(text)) ? Number(text) : 200);
const turnOf = (text) => (TURNS.some(([value]) => value === text) ? text : "both");
const nameOf = (tree) =>
  tree?.name ?? (tree ? `${tree.method} tree of ${plural(tree.n_points, "point")}` : "A tree");

function build(root, { api, router, state, trees, signal }) {
  const byId = new Map(trees.map((one) => [one.id, one]));
  const drawn = el("div", {
    class: "tangle-picture",
    role: "img",
    "aria-label": "Two trees face to face",
  });
  const stage = el("div", { class: "tree-stage tangle-stage" }, drawn);
  const view = new TangleView(drawn, { signal });
  const facts = el("dl", { class: "tangle-facts" });
  const trouble = el("div", { class: "tree-trouble" });
  const tip = el("div", { class: "tree-tip", hidden: true });
  const shares = el("div");
  const say = el("p", { class: "visually-hidden", role: "status" });
  stage.append(tip, zooms(view));
  pointed(view, stage, tip);

  const pick = (side) => {
    const other = side === "left" ? "right" : "left";
    const fits = (one) =>
      !byId.get(state[other]) ||
      one.n_points === byId.get(state[other]).n_points ||
      one.id === state[side];
    const list = trees.filter(fits).map((one) => [one.id, nameOf(one)]);
    return select([...(state[side] ? [] : [["", "Choose a tree"]]), ...list], {
      value: state[side] ?? "",
      onchange: (event) => change({ [side]: event.target.value }),
    });
  };
  const picks = el("div", { class: "tangle-picks" });
  const nodes = select(
    SIZES.map((one) => [one, `${one} nodes`]),
    { value: state.nodes, onchange: () => change({ nodes: Number(nodes.value) }) },
  );
  const rotate = select(TURNS, {
    value: state.rotate,
    onchange: () => change({ rotate: rotate.value }),
  });
  const change = (values) => {
    Object.assign(state, values);
    router.set({
      left: state.left,
      right: state.right,
      nodes: state.nodes === 200 ? null : state.nodes,
      rotate: state.rotate === "both" ? null : state.rotate,
      labels: state.labels,
    });
    choose();
    load();
  };
  const choose = () =>
    replace(
      picks,
      field("Left", pick("left")),
      button("Swap", {
        kind: "small",
        onclick: () => change({ left: state.right, right: state.left }),
      }),
      field("Right", pick("right")),
    );

  let asking = null;
  const load = async () => {
    asking?.abort();
    replace(trouble);
    if (!state.left || !state.right) {
      replace(
        trouble,
        el(
          "p",
          { class: "notice" },
          "Choose two trees of the same points to see them side by side.",
        ),
      );
      return;
    }
    asking = new AbortController();
    const mine = asking;
    const both = AbortSignal.any([signal, mine.signal]);
    const late = setTimeout(() => replace(trouble, waiting("Turning the trees…")), 300);
    try {
      const answer = await sourceOf(api, state.left, both).tangle(state.right, {
        max_nodes: state.nodes,
        rotate: state.rotate,
      });
      if (mine !== asking) return;
      clearTimeout(late);
      replace(trouble);
      view.show(answer);
      told(answer);
      measures.draw();
    } catch (error) {
      clearTimeout(late);
      if (error?.name !== "AbortError")
        replace(trouble, problemBox(error, { retry: error.status === 404 ? undefined : load }));
    }
  };

  const told = (answer) => {
    const one = (name, value, title) =>
      el("div", { title }, el("dt", {}, name), el("dd", {}, value));
    const before = answer.entanglement_before;
    replace(
      facts,
      one(
        "Entanglement",
        number(answer.entanglement),
        "0: the leaves stand in the same order; 1: in the opposite one",
      ),
      before !== null && before !== answer.entanglement && one("before turning", number(before)),
      one("Crossings", count(answer.crossings)),
      one("Points", count(answer.n_points)),
      answer.links_left_out > 0 && one("Links left out", count(answer.links_left_out)),
    );
    const label = `${nameOf(byId.get(state.left))} and ${nameOf(byId.get(state.right))}, entanglement ${number(answer.entanglement)}`;
    drawn.setAttribute("aria-label", label);
    replace(say, label);
    const { left, right } = view.sides;
    const largest = [...view.links].sort((a, b) => b.points - a.points).slice(0, ROWS);
    replace(
      shares,
      table({
        caption: "The largest shared groups",
        columns: [
          { label: nameOf(byId.get(state.left)), head: true, cell: (row) => called(left, row.a) },
          { label: nameOf(byId.get(state.right)), cell: (row) => called(right, row.b) },
          {
            label: "Points",
            numeric: true,
            sort: (row) => row.points,
            cell: (row) => count(row.points),
          },
        ],
        rows: largest,
      }),
    );
  };

  const save = menu(
    "Save",
    () => [
      {
        label: "SVG",
        onselect: () =>
          saveBlob(
            new Blob([svgOf(view.picture(), { ...paper(), title: "Two trees" })], {
              type: "image/svg+xml",
            }),
            "tangle.svg",
          ),
      },
      {
        label: "PNG, twice as fine",
        onselect: async () =>
          saveBlob(await pngOf(view.picture(), { ...paper(), times: 2 }), "tangle.png"),
      },
    ],
    { iconName: "download" },
  );
  const paper = () => ({ family: view.theme.family, paper: view.theme.paper });
  const measures = measuring({
    api,
    state,
    byId,
    signal,
    onlabels: (labels) => router.set({ labels: (state.labels = labels) }),
  });

  choose();
  replace(
    root,
    el(
      "header",
      { class: "tree-head" },
      el("div", { class: "tree-title" }, el("h1", {}, "Two trees")),
      el(
        "div",
        { class: "tree-tools" },
        state.left &&
          state.right &&
          el(
            "a",
            {
              class: "button",
              href: router.href("/evaluations", { trees: `${state.left},${state.right}` }),
            },
            "Evaluate both",
          ),
        save,
      ),
    ),
    el(
      "section",
      { class: "card tree-panel tangle-bar", "aria-label": "What is compared" },
      picks,
      field("Shown", nodes),
      field("Turned to match", rotate),
    ),
    trouble,
    el("section", { class: "card tree-main", "aria-label": "Picture" }, facts, stage, say),
    el(
      "div",
      { class: "halves" },
      el(
        "section",
        { class: "card tree-panel", "aria-labelledby": "shares-title" },
        el("h2", { id: "shares-title" }, "Shared groups"),
        shares,
      ),
      measures.element,
    ),
  );
  return { load };
}

const called = (scene, row) =>
  scene.name[row]
    ? said(titleOf(scene, scene, row).slice(0, 120))
    : `Node ${scene.id[row]} · ${titleOf(scene, scene, row)}`;

function zooms(view) {
  return el(
    "div",
    { class: "tree-zooms is-over", role: "group", "aria-label": "Zoom" },
    button("+", {
      kind: "small icon-only",
      "aria-label": "Zoom in",
      onclick: () => view.zoom(1.6),
    }),
    button("−", {
      kind: "small icon-only",
      "aria-label": "Zoom out",
      onclick: () => view.zoom(1 / 1.6),
    }),
  );
}

function pointed(view, stage, tip) {
  view.addEventListener("hover", ({ detail: { pointed: one, x, y } }) => {
    tip.hidden = !one || x === null;
    if (tip.hidden) return;
    const scene = view.sides[one.side];
    const links = view.shared(one);
    const title =
      titleOf(scene, scene, one.row) || (one.row === 0 ? "Root" : `Node ${scene.id[one.row]}`);
    const places = new Set(links.map((link) => (one.side === "left" ? link.b : link.a))).size;
    replace(
      tip,
      el("strong", {}, said(title.slice(0, 160))),
      el(
        "span",
        {},
        `${plural(scene.size[one.row], "point")}, in ${plural(places, "group")} of the other tree`,
      ),
    );
    const left = x + 16 + tip.offsetWidth > stage.clientWidth ? x - 16 - tip.offsetWidth : x + 16;
    const top = Math.min(y + 16, stage.clientHeight - tip.offsetHeight - 4);
    tip.style.setProperty(
      "transform",
      `translate(${Math.round(Math.max(4, left))}px, ${Math.round(top)}px)`,
    );
  });
}
