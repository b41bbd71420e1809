// The place to drop files: a card for each file, with its apparent kind, progress and cancel.

import { ENDED } from "../net/jobs.js";
import { aborted, messageOf, problemOf } from "../net/problem.js";
import { get } from "../net/requests.js";
import { sleep } from "../net/timers.js";
import { upload } from "../net/uploads.js";
import { href } from "../router.js";
import { button, field, select } from "../ui/controls.js";
import { toast } from "../ui/dialogs.js";
import { append, bdi, el, focusFirst, replace, unique } from "../ui/dom.js";
import { bytes, shape } from "../ui/format.js";
import { icon } from "../ui/icons.js";
import { problemBox, waiting, warningBox } from "../ui/notices.js";
import { columnsForm } from "./columns_form.js";
import { inspected } from "./datasets.js";
import { ACCEPTED, guessFile, HINTS, USES } from "./file_guess.js";
import { roleTitle } from "./roles.js";
import { fetched, SAMPLE } from "./sample.js";

/** @import { Dataset, Job, Tree, TreeSummary } from "../net/answers.js" */
/** @import { ColumnChoice } from "./columns_form.js" */
/** @import { Guess } from "./file_guess.js" */

/**
 * @typedef {{
 *   ondataset?: (dataset: Dataset, use: string) => unknown,
 *   onrefused?: (dataset: Dataset) => unknown,
 *   onremoved?: (dataset: Dataset) => unknown,
 *   ontree?: (tree: TreeSummary) => unknown,
 * }} UploadHandlers called for each dataset that is ready or refused, whose card was removed, and each tree
 *   that was imported
 *
 * @typedef {{
 *   media: string,
 *   use: string,
 *   square?: string,
 *   name: string,
 *   member?: string,
 *   source?: string,
 *   choice?: ColumnChoice,
 *   from?: string,
 * }} UploadPlan `use`: the role, "tree" or ""; `square`: the role of a square array besides; `member`: the
 *   array in the file; `source`: where the service has the file itself; `choice`: the columns of a table;
 *   `from`: the dataset that has the file already
 */

/** @typedef {ReturnType<typeof dropZone>} DropZone */

/** Uses of which a table may have other columns besides. */
const MATRICES = new Set(["features", "logits"]);
const FOREVER = 2 ** 31 - 1;
const UNKNOWN = "application/octet-stream";

/**
 * The drop zone with its cards. `stop` when the page is left: what is being sent continues.
 *
 * @param {UploadHandlers & { sample?: boolean }} options `sample`: whether the sample is offered
 */
export function dropZone({ ondataset, onrefused, onremoved, ontree, sample = true }) {
  const cards = el("ul", { class: "file-cards", "aria-label": "Files" });
  const left = new AbortController(); // Aborted when the page is left.
  /** @type {Set<FileCard>} Cards of files that are not uploaded yet, with those that failed. */
  const open = new Set();
  /** The uploads of the sample. */
  let sampling = Promise.resolve();
  const handlers = { ondataset, onrefused, onremoved, ontree };
  const chooser = el("input", {
    type: "file",
    multiple: true,
    class: "visually-hidden",
    id: unique("file"),
    tabindex: "-1",
    "aria-label": "Files to upload",
    onchange: () => {
      add([...(chooser.files ?? [])]);
      chooser.value = "";
    },
  });
  const sampleButton = button("Use the sample", {
    onclick: () => (sampling = addSample()),
    id: "use-sample",
  });
  const zone = el(
    "div",
    { class: "drop" },
    icon("upload"),
    el("p", { class: "drop-title" }, "Drop files here, or choose them"),
    el(
      "details",
      { class: "quiet drop-formats" },
      el("summary", {}, "Tables, arrays, texts, images, trees"),
      ACCEPTED,
    ),
    el(
      "div",
      { class: "row" },
      button("Choose files", { kind: "primary", onclick: () => chooser.click() }),
      sample && sampleButton,
    ),
    sample &&
      el(
        "p",
        { class: "quiet drop-sample" },
        "The sample: scores of a language identifier, 6,664 pieces of text in 119 languages.",
      ),
    chooser,
  );
  const element = el("div", { class: "stack" }, zone, cards);
  onDrop(zone, add, left.signal);

  /** @param {File[]} files */
  function add(files) {
    for (const file of files) {
      const card = new FileCard(file.name, handlers, left.signal);
      append(cards, card.element);
      open.add(card);
      card.take(file);
    }
  }

  /**
   * Wait until every file is uploaded, or its card shows why not. A file whose kind the user had to
   * choose is uploaded as the card says.
   *
   * @param {(waiting: number, all: number) => unknown} onprogress
   */
  async function settled(onprogress) {
    const pending = [...open].filter((card) => card.element.isConnected && !card.isDone);
    let n = pending.length;
    if (n) onprogress(n, pending.length);
    await sampling;
    await Promise.all(
      pending.map(async (card) => {
        await card.finish();
        n -= 1;
        onprogress(n, pending.length);
      }),
    );
  }

  async function addSample() {
    sampleButton.disabled = true;
    try {
      for (const shipped of SAMPLE) {
        const { file, ...how } = shipped;
        const card = new FileCard(file, handlers, left.signal);
        append(cards, card.element);
        open.add(card);
        await card.start(await fetched(shipped), how);
      }
    } catch (error) {
      if (!aborted(error)) append(cards, el("li", {}, problemBox(problemOf(error))));
    } finally {
      sampleButton.disabled = false;
    }
  }

  return { element, settled, stop: () => left.abort() };
}

