// Colours that stay distinct for colour-blind readers, on light and dark pages: the same as in the
// pictures that the service draws.
//
// The largest labels have the colours and the others share a grey; the largest clusters of a cut have the
// colours and the others three paler ones in turn, from left to right, so that neighbours differ.
//
// okabe-ito: Okabe and Ito (Color Universal Design, 2008) without black, extended to twenty that stay
// apart under protanopia and deuteranopia. tol-*: Paul Tol (SRON technical note, 2021).

/** @type {Record<string, string>} */
const LIGHT = {
  "okabe-ito":
    "#0072b2 #d55e00 #009e73 #cc79a7 #e69f00 #56b4e9 #871e00 #5a2d96 #e1c31e #a5d296 " +
    "#5a87f0 #a54b2d #0f4b69 #87d2e1 #78b478 #871e4b #964b96 #4b785a #4b4bb4 #966987",
  "tol-muted": "#332288 #cc6677 #117733 #ddaa33 #56b4e9 #882255 #44aa99 #aa4499 #999933",
  "tol-bright": "#4477aa #ee6677 #228833 #ccbb44 #66ccee #aa3377",
  grey: "#1f242a #7d858e #4b535c #b3bac2",
};
/** @type {Record<string, string>} */
const DARK = {
  "okabe-ito":
    "#0072b2 #d55e00 #009e73 #cc79a7 #e69f00 #56b4e9 #c32d1e #5a5ae1 #e1c31e #a5d296 " +
    "#5a87f0 #d2873c #7896d2 #87d2e1 #78b478 #a53c96 #a569d2 #4b785a #8796ff #966987",
  "tol-muted": "#6655cc #cc6677 #229955 #ddaa33 #56b4e9 #bb4488 #44aa99 #aa4499 #999933",
  "tol-bright": LIGHT["tol-bright"],
  grey: "#f2f4f7 #8b949e #c4cad1 #5c646d",
};
/** @type {Record<string, Record<"light" | "dark", string>>} */
const PALE = {
  "okabe-ito": { light: "#eddb78 #cedbfa #66c5ab", dark: "#542f13 #2b2e5e #5e4659" },
  "tol-muted": { light: "#f2cb75 #c9d7fa #dbbcb2", dark: "#4e2d14 #31346f #645b1d" },
  "tol-bright": { light: "#f3d185 #d7b5ab #e9d4cd", dark: "#664d12 #2d3064 #423324" },
  grey: { light: "#c9cacc #e4e5e6 #d6d7d9", dark: "#4d5156 #2d3136 #3a3e43" },
};
const GREYS = {
  light: { guide: "#d5dbd7", ink: "#56606d", other: "#9aa1ab", bare: "#2f6f5f", shared: "#ccd2d9" },
  dark: { guide: "#333c38", ink: "#a9b3be", other: "#6f7884", bare: "#5fae98", shared: "#3a424c" },
};

/**
 * @typedef {{
 *   theme: "light" | "dark",
 *   guide: string,
 *   ink: string,
 *   other: string,
 *   bare: string,
 *   shared: string,
 *   paper: string,
 *   text: string,
 *   muted: string,
 *   accent: string,
 *   focus: string,
 *   family: string,
 *   series: string[],
 *   pale: string[],
 *   least?: number,
 * }} Theme the page's colours and a palette's, all #rrggbb; `family`: the font; `series` and `pale`: the
 *   colours of categories, and of clusters beyond them; `least`: the smallest size of labels of tips, px
 */

/**
 * @param {"light" | "dark"} theme
 * @param {string} palette
 */
function seriesOf(theme, palette) {
  const known = palette in LIGHT ? palette : "okabe-ito";
  return {
    series: (theme === "dark" ? DARK : LIGHT)[known].split(" "),
    pale: PALE[known][theme].split(" "),
  };
}

/**
 * The colour of a label or another category, the most frequent first: past the end of the palette a grey.
 *
 * @param {Pick<Theme, "series" | "other">} theme
 * @param {number} category -1 for none
 */
export const colourOf = ({ series, other }, category) => series[category] ?? other;

/**
 * The colours of the clusters of a cut, by category; of noise for those below 0.
 *
 * @param {Pick<Theme, "series" | "pale" | "other">} theme
 * @param {{ clusters: { category: number }[], n_clusters: number }} cut its clusters the largest first
 * @returns {(category: number) => string}
 */
export function clusterColours({ series, pale, other }, { clusters, n_clusters: n }) {
  const own = new Map(
    clusters.slice(0, series.length).map(({ category }, at) => [category, series[at]]),
  );
  // On a circle the last is beside the first.
  const last = n % pale.length === 1 ? 1 : (n - 1) % pale.length;
  return (category) => {
    if (category < 0) return other;
    return own.get(category) ?? pale[category === n - 1 ? last : category % pale.length];
  };
}

