// A figure for print that the service draws itself, as its preview.

import { raw } from "../../net/requests.js";

/**
 * A picture that the service draws itself, for a preview. Throws the Problem of a failure.
 *
 * @param {string} path
 * @param {AbortSignal} signal
 */
export const printedPicture = async (path, signal) =>
  (await raw(path, { signal, quiet: true })).blob();
