// All jobs.

import { methods } from "../forms/catalogue.js";
import { ENDED } from "../net/jobs.js";
import * as router from "../router.js";
import { bdi, el } from "../ui/dom.js";
import { capitalized } from "../ui/format.js";
import { comparisonId, durationColumn, statusColumn } from "./job_columns.js";
import { KINDS } from "./job_words.js";
import { createdColumn, listPage } from "./list_page.js";

/** @import { Job, Method } from "../net/answers.js" */
/** @import { Mounted, PageContext } from "../router.js" */
/** @import { Option } from "../ui/controls.js" */
/** @import { ListOptions } from "./list_page.js" */

const STATUSES = ["queued", "running", "succeeded", "failed", "cancelled"];

/**
 * @param {HTMLElement} root
 * @param {PageContext} context
 * @returns {Promise<Mounted>}
 */
export async function mount(root, { params }) {
  const list = await methods();
  const titles = new Map(list.map((method) => [method.id, method.title]));
  /** @param {Job} job */
  const titleOf = ({ method }) => titles.get(method) ?? method;
  /** @param {Job} job */
  const nameOf = (job) =>
    job.name ??
    (job.kind !== "fit" && job.kind in KINDS ? capitalized(KINDS[job.kind]) : titleOf(job));
  /** @type {ListOptions<Job>} */
  const options = {
    params,
    title: "Jobs",
    lead: "Everything that was run.",
    actions: el("a", { class: "button primary", href: router.href("/") }, "New run"),
    path: "/v1/jobs",
    filters: [
      {
        name: "status",
        label: "Status",
        options: STATUSES.map((status) => [status, capitalized(status)]),
      },
      {
        name: "method",
        label: "Method",
        options: [...list.map(idAndTitle), ["compare", "Comparison"]],
      },
    ],
    what: ["job", "jobs"],
    removal: "Its tree, its model and their files are deleted with it.",
    pathOf: (job) => `/v1/jobs/${job.id}`,
    isBusy: (job) => !ENDED.has(job.status),
    columns: [
      {
        label: "Job",
        head: true,
        sort: nameOf,
        cell: (job) => el("a", { href: addressOf(job) }, bdi(nameOf(job))),
      },
      {
        label: "Method",
        cell: (job) => (job.kind === "compare" ? "several" : titleOf(job)),
      },
      statusColumn,
      createdColumn("Submitted"),
      durationColumn,
    ],
  };
  return listPage(root, options);
}

/**
 * @param {Method} method
 * @returns {Option}
 */
const idAndTitle = ({ id, title }) => [id, title];

/** @param {Job} job */
const addressOf = (job) =>
  router.href(job.kind === "compare" ? `/comparisons/${comparisonId(job)}` : `/jobs/${job.id}`);
