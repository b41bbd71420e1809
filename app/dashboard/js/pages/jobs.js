// All jobs.

import { methods } from "../forms/method_picker.js";
import { el, said } from "../ui/dom.js";
import { ago, between, moment, seconds } from "../ui/format.js";
import { ENDED, statusChip } from "../ui/progress.js";
import { listPage } from "./list_page.js";

const KINDS = {
  predict: "prediction",
  evaluate: "evaluation",
  compare: "comparison",
  import: "import",
};

export async function mount(root, { router, params }) {
  const list = await methods();
  const titles = new Map(list.map((one) => [one.id, one.title]));
  const nameOf = (job) => {
    if (job.name) return job.name;
    const kind = KINDS[job.kind];
    return kind ? kind[0].toUpperCase() + kind.slice(1) : (titles.get(job.method) ?? job.method);
  };
  return listPage(root, {
    router,
    params,
    title: "Jobs",
    lead: "Everything that was run, the newest first.",
    actions: el("a", { class: "button primary", href: router.href("/") }, "New run"),
    path: "/v1/jobs",
    filters: [
      {
        name: "status",
        label: "Status",
        options: ["queued", "running", "succeeded", "failed", "cancelled"].map((one) => [
          one,
          one[0].toUpperCase() + one.slice(1),
        ]),
      },
      {
        name: "method",
        label: "Method",
        options: [...list.map((one) => [one.id, one.title]), ["compare", "Comparison"]],
      },
    ],
    what: ["job", "jobs"],
    removal: "Its tree, its model and their files go with it.",
    pathOf: (job) => `/v1/jobs/${job.id}`,
    busy: (job) => !ENDED.has(job.status),
    text: (job) =>
      [job.name, job.id, job.method, titles.get(job.method), job.status, KINDS[job.kind]].join(" "),
    columns: [
      {
        label: "Job",
        head: true,
        sort: nameOf,
        cell: (job) => el("a", { href: placeOf(router, job) }, said(nameOf(job))),
      },
      {
        label: "Method",
        cell: (job) =>
          job.kind === "compare" ? "several" : (titles.get(job.method) ?? job.method),
      },
      {
        label: "Status",
        cell: (job) => el("span", { class: "row" }, statusChip(job.status), advance(job)),
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

const placeOf = (router, job) =>
  job.kind === "compare"
    ? router.href(`/comparisons/${job.id.replace(/^job_/, "cmp_")}`)
    : router.href(`/jobs/${job.id}`);

const advance = (job) =>
  job.status === "running" &&
  el("span", { class: "quiet" }, `${Math.round(100 * job.progress.fraction)} %`);
