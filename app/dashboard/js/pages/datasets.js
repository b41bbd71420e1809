// All datasets, and a place to upload more.

import { dropZone } from "../forms/drop_zone.js";
import * as router from "../router.js";
import { bdi, el, replace } from "../ui/dom.js";
import { bytes, capitalized, shape } from "../ui/format.js";
import { statusChip } from "../ui/progress.js";
import { createdColumn, listPage } from "./list_page.js";

/** @import { Dataset } from "../net/answers.js" */
/** @import { Mounted, PageContext } from "../router.js" */
/** @import { ListOptions } from "./list_page.js" */

const ROLES = [
  "features",
  "logits",
  "labels",
  "names",
  "documents",
  "targets",
  "tasks",
  "timestamps",
  "graph",
];

/**
 * @param {HTMLElement} root
 * @param {PageContext} context
 * @returns {Promise<Mounted>}
 */
export async function mount(root, { params }) {
  /** @type {ListOptions<Dataset>} */
  const options = {
    params,
    title: "Data",
    lead: "Uploaded arrays and tables.",
    path: "/v1/datasets",
    filters: [
      {
        name: "role",
        label: "Uploaded as",
        options: ROLES.map((role) => [role, capitalized(role)]),
      },
    ],
    what: ["dataset", "datasets"],
    removal: "Jobs that still wait for it will fail; trees made from it stay.",
    pathOf: (dataset) => `/v1/datasets/${dataset.id}`,
    isBusy: (dataset) => dataset.status === "inspecting",
    columns: [
      {
        label: "Dataset",
        head: true,
        sort: (dataset) => dataset.name ?? dataset.id,
        cell: (dataset) =>
          el(
            "a",
            { href: router.href(`/datasets/${dataset.id}`) },
            bdi(dataset.name ?? dataset.id),
          ),
      },
      { label: "Role", sort: (dataset) => dataset.role, cell: (dataset) => dataset.role ?? "–" },
      {
        label: "Shape",
        sort: (dataset) => dataset.shape?.[0],
        cell: (dataset) =>
          dataset.status === "ready"
            ? [shape(dataset.shape), " ", el("span", { class: "quiet" }, dataset.dtype)]
            : statusChip(dataset.status),
      },
      { label: "Format", cell: (dataset) => dataset.format },
      {
        label: "Size",
        numeric: true,
        sort: (dataset) => dataset.bytes,
        cell: (dataset) => bytes(dataset.bytes),
      },
      createdColumn("Uploaded"),
    ],
  };
  const list = el("div", { class: "page-part" });
  /** @type {Mounted | null} */
  let page = null;
  const reload = async () => {
    page?.unmount();
    page = await listPage(list, options);
  };
  const zone = dropZone({
    ondataset: reload,
  });
  replace(
    root,
    list,
    el(
      "section",
      { class: "card", "aria-labelledby": "more-data" },
      el("h2", { id: "more-data" }, "Upload"),
      zone.element,
    ),
  );
  await reload();
  return {
    unmount: () => {
      page?.unmount();
      zone.stop();
    },
  };
}
