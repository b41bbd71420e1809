// Links to a tree: their addresses, where they open, and what they show in words. Pure.

import { readLook, writeLook } from "./look.js";

/** @import { Share } from "../../net/answers.js" */
/** @import { Look, Tab } from "./look.js" */

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

/** The longest view that a link keeps. */
const LONGEST = 4000;
/** What a link does not open: labels, evaluations, items and what is computed beside the tree. */
const CLOSED = {
  items: null,
  strips: [],
  where: null,
  heatmap: null,
  map: null,
  tab: /** @type {Tab} */ ("explore"),
};

/**
 * Where a link opens, as a query: where its maker stands now.
 *
 * @param {Look} look
 */
export function viewOf(look) {
  const given = writeLook({
    ...look,
    ...CLOSED,
    color: ownColour(look),
    names: null,
    edition: null,
  });
  /** @param {Record<string, unknown>} values */
  const text = (values) => {
    const kept = Object.entries(values).filter(([, value]) => value !== null && value !== "");
    return new URLSearchParams(kept.map(([name, value]) => [name, `${value}`])).toString();
  };
  const whole = text(given);
  return (whole.length <= LONGEST ? whole : text({ ...given, folded: null })) || null;
}

/**
 * The look at which a link opens.
 *
 * @param {string | null | undefined} view
 * @returns {Look}
 */
export function lookOf(view) {
  const look = readLook(Object.fromEntries(new URLSearchParams(view ?? "")));
  return { ...look, ...CLOSED, color: ownColour(look) };
}

/** @param {Look} look */
const ownColour = ({ color }) => (color === "none" ? "none" : "cut");

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
