// A tree: its forms, its parts, and what is made of it.

import { InputError, ProblemError, WaitTimeout } from "./errors.js";
import { given } from "./inputs.js";
import { newKey } from "./connection.js";
import { cancelled, followed } from "./jobs.js";
import { uploaded } from "./dataset.js";

/** @import { components, operations } from "contract" */
/** @import { Connection, Query } from "./connection.js" */
/** @import { Input } from "./inputs.js" */
/** @import { Waiting } from "./jobs.js" */
/** @typedef {components["schemas"]["TreeBody"]} TreeBody */
/** @typedef {operations["get_tree_as"]["parameters"]["path"]["form"]} Form */
/** @typedef {operations["get_tree_as"]["parameters"]["query"]} FormOptions */
/** @typedef {{ k: number } | { height: number } | { level: number }} Cut */
/**
 * @typedef {{ id: number, parent: number | null, height: number, size: number, name?: string | null }} Node
 */

/** Work that ends sooner is answered by the request that submits it; other work is followed. */
const FIRST_WAIT_S = 2;

/** A hierarchy that the service keeps. */
export class Tree {
  #connection;

  /**
   * @param {Connection} connection
   * @param {string} id
   * @param {string[]} [warnings] of the job that made it
   */
  constructor(connection, id, warnings = []) {
    this.#connection = connection;
    this.id = id;
    /** What the job had to decide or leave out. */
    this.warnings = warnings;
  }

  get #path() {
    return `/v1/trees/${encodeURIComponent(this.id)}`;
  }

  /** Where the service's page shows it. */
  get page() {
    return `${this.#connection.url}/#/trees/${this.id}`;
  }

  /** What the tree is: sizes, method, how it was made. @returns {Promise<TreeBody>} */
  describe() {
    return this.#connection.read(this.#path);
  }

  /** The tree in Newick. @param {FormOptions} [options] @returns {Promise<string>} */
  async newick(options) {
    return (await this.save("nwk", options)).text();
  }

  /**
   * Every node, in the order of their ids.
   *
   * @param {Query} [options]
   * @returns {Promise<components["schemas"]["TreeBody"]["nodes"]>}
   */
  async nodes(options) {
    /** @type {TreeBody} */
    const body = await this.#connection.read(`${this.#path}.json`, options);
    return body.nodes;
  }

  /**
   * The tree in any form: text, tables, pictures.
   *
   * @param {Form | "json"} form
   * @param {FormOptions} [options] such as `{ width_mm: 85 }` of pictures
   * @returns {Promise<Blob>}
   */
  async save(form, options) {
    const query = /** @type {Query} */ (options ?? {});
    return (await this.#connection.send("GET", `${this.#path}.${form}`, { query })).blob();
  }

  /** The clusters of a cut. @param {Cut} cut @returns {Promise<components["schemas"]["ClustersBody"]>} */
  cut(cut) {
    return this.#connection.read(`${this.#path}/cut`, cut);
  }

  /**
   * The cluster of each point, -1 for noise, with their ids where the rows have some.
   *
   * @param {Cut} cut
   * @returns {Promise<components["schemas"]["Assignments"]>}
   */
  assignments(cut) {
    return this.#connection.read(`${this.#path}/assignments`, cut);
  }

  /** The levels that stand out. @returns {Promise<components["schemas"]["Levels"]>} */
  levels() {
    return this.#connection.read(`${this.#path}/levels`);
  }

  /** Which classes the model confuses. @param {Query} [query] @returns {Promise<any>} */
  confusions(query) {
    return this.#connection.read(`${this.#path}/confusions`, query);
  }

  /** One node. @param {number} node @returns {Promise<components["schemas"]["NodeBody"]>} */
  node(node) {
    return this.#connection.read(`${this.#path}/nodes/${node}`);
  }

  /**
   * Nodes and leaves by their names, or with `{ by: "meaning" }` by these.
   *
   * @param {string} words
   * @param {Query} [query]
   * @returns {Promise<any>}
   */
  search(words, query) {
    return this.#connection.read(`${this.#path}/search`, { q: words, ...query });
  }

  /**
   * Place new rows.
   *
   * @param {Record<string, Input>} inputs
   * @param {Partial<Omit<components["schemas"]["PredictionRequest"], "inputs">> & Waiting} [options]
   * @returns {Promise<components["schemas"]["Predictions"]>}
   */
  async predict(inputs, options = {}) {
    const { fields, waiting } = parted(options);
    const { answer, job } = await workOn(
      this.#connection,
      `${this.#path}/predictions`,
      (named) => ({ ...fields, inputs: named }),
      inputs,
      waiting,
      { keep: false },
    );
    if (job === null) return answer;
    return this.#connection.read(`/v1/jobs/${job.id}/predictions`, {}, waiting.signal);
  }

  /**
   * Compare the tree with known classes, or with its own inputs.
   *
   * @param {{ labels?: Input } & Omit<Partial<components["schemas"]["EvaluationRequest"]>, "labels">
   *   & Waiting} [options]
   * @returns {Promise<components["schemas"]["Evaluation"]>}
   */
  async evaluate(options = {}) {
    const { fields, waiting } = parted(options);
    const { labels, ...rest } = fields;
    const { answer, job } = await workOn(
      this.#connection,
      `${this.#path}/evaluations`,
      (named) => ({ ...rest, ...named }),
      labels === undefined ? {} : { labels },
      waiting,
      { keep: false },
    );
    if (job === null) return answer;
    // As the answer of an evaluation that was awaited.
    const result = /** @type {any} */ (job.result);
    const nodes = "nodes" in result ? { nodes: `/v1/jobs/${job.id}/nodes` } : {};
    return { ...result.evaluation, ...nodes, id: job.id, warnings: job.warnings };
  }

  /**
   * A link for people without a key; its token is for `<umbel-tree>`, too.
   *
   * @param {{ days?: number, title?: string, note?: string, rows?: boolean, embed?: boolean }} [options]
   * @returns {Promise<components["schemas"]["NewShareBody"]>}
   */
  async share({ days = 30, ...fields } = {}) {
    const expires_at = new Date(Date.now() + days * 86_400_000).toISOString();
    const made = await this.#connection.post(`${this.#path}/shares`, { ...fields, expires_at });
    return made.json();
  }

  /** Remove it, and what was made of it. */
  async delete() {
    await this.#connection.send("DELETE", this.#path);
  }
}

