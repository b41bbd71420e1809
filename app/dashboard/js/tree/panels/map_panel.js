// The map beside the tree: its points in the plane, in the colours of the tree. A node lights its points,
// an outline gives the nodes that fit it, a point leads to its leaf.

import { ENDED, follow } from "../../net/jobs.js";
import { aborted, Problem, problemOf } from "../../net/problem.js";
import { waitsFor } from "../../net/waiting.js";
import { button, optionElements } from "../../ui/controls.js";
import { bdi, bdiName, el, replace, unique } from "../../ui/dom.js";
import { download } from "../../ui/downloads.js";
import { count, number, plural } from "../../ui/format.js";
import { menu, saveEntries } from "../../ui/menus.js";
import { problemBox, waiting, warningBox } from "../../ui/notices.js";
import { progressPanel } from "../../ui/progress.js";
import { pictureColor } from "../draw/colouring.js";
import { mapColours } from "../draw/map_colours.js";
import { MapView } from "../draw/map_view.js";
import { MAPS } from "../model/look.js";
import { nodeOver, painted, thinned, within } from "../model/point_map.js";
import { NONE } from "../model/store.js";
import { itemNote } from "./item_values.js";
import { mapThumbnails } from "./map_thumbnails.js";
import { printDialog, printQuery } from "./print_dialog.js";
import { printedPicture } from "./printed_picture.js";
import { putNear } from "./tooltip.js";
import { zoomButtons } from "./zoom_buttons.js";

/** @import { PrintOptions } from "./print_dialog.js" */
/** @import { FittingNode, PointMap, Selection } from "../../net/answers.js" */
/** @import { Hover, TreeView } from "../draw/view.js" */
/** @import { Option } from "../../ui/controls.js" */
/** @import { MapBy } from "../model/look.js" */
/** @import { Corner, Points } from "../model/point_map.js" */

const MOST_CORNERS = 200;
const UNUSABLE = new Set(["failed", "cancelled", "cancelling"]);
const WAIT_MS = 150;
/** @type {[suffix: string, label: string][]} */
const FORMS = [
  ["csv", "Positions (CSV)"],
  ["npy", "Positions (npy)"],
  ["arrow", "Positions (Arrow)"],
];

/**
 * The panel, hidden while no map is chosen; `draw` for a look that was changed elsewhere, `offer` once it
 * is known whether the method placed its points in a disc. `control` chooses the map.
 *
 * @param {TreeView} view
 * @param {{ onchoose: (id: number, path: number[]) => unknown, only?: string | null }} options `only`: the
 *   id of the one map that there is, for looking alone: its points cannot be chosen
 */
