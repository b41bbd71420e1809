// The page of two trees side by side: of the same points, or with leaves of the same names.

import { aborted, hasStatus, problemOf } from "../net/problem.js";
import { finder, MANY } from "../forms/finder.js";
import { get } from "../net/requests.js";
import * as router from "../router.js";
import { button, field, select } from "../ui/controls.js";
import { bdi, el, replace } from "../ui/dom.js";
import { download, saveBlob } from "../ui/downloads.js";
import { count, distinct, moment, number, plural, treeTitle } from "../ui/format.js";
import { menu } from "../ui/menus.js";
import { problemBox, waiting } from "../ui/notices.js";
import { table } from "../ui/tables.js";
import { pngOf, svgOf } from "./draw/figures.js";
import { titleOf } from "./draw/labels.js";
import { TangleView } from "./draw/tangle_view.js";
import { treeSource } from "./model/source.js";
import { movedLeaves } from "./panels/moved_leaves.js";
import { putNear } from "./panels/tooltip.js";
import { printDialog, printQuery } from "./panels/print_dialog.js";
import { treeMeasures } from "./panels/tree_measures.js";

/** @import { Page, Tangle, TreeSummary } from "../net/answers.js" */
/** @import { Mounted, PageContext } from "../router.js" */
/** @import { Child } from "../ui/dom.js" */
/** @import { SideName } from "./draw/tangle_view.js" */
/** @import { TangleScene } from "./model/tangle_scene.js" */

/**
 * @typedef {{
 *   left: string,
 *   right: string,
 *   nodes: number,
 *   rotate: string,
 *   labels: string | null,
 * }} State `left` and `right` are ids of trees, or ""
 */

const SIZES = [50, 100, 200, 400, 1000];
/** @type {[value: string, label: string][]} */
const TURNS = [
  ["both", "Both trees"],
  ["other", "The right tree"],
  ["none", "Neither"],
];
const ROWS = 12;

/**
 * @param {HTMLElement} root
 * @param {PageContext} context
 * @returns {Promise<Mounted>}
 */
export async function mount(root, { params }) {
  const ends = new AbortController();
  const { signal } = ends;
  root.classList.add("wide", "tree-page");
  /** @type {State} */
  const state = {
    left: params.left ?? "",
    right: params.right ?? "",
    nodes: SIZES.find((size) => size === Number(params.nodes)) ?? 200,
    rotate: TURNS.find(([value]) => value === params.rotate)?.[0] ?? "both",
    labels: params.labels ?? null,
  };
  /** @type {Page<TreeSummary>} */
  const page = await get("/v1/trees?limit=200", { signal, quiet: true });
  const trees = page.items;
  for (const id of [state.left, state.right]) {
    if (!/^tr_\w+$/.test(id) || trees.some((tree) => tree.id === id)) continue;
    trees.push(await treeSource(id, signal).head());
  }
  build(root, state, trees, signal);
  return { unmount: () => ends.abort() };
}

/**
 * Whether two trees may be set beside each other: of as many points, or with about as many leaves,
 * which may have the same names.
 *
 * @param {TreeSummary} tree
 * @param {TreeSummary} other
 */
const mayBeAligned = (tree, other) => {
  const [few, many] = [tree.n_leaves, other.n_leaves].sort((a, b) => a - b);
  return tree.n_points === other.n_points || (few >= 3 && 2 * few >= many);
};

/** @param {TreeSummary | undefined} tree */
const nameOf = (tree) => (tree ? treeTitle(tree) : "A tree");

/**
 * Build the page and load the trees.
 *
 * @param {HTMLElement} root
 * @param {State} state
 * @param {TreeSummary[]} trees
 * @param {AbortSignal} signal
 */
