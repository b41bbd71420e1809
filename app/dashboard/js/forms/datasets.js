// The datasets of the service, and which of them can serve as which input.

import { hasStatus, isAway, Problem } from "../net/problem.js";
import { get } from "../net/requests.js";
import { sleep } from "../net/timers.js";

/** @import { Dataset, Page } from "../net/answers.js" */

/**
 * The newest 200 datasets that can be used, and also the datasets in `ids`.
 *
 * @param {string[]} ids
 * @param {{ signal?: AbortSignal }} [options]
 */
export async function usableDatasets(ids = [], { signal } = {}) {
  /** @type {Page<Dataset>} */
  const page = await get("/v1/datasets?limit=200", { signal, quiet: true });
  const datasets = page.items.filter((dataset) => dataset.status !== "invalid");
  for (const id of ids) {
    if (!id.startsWith("ds_") || datasets.some((dataset) => dataset.id === id)) continue;
    try {
      datasets.push(await get(`/v1/datasets/${id}`, { signal, quiet: true }));
    } catch (error) {
      if (!hasStatus(error, 404)) throw error;
    }
  }
  return datasets;
}

/**
 * The dataset once a worker has opened it.
 *
 * @param {Dataset} dataset
 * @param {AbortSignal} signal
 */
export async function inspected(dataset, signal) {
  let current = dataset;
  for (let pause = 150; current.status === "inspecting"; pause = Math.min(pause * 1.4, 2000)) {
    await sleep(pause, signal);
    try {
      current = await get(`/v1/datasets/${dataset.id}`, { signal, quiet: true });
    } catch (error) {
      const isPassing = isAway(error) || (error instanceof Problem && error.status >= 500);
      if (!isPassing) throw error;
    }
  }
  return current;
}
