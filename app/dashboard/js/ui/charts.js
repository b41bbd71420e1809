// Curves as small drawings, each with a table of its numbers.

import { el, svg } from "./dom.js";
import { number } from "./format.js";

/** @typedef {[x: number, y: number]} Point */

const WIDTH = 360;
const HEIGHT = 180;
const LEFT = 62;
const RIGHT = 12;
const TOP = 12;
const BOTTOM = 30;

/**
 * A line through [x, y] points. `across` and `up` label the axes; `errors`: [x, standard
 * error of y], drawn up and down from the points.
 *
 * @param {{ title: string, points: Point[], across: string, up?: string, errors?: Point[] }} options
 */
export function lineChart({ title, points, across, up = "", errors = [] }) {
  const drawn = points.filter(([, y]) => Number.isFinite(y));
  const errorAt = new Map(errors.filter(([, size]) => Number.isFinite(size)));
  /**
   * @param {number} x
   * @param {number} y
   */
  const around = (x, y) => [y - (errorAt.get(x) ?? 0), y + (errorAt.get(x) ?? 0)];
  const xs = scale(
    drawn.map(([x]) => x),
    LEFT,
    WIDTH - RIGHT,
  );
  const ys = scale(
    drawn.flatMap(([x, y]) => around(x, y)),
    HEIGHT - BOTTOM,
    TOP,
  );
  const line = drawn.map(([x, y], at) => `${at ? "L" : "M"}${xs.at(x)} ${ys.at(y)}`).join("");
  const best = drawn.reduce((a, b) => (b[1] > a[1] ? b : a), drawn[0] ?? [0, 0]);
  const summary =
    drawn.length === 0
      ? "No values."
      : `${drawn.length} points, from ${number(drawn[0][0])} to ${number(drawn[drawn.length - 1][0])}; ` +
        `highest ${number(best[1])} at ${number(best[0])}.`;
  const picture = svg(
    "svg",
    {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      class: "chart",
      role: "img",
      "aria-label": `${title}. ${summary}`,
    },
    ys.ticks.map((y) =>
      svg(
        "g",
        {},
        svg("line", {
          class: "grid-line",
          x1: LEFT,
          x2: WIDTH - RIGHT,
          y1: ys.at(y),
          y2: ys.at(y),
        }),
        svg("text", { x: LEFT - 6, y: ys.at(y) + 4, "text-anchor": "end" }, number(y)),
      ),
    ),
    xs.ticks.map((x) =>
      svg("text", { x: xs.at(x), y: HEIGHT - BOTTOM + 16, "text-anchor": "middle" }, number(x)),
    ),
    svg(
      "text",
      { class: "axis", x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 2, "text-anchor": "middle" },
      across,
    ),
    svg("path", { class: "line", d: line }),
    drawn
      .filter(([x]) => errorAt.has(x))
      .map(([x, y]) => {
        const [low, high] = around(x, y).map((value) => ys.at(value));
        return svg("line", { class: "error", x1: xs.at(x), x2: xs.at(x), y1: low, y2: high });
      }),
    drawn.length > 0 &&
      drawn.length <= 60 &&
      drawn.map(([x, y]) => svg("circle", { class: "dot", cx: xs.at(x), cy: ys.at(y), r: 2.2 })),
  );
  return el(
    "figure",
    { class: "figure" },
    el("figcaption", {}, title, up && el("span", { class: "quiet" }, ` ${up}`)),
    picture,
    el(
      "details",
      { class: "numbers" },
      el("summary", {}, "Numbers"),
      el(
        "div",
        { class: "table-scroll", tabindex: "0", role: "region", "aria-label": `${title}: numbers` },
        el(
          "table",
          {},
          el(
            "thead",
            {},
            el(
              "tr",
              {},
              el("th", { scope: "col", class: "numeric" }, across),
              el("th", { scope: "col", class: "numeric" }, "value"),
              errorAt.size > 0 && el("th", { scope: "col", class: "numeric" }, "standard error"),
            ),
          ),
          el(
            "tbody",
            {},
            points
              .slice(0, 500)
              .map(([x, y]) =>
                el(
                  "tr",
                  {},
                  el("td", { class: "numeric" }, number(x)),
                  el("td", { class: "numeric" }, number(y)),
                  errorAt.size > 0 &&
                    el("td", { class: "numeric" }, number(errorAt.get(x) ?? null)),
                ),
              ),
          ),
        ),
      ),
    ),
  );
}

/**
 * Places of values between `from` and `to` px, and round numbers among them.
 *
 * @param {number[]} values
 * @param {number} from
 * @param {number} to
 */
export function scale(values, from, to) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (!(low <= high)) [low, high] = [0, 1];
  if (low === high) {
    [low, high] = [low - Math.max(Math.abs(low), 1) / 2, high + Math.max(Math.abs(high), 1) / 2];
  }
  /** @param {number} value */
  const at = (value) => Math.round((from + ((value - low) / (high - low)) * (to - from)) * 10) / 10;
  return { at, ticks: ticks(low, high) };
}

/**
 * Three to six round numbers within the range.
 *
 * @param {number} low
 * @param {number} high
 */
export function ticks(low, high) {
  const rough = (high - low) / 4;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5].find((factor) => factor * size >= rough) ?? 10) * size;
  /** @type {number[]} */
  const marks = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-9; at += step) {
    marks.push(Math.abs(at) < step * 1e-9 ? 0 : Number(at.toPrecision(12)));
  }
  return marks;
}
