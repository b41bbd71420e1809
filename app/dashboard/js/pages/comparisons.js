// All comparisons: jobs that ran several methods for one table.

import { ENDED } from "../net/jobs.js";
import * as router from "../router.js";
import { bdi, el } from "../ui/dom.js";
import { comparisonId, durationColumn, statusColumn } from "./job_columns.js";
import { createdColumn, listPage } from "./list_page.js";

/** @import { Job } from "../net/answers.js" */
/** @import { Mounted, PageContext } from "../router.js" */
/** @import { ListOptions } from "./list_page.js" */

/**
 * @param {HTMLElement} root
 * @param {PageContext} context
 * @returns {Promise<Mounted>}
 */
export async function mount(root, { params }) {
  /** @type {ListOptions<Job>} */
  const options = {
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
    removal: "Its table is deleted with it.",
    annotatedAt: (job) => `/v1/jobs/${job.id}`,
    pathOf: (job) => `/v1/comparisons/${comparisonId(job)}`,
    isBusy: (job) => !ENDED.has(job.status),
    columns: [
      {
        label: "Comparison",
        head: true,
        sort: (job) => job.name ?? job.id,
        cell: (job) =>
          el(
            "a",
            { href: router.href(`/comparisons/${comparisonId(job)}`) },
            bdi(job.name ?? comparisonId(job)),
          ),
      },
      statusColumn,
      createdColumn("Submitted"),
      durationColumn,
    ],
  };
  return listPage(root, options);
}
