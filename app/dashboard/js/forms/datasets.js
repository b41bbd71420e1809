// The datasets there are, and which of them can serve as which input.

import { get, sleep } from "../net/requests.js";
import { shape } from "../ui/format.js";

export const COLUMNS = new Set([
  "labels",
  "names",
  "feature_names",
  "tasks",
  "targets",
  "timestamps",
  "documents",
]);
export const TEXTS = new Set(["names", "feature_names", "documents"]);

const isColumn = (lengths) => lengths.length === 1 || (lengths.length === 2 && lengths[1] === 1);

/** The newest 200 datasets that can be used, and those of `ids` besides. */
export async function usable(ids = [], { signal } = {}) {
  const page = await get("/v1/datasets?limit=200", { signal, quiet: true });
  const found = page.items.filter((one) => one.status !== "invalid");
  for (const id of ids) {
    if (!id.startsWith("ds_") || found.some((one) => one.id === id)) continue;
    try {
      found.push(await get(`/v1/datasets/${id}`, { signal, quiet: true }));
    } catch (error) {
      if (error.status !== 404) throw error;
    }
  }
  return found;
}

/** Whether a dataset can be the input `role`, as far as is known. */
export function fits(dataset, role) {
  if (dataset.role && COLUMNS.has(dataset.role) !== COLUMNS.has(role)) return false;
  if (!dataset.shape) return true;
  return COLUMNS.has(role) ? isColumn(dataset.shape) : dataset.shape.length === 2;
}

/** Those that fit `role`, the ones uploaded as it first. */
export const fitting = (datasets, role) =>
  datasets.filter((one) => fits(one, role)).sort((a, b) => (b.role === role) - (a.role === role));

/** "train · 6,664 × 119 float16". */
export const labelOf = (dataset) =>
  [
    dataset.name ?? dataset.id,
    dataset.shape ? `${shape(dataset.shape)} ${dataset.dtype ?? ""}` : dataset.status,
  ]
    .join(" · ")
    .trim();

/** The dataset once it has been opened by a worker. */
export async function inspected(dataset, signal) {
  let found = dataset;
  for (let pause = 150; found.status === "inspecting"; pause = Math.min(pause * 1.4, 2000)) {
    await sleep(pause, signal);
    try {
      found = await get(`/v1/datasets/${dataset.id}`, { signal, quiet: true });
    } catch (error) {
      if (!error.away && !(error.status >= 500)) throw error;
    }
  }
  return found;
}
