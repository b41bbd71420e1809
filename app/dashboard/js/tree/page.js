// The page of one tree: the picture in the middle, surrounded by its controls.

import { calibrationForm } from "../forms/calibration_form.js";
import { methodOf, methodTitles } from "../forms/catalogue.js";
import { isOfClasses } from "../forms/fitted_rows.js";
import { driftForm } from "../forms/drift_form.js";
import { labelFile } from "../forms/file_input.js";
import { itemsForm } from "../forms/items_form.js";
import { namingForm } from "../forms/naming_form.js";
import { withTexts } from "../net/attachments.js";
import { evaluationsOf, siblingOf } from "../net/classifier_evaluations.js";
import { connection } from "../net/connection.js";
import { embeds } from "../net/embeddings.js";
import { aborted, hasStatus, isAway, messageOf, problemOf } from "../net/problem.js";
import { get } from "../net/requests.js";
import { predictionForm } from "../pages/predictions.js";
import * as router from "../router.js";
import { button } from "../ui/controls.js";
import { copy, toast } from "../ui/dialogs.js";
import { append, bdi, el, focusFirst, replace } from "../ui/dom.js";
import { count, moment, number, plural, treeTitle } from "../ui/format.js";
import { problemBox } from "../ui/notices.js";
import { tour } from "../ui/tour.js";
import { TreeView } from "./draw/view.js";
import { cutOf, cutText } from "./model/cut.js";
import { readLook, writeLook } from "./model/look.js";
import { INNER } from "./model/scene.js";
import { FIRST, treeSource } from "./model/source.js";
import { NONE } from "./model/store.js";
import { SUPPORT } from "./model/support.js";
import { answerPanel } from "./panels/answer_panel.js";
import { breadcrumbs } from "./panels/breadcrumbs.js";
import { colourPanel } from "./panels/colour_panel.js";
import { confusionsPanel } from "./panels/confusions_panel.js";
import { cutPanel } from "./panels/cut_panel.js";
import { driftPanel } from "./panels/drift_panel.js";
import { editionPanel } from "./panels/edition_panel.js";
import { fileMenu } from "./panels/file_menu.js";
import { grownPanel } from "./panels/grown_panel.js";
import { stepsPanel } from "./panels/steps_panel.js";
import { heatmapPanel } from "./panels/heatmap_panel.js";
import { itemsPanel } from "./panels/items_panel.js";
import { keyboardTree, rowText } from "./panels/keyboard_tree.js";
import { layersPanel } from "./panels/layers_panel.js";
import { layoutBar } from "./panels/layout_bar.js";
import { mapPanel } from "./panels/map_panel.js";
import { minimap } from "./panels/minimap.js";
import { movedPanel } from "./panels/moved_panel.js";
import { namesControl } from "./panels/names_control.js";
import { nodePanel } from "./panels/node_panel.js";
import { pathsPanel } from "./panels/paths_panel.js";
import { sideSheet } from "./panels/side_sheet.js";
import { sideTabs } from "./panels/side_tabs.js";
import { relatedPanel } from "./panels/related_panel.js";
import { searchBox } from "./panels/search_box.js";
import { statementsPanel } from "./panels/statements_panel.js";
import { tooltip } from "./panels/tooltip.js";
import { trustPanel } from "./panels/trust_panel.js";
import { zoomButtons } from "./panels/zoom_buttons.js";
import { runAgain } from "./run_again.js";

/** @import { Method, Model, NodeDetails, Tree } from "../net/answers.js" */
/** @import { Mounted, PageContext } from "../router.js" */
/** @import { Hover, Trouble } from "./draw/view.js" */
/** @import { Look } from "./model/look.js" */
/** @import { NodeAction } from "./panels/node_panel.js" */

const WRITE_MS = 180;
const ONE_STEP_MS = 1500;

/**
 * @param {HTMLElement} root
 * @param {PageContext} context
 * @returns {Promise<Mounted>}
 */
