// Which fits read the same rows. Pure.

/**
 * The jobs that read the same dataset of rows.
 *
 * @template {{ inputs: Record<string, unknown> }} AnyJob
 * @param {Record<string, unknown>} inputs
 * @param {AnyJob[]} jobs
 */
export function sameRows(inputs, jobs) {
  const role = ["features", "logits", "distances", "similarity"].find((name) => isId(inputs[name]));
  return role ? jobs.filter((job) => job.inputs[role] === inputs[role]) : [];
}

/** @param {unknown} value */
const isId = (value) => typeof value === "string" && value.startsWith("ds_");
