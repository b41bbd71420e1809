// A dataset: its facts, what can be done with it.

import { inspected } from "../forms/datasets.js";
import { aborted, download, get, send } from "../net/requests.js";
import { button, confirm, el, problemBox, replace, said, toast } from "../ui/dom.js";
import { ago, bytes, count, moment, shape } from "../ui/format.js";
import { statusChip } from "../ui/progress.js";

const ENDINGS = {
  npy: "npy", npz: "npz", safetensors: "safetensors", "arrow-stream": "arrows", "arrow-file": "arrow",
  parquet: "parquet", csv: "csv", libsvm: "svm", json: "json", jsonl: "jsonl",
}; // prettier-ignore
const METHOD_FOR = { logits: "l2h" };

export async function mount(root, { router, id }) {
  const ends = new AbortController();
  const { signal } = ends;
  let dataset = await get(`/v1/datasets/${id}`, { signal });

  const remove = async () => {
    const sure = await confirm({
      title: "Delete this dataset?",
      text: "Jobs that still wait for it will fail; trees made from it stay. This cannot be undone.",
      yes: "Delete",
      danger: true,
    });
    if (!sure) return;
    try {
      await send("DELETE", `/v1/datasets/${id}`);
      toast("The dataset is deleted.", { kind: "good" });
      router.navigate("/datasets");
    } catch (error) {
      toast(error.detail || error.message, { kind: "bad" });
    }
  };
  const save = async () => {
    try {
      const name = dataset.name ?? dataset.id;
      const ending = ENDINGS[dataset.format];
      await download(
        `/v1/datasets/${id}/content`,
        name.endsWith(`.${ending}`) ? name : `${name}.${ending}`,
        { signal },
      );
    } catch (error) {
      if (!aborted(error)) toast(error.detail || error.message, { kind: "bad" });
    }
  };
  const uses = () => {
    if (dataset.status !== "ready") return null;
    if (dataset.role === "labels") {
      return el(
        "a",
        { class: "button primary", href: router.href("/evaluations", { labels: id }) },
        "Evaluate trees by it",
      );
    }
    const role = dataset.role ?? "features";
    return [
      el(
        "a",
        {
          class: "button primary",
          href: router.href("/", { method: METHOD_FOR[role], [role]: id }),
        },
        "Run a method on it",
      ),
      el(
        "a",
        { class: "button", href: router.href("/comparisons/new", { [role]: id }) },
        "Compare methods on it",
      ),
    ];
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
          el("h1", {}, said(dataset.name ?? dataset.id), " ", statusChip(dataset.status)),
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
          uses(),
          button("Delete", { kind: "danger", iconName: "trash", onclick: remove }),
        ),
      ),
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
          fact("Uploaded as", dataset.role ?? "not said"),
          fact("Format", dataset.format),
          dataset.member && fact("Array in the file", said(dataset.member)),
          fact("Size", `${bytes(dataset.bytes)} (${count(dataset.bytes)} bytes)`),
          fact("SHA-256", el("span", { class: "mono" }, dataset.sha256)),
          fact("Uploaded", moment(dataset.created_at)),
          fact("Id", el("span", { class: "mono" }, dataset.id)),
        ),
        el("div", { class: "row" }, button("Download", { iconName: "download", onclick: save })),
      ),
    );
  };
  draw();
  if (dataset.status === "inspecting") {
    inspected(dataset, signal).then(
      (found) => {
        dataset = found;
        if (!signal.aborted) draw();
      },
      (error) => {
        if (!aborted(error) && !signal.aborted) root.append(problemBox(error));
      },
    );
  }
  return () => ends.abort();
}

const fact = (name, value) => [el("dt", {}, name), el("dd", {}, value)];
