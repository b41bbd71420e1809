// The columns that lists of jobs have in common.

import { bdi, el } from "../ui/dom.js";
import { between, seconds } from "../ui/format.js";
import { statusChip } from "../ui/progress.js";
import { reasonText } from "./job_words.js";

/** @import { Job } from "../net/answers.js" */
/** @import { Column } from "../ui/tables.js" */

/**
 * The status, with the progress of a running job and the reason of a failed one.
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
      job.status === "queued" && job.paused && el("span", { class: "quiet" }, "paused"),
      job.status === "failed" && el("span", { class: "quiet reason" }, bdi(reasonText(job))),
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