/**
 * The whole page takes files that are dropped, so that a near miss does not open them instead.
 *
 * @param {HTMLElement} zone
 * @param {(files: File[]) => unknown} take
 * @param {AbortSignal} signal
 */
function onDrop(zone, take, signal) {
  let depth = 0;
  /** @param {number} change */
  const enter = (change) => {
    depth = Math.max(0, depth + change);
    zone.classList.toggle("is-over", depth > 0);
  };
  /**
   * @param {"dragenter" | "dragleave" | "dragover" | "drop"} name
   * @param {(event: DragEvent, files: File[]) => unknown} listener
   */
  const listen = (name, listener) =>
    addEventListener(
      name,
      (event) => {
        const { dataTransfer } = event;
        if (dataTransfer?.types.includes("Files")) listener(event, [...dataTransfer.files]);
      },
      { signal },
    );
  listen("dragenter", () => enter(1));
  listen("dragleave", () => enter(-1));
  listen("dragover", (event) => event.preventDefault());
  listen("drop", (event, files) => {
    event.preventDefault();
    enter(-depth);
    take(files);
  });
}

/** Uploads that are being sent. While there are any, closing the tab asks first. */
let underWay = 0;

addEventListener("beforeunload", (event) => {
  if (underWay > 0) event.preventDefault();
});

/** The card of one file. */
class FileCard {
  body = el("div", { class: "stack tight" });
  transfer = new AbortController();
  /** Whether the file is uploaded. */
  isDone = false;
  /** @type {Promise<unknown>} What the card is doing. */
  work = Promise.resolve();
  /** @type {Dataset | null} What the file became. */
  dataset = null;
  /** @type {(() => Promise<unknown>) | null} Uploads the file as the form of the card says. */
  upload = null;

  /**
   * @param {string} fileName
   * @param {UploadHandlers} handlers
   * @param {AbortSignal} left aborted when the page is left
   */
  constructor(fileName, handlers, left) {
    this.handlers = handlers;
    this.left = left;
    this.title = el("div", { class: "file-title" }, icon("file"), el("strong", {}, bdi(fileName)));
    this.element = el("li", { class: "file-card" }, this.title, this.body);
  }

  remove() {
    const next = this.element.nextElementSibling ?? this.element.previousElementSibling;
    this.element.remove();
    focusFirst(next, "button");
    if (this.dataset) this.handlers.onremoved?.(this.dataset);
  }