/**
 * @template {Waiting} T
 * @param {T} options
 */
export function parted(options) {
  const { waitSeconds, onProgress, signal, ...fields } = options;
  const wrong = Object.entries(fields).find(([, value]) => typeof value === "function")?.[0];
  if (wrong !== undefined) {
    // Such as `onprogress`: JSON would leave it out without a word.
    throw new InputError(`There is no option '${wrong}' that is a function; onProgress is one.`);
  }
  return { fields, waiting: { waitSeconds, onProgress, signal } };
}

/**
 * Work on inputs: files are uploaded before, and removed where the work is refused, or has ended and
 * does not keep them (as a job does, which names its inputs).
 *
 * @param {Connection} connection
 * @param {string} path
 * @param {(inputs: Record<string, any>) => unknown} body
 * @param {Record<string, Input>} inputs
 * @param {Waiting} waiting
 * @param {{ keep: boolean }} options
 */
export async function workOn(connection, path, body, inputs, waiting, { keep }) {
  const { signal, onProgress } = waiting;
  if (inputs === null || typeof inputs !== "object" || Array.isArray(inputs)) {
    throw new InputError("Inputs are given by their roles, such as { features: rows }.");
  }
  // Nothing is sent unless all can be.
  const ready = Object.entries(inputs).map(([role, value]) => ({ role, ...given(role, value) }));
  /** @type {Record<string, unknown>} */
  const named = {};
  /** @type {import("./dataset.js").Dataset[]} */
  const fresh = [];
  let isSubmitted = false;
  let isKept = false;
  try {
    for (const each of ready) {
      if ("inline" in each) {
        named[each.role] = each.inline;
      } else {
        const { role, file } = each;
        const dataset = await uploaded(connection, file, { signal, onProgress, role });
        fresh.push(dataset);
        named[role] = dataset.id;
      }
    }
    isSubmitted = true;
    const made = await work(connection, path, body(named), waiting);
    isKept = keep;
    return made;
  } catch (error) {
    const isRefused = error instanceof ProblemError && error.job === null;
    isKept = (keep || error instanceof WaitTimeout) && isSubmitted && !isRefused;
    throw error;
  } finally {
    if (!isKept) await Promise.all(fresh.map((dataset) => dataset.delete().catch(() => undefined)));
  }
}

/**
 * Work that is answered at once, or by a job that is followed.
 *
 * @param {Connection} connection
 * @param {string} path
 * @param {unknown} body
 * @param {Waiting} waiting
 * @returns {Promise<{ answer: any, job: import("./jobs.js").JobBody | null }>}
 */
async function work(connection, path, body, waiting) {
  const { signal, waitSeconds = FIRST_WAIT_S } = waiting;
  const once = { "Idempotency-Key": newKey() };
  const headers = { ...once, Prefer: `wait=${Math.min(FIRST_WAIT_S, Math.floor(waitSeconds))}` };
  /** @type {Response} */
  let response;
  try {
    response = await connection.post(path, body, { headers, signal });
  } catch (error) {
    if (signal?.aborted) await cancelUnnamed(connection, path, body, once).catch(() => undefined);
    throw error;
  }
  const answer = await response.json();
  if (response.status !== 202) return { answer, job: null };
  return { answer, job: await followed(connection, answer.job ?? answer.id, waiting) };
}

/**
 * Cancel a job whose id did not arrive: the same request again tells it.
 *
 * @param {Connection} connection
 * @param {string} path
 * @param {unknown} body
 * @param {Record<string, string>} once the key of the request
 */
async function cancelUnnamed(connection, path, body, once) {
  const again = await connection.post(path, body, { headers: { ...once, Prefer: "wait=0" } });
  const { id, job = id } = await again.json();
  if (`${job}`.startsWith("job_")) await cancelled(connection, job);
}