function build(root, state, trees, signal) {
  const byId = new Map(trees.map((tree) => [tree.id, tree]));
  /** @type {Set<string> | null} The trees that a search has found. */
  let matching = null;
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
  const warnings = el("div", { class: "stack tight" });
  const moved = movedLeaves({
    view,
    csv: () =>
      download(treeSource(state.left, signal).tanglePath(state.right, "csv", {}), "moved.csv", {
        signal,
      }),
  });
  const spoken = el("p", { class: "visually-hidden", role: "status" });
  stage.append(tip, zoomButtons(view));
  followPointer(view, stage, tip);

  /** @param {SideName} side */
  const treeSelect = (side) => {
    const other = byId.get(state[side === "left" ? "right" : "left"]);
    /** @type {[string, string][]} */
    const list = distinct(
      trees
        .filter((tree) => !other || mayBeAligned(tree, other) || tree.id === state[side])
        .filter((tree) => !matching || matching.has(tree.id) || tree.id === state[side])
        .map((tree) => ({
          value: tree.id,
          label: nameOf(tree),
          detail: `${plural(tree.n_points, "point")} · ${moment(tree.created_at)}`,
        })),
    );
    if (!state[side]) list.unshift(["", "Choose a tree"]);
    return select(list, {
      value: state[side],
      onchange: (event) => change({ [side]: event.currentTarget.value }),
    });
  };
  const selects = el("div", { class: "tangle-picks" });
  /** @param {TreeSummary[] | null} found */
  const onfound = (found) => {
    for (const tree of found ?? []) {
      if (!byId.has(tree.id)) trees.push(tree);
      byId.set(tree.id, tree);
    }
    matching = found && new Set(found.map(({ id }) => id));
    drawSelects();
    const shown = byId.get(state.left) ?? byId.get(state.right);
    if (!shown || !found) return "";
    const same = found.filter((tree) => tree.n_points === shown.n_points).length;
    const others = found.filter((tree) => mayBeAligned(tree, shown)).length - same;
    const more = others > 0 ? `, ${others} of about as many leaves` : "";
    return `${same} of the same ${plural(shown.n_points, "point")}${more}`;
  };
  const search = finder({
    path: "/v1/trees",
    label: "Find among all trees",
    noun: "tree",
    onfound,
    signal,
  });
  search.hidden = trees.length <= MANY;
  const nodes = select(
    SIZES.map((size) => [size, `${size} nodes`]),
    { value: state.nodes, onchange: () => change({ nodes: Number(nodes.value) }) },
  );
  const rotate = select(TURNS, {
    value: state.rotate,
    onchange: () => change({ rotate: rotate.value }),
  });
  /** @param {Partial<State>} values */
  const change = (values) => {
    Object.assign(state, values);
    router.set({
      left: state.left,
      right: state.right,
      nodes: state.nodes === 200 ? null : state.nodes,
      rotate: state.rotate === "both" ? null : state.rotate,
      labels: state.labels,
    });
    drawSelects();
    load();
  };
  const drawSelects = () =>
    replace(
      selects,
      field("Left", treeSelect("left")),
      button("Swap", {
        kind: "small",
        onclick: () => change({ left: state.right, right: state.left }),
      }),
      field("Right", treeSelect("right")),
    );

  /** @type {AbortController | null} */
  let request = null;
  const load = async () => {
    request?.abort();
    replace(trouble);
    if (!state.left || !state.right) {
      replace(
        trouble,
        el(
          "p",
          { class: "notice" },
          "Choose two trees of the same points, or with leaves of the same names, to see them side by side.",
        ),
      );
      return;
    }
    const current = new AbortController();
    request = current;
    const either = AbortSignal.any([signal, current.signal]);
    const late = setTimeout(() => replace(trouble, waiting("Turning the trees…")), 300);
    try {
      const answer = await treeSource(state.left, either).tangle(state.right, {
        max_nodes: state.nodes,
        rotate: state.rotate,
      });
      if (current !== request) return;
      clearTimeout(late);
      replace(trouble);
      view.show(answer);
      describe(answer);
      measures.draw();
    } catch (error) {
      clearTimeout(late);
      if (aborted(error)) return;
      const retry = hasStatus(error, 404) ? undefined : load;
      replace(trouble, problemBox(problemOf(error), { retry }));
    }
  };

  /** @param {Tangle} answer */
  const describe = (answer) => {
    const { entanglement, entanglement_before: before } = answer;
    replace(
      facts,
      fact(
        "Entanglement",
        number(entanglement),
        "0: the leaves stand in the same order; 1: in the opposite one",
      ),
      before !== entanglement && fact("before turning", number(before)),
      fact("Crossings", count(answer.crossings)),
      fact(
        answer.matched_by === "name" ? "Leaves of the same names" : "Points",
        count(answer.n_points),
      ),
      answer.left_only > 0 && fact("On the left alone", plural(answer.left_only, "leaf", "leaves")),
      answer.right_only > 0 &&
        fact("On the right alone", plural(answer.right_only, "leaf", "leaves")),
      answer.links_left_out > 0 && fact("Links left out", count(answer.links_left_out)),
    );
    replace(
      warnings,
      answer.warnings.map((text) => el("p", { class: "quiet" }, bdi(text))),
    );
    moved.show(answer);
    const [left, right] = [nameOf(byId.get(state.left)), nameOf(byId.get(state.right))];
    const label = `${left} and ${right}, entanglement ${number(entanglement)}`;
    drawn.setAttribute("aria-label", label);
    replace(spoken, label);
    if (!view.shown) return;
    const { sides, links } = view.shown;
    replace(
      shares,
      table({
        caption: "The largest shared groups",
        columns: [
          { label: left, head: true, cell: (link) => rowName(sides.left, link.a) },
          { label: right, cell: (link) => rowName(sides.right, link.b) },
          {
            label: answer.matched_by === "name" ? "Leaves" : "Points",
            numeric: true,
            sort: (link) => link.points,
            cell: (link) => count(link.points),
          },
        ],
        rows: [...links].sort((a, b) => b.points - a.points).slice(0, ROWS),
      }),
    );
  };

  const paper = () => ({ family: view.theme.family, paper: view.theme.paper, title: "Two trees" });
  const save = menu(
    "Save",
    () => [
      {
        label: "Figure for print…",
        onselect: () =>
          printDialog({
            title: "Two trees for print",
            save: (options) => {
              const values = {
                max_nodes: state.nodes,
                rotate: state.rotate,
                ...printQuery(options),
              };
              const path = treeSource(state.left, signal).tanglePath(
                state.right,
                options.form,
                values,
              );
              return download(path, `tangle.${options.form}`, { signal });
            },
          }),
      },
      {
        label: "SVG",
        onselect: () =>
          saveBlob(
            new Blob([svgOf(view.picture(), paper())], { type: "image/svg+xml" }),
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
  const measures = treeMeasures({
    pair: () => ({
      left: state.left,
      right: state.right,
      points: byId.get(state.left)?.n_points,
    }),
    labels: state.labels,
    signal,
    onlabels: (labels) => {
      state.labels = labels;
      router.set({ labels });
    },
  });

  drawSelects();
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
      search,
      selects,
      field("Shown", nodes),
      field("Turned to match", rotate),
    ),
    trouble,
    el(
      "section",
      { class: "card tree-main", "aria-label": "Picture" },
      facts,
      warnings,
      stage,
      spoken,
    ),
    moved.element,
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
  load();
}

/**
 * @param {string} name
 * @param {Child} value
 * @param {string} [title]
 */
const fact = (name, value, title) => el("div", { title }, el("dt", {}, name), el("dd", {}, value));

/**
 * @param {TangleScene} scene
 * @param {number} row
 * @returns {Child}
 */
const rowName = (scene, row) =>
  scene.name[row]
    ? bdi(titleOf(scene, scene, row).slice(0, 120))
    : `Node ${scene.id[row]} · ${titleOf(scene, scene, row)}`;

/** @param {TangleView} view */
const zoomButtons = (view) =>
  el(
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

/**
 * A tooltip about the node under the pointer.
 *
 * @param {TangleView} view
 * @param {HTMLElement} stage
 * @param {HTMLElement} tip
 */
function followPointer(view, stage, tip) {
  view.onhover(({ pointed, x, y }) => {
    tip.hidden = !pointed || !view.shown || x === null || y === null;
    if (!pointed || !view.shown || x === null || y === null) return;
    const { side, row } = pointed;
    const scene = view.shown.sides[side];
    const title = titleOf(scene, scene, row) || (row === 0 ? "Root" : `Node ${scene.id[row]}`);
    const groups = new Set(view.shared(pointed).map((link) => (side === "left" ? link.b : link.a)));
    replace(
      tip,
      el("strong", {}, bdi(title.slice(0, 160))),
      el(
        "span",
        {},
        `${plural(scene.size[row], "point")}, in ${plural(groups.size, "group")} of the other tree`,
      ),
    );
    putNear(tip, stage, x, y);
  });
}
