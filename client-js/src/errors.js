// What can go wrong, each with what a program needs of it.

/** @import { components } from "contract" */
/** @typedef {components["schemas"]["Problem"]} ProblemBody */

/** Any failure of a call. */
export class UmbelError extends Error {
  /** @param {string} message @param {ErrorOptions} [options] */
  constructor(message, options) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** An input that cannot be sent; nothing was. */
export class InputError extends UmbelError {}

/** The service could not be reached, or the connection was cut, however often it was tried. */
export class ConnectionFailed extends UmbelError {}

/** The service refused a request, or a job failed. */
export class ProblemError extends UmbelError {
  /**
   * @param {Partial<ProblemBody>} problem
   * @param {number} status
   * @param {string | null} [job] the job that failed
   */
  constructor(problem, status, job = null) {
    const title = problem.title ?? `The service answered ${status}`;
    super(problem.detail ? `${title}: ${problem.detail}` : title);
    this.problem = problem;
    this.status = problem.status ?? status;
    /** The kind of problem, such as `invalid-request`. */
    this.code = (problem.type ?? "").split("/").pop() ?? "";
    this.job = job;
  }
}

/** The job was cancelled. */
export class JobCancelled extends UmbelError {
  /** @param {string} job */
  constructor(job) {
    super(`The job ${job} was cancelled.`);
    this.job = job;
  }
}

/** The caller's time is over; the job goes on. */
export class WaitTimeout extends UmbelError {
  /** @param {string} job @param {number} seconds */
  constructor(job, seconds) {
    super(`The job ${job} has not ended within ${seconds} s; it goes on.`);
    this.job = job;
  }
}
