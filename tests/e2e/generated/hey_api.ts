// The main job by the client that @hey-api/openapi-ts generates.
// Usage: hey_api.js URL LOGITS.npy. Prints the Newick text and the number of clusters.

import { readFile } from "node:fs/promises";

import { client } from "./client/client.gen";
import { createDataset, createJob, getAssignments, getTreeAs } from "./client/sdk.gen";

async function main(url: string, file: string) {
  client.setConfig({ baseUrl: url, throwOnError: true });

  const dataset = await createDataset({
    query: { role: "logits" },
    body: new Blob([await readFile(file)]),
    throwOnError: true,
  });
  const job = await createJob({
    headers: { Prefer: "wait=60" },
    body: {
      method: "l2h",
      inputs: { logits: dataset.data.id, names: ["rose", "cat", "dog"] },
      params: { aggregation: "mean-sum" },
    },
    throwOnError: true,
  });
  const tree_id = job.data.result?.tree;
  if (!tree_id) throw new Error(job.data.error?.detail);
  const newick = await getTreeAs({ path: { tree_id, form: "nwk" }, throwOnError: true });
  const cut = await getAssignments({ path: { tree_id }, query: { k: 2 }, throwOnError: true });
  if (!("clusters" in cut.data)) throw new Error("not a cut");
  console.log(String(newick.data).trim(), cut.data.clusters.length);
}

void main(...(process.argv.slice(2) as [string, string]));
