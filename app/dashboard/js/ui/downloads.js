// Files that the browser saves.

import { aborted } from "../net/problem.js";
import { raw } from "../net/requests.js";
import { toastError } from "./dialogs.js";

/**
 * Get a file and hand it to the browser to be saved as `name`. Throws the Problem of a failure.
 *
 * @param {string} path
 * @param {string} name
 * @param {{ accept?: string, signal?: AbortSignal }} [options]
 */
export async function fetchFile(path, name, options = {}) {
  const response = await raw(path, options);
  saveBlob(await response.blob(), name);
}

/**
 * The same, a failure shown as a short message.
 *
 * @param {string} path
 * @param {string} name
 * @param {{ accept?: string, signal?: AbortSignal }} [options]
 */
export async function download(path, name, options = {}) {
  try {
    await fetchFile(path, name, options);
  } catch (error) {
    if (!aborted(error)) toastError(error);
  }
}

/**
 * Have the browser save a Blob.
 *
 * @param {Blob} blob
 * @param {string} name
 */
export function saveBlob(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/**
 * A user's text as the name of a file: letters, digits, dots and hyphens, 80 of them at most.
 *
 * @param {string} text
 */
export const fileName = (text) =>
  text
    .replaceAll(/[^\p{L}\p{N}._-]+/gu, "-")
    .slice(0, 80)
    .replaceAll(/^-+|-+$/g, "");