export async function mount(root, { params, id }) {
  const ends = new AbortController();
  const { signal } = ends;
  const first = readLook(params);
  const source = treeSource(id, signal, () => ({ names: first.names, edition: first.edition }));
  root.classList.add("wide", "tree-page");
  const stage = el("div", { class: "tree-stage" });
  // Added to the page before it is measured.
  root.append(el("div", { class: "tree-work" }, el("section", { class: "card tree-main" }, stage)));
  const view = new TreeView(stage, { source, look: first, signal });
  const page = build(root, view, stage);
  const address = followAddress(view, `/trees/${id}`);
  try {
    const head = source.head();
    head.catch(() => {});
    await view.start();
    const unwatch = connection.watch((away) => !away && view.detail.again());
    signal.addEventListener("abort", unwatch);
    page.begin();
    page.entitle(await head, params.statements ?? null);
    if (params.tour) page.lead();
  } catch (error) {
    ends.abort();
    throw error;
  }
  return {
    unmount: () => {
      address.stop();
      ends.abort();
    },
    update: (next) => {
      const look = readLook(next);
      if (address.take(look)) address.follow(page.change(look));
    },
  };
}

/**
 * Write the look into the address, a moment after it has changed. Another root, cut or colour is a step
 * in the history, so that Back undoes it; a cut that is moved further soon after is the same step.
 *
 * @param {TreeView} view
 * @param {string} path
 */
function followAddress(view, path) {
  const { look } = view;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  let written = writeLook(look);
  /** When the last step was a cut, in ms. */
  let cutAt = -Infinity;
  /** How many looks of the history are being shown; until then the address is ahead of the look. */
  let following = 0;
  const write = ({ isStep = true } = {}) => {
    if (following) return;
    const now = writeLook(look);
    // A cut that the user has not chosen is not part of the address.
    if (view.suggestedCut && now.cut === view.suggestedCut) now.cut = null;
    if (JSON.stringify(now) === JSON.stringify(written) || view.signal.aborted) return;
    const isOther =
      now.root !== written.root ||
      now.color !== written.color ||
      now.names !== written.names ||
      now.edition !== written.edition;
    const isCut = now.cut !== written.cut;
    const isMoved = isCut && !isOther && performance.now() - cutAt < ONE_STEP_MS;
    written = now;
    if (isCut) cutAt = performance.now();
    if (isStep && (isOther || isCut) && !isMoved) router.navigate(path, now);
    else router.set(now);
  };
  view.on("look", () => {
    clearTimeout(timer);
    timer = setTimeout(() => write(), WRITE_MS);
  });
  return {
    stop: () => clearTimeout(timer),
    /**
     * Called when the address has become that of this look; returns whether the look differs.
     *
     * @param {Look} next
     */
    take: (next) => {
      const now = writeLook(next);
      if (JSON.stringify(now) === JSON.stringify(written)) return false;
      clearTimeout(timer);
      written = now;
      cutAt = -Infinity;
      return true;
    },
    /**
     * Leave the address alone until a look of the history is shown.
     *
     * @param {Promise<unknown>} shown
     */
    async follow(shown) {
      following += 1;
      try {
        await shown;
      } finally {
        following -= 1;
      }
      write({ isStep: false });
    },
  };
}

/**
 * Build the page around the view.
 *
 * @param {HTMLElement} root
 * @param {TreeView} view
 * @param {HTMLElement} stage
 */
