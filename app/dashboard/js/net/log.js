// The calls that this page has made, for "Copy as code". The key is never among them.

const LOG_LENGTH = 200;

/**
 * @typedef {{
 *   method: string,
 *   path: string,
 *   headers: Record<string, string>,
 *   at: number,
 *   status?: number,
 *   body?: unknown,
 *   file?: { name: string, size: number, source?: string },
 *   answer?: { id?: string } | null,
 * }} Call `file`: where the body was a file, with the service's own copy of it in `source`; `answer`:
 *   the JSON answered to a POST; `at`: ms since 1970
 */

/**
 * The calls, oldest first.
 *
 * @type {Call[]}
 */
export const log = [];

/**
 * Write a call down.
 *
 * @param {Call} call
 */
export function note(call) {
  log.push(call);
  if (log.length > LOG_LENGTH) log.splice(0, log.length - LOG_LENGTH);
}
