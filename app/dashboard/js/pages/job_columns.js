// The columns that lists of jobs have in common.

import { el } from "../ui/dom.js";
import { between, seconds } from "../ui/format.js";
import { statusChip } from "../ui/progress.js";

/** @import { Job } from "../net/answers.js" */
/** @import { Column } from "../ui/tables.js" */

/**
 * The status, with the progress of a running job.
 *
 * @type {Column<Job>}
 */
export const statusColumn = {
  label: "Status",
  cell: (job) =>
    el(
      "span",
      { class: "row" },
      statusChip(job.status),
      job.status === "running" &&
        el("span", { class: "quiet" }, `${Math.round(100 * job.progress.fraction)} %`),
    ),
};

/**
 * How long the job took.
 *
 * @type {Column<Job>}
 */
export const durationColumn = {
  label: "Took",
  numeric: true,
  sort: (job) => between(job.started_at, job.finished_at),
  cell: (job) => seconds(between(job.started_at, job.finished_at)),
};

/**
 * The id of the comparison that a job makes.
 *
 * @param {Job} job
 */
export const comparisonId = (job) => job.id.replace(/^job_/, "cmp_");
