// Where the service is, and whether it answers.

const BASE = new URL(".", document.baseURI);

/** The address of a path of the service: relative to the page, so that a proxy's prefix stays. */
export const url = (path) => new URL(String(path).replace(/^\//, ""), BASE);

let isAway = false;
const watchers = new Set();

export const connection = {
  get away() {
    return isAway;
  },
  /** Call `watch(away)` when the service goes away or comes back; returns a function that ends it. */
  watch(watcher) {
    watchers.add(watcher);
    return () => watchers.delete(watcher);
  },
  /** Look at once, e.g. because the user asks for it; resolves to whether it answers. */
  async look() {
    try {
      const answer = await fetch(url("livez"), {
        cache: "no-store",
        signal: AbortSignal.timeout(5000),
      });
      seen(!answer.ok);
      return answer.ok;
    } catch {
      seen(true);
      return false;
    }
  },
};

/** A call has found the service away, or there. */
export function seen(away) {
  if (away === isAway) return;
  isAway = away;
  for (const watcher of [...watchers]) watcher(away);
  if (away) lookAgain(500);
}

function lookAgain(pause) {
  setTimeout(async () => {
    if (isAway && !(await connection.look())) lookAgain(Math.min(pause * 1.6, 8000));
  }, pause);
}

addEventListener("online", () => isAway && connection.look());
