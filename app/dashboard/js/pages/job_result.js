// What came of a job: tree, metrics, curves, or why there is nothing.

import { aborted, download, raw } from "../net/requests.js";
import { button, el, menu, notes, problemBox, replace, toast } from "../ui/dom.js";
import { clustersCard } from "./clusters_card.js";
import { curvesCard, metricsCard } from "./figures.js";
import { placed, placingCard } from "./predictions.js";

/** The parts that show the end of a job. */
export function outcome(job, router, signal) {
  if (job.status === "failed") return [problemBox(job.error ?? {}), notes(job.warnings)];
  if (job.status === "cancelled") {
    return el(
      "section",
      { class: "notice", role: "status" },
      el("h2", { class: "notice-title" }, "Cancelled"),
      el("p", {}, "The job was called off; it has left nothing."),
    );
  }
  const result = job.result ?? {};
  const isFit = job.kind === "fit" && result.tree;
  return [
    notes(job.warnings),
    result.tree && treeCard(job, result, router, signal),
    job.kind === "compare" && comparisonLink(job, router),
    job.kind === "evaluate" && metricsCard(result.evaluation?.metrics),
    job.kind === "predict" && placed(job, { router, signal }),
    isFit && clustersCard(job, { router, signal }),
    el("div", { class: "halves" }, metricsCard(result.metrics, job), curvesCard(result.curves)),
    isFit && result.model && placingCard(job, { router, signal }),
  ];
}

const FORMS = [
  ["nwk", "Newick"],
  ["json", "JSON"],
  ["nex", "Nexus"],
  ["linkage.npy", "SciPy linkage"],
  ["hclust.json", "R hclust"],
  ["arrow", "Arrow"],
  ["svg", "SVG"],
  ["png", "PNG"],
];

/** Entries of a menu that download a tree in every form there is. */
export function treeDownloads(treeId, name) {
  const file = (name ?? treeId).replaceAll(/[^\p{L}\p{N}._-]+/gu, "-").slice(0, 80);
  return FORMS.map(([suffix, label]) => ({
    label,
    onselect: async () => {
      try {
        await download(`/v1/trees/${treeId}.${suffix}`, `${file}.${suffix}`);
      } catch (error) {
        if (!aborted(error)) toast(error.detail || error.message, { kind: "bad" });
      }
    },
  }));
}

function treeCard(job, result, router, signal) {
  const picture = el("div", { class: "preview" });
  showPreview(picture, result.tree, signal);
  return el(
    "section",
    { class: "card tree-card", "aria-labelledby": "tree-title" },
    el(
      "div",
      { class: "stack" },
      el("h2", { id: "tree-title" }, "The tree"),
      el(
        "div",
        { class: "row" },
        el(
          "a",
          {
            class: "button primary large",
            href: router.href(`/trees/${result.tree}`),
            id: "open-tree",
          },
          "Open the tree",
        ),
        menu("Download", () => treeDownloads(result.tree, job.name), { iconName: "download" }),
      ),
      el(
        "p",
        { class: "row" },
        el("a", { href: router.href("/evaluations", { trees: result.tree }) }, "Evaluate it"),
        result.model &&
          button("Download the model", {
            kind: "small",
            iconName: "download",
            onclick: async () => {
              try {
                await download(`/v1/models/${result.model}/content`, `${result.model}.safetensors`);
              } catch (error) {
                toast(error.detail || error.message, { kind: "bad" });
              }
            },
          }),
      ),
    ),
    picture,
  );
}

/** A small picture in the page's colours, drawn by the service; without one the page does as well. */
function showPreview(place, treeId, signal) {
  const draw = () => drawPreview(place, treeId, signal);
  addEventListener("themechange", draw, { signal });
  draw();
}

async function drawPreview(place, treeId, signal) {
  const { theme } = document.documentElement.dataset;
  try {
    const path = `/v1/trees/${treeId}.svg?px=440&theme=${theme}`;
    const response = await raw(path, { signal, quiet: true });
    const address = URL.createObjectURL(await response.blob());
    const picture = el("img", { src: address, alt: "", class: "preview-picture" });
    picture.addEventListener("load", () => URL.revokeObjectURL(address), { once: true });
    replace(place, picture);
  } catch (error) {
    if (error.status === 404) replace(place, el("p", { class: "quiet" }, "The tree was deleted."));
    else place.remove();
  }
}

function comparisonLink(job, router) {
  const id = job.id.replace(/^job_/, "cmp_");
  return el(
    "section",
    { class: "card" },
    el("a", { class: "button primary", href: router.href(`/comparisons/${id}`) }, "Open the table"),
  );
}
