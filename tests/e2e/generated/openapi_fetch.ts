// The main job by openapi-fetch with the types of openapi-typescript.
// Usage: openapi_fetch.js URL LOGITS.npy. Prints the Newick text and the number of clusters.

import { readFileSync } from "node:fs";

import createClient from "openapi-fetch";

import type { paths } from "./contract";

async function main(url: string, file: string) {
  const client = createClient<paths>({ baseUrl: url });

  const dataset = await client.POST("/v1/datasets", {
    params: { query: { role: "logits" } },
    headers: { "Content-Type": "application/octet-stream" },
    body: file,
    bodySerializer: () => readFileSync(file),
  });
  if (dataset.error) throw new Error(dataset.error.detail);
  const job = await client.POST("/v1/jobs", {
    params: { header: { Prefer: "wait=60" } },
    body: {
      method: "l2h",
      inputs: { logits: dataset.data.id, names: ["rose", "cat", "dog"] },
      params: { aggregation: "mean-sum" },
    },
  });
  if (job.error) throw new Error(job.error.detail);
  const tree_id = job.data.result?.tree;
  if (!tree_id) throw new Error(job.data.error?.detail);
  const newick = await client.GET("/v1/trees/{tree_id}.{form}", {
    params: { path: { tree_id, form: "nwk" } },
    parseAs: "text",
  });
  const cut = await client.GET("/v1/trees/{tree_id}/assignments", {
    params: { path: { tree_id }, query: { k: 2 } },
  });
  if (newick.error ?? cut.error) throw new Error("the tree cannot be read");
  if (!("clusters" in cut.data)) throw new Error("not a cut");
  console.log(newick.data.trim(), cut.data.clusters.length);
}

void main(...(process.argv.slice(2) as [string, string]));
