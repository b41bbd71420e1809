// The offer to embed texts or images, and then to fit the vectors.

import { embeddedRole, isTextsRefused } from "../net/embedded_role.js";
import { embedded, embeds } from "../net/embeddings.js";
import { aborted, Problem, problemOf } from "../net/problem.js";
import { send } from "../net/requests.js";
import { button } from "../ui/controls.js";
import { bdi, el, replace } from "../ui/dom.js";
import { problemBox } from "../ui/notices.js";
import { inspected } from "./datasets.js";

/** @import { Dataset } from "../net/answers.js" */

/**
 * The offer; null where the service has no embedder for the dataset.
 *
 * @param {Dataset} dataset
 * @param {{ signal: AbortSignal, onembedded: (dataset: string) => unknown, level?: "h2" | "h3" }} options
 *   `onembedded` gets the id of the dataset of the vectors; `level`: of the heading of a problem
 */
export async function embeddingOffer(dataset, { signal, onembedded, level = "h3" }) {
  const role = embeddedRole(dataset);
  if (role === null || !(await embeds(role, signal))) return null;
  const noun = role === "documents" ? "texts" : "images";
  const results = el("div", { class: "stack", "aria-live": "polite" });
  const embed = async () => {
    const bar = el("progress", { max: 1, value: 0, "aria-label": "Embedding" });
    go.disabled = true;
    replace(results, el("div", { class: "row nowrap" }, bar, "Embedding…"));
    try {
      const source = isTextsRefused(dataset) ? await readAnew(dataset.id, signal) : dataset.id;
      const made = await embedded(source, role, {
        signal,
        onprogress: (_, { fraction }) => void (bar.value = fraction ?? 0),
      });
      if (!signal.aborted) onembedded(made);
    } catch (error) {
      if (aborted(error) || signal.aborted) return;
      replace(results, problemBox(problemOf(error), { level }));
    } finally {
      go.disabled = false;
    }
  };
  const go = button(`Embed the ${noun}`, { kind: "small", onclick: embed });
  return el(
    "div",
    { class: "stack tight" },
    el(
      "div",
      { class: "row" },
      go,
      el(
        "span",
        { class: "field-help" },
        `The ${noun} of `,
        bdi(dataset.name ?? dataset.id),
        " go to the embedder of this service; their vectors become features.",
      ),
    ),
    results,
  );
}

/**
 * The id of the dataset of the same file, read as texts. Throws the Problem of one that has none.
 *
 * @param {string} id
 * @param {AbortSignal} signal
 */
async function readAnew(id, signal) {
  const path = `/v1/datasets?from=${id}&role=documents`;
  /** @type {Dataset} */
  const made = await send("POST", path, undefined, { signal });
  const read = await inspected(made, signal);
  if (read.problem) throw new Problem({ ...read.problem, status: 422 });
  return read.id;
}
