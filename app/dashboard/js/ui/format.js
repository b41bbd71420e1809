// Numbers, sizes and times as readable text. Pure.

const plain = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });

/**
 * A whole number with separators.
 *
 * @param {number} value
 */
export const count = (value) => plain.format(value);

/**
 * "1 tree", "2 trees".
 *
 * @param {number} value
 * @param {string} singular
 * @param {string} [many]
 */
export const plural = (value, singular, many = `${singular}s`) =>
  `${count(value)} ${value === 1 ? singular : many}`;

/**
 * A number to four significant digits; from 10,000 on without a fraction. "–" for none.
 *
 * @param {unknown} value
 */
export function number(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number" || !Number.isFinite(value)) return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return plain.format(value);
  const size = Math.abs(value);
  // Known digits are not replaced by zeros: 1,723,804 and not 1,724,000.
  if (size >= 1e4 && size < 1e9) return plain.format(value);
  return size < 1e-4 || size >= 1e9 ? value.toExponential(3) : short.format(value);
}

/**
 * "2.1e-8", "0.003": a p-value to two digits.
 *
 * @param {number} p
 */
export const pText = (p) => (p < 1e-3 ? p.toExponential(1) : number(Number(p.toPrecision(2))));

/**
 * "12.3 %" of a share, to the hundredth of a percent.
 *
 * @param {number} share
 */
export const percent = (share) => `${number(Math.round(share * 1e4) / 100)}\u00a0%`;

const UNITS = ["bytes", "kB", "MB", "GB", "TB"];

/**
 * "1.6 MB".
 *
 * @param {number} value
 */
export function bytes(value) {
  let unit = 0;
  let scaled = value;
  while (scaled >= 1000 && unit < UNITS.length - 1) {
    scaled /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? scaled : scaled.toFixed(scaled < 10 ? 1 : 0)} ${UNITS[unit]}`;
}

/**
 * "6,664 × 119", "1,200".
 *
 * @param {readonly number[] | null} lengths
 */
export const shape = (lengths) =>
  lengths ? lengths.map(count).join(" × ") || "one value" : "not known yet";

/**
 * "0.4 s", "12 s", "3 min 5 s", "2 h 4 min".
 *
 * @param {number | null | undefined} value
 */
export function seconds(value) {
  if (value === null || value === undefined) return "–";
  if (value < 0.001) return "under 1 ms";
  if (value < 1) return `${(value * 1000).toFixed(0)} ms`;
  if (value < 10) return `${value.toFixed(1)} s`;
  const whole = Math.round(value);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/**
 * Time left, roughly: "about 2 minutes left".
 *
 * @param {number | null | undefined} value in seconds
 */
export function timeLeft(value) {
  if (value === null || value === undefined) return "";
  if (value < 1) return "about a second left";
  if (value < 60) return `about ${plural(Math.ceil(value), "second")} left`;
  if (value < 3600) return `about ${plural(Math.round(value / 60), "minute")} left`;
  return `about ${(value / 3600).toFixed(1)} hours left`;
}

const day = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium" });
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/**
 * The moment in full, in the user's time zone.
 *
 * @param {string | null} text ISO 8601
 */
export const moment = (text) => (text ? day.format(new Date(text)) : "–");

/**
 * "3 minutes ago".
 *
 * @param {string} text ISO 8601
 * @param {number} [now] ms since 1970
 */
export function ago(text, now = Date.now()) {
  const s = (Date.parse(text) - now) / 1000;
  if (s > -10) return "just now";
  if (s > -60) return relative.format(Math.round(s), "second");
  if (s > -3600) return relative.format(Math.round(s / 60), "minute");
  if (s > -86_400) return relative.format(Math.round(s / 3600), "hour");
  return relative.format(Math.round(s / 86_400), "day");
}

/**
 * Seconds from one moment to another; null if one of them is not known.
 *
 * @param {string | null} from ISO 8601
 * @param {string | null} to ISO 8601
 */
export const between = (from, to) =>
  from && to ? (Date.parse(to) - Date.parse(from)) / 1000 : null;

/**
 * "learning_rate" -> "Learning rate".
 *
 * @param {string} name
 */
export const sentence = (name) => capitalized(name.replaceAll("_", " "));

/**
 * The text with a capital letter first.
 *
 * @param {string} text
 */
export const capitalized = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/**
 * The text as it stands within a sentence: "Linkage" -> "linkage", but "PCA" and "C".
 *
 * @param {string} text
 */
export const uncapitalized = (text) =>
  /^\p{Lu}(\p{Lu}|\P{L}|$)/u.test(text) ? text : text.charAt(0).toLowerCase() + text.slice(1);

/**
 * Options whose labels tell them apart: where a label is repeated, the detail of each is added.
 *
 * @param {readonly { value: string, label: string, detail: string }[]} options
 * @returns {[value: string, label: string][]}
 */
export function distinct(options) {
  /** @type {Map<string, number>} */
  const times = new Map();
  for (const { label } of options) times.set(label, (times.get(label) ?? 0) + 1);
  return options.map(({ value, label, detail }) => [
    value,
    (times.get(label) ?? 0) > 1 ? `${label} · ${detail}` : label,
  ]);
}

/**
 * What a tree is called: its name, else what it is made of and how.
 *
 * @param {{ name?: string | null, method: string, n_points: number }} tree
 */
export const treeTitle = (tree) =>
  tree.name ??
  (tree.method === "import"
    ? "Imported tree"
    : `${plural(tree.n_points, "point")} by ${tree.method}`);

/**
 * A text of at most so many characters, with an ellipsis in place of others; a list of names loses its
 * last names first.
 *
 * @param {string} text
 * @param {number} most
 */
export function shortened(text, most) {
  const letters = [...text];
  if (letters.length <= most) return text;
  const part = letters.slice(0, most).join("");
  const comma = part.lastIndexOf(", ");
  return comma > most / 2 ? `${part.slice(0, comma)}, …` : `${part.trimEnd()}…`;
}
