// Umbel from JavaScript and TypeScript, in browsers and in Node.

import { Connection } from "./connection.js";
import { Dataset, uploaded } from "./dataset.js";
import { InputError } from "./errors.js";
import { npy } from "./inputs.js";
import { succeeded } from "./jobs.js";
import { Tree, parted, workOn } from "./tree.js";

/** @import { components } from "contract" */
/** @import { Query, Options } from "./connection.js" */
/** @import { UploadOptions } from "./dataset.js" */
/** @import { Input } from "./inputs.js" */
/** @import { Waiting } from "./jobs.js" */

/** @typedef {components["schemas"]["NewJob"]} NewJob */
/** @typedef {NewJob["method"]} Method */
/**
 * @template {Method} M
 * @typedef {Partial<Omit<Extract<NewJob, { method: M }>, "method" | "inputs" | "params">>
 *   & { params?: Partial<Extract<NewJob, { method: M }>["params"]> } & Waiting} RunOptions
 */

export { Dataset, Tree, npy };
export * from "./errors.js";

/** A service. */
export class Umbel {
  #connection;

  /**
   * @param {string | URL} url such as `http://127.0.0.1:8000`
   * @param {{ key?: string | null, retries?: number }} [options] `key`: a key, or the token of a link
   */
  constructor(url, { key = null, retries = 5, ...others } = {}) {
    const [other] = Object.keys(others);
    if (other !== undefined) {
      throw new InputError(`There is no option '${other}'; there are key and retries.`);
    }
    this.#connection = new Connection(url, key, retries);
  }

  /**
   * Upload a file or an array, which several runs can use then.
   *
   * @param {Blob | { values: import("./inputs.js").Values, shape: number[] }} content
   * @param {UploadOptions} [options]
   * @returns {Promise<Dataset>}
   */
  async upload(content, options = {}) {
    const file = content instanceof Blob ? content : npy(content.values, content.shape);
    return uploaded(this.#connection, file, options);
  }

  /**
   * Run a method and wait for its tree.
   *
   * @template {Method} M
   * @param {M} method
   * @param {Record<string, Input>} inputs by their roles: `logits`, `features`, `names`, ...
   * @param {RunOptions<M>} [options]
   * @returns {Promise<Tree>}
   */
  async run(method, inputs, options) {
    const { fields, waiting } = parted(
      /** @type {Waiting & Record<string, any>} */ (options ?? {}),
    );
    const { answer, job } = await workOn(
      this.#connection,
      "/v1/jobs",
      (named) => ({ ...fields, method, inputs: named }),
      inputs,
      waiting,
      { keep: true },
    );
    const ended = succeeded(job ?? answer);
    const result = /** @type {{ tree: string }} */ (/** @type {unknown} */ (ended.result));
    return new Tree(this.#connection, result.tree, ended.warnings ?? []);
  }

  /** A tree by its id or alias (`@champion`). @param {string} id */
  tree(id) {
    return new Tree(this.#connection, id);
  }

  /**
   * The trees, newest first, a page at a time.
   *
   * @param {Query} [query]
   * @returns {AsyncGenerator<components["schemas"]["TreeSummary"]>}
   */
  trees(query) {
    return this.list("/v1/trees", query);
  }

  /** Every method, its inputs and parameters. @returns {Promise<any>} */
  methods() {
    return this.#connection.read("/v1/methods");
  }

  /** What the link shows whose token is the key. @returns {Promise<components["schemas"]["SharedBody"]>} */
  shared() {
    return this.#connection.read("/v1/shared");
  }

  /**
   * The things of any list, over all of its pages.
   *
   * @param {string} path
   * @param {Query} [query]
   * @returns {AsyncGenerator<any>}
   */
  async *list(path, query = {}) {
    let cursor = query.cursor;
    do {
      /** @type {{ items: unknown[], next_cursor: string | null }} */
      const page = await this.#connection.read(path, { ...query, cursor });
      yield* page.items;
      cursor = page.next_cursor;
    } while (cursor);
  }

  /**
   * Any other request: the response, if it is a success, with the key, repeated as all others.
   *
   * @param {string} method
   * @param {string} path
   * @param {Options} [options]
   */
  request(method, path, options) {
    return this.#connection.send(method, path, options);
  }
}
