// All datasets, and a place to upload more.

import { uploads } from "../forms/drop_zone.js";
import { el, said } from "../ui/dom.js";
import { ago, bytes, moment, shape } from "../ui/format.js";
import { statusChip } from "../ui/progress.js";
import { listPage } from "./list_page.js";

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

export async function mount(root, { router, params }) {
  const list = el("div", { class: "page-part" });
  let leave = null;
  const draw = async () => {
    leave?.();
    const showList = () => listPage(list, options);
    leave = await showList();
  };
  const drop = uploads({ ondataset: () => draw(), sample: true });
  const options = {
    router,
    params,
    title: "Data",
    lead: "Arrays and tables that were uploaded, the newest first.",
    path: "/v1/datasets",
    filters: [
      {
        name: "role",
        label: "Uploaded as",
        options: ROLES.map((one) => [one, one[0].toUpperCase() + one.slice(1)]),
      },
    ],
    what: ["dataset", "datasets"],
    removal: "Jobs that still wait for it will fail; trees made from it stay.",
    pathOf: (dataset) => `/v1/datasets/${dataset.id}`,
    busy: (dataset) => dataset.status === "inspecting",
    text: (dataset) =>
      [dataset.name, dataset.id, dataset.role, dataset.format, dataset.dtype, dataset.status].join(
        " ",
      ),
    columns: [
      {
        label: "Dataset",
        head: true,
        sort: (dataset) => dataset.name ?? dataset.id,
        cell: (dataset) =>
          el(
            "a",
            { href: router.href(`/datasets/${dataset.id}`) },
            said(dataset.name ?? dataset.id),
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
      {
        label: "Uploaded",
        sort: (dataset) => dataset.created_at,
        cell: (dataset) =>
          el(
            "time",
            { datetime: dataset.created_at, title: moment(dataset.created_at) },
            ago(dataset.created_at),
          ),
      },
    ],
  };
  root.append(
    list,
    el(
      "section",
      { class: "card", "aria-labelledby": "more-data" },
      el("h2", { id: "more-data" }, "Upload"),
      drop.element,
    ),
  );
  await draw();
  return () => {
    leave?.();
    drop.stop();
  };
}
