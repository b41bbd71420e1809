// Uploads: read from disk as they are sent, with progress, stopped when aborted.

import { connection, report, url } from "./connection.js";
import { note } from "./log.js";
import { AWAY, Problem } from "./problem.js";
import { authorization, key, renewKey } from "./session.js";

/** @import { Dataset, Job, TreeSummary } from "./answers.js" */
/** @import { ColumnChoice } from "../forms/columns_form.js" */
/** @import { Call } from "./log.js" */
/** @typedef {(sent: number, total: number) => unknown} UploadProgress in bytes */

/**
 * Upload a file, read from disk while it is sent; what the service has made of it. `path` takes a file
 * as its body: datasets, unless trees are meant. `source` is the service's own copy of the file, for
 * "Copy as code". `from` is the dataset that has the file already, which is then not sent again.
 *
 * @param {File} file
 * @param {{
 *   role?: string,
 *   name?: string,
 *   member?: string,
 *   choice?: ColumnChoice,
 *   from?: string,
 *   type?: string,
 *   source?: string,
 *   onprogress?: UploadProgress,
 *   signal?: AbortSignal,
 *   path?: "/v1/datasets" | "/v1/trees",
 * }} [options]
 * @returns {Promise<Dataset | TreeSummary | Job>}
 */
export async function upload(
  file,
  {
    role,
    name,
    member,
    choice,
    from,
    type,
    source,
    onprogress,
    signal,
    path = "/v1/datasets",
  } = {},
) {
  const query = new URLSearchParams();
  for (const [field, value] of Object.entries({ name: name ?? file.name, role, member, from })) {
    if (value) query.set(field, value);
  }
  for (const [field, value] of Object.entries(choice ?? {})) {
    for (const each of [value ?? []].flat()) query.append(field, each);
  }
  const media = type || "application/octet-stream";
  const address = `${path}?${query}`;
  /** @type {Call} */
  const call = {
    method: "POST",
    path: address,
    headers: { "Content-Type": media },
    ...(from ? {} : { file: { name: file.name, size: file.size, source } }),
    at: Date.now(),
  };
  note(call);
  for (;;) {
    const sent = key.get();
    const { status, text } = await post(address, media, from ? null : file, onprogress, signal);
    call.status = status;
    if (status >= 200 && status < 300) {
      const answer = JSON.parse(text);
      call.answer = answer;
      return answer;
    }
    const problem = problemInText(status, text);
    if (status === 401 && (await renewKey(problem, sent))) continue;
    throw problem;
  }
}

/**
 * @param {number} status
 * @param {string} text
 */
function problemInText(status, text) {
  try {
    return new Problem(JSON.parse(text), status);
  } catch {
    return new Problem({ title: `The service answered ${status}` }, status);
  }
}

/**
 * XMLHttpRequest, since fetch does not report how much of a body has been sent.
 *
 * @param {string} path
 * @param {string} media
 * @param {File | null} file
 * @param {UploadProgress | undefined} onprogress
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<{ status: number, text: string }>}
 */
function post(path, media, file, onprogress, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => request.abort();
    const release = () => signal?.removeEventListener("abort", stop);
    /** @param {Error} error */
    const fail = (error) => {
      release();
      reject(error);
    };
    if (signal?.aborted) {
      reject(new DOMException("The upload was cancelled.", "AbortError"));
      return;
    }
    const request = new XMLHttpRequest();
    request.open("POST", url(path));
    for (const [name, value] of Object.entries({ "Content-Type": media, ...authorization(path) })) {
      request.setRequestHeader(name, value);
    }
    request.upload.onprogress = (event) =>
      onprogress?.(event.loaded, event.total || (file?.size ?? 0));
    request.onload = () => {
      release();
      report(false);
      resolve({ status: request.status, text: request.responseText });
    };
    request.onabort = () => fail(new DOMException("The upload was cancelled.", "AbortError"));
    request.onerror = async () => {
      // Also if the file can no longer be read, or the service closed the connection early.
      fail(new Problem((await connection.check()) ? INTERRUPTED : AWAY));
    };
    signal?.addEventListener("abort", stop);
    request.send(file);
  });
}

const INTERRUPTED = {
  title: "The upload was interrupted",
  detail:
    "The connection was closed before the whole file was sent, or the file changed meanwhile. " +
    "Try again.",
};
