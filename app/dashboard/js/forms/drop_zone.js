// The place to drop files on: a card for each, with what it seems to be, progress and cancel.

import { aborted, get, raw, upload } from "../net/requests.js";
import { href } from "../router.js";
import {
  append,
  button,
  el,
  field,
  icon,
  problemBox,
  replace,
  said,
  select,
  toast,
  unique,
} from "../ui/dom.js";
import { bytes, shape } from "../ui/format.js";
import { inspected } from "./datasets.js";
import { ACCEPTED, HINTS, peek, USES } from "./file_guess.js";

/**
 * -> {element, stop()}; what is being sent when the page is left goes on. `ondataset(dataset, use)` is called for each that is ready,
 * `ontree(tree)` for each tree that was imported.
 */
export function uploads({ ondataset, ontree, sample = true }) {
  const cards = el("ul", { class: "file-cards", "aria-label": "Files" });
  const left = new AbortController(); // The page was left; what is being sent goes on.
  const chooser = el("input", {
    type: "file",
    multiple: true,
    class: "visually-hidden",
    id: unique("file"),
    tabindex: "-1",
    "aria-label": "Files to upload",
    onchange: () => {
      add([...chooser.files]);
      chooser.value = "";
    },
  });
  const zone = el(
    "div",
    { class: "drop" },
    icon("upload"),
    el("p", { class: "drop-title" }, "Drop files here"),
    el("p", { class: "quiet" }, ACCEPTED),
    el(
      "div",
      { class: "row" },
      button("Choose files", { kind: "primary", onclick: () => chooser.click() }),
      sample && button("Use the sample", { onclick: () => takeSample(), id: "use-sample" }),
    ),
    sample &&
      el(
        "p",
        { class: "quiet" },
        "The sample: scores of a language identifier, 6,664 pieces of text in 119 languages.",
      ),
    chooser,
  );
  const element = el("div", { class: "stack" }, zone, cards);

  const undrop = onDrop(zone, (files) => add(files));

  function add(files) {
    for (const file of files) {
      const card = fileCard(file, { ondataset, ontree, signal: left.signal });
      append(cards, card.element);
    }
    cards.querySelector("li:last-child .button.primary")?.focus();
  }

  async function takeSample() {
    const asked = zone.querySelector("#use-sample");
    asked.disabled = true;
    try {
      for (const [name, use, media, title] of SAMPLE) {
        const card = fileCard(null, { ondataset, ontree, signal: left.signal, name, use });
        append(cards, card.element);
        const content = await (await raw(`dashboard/sample/${name}`, { quiet: true })).blob();
        card.file = new File([content], name, { type: media });
        await card.start({ media, use, called: title, source: `dashboard/sample/${name}` });
      }
    } catch (error) {
      if (!aborted(error)) append(cards, el("li", {}, problemBox(error)));
    } finally {
      asked.disabled = false;
    }
  }

  return {
    element,
    stop: () => {
      left.abort();
      undrop();
    },
  };
}

const SAMPLE = [
  ["logits.npy", "logits", "application/x-npy", "sample logits"],
  ["names.json", "names", "application/json", "sample names of languages"],
  ["labels.npy", "labels", "application/x-npy", "sample languages of the pieces"],
  ["families.json", "labels", "application/json", "sample families of languages"],
];

/** The whole page takes what is dropped, so that a near miss does not open the file instead. */
function onDrop(zone, take) {
  let depth = 0;
  const mark = (on) => zone.classList.toggle("is-over", on);
  const carries = (event) => event.dataTransfer?.types.includes("Files");
  const handlers = {
    dragenter: (event) => carries(event) && ((depth += 1), mark(true)),
    dragleave: (event) => carries(event) && ((depth = Math.max(0, depth - 1)), mark(depth > 0)),
    dragover: (event) => carries(event) && event.preventDefault(),
    drop: (event) => {
      if (!carries(event)) return;
      event.preventDefault();
      depth = 0;
      mark(false);
      take([...event.dataTransfer.files]);
    },
  };
  for (const [name, handler] of Object.entries(handlers)) addEventListener(name, handler);
  return () => {
    for (const [name, handler] of Object.entries(handlers)) removeEventListener(name, handler);
  };
}

const FOREVER = 2 ** 31 - 1;

let underWay = 0;

/** While something is being sent, closing the tab asks first; other pages may be opened freely. */
function going(change) {
  underWay += change;
}

addEventListener("beforeunload", (event) => {
  if (underWay > 0) event.preventDefault();
});

