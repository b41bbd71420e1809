// Drifts of a tree: two samples compared in it.

import { treeJobs } from "./tree_jobs.js";

/** @import { Drift } from "./answers.js" */
/** @import { TreeJobs } from "./tree_jobs.js" */

/** @type {TreeJobs<Drift>} */
export const drifts = treeJobs("drift");
