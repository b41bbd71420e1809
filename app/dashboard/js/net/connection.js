// The address of the service, and whether it answers.

const BASE = new URL(".", document.baseURI);

/**
 * The address of a path of the service: relative to the page, so that a proxy's prefix stays.
 *
 * @param {string} path
 */
export const url = (path) => new URL(path.replace(/^\//, ""), BASE);

let isAway = false;
/** @type {Set<(away: boolean) => unknown>} */
const watchers = new Set();

export const connection = {
  get away() {
    return isAway;
  },
  /**
   * Call `watcher(away)` when the service stops or resumes answering; returns a function that ends
   * it.
   *
   * @param {(away: boolean) => unknown} watcher
   */
  watch(watcher) {
    watchers.add(watcher);
    return () => watchers.delete(watcher);
  },
  /** Check at once, e.g. at the user's request; resolves to whether the service answers. */
  async check() {
    try {
      const answer = await fetch(url("livez"), {
        cache: "no-store",
        signal: AbortSignal.timeout(5000),
      });
      report(!answer.ok);
      return answer.ok;
    } catch {
      report(true);
      return false;
    }
  },
};

/**
 * Report that a call could not reach the service, or could.
 *
 * @param {boolean} away
 */
export function report(away) {
  if (away === isAway) return;
  isAway = away;
  for (const watcher of [...watchers]) watcher(away);
  if (away) checkAfter(500);
}

/** @param {number} pause ms */
function checkAfter(pause) {
  setTimeout(async () => {
    if (isAway && !(await connection.check())) checkAfter(Math.min(pause * 1.6, 8000));
  }, pause);
}

addEventListener("online", () => isAway && connection.check());
