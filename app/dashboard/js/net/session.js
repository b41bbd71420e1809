// The key of this session, and the header that carries it.

const KEY = "umbel.key";

let inMemory = null;
let asker = null;
let asking = null;

export const key = {
  get() {
    try {
      return sessionStorage.getItem(KEY) ?? inMemory;
    } catch {
      return inMemory;
    }
  },
  set(value) {
    inMemory = value;
    try {
      sessionStorage.setItem(KEY, value);
    } catch {
      // Kept in memory alone, then: it lasts until the page is loaded again.
    }
    dispatchEvent(new CustomEvent("keychange"));
  },
  forget() {
    inMemory = null;
    try {
      sessionStorage.removeItem(KEY);
    } catch {
      // There is nothing to forget.
    }
    dispatchEvent(new CustomEvent("keychange"));
  },
  /** Who asks the user for a key: `async (problem) => key or null`. */
  askedBy(ask) {
    asker = ask;
  },
};

/** Ask once for all calls that wait; true when there is a new key. */
export async function askForKey(problem, sent) {
  if (!asker) return false;
  if (key.get() !== sent) return true; // Another call has got one meanwhile.
  asking ??= asker(problem).finally(() => {
    asking = null;
  });
  const given = await asking;
  if (!given) return false;
  if (key.get() !== given) key.set(given);
  return true;
}

/** The header with the key, for what asks for one: the page's own files do not. */
export function authorization(path) {
  const found = key.get();
  return found && /^\/?v1\//.test(path) ? { Authorization: `Bearer ${found}` } : {};
}