export function mapPanel(view, { onchoose, only = null }) {
  const { source, look, signal } = view;
  const title = unique("map");
  /** @type {PointMap | null} */
  let shown = null;
  /** @type {Points} */
  let points = { xy: new Float32Array(0), n: 0 };
  let hasDisc = look.map === "disc";
  /** Counts the requests for maps, so that an earlier one is not shown after a later one. */
  let latest = 0;
  /** @type {Uint8Array | null} The outlined points. */
  let outlined = null;
  /** @type {{ first: number, n: number } | null} The places of the node that is lit. */
  let lit = null;
  /** @type {unknown} The colours of the tree that the map has. */
  let colouredBy = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  /** @type {AbortController | null} */
  let request = null;
  /** The order that the points were read in. */
  let ordered = "";

  const facts = el("p", { class: "quiet map-facts", role: "status" });
  const trouble = el("div", { class: "map-trouble" });
  const cautions = el("div");
  const fits = el("div", { class: "map-fits", role: "status" });
  const tip = el("div", { class: "matrix-tip", role: "status", hidden: true });
  const note = itemNote(view);
  /** @type {ReturnType<typeof mapThumbnails> | null} */
  let thumbnails = null;
  const map = new MapView({
    onpoint: (place, x, y) => tell(place, x, y),
    onchoose: (place) => choosePoint(place),
    onoutline: (outline) => outlinedBy(outline),
    ondrawn: () => thumbnails?.moved(),
    signal,
  });
  if (!only) thumbnails = mapThumbnails(view, map);
  const place = el("div", { class: "map-place" }, map.element, tip);
  const lasso = button("Lasso", {
    kind: "small",
    "aria-pressed": "false",
    title: "Outline points by dragging; also with Shift",
    onclick: () => {
      map.isLasso = !map.isLasso;
      lasso.setAttribute("aria-pressed", String(map.isLasso));
      map.element.classList.toggle("is-lasso", map.isLasso);
    },
  });
  const tools = el(
    "div",
    { class: "row map-tools", role: "group", "aria-label": "Map tools" },
    !only && lasso,
    !only &&
      button("In view", {
        kind: "small",
        title: "Which node are the points in view?",
        onclick: () => {
          map.setOutline(map.view);
          outlinedBy(map.view);
        },
      }),
    menu(
      "Save",
      () => [
        ...(only ? [] : [{ label: "Figure for print…", onselect: print }]),
        ...saveEntries(FORMS, save),
      ],
      {
        iconName: "download",
        kind: "small",
        "aria-label": "Save the map",
      },
    ),
    zoomButtons("Zoom of the map", map),
  );
  const content = el("div", { class: "map-content", hidden: true }, place, facts, fits, cautions);
  const element = el(
    "section",
    { class: "card tree-map", "aria-labelledby": title, hidden: true },
    el("header", { class: "row apart" }, el("h2", { id: title }, "Map"), tools),
    trouble,
    content,
  );

  let isChosen = false;
  const select = el("select", {
    onchange: () => {
      isChosen = true;
      look.map = MAPS.find(([by]) => by === select.value)?.[0] ?? null;
      draw();
      view.emit("look");
    },
  });
  const control = el("label", { class: "tree-inline" }, el("span", {}, "Map"), select);
  const offerMaps = () => {
    const own = MAPS.filter(([by]) => by !== "disc" || hasDisc);
    /** @type {Option[]} */
    const options = own.map(([by, label]) => [by, label, waitsFor("by", by)]);
    replace(select, optionElements([["", "None"], ...options], look.map));
  };

  /** @param {string} suffix */
  const save = (suffix) =>
    shown &&
    download(
      source.positionsPath(shown.id, suffix, { edition: look.edition }),
      `${view.fileName()}-map.${suffix}`,
      { signal },
    );

  /** @param {PrintOptions} options */
  const printPath = (options) => {
    const [[x0, y0], , [x1, y1]] = map.view;
    const values = {
      ...printQuery(options),
      palette: look.palette,
      color_by: pictureColor(view),
      window: [x0, y0, x1, y1].map((value) => Number(value.toPrecision(6))).join(","),
    };
    return source.positionsPath(shown?.id ?? "", options.form, values);
  };
  const print = () =>
    printDialog({
      title: "The map for print",
      picture: (options, own) => printedPicture(printPath(options), own),
      save: async (options) => {
        await download(printPath(options), `${view.fileName()}-map.${options.form}`, { signal });
      },
    });

  // --- loading -----------------------------------------------------------------------------------

  /**
   * A finished map of this kind: an earlier one, one that is being made, or a new one.
   *
   * @param {MapBy} by
   * @param {number} own the number of the request
   * @returns {Promise<PointMap>}
   */
  const finishedMap = async (by, own) => {
    const { items } = await source.maps();
    const known = items.find((each) => each.by === by && !UNUSABLE.has(each.status));
    let answer = known ?? (await source.makeMap(by));
    if (!ENDED.has(answer.status)) {
      const panel = progressPanel(answer.job, { oncancelled: () => {} });
      if (own === latest) replace(trouble, panel);
      await follow(answer.job, {
        signal,
        onprogress: (status, progress) => panel.show({ status, progress }),
      });
      answer = await source.map(answer.id);
    }
    if (answer.status === "succeeded") return answer;
    throw new Problem(answer.error ?? { title: `The map was ${answer.status}.`, status: 409 });
  };

  /** @param {MapBy} by */
  const load = async (by) => {
    latest += 1;
    view.map = null;
    const own = latest;
    replace(trouble, waiting());
    try {
      const next = await (only ? source.map(only) : finishedMap(by, own));
      const positions = await source.positions(next.id);
      if (own !== latest || signal.aborted) return;
      replace(trouble);
      await show(next, positions);
      // On a phone it stands below the tree, where nobody who has just chosen it would see it.
      if (isChosen) element.scrollIntoView({ block: "nearest" });
      isChosen = false;
    } catch (error) {
      if (aborted(error) || own !== latest) return;
      content.hidden = true;
      tools.hidden = true;
      replace(trouble, problemBox(problemOf(error), { level: "h3", retry: () => load(by) }));
    }
  };

  /**
   * @param {PointMap} next
   * @param {Points} positions
   */
  const show = async (next, positions) => {
    performance.mark("map:positions");
    shown = next;
    view.map = next.id;
    points = positions;
    ordered = order();
    outlined = null;
    colouredBy = null;
    content.hidden = false;
    tools.hidden = false;
    replace(fits);
    map.element.setAttribute("aria-label", altText(next));
    replace(cautions, warningBox(next.warnings));
    thumbnails?.forget();
    await map.show(points, { isDisc: next.result?.by === "disc" });
    replace(facts, factsText(next, map.isFast));
    recolour();
    await lightNode(look.node);
    performance.mark("map:shown");
  };

  // --- the tree colours and lights the map -------------------------------------------------------

  const recolour = () => {
    if (!shown || element.hidden) return;
    // The tree has other colours whenever anything has changed on which they depend.
    if (colouredBy === view.tint) return;
    colouredBy = view.tint;
    const { runs, palette } = mapColours(view);
    map.paint(painted(points.n, runs), palette, view.theme);
    renamed();
  };
  const renamed = () => map.name(look.labels ? view.store : null);
  const relight = () => {
    if (!shown) return;
    if (outlined) map.light(outlined);
    else if (lit && lit.n < points.n) map.light(painted(points.n, [{ ...lit, index: 1 }]));
    else map.light(null);
  };
  /**
   * Light the points of a node; of none: null.
   *
   * @param {number | null} id
   */
  const lightNode = async (id) => {
    if (!shown) return;
    lit = null;
    const slot = id === null ? NONE : view.store.slot(id);
    if (slot !== NONE) lit = { first: view.store.before[slot], n: view.store.size[slot] };
    else if (id !== null && id >= 0) {
      try {
        const { points_before: first, size } = await source.node(id, null);
        if (look.node === id) lit = { first, n: size };
      } catch (error) {
        if (!aborted(error)) lit = null; // The panel of the node says why.
      }
    }
    relight();
  };
  /** @param {Hover} hover */
  const onhover = ({ row, same }) => {
    if (same || !shown || outlined) return;
    const slot = row === NONE ? NONE : view.scene.slot[row];
    if (slot === NONE) lightNode(look.node);
    else {
      lit = { first: view.store.before[slot], n: view.store.size[slot] };
      relight();
    }
  };

  // --- the map speaks of the tree ----------------------------------------------------------------

  /**
   * @param {number} at a place
   * @param {number} x
   * @param {number} y
   */
  const tell = (at, x, y) => {
    clearTimeout(timer);
    request?.abort();
    tip.hidden = at === NONE;
    const slot = at === NONE ? NONE : nodeOver(view.store, at);
    view.mark(slot === NONE ? null : [view.store.id[slot]]);
    note.tell(null);
    if (at === NONE) return;
    const { store } = view;
    const isLeaf = slot !== NONE && store.size[slot] === 1;
    const name = slot === NONE ? null : store.name[slot] || view.calledOf(store.id[slot]);
    const row = el("span", {}, "…");
    replace(
      tip,
      el("strong", {}, name ? bdiName(name) : slot === NONE ? "A point" : `Node ${store.id[slot]}`),
      !isLeaf && slot !== NONE && el("span", {}, `one of ${plural(store.size[slot], "point")}`),
      !only && row,
      note.element,
    );
    putNear(tip, place, x, y);
    if (only) return;
    const own = new AbortController();
    request = own;
    timer = setTimeout(async () => {
      try {
        const point = await source.place(at, AbortSignal.any([own.signal, signal]));
        const isKnown = isLeaf || point.name === null;
        note.tell({ node: point.leaf, row: point.row });
        replace(row, `Row ${count(point.row)}`, !isKnown && [", ", bdiName(point.name ?? "")]);
      } catch (error) {
        if (!aborted(error)) replace(row, bdi(problemOf(error).title ?? ""));
      }
    }, WAIT_MS);
  };
  /** @param {number} at a place */
  const choosePoint = async (at) => {
    const { store } = view;
    const slot = nodeOver(store, at);
    if (slot === NONE && only) return;
    if (only || (slot !== NONE && !store.kids[slot]?.length && !store.hidden[slot])) {
      view.select(store.id[slot]);
      return;
    }
    try {
      const { leaf, path } = await source.place(at, signal);
      onchoose(leaf, path);
    } catch (error) {
      if (!aborted(error)) replace(fits, problemBox(problemOf(error), { level: "h3" }));
    }
  };
  /** @param {Corner[] | null} outline */
  const outlinedBy = async (outline) => {
    const map_ = shown;
    if (!map_ || !outline) {
      outlined = null;
      replace(fits);
      relight();
      return;
    }
    const corners = thinned(outline, MOST_CORNERS);
    map.setOutline(corners);
    const { inside } = within(points, corners);
    outlined = inside;
    relight();
    if (only) return;
    try {
      const selection = await source.selection(map_.id, corners);
      if (outlined === inside) replace(fits, fitsOf(selection, view, onchoose, clear));
    } catch (error) {
      if (!aborted(error)) {
        const retry = () => outlinedBy(outline);
        replace(fits, problemBox(problemOf(error), { level: "h3", retry }));
      }
    }
  };
  const clear = () => {
    map.setOutline([]);
    outlinedBy(null);
  };

  const draw = () => {
    select.value = look.map ?? "";
    const isOther = look.map !== (shown?.by ?? null);
    element.hidden = look.map === null;
    if (look.map === null) {
      latest += 1;
      view.map = null;
      view.mark(null);
      return;
    }
    if (isOther) load(look.map);
    else {
      view.map = shown?.id ?? null;
      recolour();
    }
  };
  /** The order of the loaded nodes, which that of the points follows. */
  const order = () => {
    const { n, id, before } = view.store;
    return [...id.slice(0, n), ...before.slice(0, n)].join();
  };
  view.on("edited", () => {
    if (shown && !element.hidden && order() !== ordered) load(shown.by);
  });
  view.on("drawn", recolour);
  view.on("drawn", renamed);
  view.on("painted", recolour);
  view.on("hover", onhover);
  view.on("select", ({ id }) => lightNode(id));
  view.on("look", () => thumbnails?.moved());
  offerMaps();
  tools.hidden = true;
  return Object.assign(element, {
    control,
    draw,
    offerDisc: () => {
      hasDisc = true;
      offerMaps();
    },
  });
}

