// A dataset: its facts, and what can be done with it.

import { columnsTable } from "../forms/columns_form.js";
import { inspected } from "../forms/datasets.js";
import { embeddingOffer } from "../forms/embedding_offer.js";
import { aborted, problemOf } from "../net/problem.js";
import { get } from "../net/requests.js";
import * as router from "../router.js";
import { button } from "../ui/controls.js";
import { bdi, el, replace } from "../ui/dom.js";
import { download } from "../ui/downloads.js";
import { ago, bytes, count, moment, shape } from "../ui/format.js";
import { problemBox, warningBox } from "../ui/notices.js";
import { statusChip } from "../ui/progress.js";
import { annotationButton } from "./annotations.js";
import { confirmDeletion } from "./deletion.js";

/** @import { Dataset } from "../net/answers.js" */
/** @import { Mounted, PageContext } from "../router.js" */
/** @import { Child } from "../ui/dom.js" */

/** @type {Record<string, string>} */
const ENDINGS = {
  npy: "npy",
  npz: "npz",
  safetensors: "safetensors",
  "arrow-stream": "arrows",
  "arrow-file": "arrow",
  parquet: "parquet",
  h5ad: "h5ad",
  csv: "csv",
  libsvm: "svm",
  arff: "arff",
  json: "json",
  jsonl: "jsonl",
};

/**
 * @param {HTMLElement} root
 * @param {PageContext} context
 * @returns {Promise<Mounted>}
 */
export async function mount(root, { id }) {
  const ends = new AbortController();
  const { signal } = ends;
  /** @type {Dataset} */
  let dataset = await get(`/v1/datasets/${id}`, { signal });

  const remove = () =>
    confirmDeletion({
      what: "dataset",
      consequence: "Jobs that still wait for it will fail; trees made from it stay.",
      path: `/v1/datasets/${id}`,
      next: "/datasets",
    });
  const save = () => {
    const name = dataset.name ?? dataset.id;
    const ending = `.${ENDINGS[dataset.format]}`;
    const file = name.endsWith(ending) ? name : `${name}${ending}`;
    return download(`/v1/datasets/${id}/content`, file, { signal });
  };

  const draw = () => {
    document.title = `${dataset.name ?? "Dataset"} · Umbel`;
    replace(
      root,
      el(
        "header",
        { class: "page-head" },
        el(
          "div",
          {},
          el(
            "p",
            { class: "eyebrow" },
            el("a", { href: router.href("/datasets") }, "Data"),
            " / Dataset",
          ),
          el("h1", {}, bdi(dataset.name ?? dataset.id), " ", statusChip(dataset.status)),
          el(
            "p",
            { class: "lead" },
            el(
              "span",
              { title: moment(dataset.created_at) },
              `Uploaded ${ago(dataset.created_at)}.`,
            ),
          ),
        ),
        el(
          "div",
          { class: "row" },
          uses(dataset),
          annotationButton(dataset, {
            path: `/v1/datasets/${id}`,
            label: "Name and tags",
            onchanged: async () => {
              dataset = await get(`/v1/datasets/${id}`, { signal });
              draw();
            },
          }),
          button("Delete", { kind: "danger", iconName: "trash", onclick: remove }),
        ),
      ),
      offer,
      dataset.problem && problemBox(dataset.problem),
      el(
        "section",
        { class: "card", "aria-labelledby": "facts-title" },
        el("h2", { id: "facts-title" }, "Facts"),
        el(
          "dl",
          { class: "facts" },
          fact("Shape", shape(dataset.shape)),
          fact("Numbers", dataset.dtype ?? "not known yet"),
          fact("Uploaded as", dataset.role ?? "not specified"),
          fact("Format", dataset.format),
          dataset.member && fact("Array in the file", bdi(dataset.member)),
          fact("Size", `${bytes(dataset.bytes)} (${count(dataset.bytes)} bytes)`),
          fact("SHA-256", el("span", { class: "mono" }, dataset.sha256)),
          dataset.description && fact("Notes", bdi(dataset.description)),
          dataset.tags.length > 0 &&
            fact(
              "Tags",
              dataset.tags.map((tag) => bdi(tag, { class: "tag" })),
            ),
          fact("Uploaded", moment(dataset.created_at)),
          fact("Id", el("span", { class: "mono" }, dataset.id)),
        ),
        el("div", { class: "row" }, button("Download", { iconName: "download", onclick: save })),
      ),
      dataset.columns &&
        el(
          "section",
          { class: "card", "aria-labelledby": "columns-title" },
          el("h2", { id: "columns-title" }, "Columns"),
          warningBox(dataset.warnings),
          columnsTable(dataset.columns),
        ),
    );
  };
  /** The offer to embed it, once the service has one. */
  const offer = el("div");
  const offerEmbedding = async () => {
    const found = await embeddingOffer(dataset, {
      signal,
      level: "h2",
      onembedded: (made) => router.navigate("/", { method: "hac", features: made }),
    });
    if (found) replace(offer, found);
  };
  const offered = () => void offerEmbedding().catch(() => {}); // Then it is not offered.
  draw();
  offered();
  if (dataset.status === "inspecting") {
    inspected(dataset, signal).then(
      (opened) => {
        dataset = opened;
        if (!signal.aborted) draw();
        offered();
      },
      (error) => {
        if (!aborted(error) && !signal.aborted) root.append(problemBox(problemOf(error)));
      },
    );
  }
  return { unmount: () => ends.abort() };
}

/**
 * Links to what a dataset that is ready can be used for.
 *
 * @param {Dataset} dataset
 * @returns {Child}
 */
function uses({ id, status, role }) {
  if (status !== "ready") return null;
  if (role === "labels") {
    return el(
      "a",
      { class: "button primary", href: router.href("/evaluations", { labels: id }) },
      "Evaluate trees by it",
    );
  }
  const input = { [role ?? "features"]: id };
  const method = role === "logits" ? "l2h" : null;
  return [
    el(
      "a",
      { class: "button primary", href: router.href("/", { method, ...input }) },
      "Run a method on it",
    ),
    el(
      "a",
      { class: "button", href: router.href("/comparisons/new", input) },
      "Compare methods on it",
    ),
  ];
}

/**
 * @param {string} name
 * @param {Child} value
 */
const fact = (name, value) => [el("dt", {}, name), el("dd", {}, value)];