  #removeButton(kind = "") {
    return button("Remove", { kind, onclick: () => this.remove() });
  }

  /**
   * Upload the file as what it seems to be; of an unknown kind of file, ask the user.
   *
   * @param {File} file
   */
  take(file) {
    this.work = this.#begin(file);
    return this.work;
  }

  /** Wait for the file; it is uploaded now if its card asks what it is. */
  async finish() {
    await this.work;
    if (!this.upload) return;
    this.work = this.upload();
    await this.work;
  }

  /** @param {File} file */
  async #begin(file) {
    this.#entitle(file);
    if (!file.size) {
      const problem = { title: "The file is empty", detail: "It has 0 bytes, so there is nothing to read. Choose the file that has the data." }; // prettier-ignore
      const box = problemBox(problem, { level: "h3" });
      replace(this.body, box, el("div", { class: "row" }, this.#removeButton("small")));
      return;
    }
    const guess = await guessFile(file);
    this.element.dataset.use = guess.use;
    if (guess.media === UNKNOWN) {
      this.#draw(file, guess);
      return;
    }
    const { media, use, square } = guess;
    await this.start(file, { media, use, square, name: file.name }, () => this.ask(file));
  }

  /** @param {File} file */
  #entitle(file) {
    replace(this.title, [...this.title.childNodes].slice(0, 2));
    append(this.title, el("span", { class: "quiet" }, bytes(file.size)));
    replace(this.body, el("p", { class: "quiet", role: "status" }, "Reading its beginning…"));
  }

  /**
   * Ask the user what the file is, starting with a guess.
   *
   * @param {File} file
   */
  async ask(file) {
    this.#entitle(file);
    this.#draw(file, await guessFile(file));
  }

  /**
   * The form of what the file is.
   *
   * @param {File} file
   * @param {Guess & { media: string }} guess
   */
  #draw(file, guess) {
    this.isDone = false;
    const use = select(USES, { value: guess.use });
    const name = el("input", {
      type: "text",
      value: file.name,
      maxlength: 1000,
      autocomplete: "off",
    });
    const member = el("input", { type: "text", autocomplete: "off", placeholder: "the only one" });
    const hasMembers = /\.(npz|safetensors)$/i.test(file.name);
    const start = () =>
      this.start(
        file,
        {
          media: guess.media,
          use: use.value,
          square: guess.square,
          name: name.value,
          member: member.value.trim() || undefined,
        },
        () => this.ask(file),
      );
    this.upload = start;
    replace(
      this.body,
      el(
        "form",
        {
          class: "stack tight",
          onsubmit: (event) => {
            event.preventDefault();
            this.work = start();
          },
        },
        el(
          "div",
          { class: "grid" },
          field("Use it as", use, { help: guess.why }),
          field("Name", name),
          hasMembers &&
            field("Array in the file", member, { help: "Needed where the file holds several." }),
        ),
        el(
          "div",
          { class: "row" },
          button("Upload", { kind: "primary", iconName: "upload", type: "submit" }),
          this.#removeButton(),
        ),
      ),
    );
    const focused = document.activeElement;
    if (focused === document.body || this.element.contains(focused)) {
      focusFirst(this.body, ".button.primary");
    }
  }

  /**
   * Upload the file; resolves when it is ready, or when the card shows the error.
   *
   * @param {File} file
   * @param {UploadPlan} plan
   * @param {() => unknown} [retry]
   */
  async start(file, plan, retry = () => this.start(file, plan)) {
    if (this.left.aborted) return;
    this.upload = null;
    this.transfer = new AbortController();
    const bar = el("progress", { max: 1, value: 0, "aria-label": `Upload of ${file.name}` });
    const text = el("span", { class: "quiet" });
    const cancel = button("Cancel", { kind: "small", onclick: () => this.transfer.abort() });
    replace(this.body, el("div", { class: "row nowrap" }, bar, text, cancel));
    const isSent = this.#announceWhenLeft(file.name);
    underWay += 1;
    try {
      const isTree = plan.use === "tree";
      const isUnknown = plan.media === UNKNOWN;
      const answer = await upload(file, {
        role: HINTS.has(plan.use) ? plan.use : undefined,
        name: plan.name || file.name,
        member: plan.member,
        choice: plan.choice,
        from: plan.from,
        source: plan.source,
        type: isTree && isUnknown ? "text/x-nh" : plan.media,
        path: isTree ? "/v1/trees" : "/v1/datasets",
        signal: this.transfer.signal,
        onprogress: (sent, total) => {
          bar.value = total ? sent / total : 0;
          replace(text, sent < total ? `${bytes(sent)} of ${bytes(total)}` : "Being stored…");
        },
      });
      isSent();
      cancel.remove();
      if ("sha256" in answer) {
        await this.#showDataset(file, answer, plan);
      } else await this.#showTree(answer);
    } catch (error) {
      this.#showFailure(file.name, error, retry);
    } finally {
      isSent();
      underWay -= 1;
    }
  }

  /**
   * A message with a button to cancel, should the page be left meanwhile. The function returned ends it.
   *
   * @param {string} name
   */
  #announceWhenLeft(name) {
    let dismiss = () => {};
    const announce = () => {
      dismiss = toast(`${name} is still being sent.`, {
        action: { label: "Cancel the upload", onclick: () => this.transfer.abort() },
        lasts: FOREVER,
      });
    };
    this.left.addEventListener("abort", announce);
    return () => {
      this.left.removeEventListener("abort", announce);
      dismiss();
    };
  }

  /**
   * @param {string} name
   * @param {unknown} error
   * @param {() => unknown} retry
   */
  #showFailure(name, error, retry) {
    if (this.left.aborted) {
      if (aborted(error)) toast(`${name}: cancelled; nothing was kept.`);
      else toast(`${name}: ${messageOf(error)}`, { kind: "bad" });
      return;
    }
    if (aborted(error)) {
      replace(
        this.body,
        el("p", { role: "status" }, "Cancelled; nothing was kept."),
        el(
          "div",
          { class: "row" },
          button("Upload it again", { onclick: () => retry() }),
          this.#removeButton(),
        ),
      );
    } else {
      replace(
        this.body,
        problemBox(problemOf(error), { retry, level: "h3" }),
        el("div", { class: "row" }, this.#removeButton("small")),
      );
    }
    focusFirst(this.body, "button");
  }

  /**
   * @param {File} file
   * @param {Dataset} uploaded
   * @param {UploadPlan} plan
   */
  async #showDataset(file, uploaded, plan) {
    const use = plan.use || (plan.square ?? "");
    replace(this.body, waiting("It is being read…"));
    const dataset = await inspected(uploaded, this.transfer.signal);
    if (this.left.aborted) {
      toast(`${dataset.name} is ${dataset.status === "ready" ? "uploaded" : "not usable"}.`);
      return;
    }
    if (dataset.status === "invalid") {
      replace(
        this.body,
        problemBox(dataset.problem ?? {}, { level: "h3" }),
        el(
          "div",
          { class: "row" },
          button("Upload it differently", { onclick: () => this.ask(file) }),
          this.#removeButton(),
        ),
      );
      this.handlers.onrefused?.(dataset);
      return;
    }
    const { columns, warnings } = dataset;
    if (columns && warnings.length && !plan.choice && MATRICES.has(use)) {
      const kept = columnsForm(columns, {
        onkeep: () => this.#showReady(file, dataset, use),
        onchange: (choice) => this.start(file, { ...plan, choice, from: dataset.id }),
      });
      replace(this.body, kept, el("div", { class: "row" }, this.#removeButton("small ghost")));
      return;
    }
    await this.#showReady(file, dataset, use);
  }

  /**
   * @param {File} file
   * @param {Dataset} dataset
   * @param {string} use
   */
  async #showReady(file, dataset, use) {
    replace(
      this.body,
      el(
        "p",
        { class: "row", role: "status" },
        el("span", { class: "chip good" }, "Ready"),
        el("span", {}, `${shape(dataset.shape)} ${dataset.dtype ?? ""}, ${bytes(dataset.bytes)}`),
        use && el("span", { class: "quiet" }, `as ${roleTitle(use).toLowerCase()}`),
        el("a", { href: href(`/datasets/${dataset.id}`) }, "Details"),
      ),
      warningBox(dataset.warnings),
      el(
        "div",
        { class: "row" },
        button("Upload it differently", { kind: "small ghost", onclick: () => this.ask(file) }),
        this.#removeButton("small ghost"),
      ),
    );
    this.isDone = true;
    if (this.dataset && this.dataset.id !== dataset.id) this.handlers.onremoved?.(this.dataset);
    this.dataset = dataset;
    await this.handlers.ondataset?.(dataset, use);
  }

  /** @param {TreeSummary | Job} answer a large tree is answered as the job that imports it */
  async #showTree(answer) {
    const { signal } = this.transfer;
    /** @type {TreeSummary} */
    let tree;
    if ("status" in answer) {
      let job = answer;
      while (!ENDED.has(job.status)) {
        await sleep(500, signal);
        job = await get(`/v1/jobs/${answer.id}`, { signal, quiet: true });
      }
      if (job.status !== "succeeded") {
        const problem = job.error ?? { title: `The import was ${job.status}` };
        replace(this.body, problemBox(problem, { level: "h3" }));
        return;
      }
      /** @type {Tree} */
      const imported = await get(`/v1/trees/${job.result?.tree}`, { signal, quiet: true });
      tree = imported;
    } else tree = answer;
    this.isDone = true;
    replace(
      this.body,
      el(
        "p",
        { class: "row", role: "status" },
        el("span", { class: "chip good" }, "Imported"),
        el(
          "a",
          { class: "button primary small", href: href(`/trees/${tree.id}`) },
          "Open the tree",
        ),
      ),
      warningBox(tree.warnings),
      el("div", { class: "row" }, this.#removeButton("small ghost")),
    );
    this.handlers.ontree?.(tree);
  }
}
