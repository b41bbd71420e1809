// A file for one input, chosen or dropped at its place: sent, opened by a worker, and used.

import { aborted, messageOf } from "../net/problem.js";
import { upload } from "../net/uploads.js";
import { button } from "../ui/controls.js";
import { el, replace, unique } from "../ui/dom.js";
import { bytes, plural } from "../ui/format.js";
import { inspected } from "./datasets.js";
import { guessFile, HINTS } from "./file_guess.js";

/** @import { Dataset } from "../net/answers.js" */

/** @param {DragEvent} event */
const hasFiles = ({ dataTransfer }) => dataTransfer?.types.includes("Files") ?? false;

/**
 * Take files that are dropped on an element. A near miss does not open them instead of the page.
 *
 * @param {HTMLElement} element
 * @param {(files: File[], at: Element | null) => unknown} take `at`: what they were dropped on
 */
export function onFiles(element, take) {
  element.classList.add("takes-files");
  element.addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    element.classList.add("is-over");
  });
  element.addEventListener("dragleave", (event) => {
    const to = event.relatedTarget;
    if (!(to instanceof Node && element.contains(to))) element.classList.remove("is-over");
  });
  element.addEventListener("drop", (event) => {
    element.classList.remove("is-over");
    if (!hasFiles(event)) return;
    event.preventDefault();
    const at = event.target instanceof Element ? event.target : null;
    take([...(event.dataTransfer?.files ?? [])], at);
  });
}

for (const name of /** @type {const} */ (["dragover", "drop"])) {
  addEventListener(name, (event) => hasFiles(event) && event.preventDefault());
}

/**
 * The button of an input with what became of its file. `take` sends a file; `onready` gets the dataset once
 * it is open, and may answer why it is not used.
 *
 * @param {{
 *   role: string,
 *   label: string,
 *   signal: AbortSignal,
 *   onready: (dataset: Dataset, file: File) => string | null | Promise<string | null>,
 * }} options
 */
export function fileInput({ role, label, signal, onready }) {
  const chooser = el("input", {
    type: "file",
    class: "visually-hidden",
    id: unique("file"),
    tabindex: "-1",
    "aria-label": `File of ${label}`,
    onchange: () => {
      const [file] = chooser.files ?? [];
      chooser.value = "";
      if (file) take(file);
    },
  });
  const status = el("span", { class: "quiet", role: "status" });
  const open = button("From a file…", {
    kind: "small ghost",
    iconName: "upload",
    "aria-label": `${label} from a file`,
    onclick: () => chooser.click(),
  });
  /** @param {File} file */
  const take = async (file) => {
    open.disabled = true;
    say(`Sending ${file.name}…`);
    try {
      const { media } = await guessFile(file);
      const answer = await upload(file, {
        role: HINTS.has(role) ? role : undefined,
        type: media,
        signal,
        onprogress: (sent, total) =>
          say(sent < total ? `${bytes(sent)} of ${bytes(total)}` : "It is being read…"),
      });
      const dataset = await inspected(/** @type {Dataset} */ (answer), signal);
      const { problem } = dataset;
      const wrong = problem ? (problem.detail ?? problem.title) : await onready(dataset, file);
      say(wrong ? `${file.name} is not used. ${wrong}` : readyText(dataset), Boolean(wrong));
    } catch (error) {
      if (!aborted(error)) say(messageOf(error), true);
    } finally {
      open.disabled = false;
    }
  };
  /** @type {(text: string, isWrong?: boolean) => void} */
  const say = (text, isWrong = false) => {
    replace(status, text);
    status.className = isWrong ? "field-wrong" : "quiet";
  };
  return { element: el("div", { class: "row file-input" }, open, status, chooser), take };
}

/**
 * A file of labels, chosen or dropped.
 *
 * @param {{ signal: AbortSignal, onready: (dataset: Dataset) => Promise<string | null> }} options
 */
export function labelFile(options) {
  const { element, take } = fileInput({ role: "labels", label: "Labels", ...options });
  onFiles(element, ([file]) => file && take(file));
  return element;
}

/** How a client of the API would choose other columns. */
const OF_API = / Choose others with \?columns=.*$/;

/** @param {Dataset} dataset */
function readyText({ shape, warnings }) {
  const rows = shape?.length ? plural(shape[0], "row") : "Ready";
  const width = shape?.length === 2 ? ` of ${plural(shape[1], "number")}` : "";
  return [`${rows}${width}.`, ...warnings.map((text) => text.replace(OF_API, ""))].join(" ");
}
