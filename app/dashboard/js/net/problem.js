// What goes wrong between the page and the service.

/** What the service says went wrong (RFC 9457), or that it cannot be reached (status 0). */
export class Problem extends Error {
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

/** Whether `error` only says that somebody called it off. */
export const aborted = (error) => error?.name === "AbortError";

export const AWAY = {
  type: "about:blank",
  title: "The service does not answer",
  detail: "It may be starting again, or the network is down. This page tries again by itself.",
  status: 0,
};
