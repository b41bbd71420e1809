// Which choices of the palette come first, and where one is once others have come. Pure.

/** @import { Choice } from "./page_choices.js" */

/**
 * The choices that have each word in their texts; those that begin with the words come first.
 *
 * @param {Choice[]} choices
 * @param {string} text
 */
export function ranked(choices, text) {
  const whole = text.toLowerCase();
  const words = whole.split(/\s+/).filter(Boolean);
  /** @param {Choice} choice */
  const rank = ({ label }) => {
    const name = label.toLowerCase();
    return name.startsWith(whole) ? 0 : words.every((word) => name.includes(word)) ? 1 : 2;
  };
  return choices
    .filter(({ label, about }) => {
      const all = `${label} ${about}`.toLowerCase();
      return words.every((word) => all.includes(word));
    })
    .map((choice, k) => ({ choice, k, rank: rank(choice) }))
    .sort((a, b) => a.rank - b.rank || a.k - b.k)
    .map(({ choice }) => choice);
}

/**
 * Where a choice is in a newer list: the same one, or, where that was loaded anew, the one that is called so
 * and comes as far down among its namesakes.
 *
 * @param {Choice[]} before
 * @param {number} at
 * @param {Choice[]} after
 */
export function placeAgain(before, at, after) {
  const chosen = before[at];
  if (!chosen) return at;
  if (after.includes(chosen)) return after.indexOf(chosen);
  const isLike = (/** @type {Choice} */ { label, about }) =>
    label === chosen.label && about === chosen.about;
  const places = after.flatMap((choice, k) => (isLike(choice) ? [k] : []));
  return places[before.slice(0, at).filter(isLike).length] ?? places.at(-1) ?? at;
}