/** @param {PointMap} map */
const altText = ({ result }) =>
  `A map of ${plural(result?.n_points ?? 0, "point")} in the colours of the tree. The points of the ` +
  "chosen node stand out; the table of its points has them as text. Arrows go from point to " +
  "point, with Shift they move the map, Enter shows the node; plus and minus zoom, 0 shows all.";

/**
 * @param {PointMap} map
 * @param {boolean} isFast
 */
function factsText({ result }, isFast) {
  if (!result) return "";
  const parts = [plural(result.n_points, "point")];
  if (result.by === "pca" && result.explained !== null) {
    parts.push(`${percent(result.explained)} of the variance`);
  }
  if (result.neighbors_kept !== null) {
    parts.push(`${percent(result.neighbors_kept)} of nearest neighbours kept`);
  }
  if (!isFast) parts.push("drawn by the processor");
  return parts.join(" · ");
}

/**
 * The nodes that fit an outline.
 *
 * @param {Selection} selection
 * @param {TreeView} view
 * @param {(id: number, path: number[]) => unknown} onchoose
 * @param {() => unknown} onclear
 */
function fitsOf({ n_points: n, items }, view, onchoose, onclear) {
  /** @param {FittingNode} fit */
  const line = (fit) =>
    el(
      "li",
      {
        onpointerenter: () => view.mark([fit.node]),
        onpointerleave: () => view.mark(null),
      },
      el(
        "button",
        { type: "button", class: "linklike", onclick: () => onchoose(fit.node, fit.path) },
        bdiName(fit.name ?? view.calledOf(fit.node) ?? `Node ${fit.node}`),
      ),
      ` ${plural(fit.size, "point")}: purity ${percent(fit.purity)}, recall ${percent(fit.recall)}`,
    );
  return [
    el(
      "div",
      { class: "row apart" },
      el(
        "p",
        {},
        el("strong", {}, `${plural(n, "point")} outlined.`),
        items.length ? " Nodes that fit best:" : " No node has any of them.",
      ),
      button("Clear", { kind: "small", onclick: onclear }),
    ),
    items.length > 0 && el("ol", {}, items.map(line)),
  ];
}

/** @param {number} share */
const percent = (share) => `${number(Math.round(share * 1000) / 10)} %`;