function build(root, view, stage) {
  const { source, look, signal } = view;
  const spoken = el("p", { class: "visually-hidden", role: "status" });
  const heading = el("h1", {}, "Tree");
  const facts = el("p", { class: "quiet" });
  const compare = el(
    "a",
    { class: "button", href: router.href("/compare", { left: source.tree }) },
    "Beside another tree",
  );
  const trouble = el("div", { class: "tree-trouble" });
  /**
   * @param {unknown} error
   * @param {() => unknown} [again]
   */
  const complain = (error, again) => {
    // That the service is away is reported above all pages.
    if (signal.aborted || aborted(error) || isAway(error)) return;
    const isGone = hasStatus(error, 404);
    const retry = again && !isGone ? () => (replace(trouble), again()) : undefined;
    replace(trouble, problemBox(isGone ? GONE : problemOf(error), { retry }));
  };
  /**
   * @param {number} id
   * @param {number[]} path
   */
  const goTo = async (id, path) => {
    const isShown = await view.goTo(id, path);
    if (!isShown && !signal.aborted) toast("The node could not be shown.", { kind: "bad" });
  };

  const bar = layoutBar(view);
  const crumbs = breadcrumbs(view);
  const search = searchBox(view, {
    onchoose: goTo,
    onproblem: complain,
    embeds: () => embeds("documents", signal),
    texts: () => withTexts(source.tree, view.items?.attachment ?? null, signal),
  });
  const keyboard = keyboardTree(view, {
    onsearch: () => search.focusField(),
    onup: crumbs.up,
    onname: () => {
      tabs.choose("edit");
      sheet.open();
      edition.nameNode();
    },
    say: (text) => replace(spoken, text),
  });
  const nodeCount = el("p", { class: "tree-drawn quiet", hidden: true });
  const map = mapPanel(view, { onchoose: goTo });
  let followHeatmap = () => {};
  const names = namesControl(view, {
    form: (k) => namingForm({ tree: source.tree, signal, k }),
  });
  const edition = editionPanel(view);
  bar.append(map.control, zoomButtons("Zoom", view));
  stage.append(keyboard, tooltip(view, stage), minimap(view));

  const work = el("div", { class: "tree-work" });
  const tabs = sideTabs(view, work);
  const side = el("aside", { class: "tree-side", "aria-label": "About the tree" });
  const sheet = sideSheet(side, tabs);
  const showMoved = () => {
    tabs.choose("drift");
    sheet.open();
    focusFirst(work, ".tree-moved h2");
  };
  const answer = answerPanel(view, {
    onchoose: (id) => (view.rowOf(id) === NONE ? bringUp(id) : goTo(id, view.store.path(id))),
    oncut: (k) => cut.choose({ k }),
    onpanel: (name) => {
      if (name === "trust") tabs.choose("trust");
      else showMoved();
    },
  });
  const cut = cutPanel(view, {
    onproblem: (error) => complain(error, () => cut.start()),
    onname: (k) => names.make(k),
  });
  const colours = colourPanel(view, {
    onproblem: complain,
    onchange: () => {
      cut.draw();
      node.again();
    },
    onchoose: (id) => (view.rowOf(id) === NONE ? bringUp(id) : view.select(id)),
    labelFile: (onready) => labelFile({ signal, onready }),
  });
  const layers = layersPanel(view, {
    onproblem: complain,
    onshown: () => {
      cut.draw();
      colours.draw();
      node.again();
    },
  });
  /**
   * @param {NodeDetails} details
   * @returns {NodeAction[]}
   */
  const actions = (details) => {
    const row = view.rowOf(details.id);
    const isShown = row !== NONE;
    const isInner = details.children.length > 0 && details.id !== look.root;
    const isOpen = isShown && view.scene.kind[row] === INNER;
    const turn = async () => {
      await view.toggle(details.id);
      await node.show(details.id, { anew: true });
    };
    return [
      {
        label: isShown ? "Bring near" : "Show it",
        onclick: () => goTo(details.id, details.path),
      },
      ...(isInner && isShown ? [{ label: isOpen ? "Fold" : "Open", onclick: turn }] : []),
      ...(isInner ? [{ label: "Only this part", onclick: () => view.reroot(details.id) }] : []),
      ...(details.size ? [chooseAction(details)] : []),
    ];
  };
  const known = statementsPanel(view, runAgain);
  /**
   * @param {NodeDetails} details
   * @returns {NodeAction}
   */
  const chooseAction = ({ id, name }) => {
    const choice = { node: id, name };
    return { label: "Choose", choice, onclick: () => known.toggle(choice) };
  };
  const node = nodePanel(view, {
    actions,
    onchoose: goTo,
    choosing: known,
    rank: () => items.rank(),
    stays: () => look.edition !== null || look.tab !== "explore",
    onreveal: sheet.open,
  });

  const items = itemsPanel(view, {
    form: () => {
      const { size: rows, leaves } = view.total;
      return itemsForm({ tree: source.tree, rows, leaves, signal });
    },
    oncolumns: colours.offerColumns,
    oncolour: colours.choose,
    onchange: () => node.again(),
  });

  const files = fileMenu(view);
  const link = button("Copy link", {
    onclick: async () =>
      (await copy(location.href)) && toast("The link opens this very view.", { kind: "good" }),
  });
  work.append(
    el(
      "div",
      { class: "tree-and-map" },
      el(
        "section",
        { class: "card tree-main", "aria-label": "Picture of the tree" },
        bar,
        crumbs,
        stage,
        nodeCount,
      ),
      map,
    ),
    append(side, node, tabs.panels),
  );
  replace(
    root,
    el(
      "header",
      { class: "tree-head" },
      el("div", { class: "tree-title" }, heading, facts),
      el("div", { class: "tree-tools" }, search, compare, link, files),
    ),
    trouble,
    work,
    spoken,
  );
  tabs.place(
    "explore",
    answer,
    cut,
    colours,
    layers,
    el("section", { class: "card tree-panel", "aria-label": "Names of nodes" }, names),
    items,
    known,
  );
  tabs.place("edit", edition);
  const showCount = () => {
    nodeCount.hidden = view.store.complete;
    replace(nodeCount, `${count(view.scene.n)} nodes loaded, more as you go nearer`);
  };
  /** @param {Trouble} detail */
  const ontrouble = ({ error, retry }) => complain(error, retry);
  /** @param {Hover} detail */
  const onhover = ({ row, x }) =>
    row !== NONE && x === null && replace(spoken, rowText(view.scene, view.store, row));
  /** @param {number} id */
  const bringUp = async (id) => {
    try {
      const { path } = await source.node(id, null);
      stage.scrollIntoView({ block: "center" });
      await goTo(id, path);
    } catch (error) {
      complain(error);
    }
  };
  const confusions = confusionsPanel(view, {
    onchoose: bringUp,
    onpairs: (pairs) => answer.tell({ pairs }),
  });
  /** @type {Method | undefined} */
  let ofTree;
  /**
   * A form of rows for the tree's model.
   *
   * @template Made
   * @param {(method: Method, model: Model, options: {
   *   tree: string, signal: AbortSignal, onmade: (made: Made) => unknown,
   * }) => Promise<HTMLElement>} form
   * @returns {(onmade: (made: Made) => unknown) => Promise<HTMLElement>}
   */
  const ofModel = (form) => async (onmade) => {
    if (!ofTree) throw new TypeError("The panel starts with a method.");
    /** @type {Model} */
    const model = await get(`/v1/models/${siblingOf(source.tree, "md")}`, { signal, quiet: true });
    return form(ofTree, model, { tree: source.tree, signal, onmade });
  };
  const trust = trustPanel(view, {
    onchoose: bringUp,
    form: ofModel(calibrationForm),
    placing: (calibration) =>
      ofModel((method, model) => predictionForm(method, model, { signal, calibration }))(() => {}),
    onknown: (promise, isCalibrated) => answer.tell({ promise, isCalibrated }),
  });
  const drift = driftPanel(view, {
    onchoose: bringUp,
    form: ofModel(driftForm),
    onknown: (finding) => answer.tell({ drift: finding }),
  });
  /**
   * Show what is taken for what, where the method knows, and how far its answers can be trusted; offer
   * the errors of a classifier as colours.
   *
   * @param {Tree} head
   */
  const offerErrors = async ({ job, method: id }) => {
    try {
      const method = job ? await methodOf(id) : undefined;
      if (!method) return;
      ofTree = method;
      if (method.outputs.includes("ball")) map.offerDisc();
      const confuses = method.outputs.includes("confusions");
      await Promise.all([
        confuses && confusions.start(),
        trust.start({ predicts: method.predicts, confuses, ofClasses: isOfClasses(method) }),
        method.predicts && drift.start(),
      ]);
      if (!method.classifies) return;
      const model = siblingOf(source.tree, "md");
      const evaluations = await evaluationsOf({ method: id, model }, signal);
      colours.offer(
        evaluations.map((one) => [one.id, `Errors, evaluated ${moment(one.created_at)}`]),
      );
    } catch (error) {
      complain(error);
    }
  };
  addEventListener(
    "nodewish",
    (event) => {
      const { node: id, path } = /** @type {CustomEvent} */ (event).detail;
      goTo(id, path);
    },
    { signal },
  );
  view.on("edited", () => cut.start());
  view.on("problem", ontrouble);
  view.on("drawn", showCount);
  view.on("hover", onhover);

  return {
    /**
     * Show the service's facts about the whole tree.
     *
     * @param {Tree} head
     * @param {string | null} labels id of the labels whose statements are restored
     */
    entitle(head, labels) {
      const { leaves, size, height } = view.total;
      const isImport = head.method === "import";
      view.method = head.method;
      view.title = treeTitle(head);
      replace(heading, bdi(view.title));
      document.title = `${view.title} · Umbel`;
      const method = el("span", {}, head.method);
      methodTitles().then(
        (titles) => replace(method, titles.get(head.method) ?? head.method),
        () => {},
      );
      const job = head.job && el("a", { href: router.href(`/jobs/${head.job}`) }, method);
      const extent =
        look.root === 0 &&
        ` · ${plural(leaves, "leaf", "leaves")} · ${plural(size, "point")} · height ${number(height)}`;
      replace(facts, job || (isImport ? "imported" : method), extent);
      // A node that a link names is shown before the method is known.
      if (head.method === "consensus" && look.node !== null) node.show(look.node, { anew: true });
      if (SUPPORT in head.nodes[0]) colours.offerSupport();
      offerErrors(head);
      known.start(head, labels);
      const moved = movedPanel(view, head, {
        onmoved: (text) => {
          answer.tell({ moved: text });
          append(facts, " · ", el("button", { type: "button", class: "linklike", onclick: showMoved }, text)); // prettier-ignore
        },
      });
      const heatmap = heatmapPanel(view, { onchoose: bringUp });
      followHeatmap = heatmap.follow;
      tabs.place("confusions", confusions);
      tabs.place("trust", trust);
      tabs.place(
        "drift",
        moved,
        stepsPanel(view),
        grownPanel(view, head),
        drift,
        pathsPanel(view, head.method),
      );
      tabs.place("compare", heatmap, relatedPanel(view, head, methodTitles));
    },
    /** Lead through the page. */
    lead: () => {
      sheet.open();
      tour(
        [stage, cut, search, files].map((at, step) => ({ at, ...TOUR[step] })),
        signal,
      );
    },
    /** The first picture is shown: load the rest. */
    async begin() {
      showCount();
      sheet.follow(look);
      if (view.forgiven) toast(`Shown without what the link named: ${messageOf(view.forgiven)}`);
      if (look.node !== null) node.show(look.node);
      try {
        await view.loadWhole();
      } catch (error) {
        complain(error);
      }
      colours.start();
      cut.start().then(() => answer.tell({ level: cut.level() }), complain);
      layers.start();
      names.start().catch(complain);
      items.start();
      edition.start().catch(complain);
      map.draw();
    },
    /**
     * Show another look: back, forward, or a link to another view of the same tree.
     *
     * @param {Look} next
     */
    async change({ color, cut: nextCut, names: nextNames, edition: nextEdition, ...rest }) {
      if (nextEdition !== look.edition) await edition.choose(nextEdition);
      if (nextNames !== look.names) await names.choose(nextNames);
      if (!view.store.has(rest.root) && !(await view.load(rest.root, FIRST))) return;
      const isPainted = rest.palette === look.palette;
      Object.assign(look, rest);
      bar.draw();
      tabs.draw();
      sheet.follow(look);
      map.draw();
      followHeatmap();
      if (!isPainted) view.repaint();
      await view.show({ camera: view.cameraOf(look.camera) });
      await items.follow();
      node.show(look.node);
      const wanted = nextCut ?? cutOf(view.suggestedCut);
      if (wanted !== null && cutText(wanted) !== cutText(look.cut)) cut.choose(wanted);
      if (color !== look.color) await colours.choose(color);
      else colours.draw();
    },
  };
}

const TOUR = [
  {
    title: "The tree",
    text: "Languages that the identifier takes for each other lie near each other. Drag to move, scroll or pinch to zoom, click a node to read about it.",
  },
  {
    title: "Its clusters",
    text: "A cut makes clusters of the tree, each in a colour. Move it for fewer or more.",
  },
  { title: "Find a language", text: "Type a name, such as Danish, and go to its leaf." },
  {
    title: "Take it with you",
    text: "Save the picture, the tree or its clusters. To begin with data of your own: New run, above.",
  },
];

const GONE = {
  title: "The tree no longer exists",
  detail: "It was deleted meanwhile. What has been loaded stays on the page until you leave it.",
};
