// Numbers, sizes and times for people.

const plain = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });

/** A whole number with separators. */
export const count = (value) => plain.format(value);

/** "1 tree", "2 trees". */
export const plural = (value, one, many = `${one}s`) =>
  `${count(value)} ${value === 1 ? one : many}`;

/** A number to four digits that say something; from 10,000 on without a fraction. */
export function number(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (!Number.isFinite(value)) return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return plain.format(value);
  const size = Math.abs(value);
  // No zeros in the place of digits that are known: 1,723,804 and not 1,724,000.
  if (size >= 1e4 && size < 1e9) return plain.format(value);
  return size !== 0 && (size < 1e-4 || size >= 1e9) ? value.toExponential(3) : short.format(value);
}

const UNITS = ["bytes", "kB", "MB", "GB", "TB"];

/** "1.6 MB". */
export function bytes(value) {
  let at = 0;
  let left = value;
  while (left >= 1000 && at < UNITS.length - 1) {
    left /= 1000;
    at += 1;
  }
  return `${at === 0 ? left : left.toFixed(left < 10 ? 1 : 0)} ${UNITS[at]}`;
}

/** "6,664 × 119", "1,200". */
export const shape = (lengths) =>
  lengths ? lengths.map(count).join(" × ") || "one value" : "not known yet";

/** "0.4 s", "12 s", "3 min 5 s", "2 h 4 min". */
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

/** "1 day 3 h". The parts of time left, roughly: "about 2 min left". */
export function timeLeft(value) {
  if (value === null || value === undefined) return "";
  if (value < 1) return "about a second left";
  if (value < 60) return `about ${plural(Math.ceil(value), "second")} left`;
  if (value < 3600) return `about ${plural(Math.round(value / 60), "minute")} left`;
  return `about ${(value / 3600).toFixed(1)} hours left`;
}

const day = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium" });
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** The moment in full, as the user's clock has it. */
export const moment = (text) => (text ? day.format(new Date(text)) : "–");

/** "3 minutes ago". */
export function ago(text) {
  const s = (new Date(text) - Date.now()) / 1000;
  if (s > -10) return "just now";
  if (s > -60) return relative.format(Math.round(s), "second");
  if (s > -3600) return relative.format(Math.round(s / 60), "minute");
  if (s > -86_400) return relative.format(Math.round(s / 3600), "hour");
  return relative.format(Math.round(s / 86_400), "day");
}

/** Seconds from one moment to another. */
export const between = (from, to) => (from && to ? (new Date(to) - new Date(from)) / 1000 : null);

/** "job_01kamj…t7h3f" where the whole id is too long to be read. */
export const shortId = (id) => `${id.slice(0, id.indexOf("_") + 1)}…${id.slice(-6)}`;
