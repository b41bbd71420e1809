// All comparisons: jobs that ran several methods for one table.

import { el, said } from "../ui/dom.js";
import { ago, between, moment, seconds } from "../ui/format.js";
import { ENDED, statusChip } from "../ui/progress.js";
import { listPage } from "./list_page.js";

const idOf = (job) => job.id.replace(/^job_/, "cmp_");

export async function mount(root, { router, params }) {
  return listPage(root, {
    router,
    params,
    title: "Comparisons",
    lead: "Several methods on the same data, in one table.",
    actions: el(
      "a",
      { class: "button primary", href: router.href("/comparisons/new") },
      "Compare methods",
    ),
    path: "/v1/jobs?method=compare",
    what: ["comparison", "comparisons"],
    removal: "Its table goes with it.",
    empty: "No comparisons yet.",
    pathOf: (job) => `/v1/comparisons/${idOf(job)}`,
    busy: (job) => !ENDED.has(job.status),
    text: (job) => [job.name, idOf(job), job.status].join(" "),
    columns: [
      {
        label: "Comparison",
        head: true,
        sort: (job) => job.name ?? job.id,
        cell: (job) =>
          el("a", { href: router.href(`/comparisons/${idOf(job)}`) }, said(job.name ?? idOf(job))),
      },
      {
        label: "Status",
        cell: (job) =>
          el(
            "span",
            { class: "row" },
            statusChip(job.status),
            job.status === "running" &&
              el("span", { class: "quiet" }, `${Math.round(100 * job.progress.fraction)} %`),
          ),
      },
      {
        label: "Submitted",
        sort: (job) => job.created_at,
        cell: (job) =>
          el(
            "time",
            { datetime: job.created_at, title: moment(job.created_at) },
            ago(job.created_at),
          ),
      },
      {
        label: "Took",
        numeric: true,
        sort: (job) => between(job.started_at, job.finished_at),
        cell: (job) => seconds(between(job.started_at, job.finished_at)),
      },
    ],
  });
}
