// Names in the service's responses as a reader sees them. Pure.

// Blanks, control characters, marks without a shape, halves of pairs: as `seen` in
// `app/pictures/lettering.py`.
const UNDRAWN =
  // eslint-disable-next-line no-control-regex, no-misleading-character-class -- it looks for them
  /^[\s\u0000-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u205f-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]+$/u;
const MOST_CODES = 3;
const JOINED = /([\p{L}\p{N}])_+(?=[\p{L}\p{N}])/gu;
/** An address, an e-mail or the name of a file. */
const EXACT = /:\/\/|@|^\S+\.\p{L}[\p{L}\p{N}]{1,4}$/u;
const SLUG = /^\p{L}{2,}(?:-\p{L}{2,}){2,}$/u;

/**
 * The name, or list of names; where nothing of one would be drawn, its code points: "U+200B". "" stays "".
 *
 * @param {string} text
 */
export const seen = (text) =>
  text.includes(", ") ? text.split(", ").map(seenName).join(", ") : seenName(text);

/** @param {string} name */
function seenName(name) {
  if (!UNDRAWN.test(name)) return name;
  // In a list each name may be isolated in its direction.
  const own = name.replace(/^\u2068(.+)\u2069$/su, "$1");
  const letters = Array.from(own.slice(0, 4 * MOST_CODES));
  const codes = letters
    .slice(0, MOST_CODES)
    .map((letter) => `U+${(letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`); // prettier-ignore
  return codes.join(" ") + (letters.length > MOST_CODES ? " …" : "");
}

/**
 * A name as readers write it: underscores between letters are spaces, and so are the hyphens of a
 * slug, which are two or more among words in lower case.
 *
 * @param {string} name one line
 */
export function readable(name) {
  const text = name.includes("_") ? name.replace(JOINED, "$1 ") : name;
  if (!text.includes("-") || text !== text.toLowerCase()) return text;
  const plain = (/** @type {string} */ part) =>
    SLUG.test(part) ? part.replaceAll("-", " ") : part;
  return text.split(", ").map(plain).join(", ");
}

/**
 * Whether a name is of use only in its exact spelling: that of a file, or an address.
 *
 * @param {string} name
 */
export const isExact = (name) => EXACT.test(name);