/**
 * The colours of a theme: the page's own and the palette's.
 *
 * @param {"light" | "dark"} theme
 * @param {string} palette
 * @returns {Theme}
 */
export function colours(theme, palette) {
  const page = getComputedStyle(document.documentElement);
  /** @param {string} name */
  const of = (name) => page.getPropertyValue(name).trim();
  return {
    theme,
    ...GREYS[theme === "dark" ? "dark" : "light"],
    // On paper lines are as black as text.
    ...(document.documentElement.hasAttribute("data-print") ? { ink: of("--text") } : {}),
    paper: of("--surface"),
    text: of("--text"),
    muted: of("--muted"),
    accent: of("--accent"),
    focus: of("--focus"),
    family: of("--sans"),
    ...seriesOf(theme, palette),
  };
}

/**
 * The page's colours and a palette's, by the theme that the page has now.
 *
 * @param {string} palette
 */
export const pageColours = (palette) =>
  colours(document.documentElement.dataset.theme === "dark" ? "dark" : "light", palette);

/**
 * The colours of a figure on white, independent of the page.
 *
 * @param {string} palette
 * @param {string} family
 * @returns {Theme}
 */
export function onWhite(palette, family) {
  return {
    theme: "light",
    ...GREYS.light,
    paper: "#ffffff",
    text: "#1b2420",
    muted: "#56635c",
    accent: "#1a6553",
    focus: "#0b6e99",
    family,
    ...seriesOf("light", palette),
  };
}

/**
 * The same on black, for slides.
 *
 * @param {string} palette
 * @param {string} family
 * @returns {Theme}
 */
export function onBlack(palette, family) {
  return {
    theme: "dark",
    ...GREYS.dark,
    paper: "#14181d",
    text: "#e8ecf1",
    muted: "#97a1ad",
    accent: "#5fae98",
    focus: "#6fb7e0",
    family,
    ...seriesOf("dark", palette),
  };
}

/** @param {string} colour */
const parts = (colour) => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));

/**
 * `colour` with `share` of `other` mixed in, both #rrggbb.
 *
 * @param {string} colour
 * @param {string} other
 * @param {number} share
 */
export function mix(colour, other, share) {
  const [a, b] = [parts(colour), parts(other)];
  const mixed = a.map((level, at) => Math.round(level * (1 - share) + b[at] * share));
  return `#${mixed.map((level) => level.toString(16).padStart(2, "0")).join("")}`;
}

/**
 * Colours from bad to good: red to blue by way of grey, which stay apart for colour-blind readers, or from
 * strong to faint with the palette of greys.
 *
 * @param {Theme} theme
 * @param {string} palette
 * @param {number} n
 */
export function errorScale({ other, text, shared, series }, palette, n) {
  const isGrey = palette === "grey";
  const [good, bad] = isGrey ? [shared, text] : series;
  const middle = isGrey ? mix(good, bad, 0.45) : other;
  return Array.from({ length: n }, (_, at) => {
    const share = (2 * at) / (n - 1) - 1;
    return share < 0 ? mix(middle, bad, -share) : mix(middle, good, share);
  });
}

/**
 * Colours from nothing to the most: from the page's by the palette's first to one near that of text.
 *
 * @param {Pick<Theme, "paper" | "text" | "series">} theme
 * @param {number} n
 */
export const ramp = ({ paper, text, series: [strong] }, n) =>
  Array.from({ length: n }, (_, at) => {
    const share = at / (n - 1);
    return share <= 0.6
      ? mix(paper, strong, share / 0.6)
      : mix(strong, text, (0.7 * (share - 0.6)) / 0.4);
  });

/** @param {string} colour */
function luminance(colour) {
  const [r, g, b] = parts(colour).map((level) => {
    const value = level / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/**
 * The contrast, 1 to 21, as in WCAG 2.2.
 *
 * @param {string} a
 * @param {string} b
 */
export function contrast(a, b) {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

/**
 * `colour` moved towards that of text until it is readable on the paper.
 *
 * @param {string} colour
 * @param {Pick<Theme, "text" | "paper">} options
 */
export function legible(colour, { text, paper }) {
  let share = 0;
  while (share < 1 && contrast(mix(colour, text, share), paper) < 4.5) share += 0.05;
  return mix(colour, text, Math.min(1, share));
}

/**
 * Text on a ground of `colour`.
 *
 * @param {string} colour
 * @param {Pick<Theme, "text" | "paper">} options
 */
export function on(colour, { text, paper }) {
  return contrast(text, colour) >= contrast(paper, colour) ? text : paper;
}
