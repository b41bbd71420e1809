// Failures between the page and the service.

/**
 * @typedef {{ detail: string, pointer?: string, parameter?: string, header?: string }} FieldError
 *   what is wrong with one part of a request: of its body by a JSON pointer (RFC 6901)
 */

/**
 * @typedef {{
 *   status?: number,
 *   type?: string,
 *   title?: string,
 *   detail?: string,
 *   errors?: FieldError[] | null,
 *   request_id?: string | null,
 *   requestId?: string | null,
 *   away?: boolean,
 *   where?: { role?: string, parameter?: string, sample?: string },
 *   role?: string,
 * }} ProblemDetails the body of a problem (RFC 9457), or a Problem itself
 */

/** A problem answered by the service (RFC 9457), or the failure to reach it (status 0). */
export class Problem extends Error {
  /**
   * @param {ProblemDetails} [body]
   * @param {number} [status] of the answer, where the body has none
   */
  constructor(body = {}, status = 0) {
    super(body.detail || body.title || "Something went wrong.");
    this.name = "Problem";
    this.status = body.status ?? status;
    this.type = body.type ?? "about:blank";
    this.title = body.title ?? "Something went wrong";
    this.detail = body.detail ?? "";
    this.errors = body.errors ?? [];
    this.requestId = body.request_id ?? null;
    this.body = body;
  }

  /** Whether the service could not be reached at all. */
  get away() {
    return this.status === 0;
  }
}

/**
 * The keys and indices that lead to what is wrong.
 *
 * @param {FieldError} error
 * @returns {(string | number)[]}
 */
export function placeOf({ pointer = "", parameter, header }) {
  const outside = parameter ?? header;
  if (outside !== undefined) return [outside];
  return pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
}

/** The body of a problem: the service cannot be reached. */
export const AWAY = {
  type: "about:blank",
  title: "The service does not answer",
  detail: "It may be restarting, or the network is down. This page keeps trying.",
  status: 0,
};

/**
 * An error as something that a problem box can show.
 *
 * @param {unknown} error
 * @returns {ProblemDetails}
 */
export const problemOf = (error) =>
  error instanceof Problem ? error : { detail: messageOf(error) };

/**
 * An error in one sentence.
 *
 * @param {unknown} error
 */
export const messageOf = (error) => (error instanceof Error ? error.message : String(error));

/**
 * Whether `error` only reports that the call was aborted.
 *
 * @param {unknown} error
 */
export const aborted = (error) =>
  (error instanceof Error || error instanceof DOMException) && error.name === "AbortError";

/**
 * Whether `error` is a problem of this status, e.g. 404.
 *
 * @param {unknown} error
 * @param {number} status
 */
export const hasStatus = (error, status) => error instanceof Problem && error.status === status;

/**
 * Whether the service could not be reached at all.
 *
 * @param {unknown} error
 */
export const isAway = (error) => error instanceof Problem && error.away;
