// Datasets: uploaded in one request, or in parts.

import { ProblemError } from "./errors.js";
import { sleep } from "./connection.js";
import { mediaTypeOf } from "./inputs.js";

/** @import { components } from "contract" */
/** @import { Connection, Query } from "./connection.js" */
/** @typedef {components["schemas"]["DatasetBody"]} DatasetBody */
/** @typedef {(fraction: number, stage: string) => unknown} Progress from 0 to 1, and what is done */
/**
 * @typedef {{
 *   name?: string,
 *   role?: string,
 *   description?: string,
 *   tags?: string[],
 *   columns?: string[],
 *   idColumn?: string,
 *   labelColumn?: string,
 *   decimal?: string,
 *   delimiter?: string,
 *   onProgress?: Progress,
 *   signal?: AbortSignal,
 * }} UploadOptions
 */

/** A larger file is sent in parts of this size, each of which is tried again by itself. */
export const PART_BYTES = 32 * 2 ** 20;
const LONGEST_PAUSE_MS = 1000;

/** A file that the service keeps. */
export class Dataset {
  #connection;

  /** @param {Connection} connection @param {DatasetBody} body */
  constructor(connection, body) {
    this.#connection = connection;
    this.body = body;
    this.id = body.id;
  }

  /** What the service noticed: columns that it left out, values that it took for missing. */
  get warnings() {
    return this.body.warnings ?? [];
  }

  /** @param {AbortSignal} [signal] */
  async delete(signal) {
    await this.#connection.send("DELETE", `/v1/datasets/${this.id}`, { signal });
  }
}

/**
 * The dataset made from a file, once the service has opened it.
 *
 * @param {Connection} connection
 * @param {Blob} file
 * @param {UploadOptions} options
 * @returns {Promise<Dataset>}
 * @throws {ProblemError} also where the file cannot be read as what it is
 */
export async function uploaded(connection, file, options) {
  const { signal, onProgress } = options;
  const name = options.name ?? ("name" in file ? String(file.name) : undefined);
  const type = file.type || mediaTypeOf(name ?? "") || "application/octet-stream";
  const query = {
    name,
    role: options.role,
    description: options.description,
    tag: options.tags,
    columns: options.columns,
    id_column: options.idColumn,
    label_column: options.labelColumn,
    decimal: options.decimal,
    delimiter: options.delimiter,
  };
  let body =
    file.size <= PART_BYTES
      ? await atOnce(connection, file, type, query, signal)
      : await inParts(connection, file, type, query, onProgress, signal);
  for (
    let pause = 20;
    body.status === "inspecting";
    pause = Math.min(2 * pause, LONGEST_PAUSE_MS)
  ) {
    await sleep(pause, signal);
    body = await connection.read(`/v1/datasets/${body.id}`, {}, signal);
  }
  onProgress?.(1, "uploaded");
  if (body.status === "invalid") {
    await connection.send("DELETE", `/v1/datasets/${body.id}`, { signal });
    throw new ProblemError(body.problem ?? {}, 422);
  }
  return new Dataset(connection, body);
}

/**
 * @param {Connection} connection
 * @param {Blob} file
 * @param {string} type
 * @param {Query} query
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<DatasetBody>}
 */
async function atOnce(connection, file, type, query, signal) {
  const headers = { "Content-Type": type };
  const response = await connection.send("POST", "/v1/datasets", {
    query,
    headers,
    body: file,
    signal,
  });
  return response.json();
}

/**
 * @param {Connection} connection
 * @param {Blob} file
 * @param {string} type
 * @param {Query} query
 * @param {Progress | undefined} onProgress
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<DatasetBody>}
 */
async function inParts(connection, file, type, query, onProgress, signal) {
  const wanted = { ...query, ...(type === "application/octet-stream" ? {} : { media_type: type }) };
  const begun = await connection.send("POST", "/v1/uploads", { query: wanted, signal });
  const { id } = await begun.json();
  /** @type {{ number: number }[]} */
  const numbers = [];
  try {
    for (let start = 0; start < file.size; start += PART_BYTES) {
      const part = file.slice(start, start + PART_BYTES);
      const number = numbers.length + 1;
      const headers = { "Content-Type": "application/octet-stream", ...(await digestOf(part)) };
      await connection.send("PUT", `/v1/uploads/${id}/parts/${number}`, {
        headers,
        body: part,
        signal,
      });
      numbers.push({ number });
      onProgress?.(Math.min(1, (start + PART_BYTES) / file.size), "uploading");
    }
    const done = await connection.post(
      `/v1/uploads/${id}/complete`,
      { parts: numbers },
      { signal },
    );
    return await done.json();
  } catch (error) {
    // The reason counts more than whether this succeeds.
    await connection.send("DELETE", `/v1/uploads/${id}`).catch(() => undefined);
    throw error;
  }
}

/**
 * The digest of a part, which the service compares; none on pages that are not secure, which cannot
 * make it.
 *
 * @param {Blob} part
 * @returns {Promise<Record<string, string>>}
 */
async function digestOf(part) {
  if (!globalThis.crypto?.subtle) return {};
  const digest = await crypto.subtle.digest("SHA-256", await part.arrayBuffer());
  return { "Content-Digest": `sha-256=:${btoa(String.fromCharCode(...new Uint8Array(digest)))}:` };
}
