// The start: data in, a method, its settings, run.

import { methods } from "../forms/catalogue.js";
import { usableDatasets } from "../forms/datasets.js";
import { dropZone } from "../forms/drop_zone.js";
import { methodPicker } from "../forms/method_picker.js";
import { firstMethod, isNeededBy, namesClassesOf, refusalOf } from "../forms/roles.js";
import { started } from "../net/jobs.js";
import { Problem } from "../net/problem.js";
import { send } from "../net/requests.js";
import * as router from "../router.js";
import { button } from "../ui/controls.js";
import { toast } from "../ui/dialogs.js";
import { el, focusFirst, replace } from "../ui/dom.js";
import { plural } from "../ui/format.js";
import { problemBox } from "../ui/notices.js";
import { addressParams, datasetIds, settingsIn } from "./run_address.js";
import { smallTree } from "./small_tree.js";
import { welcome } from "./welcome.js";

/** @import { Dataset, Job, Method } from "../net/answers.js" */
/** @import { Mounted, PageContext } from "../router.js" */
/** @import { DropZone } from "../forms/drop_zone.js" */
/** @import { RunForm } from "./run_form.js" */

/** Methods that make a tree of classes from logits, and which of them to take. */
const CLASS_TREES = ["l2h", "class-tree"];
const WHICH_CLASS_TREE =
  "Two methods make a tree of classes from logits: the trees of class-tree agree more often with " +
  "known hierarchies, l2h merges exactly as its paper says.";

/**
 * @param {HTMLElement} root
 * @param {PageContext} context
 * @returns {Promise<Mounted>}
 */
export async function mount(root, { params }) {
  const ends = new AbortController();
  const { signal } = ends;
  const list = await methods();
  const settings = settingsIn(params);
  let datasets = await usableDatasets(datasetIds(settings.inputs), { signal });
  /** @type {RunForm | null} For the method that is chosen. */
  let form = null;
  let turn = 0;

  const card = el("section", { class: "card", "aria-labelledby": "settings-title", hidden: true });
  const bar = el("div", { class: "run-bar stack", hidden: true });
  const isNew = Object.keys(settings.inputs).length === 0;
  root.classList.add("start-page");
  /** @type {Dataset[]} What was uploaded for this run, or came with the address. */
  let given = datasets.filter(({ id }) => Object.values(settings.inputs).flat().includes(id));
  const picker = methodPicker(list, {
    onchoose: (method) => setMethod(method),
    refusal: (method) => refusalOf(method, given),
    suits: (method) => given.some(({ role }) => role !== null && isNeededBy(method, role)),
  });
  const offers = el("div", { class: "stack" });
  const zone = dropZone({
    ondataset: (dataset, use) => take(dataset, use),
    onrefused: (dataset) => offerEmbedding(dataset),
    onremoved: (dataset) => {
      given = given.filter(({ id }) => id !== dataset.id);
      picker.redraw();
    },
  });

  replace(
    root,
    el(
      "header",
      { class: "page-head start-head" },
      el(
        "div",
        {},
        el("h1", {}, "Turn data into a hierarchy"),
        el(
          "p",
          { class: "lead" },
          "Umbel finds what belongs together, at every level. ",
          "Add a file, run a method, explore the tree.",
        ),
      ),
      isNew && smallTree(signal),
    ),
    isNew && welcome(signal, { isWanted: params.welcome === "1" }),
    el(
      "section",
      { class: "card", "aria-labelledby": "data-title" },
      stepTitle(1, "Data", "data-title"),
      zone.element,
      offers,
    ),
    el(
      "section",
      { class: "card", "aria-labelledby": "method-title" },
      stepTitle(2, "Method", "method-title"),
      picker,
    ),
    card,
    bar,
  );
  if (!isNew) picker.unfold();
  if (settings.method) {
    const method = list.find(({ id }) => id === settings.method);
    if (method) picker.choose(method);
    else toast(`There is no method "${settings.method}".`, { kind: "bad" });
  }

  /**
   * Add a dataset: it is chosen where the method, or the next one, can use it.
   *
   * @param {Dataset} dataset
   * @param {string} use
   */
  function take(dataset, use) {
    if (signal.aborted) return;
    offerEmbedding(dataset);
    datasets = [dataset, ...datasets.filter(({ id }) => id !== dataset.id)];
    given = [dataset, ...given];
    picker.unfold();
    /** @type {Record<string, string>} */
    const chosen = {};
    const role = use || dataset.role;
    if (role === "documents" && !settings.inputs.features) form?.beginWithDocuments();
    const isTaken = role !== "labels" || form?.roles().includes("labels");
    if (role && settings.inputs[role] === undefined && isTaken) {
      settings.inputs[role] = dataset.id;
      chosen[role] = dataset.id;
    }
    const names = given.find((one) => given.some((scores) => namesClassesOf(one, scores)));
    if (names && settings.inputs.names === undefined) {
      settings.inputs.names = names.id;
      chosen.names = names.id;
    }
    form?.refresh(datasets, chosen);
    const first = list.find(({ id }) => id === firstMethod(dataset, role));
    if (!settings.method && first?.available) picker.choose(first);
    else remember();
  }

  /**
   * Offer to embed a dataset of texts or images, if the service can.
   *
   * @param {Dataset} dataset
   */
  async function offerEmbedding(dataset) {
    const { embeddingOffer } = await import("../forms/embedding_offer.js");
    const offering = embeddingOffer(dataset, {
      signal,
      onembedded: (id) => {
        const own = list.find(({ id: method }) => method === settings.method);
        const method = own && "features" in own.inputs ? own.id : "hac";
        router.navigate("/", { method, features: id });
      },
    });
    const offer = await offering.catch(() => null); // Then it is not offered.
    if (offer && !signal.aborted) replace(offers, offer);
  }

  /** @param {Method} method */
  async function setMethod(method) {
    const own = (turn += 1);
    if (settings.method && settings.method !== method.id) settings.params = {};
    settings.method = method.id;
    const { runForm } = await import("./run_form.js");
    const built = await runForm(method, settings, () => datasets, remember);
    if (own !== turn || signal.aborted) return;
    form = built;
    card.hidden = bar.hidden = false;
    replace(
      card,
      stepTitle(3, "Settings", "settings-title"),
      CLASS_TREES.includes(method.id) ? el("p", { class: "quiet" }, WHICH_CLASS_TREE) : null,
      built.element,
    );
    replace(bar, ...runParts(method, built, zone));
    if (settings.inputs.documents && !settings.inputs.features) built.beginWithDocuments();
    remember();
  }

  /** Write what is chosen into the address, so that a link opens the same. */
  function remember() {
    if (signal.aborted || router.path() !== "/") return;
    let { inputs } = settings;
    if (form) {
      const { inputs: chosen, ...rest } = form.draft();
      // Inputs for another method stay chosen, in case the user returns to it.
      for (const role of form.roles()) delete settings.inputs[role];
      Object.assign(settings.inputs, chosen);
      Object.assign(settings, rest);
      inputs = chosen;
    }
    router.navigate("/", addressParams({ ...settings, inputs }), { replace: true });
  }

  return {
    unmount: () => {
      ends.abort();
      zone.stop();
    },
  };
}

