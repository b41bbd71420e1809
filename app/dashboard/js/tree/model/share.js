// Links to a tree: their addresses and what they show, in words. Pure.

/** @import { Share } from "../../net/answers.js" */

const DAY_MS = 24 * 60 * 60 * 1000;

const TOKEN = /^umbel_share_[0-9a-z]{52}_[A-Za-z0-9_-]{43}$/;

/**
 * When a link ends that is made now.
 *
 * @param {number} days
 * @param {number} now ms since 1970
 */
export const expiryOf = (days, now) => new Date(now + days * DAY_MS).toISOString();

/**
 * The token in an address's fragment; null if there is none.
 *
 * @param {string} fragment with its `#`
 */
export function tokenIn(fragment) {
  const text = fragment.replace(/^#/, "");
  return TOKEN.test(text) ? text : null;
}

/**
 * What a link shows.
 *
 * @param {Share} share
 */
export function shownText({ edition, map, rows, embed }) {
  return [
    edition ? "an edition" : "the tree",
    ...(map ? ["with a map"] : []),
    ...(rows ? ["with its points"] : []),
    ...(embed ? ["may be embedded"] : []),
  ].join(", ");
}

/**
 * The markup that shows a link within another page.
 *
 * @param {string} address
 */
export const embedText = (address) =>
  `<iframe src="${address}" title="A tree" width="800" height="600" ` +
  'loading="lazy" referrerpolicy="no-referrer"></iframe>';