function fileCard(file, { ondataset, ontree, signal, name }) {
  const body = el("div", { class: "stack tight" });
  const title = el(
    "div",
    { class: "file-title" },
    icon("file"),
    el("strong", {}, said(file?.name ?? name)),
  );
  const element = el("li", { class: "file-card" }, title, body);
  const card = { element, file, start };
  let stop = new AbortController();
  const remove = () => {
    const next = element.nextElementSibling ?? element.previousElementSibling;
    element.remove();
    next?.querySelector("button")?.focus();
  };

  async function ask() {
    append(title, el("span", { class: "quiet" }, bytes(file.size)));
    replace(body, el("p", { class: "quiet", role: "status" }, "Looking at it…"));
    const found = await peek(file);
    const use = select(USES, { value: found.use });
    const called = el("input", {
      type: "text",
      value: file.name,
      maxlength: 1000,
      autocomplete: "off",
    });
    const member = el("input", { type: "text", autocomplete: "off", placeholder: "the only one" });
    const several = /\.(npz|safetensors)$/i.test(file.name);
    replace(
      body,
      el(
        "form",
        {
          class: "stack tight",
          onsubmit: (event) => {
            event.preventDefault();
            start({
              media: found.media,
              use: use.value,
              square: found.square,
              called: called.value,
              member: member.value.trim() || undefined,
              retry: () => ask(),
            });
          },
        },
        el(
          "div",
          { class: "grid" },
          field("Use it as", use, { help: found.why }),
          field("Name", called),
          several &&
            field("Array in the file", member, { help: "Needed where the file holds several." }),
        ),
        el(
          "div",
          { class: "row" },
          button("Upload", { kind: "primary", iconName: "upload", type: "submit" }),
          button("Remove", { onclick: remove }),
        ),
      ),
    );
    if (document.activeElement === document.body || element.contains(document.activeElement)) {
      body.querySelector(".button.primary").focus();
    }
  }

  /** Upload it; resolves when it is ready, or when it has been said why not. */
  async function start({ media, use, square, called, member, source, retry }) {
    stop = new AbortController();
    if (signal.aborted) return;
    going(1);
    const bar = el("progress", { max: 1, value: 0, "aria-label": `Upload of ${card.file.name}` });
    const text = el("span", { class: "quiet" });
    const cancel = button("Cancel", { kind: "small", onclick: () => stop.abort() });
    replace(body, el("div", { class: "row nowrap" }, bar, text, cancel));
    let untold = () => {};
    const tell = () => {
      untold = toast(`${card.file.name} is still being sent.`, {
        action: { label: "Cancel the upload", onclick: () => stop.abort() },
        lasts: FOREVER,
      });
    };
    signal.addEventListener("abort", tell);
    const arrived = () => {
      signal.removeEventListener("abort", tell);
      untold();
    };
    try {
      const tree = use === "tree";
      const made = await upload(card.file, {
        role: HINTS.has(use) ? use : undefined,
        name: called || card.file.name,
        member,
        source,
        type: tree && media === "application/octet-stream" ? "text/x-nh" : media,
        path: tree ? "/v1/trees" : "/v1/datasets",
        signal: stop.signal,
        onprogress: (sent, total) => {
          bar.value = total ? sent / total : 0;
          replace(text, sent < total ? `${bytes(sent)} of ${bytes(total)}` : "Being stored…");
        },
      });
      arrived();
      cancel.remove();
      if (tree) await showTree(made);
      else await showDataset(made, use || square);
    } catch (error) {
      if (signal.aborted) {
        if (aborted(error)) toast(`${card.file.name}: cancelled; nothing was kept.`);
        else toast(`${card.file.name}: ${error.detail || error.message}`, { kind: "bad" });
        return;
      }
      const again = retry ?? (() => start({ media, use, square, called, member, source }));
      if (aborted(error)) {
        replace(
          body,
          el("p", { role: "status" }, "Cancelled; nothing was kept."),
          el(
            "div",
            { class: "row" },
            button("Upload it again", { onclick: again }),
            button("Remove", { onclick: remove }),
          ),
        );
      } else {
        replace(
          body,
          problemBox(error, { retry: again, level: "h3" }),
          el("div", { class: "row" }, button("Remove", { kind: "small", onclick: remove })),
        );
      }
      body.querySelector("button")?.focus();
    } finally {
      arrived();
      going(-1);
    }
  }

  async function showDataset(made, use) {
    replace(
      body,
      el(
        "p",
        { class: "waiting", role: "status" },
        el("span", { class: "spinner", "aria-hidden": "true" }),
        "A worker is opening it…",
      ),
    );
    const dataset = made.status === "inspecting" ? await inspected(made, stop.signal) : made;
    if (signal.aborted) {
      toast(`${dataset.name} is ${dataset.status === "ready" ? "uploaded" : "not usable"}.`);
      return;
    }
    if (dataset.status === "invalid") {
      replace(
        body,
        problemBox(dataset.problem ?? {}, { level: "h3" }),
        el(
          "div",
          { class: "row" },
          button("Upload it otherwise", { onclick: ask }),
          button("Remove", { onclick: remove }),
        ),
      );
      return;
    }
    replace(
      body,
      el(
        "p",
        { class: "row", role: "status" },
        el("span", { class: "chip good" }, "Ready"),
        el("span", {}, `${shape(dataset.shape)} ${dataset.dtype ?? ""}, ${bytes(dataset.bytes)}`),
        el("a", { href: href(`/datasets/${dataset.id}`) }, "Details"),
      ),
    );
    await ondataset?.(dataset, use);
  }

  async function showTree(made) {
    // A large one is answered as a job that imports it.
    let tree = made;
    if (made.id.startsWith("job_")) {
      let job = made;
      while (["queued", "running", "cancelling"].includes(job.status)) {
        await new Promise((resolve) => setTimeout(resolve, 500));
        job = await get(`/v1/jobs/${made.id}`, { signal: stop.signal, quiet: true });
      }
      if (job.status !== "succeeded") {
        replace(
          body,
          problemBox(job.error ?? { title: `The import was ${job.status}` }, { level: "h3" }),
        );
        return;
      }
      tree = await get(`/v1/trees/${job.result.tree}`, { signal: stop.signal, quiet: true });
    }
    replace(
      body,
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
    );
    ontree?.(tree);
  }

  if (file) ask();
  return card;
}