/**
 * The button that runs the method, once what is being uploaded has arrived, and a place for errors.
 *
 * @param {Method} method
 * @param {RunForm} form
 * @param {DropZone} zone
 */
function runParts(method, form, zone) {
  const message = el("div", { class: "stack", "aria-live": "polite" });
  const run = async () => {
    replace(message);
    go.disabled = true;
    try {
      await zone.settled((waiting, all) =>
        replace(
          message,
          el("progress", { max: all, value: all - waiting, "aria-label": "Uploads" }),
          el(
            "p",
            { class: "quiet" },
            waiting ? `Waiting for ${plural(waiting, "upload")}…` : "Uploaded.",
          ),
        ),
      );
    } finally {
      go.disabled = false;
    }
    // The page was left, or the method changed, meanwhile.
    if (!go.isConnected) return;
    replace(message);
    const { body, invalid } = form.read();
    if (invalid) {
      focusOn(invalid);
      replace(message, el("p", { class: "field-wrong" }, "A field above needs to be corrected."));
      return;
    }
    go.disabled = true;
    try {
      /** @type {Job} */
      const job = await send("POST", "/v1/jobs", body);
      started.add(job.id);
      router.navigate(`/jobs/${job.id}`);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const first = form.showProblem(error);
      replace(message, problemBox(error, { level: "h3" }));
      if (first) focusOn(first);
    } finally {
      go.disabled = false;
    }
  };
  const go = button(`Run ${method.title}`, { kind: "primary large", onclick: run });
  return [message, el("div", { class: "row end" }, go)];
}

/**
 * @param {number} step
 * @param {string} text
 * @param {string} id
 */
const stepTitle = (step, text, id) =>
  el(
    "h2",
    { id, class: "step-title" },
    el("span", { class: "step-number", "aria-hidden": "true" }, step),
    text,
  );

/** @param {HTMLElement} row */
function focusOn(row) {
  if (!focusFirst(row, "input, select, textarea, button")) row.focus();
  row.scrollIntoView({ block: "center" });
}
