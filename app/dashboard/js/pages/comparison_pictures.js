// Pictures of a comparison: two metrics against each other, and all metrics side by side.

import { field, select } from "../ui/controls.js";
import { scale } from "../ui/charts.js";
import { el, replace, svg } from "../ui/dom.js";
import { number } from "../ui/format.js";

/**
 * A run with the mean of each metric; a metric for which lower is better is drawn downwards.
 *
 * @typedef {{ name: string, means: Record<string, number> }} Drawn
 * @typedef {{ id: string, title: string, isLowerBetter: boolean }} Axis
 */

const WIDTH = 720;
const HEIGHT = 300;
const LEFT = 70;
const RIGHT = 24;
const TOP = 16;
const BOTTOM = 48;
/** The most axes side by side; their names need room. */
const MOST_AXES = 12;
const MOST_LETTERS = 40;
/** Between the lines of names, px. */
const LINE = 15;
/** The letters of a line below an axis, and the px between axes, that such lines need. */
const AXIS_LETTERS = 14;
const AXIS_PX = 108;
/** Colours that are distinct on light and dark paper (Okabe and Ito). */
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#a8790a", "#56b4e9", "#7a7a7a"];

/** @param {number} at */
const colourOf = (at) => COLOURS[at % COLOURS.length];

/** @param {string} text */
const short = (text) => (text.length > MOST_LETTERS ? `${text.slice(0, MOST_LETTERS - 1)}…` : text);

/**
 * The pictures; null if fewer than two runs or two metrics can be drawn.
 *
 * @param {Drawn[]} runs
 * @param {Axis[]} axes
 */
export function comparisonPictures(runs, axes) {
  const known = axes.filter(
    ({ id }) => runs.filter(({ means }) => Number.isFinite(means[id])).length > 1,
  );
  if (runs.length < 2 || known.length < 2) return null;
  const options = known.map(({ id, title }) => /** @type {[string, string]} */ ([id, title]));
  const across = select(options, { value: known[0].id, onchange: () => draw() });
  const up = select(options, { value: known[1].id, onchange: () => draw() });
  const place = el("div");
  const draw = () => {
    const [x, y] = [across, up].map((list) => known.find(({ id }) => id === list.value));
    if (x && y) replace(place, scatter(runs, x, y));
  };
  draw();
  return el(
    "section",
    { class: "card stack", "aria-labelledby": "pictures-title" },
    el("h2", { id: "pictures-title" }, "Runs by metric"),
    el("ol", { class: "run-keys" }, runs.map(keyOf)),
    el("div", { class: "grid" }, field("Across", across), field("Up", up)),
    place,
    el("h3", {}, "All metrics; the top of each axis is the best run"),
    el(
      "div",
      { class: "picture-scroll", tabindex: "0", role: "region", "aria-label": "All metrics" },
      parallel(runs, known.slice(0, MOST_AXES)),
    ),
    known.length > MOST_AXES && el("p", { class: "quiet" }, `The first ${MOST_AXES} metrics.`),
  );
}

/**
 * @param {Drawn} run
 * @param {number} at
 */
const keyOf = ({ name }, at) =>
  el("li", {}, svg("svg", { viewBox: "0 0 12 12", class: "run-key", "aria-hidden": "true" }, mark(6, 6, at)), name); // prettier-ignore

/**
 * @param {number} x
 * @param {number} y
 * @param {number} at which run
 */
const mark = (x, y, at) => svg("circle", { cx: x, cy: y, r: 5, fill: colourOf(at) });

/**
 * @param {Drawn[]} runs
 * @param {Axis} x
 * @param {Axis} y
 */
function scatter(runs, x, y) {
  const drawn = runs
    .map(({ name, means }, at) => ({ name, at, x: means[x.id], y: means[y.id] }))
    .filter((run) => Number.isFinite(run.x) && Number.isFinite(run.y));
  const xs = scale(
    drawn.map((run) => run.x),
    LEFT,
    WIDTH - RIGHT,
  );
  const ys = scale(
    drawn.map((run) => run.y),
    HEIGHT - BOTTOM,
    TOP,
  );
  const places = drawn.map((run) => {
    const [px, py] = [xs.at(run.x), ys.at(run.y)];
    return { px, py, isRight: px > 0.7 * WIDTH, wordY: py };
  });
  // Names of runs on one side do not lie over each other.
  for (const isRight of [false, true]) {
    const side = places.filter((place) => place.isRight === isRight).sort((a, b) => a.py - b.py);
    side.forEach((place, at) => {
      if (at) place.wordY = Math.max(place.py, side[at - 1].wordY + LINE);
    });
    side.forEach((place, at) => {
      const lowest = HEIGHT - BOTTOM - (side.length - at) * LINE;
      place.wordY = Math.min(place.wordY, Math.max(TOP + at * LINE, lowest));
    });
  }
  const label = `${y.title} against ${x.title} of ${drawn.length} runs; the numbers are in the table above`;
  return svg(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "chart", role: "img", "aria-label": label },
    ys.ticks.map((value) => [
      svg("line", { class: "grid-line", x1: LEFT, x2: WIDTH - RIGHT, y1: ys.at(value), y2: ys.at(value) }), // prettier-ignore
      svg("text", { x: LEFT - 6, y: ys.at(value) + 4, "text-anchor": "end" }, number(value)),
    ]),
    xs.ticks.map(
      (value) =>
      svg("text", { x: xs.at(value), y: HEIGHT - BOTTOM + 18, "text-anchor": "middle" }, number(value)), // prettier-ignore
    ),
    svg(
      "text",
      { class: "axis", x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 6, "text-anchor": "middle" },
      x.title,
    ),
    drawn.map((run, at) => {
      const { px, py, isRight, wordY } = places[at];
      return svg(
        "g",
        {},
        mark(px, py, run.at),
        svg(
          "text",
          { x: px + (isRight ? -9 : 9), y: wordY + 4, "text-anchor": isRight ? "end" : "start" },
          short(run.name),
        ),
      );
    }),
  );
}

/**
 * Parallel coordinates: an axis for each metric, from its worst run to its best, and a line for each run.
 *
 * @param {Drawn[]} runs
 * @param {Axis[]} axes
 */
function parallel(runs, axes) {
  const step = Math.max(AXIS_PX, (WIDTH - LEFT - RIGHT) / (axes.length - 1));
  const wide = LEFT + RIGHT + step * (axes.length - 1) + 40;
  const [top, ground] = [TOP + 16, HEIGHT - BOTTOM - 16];
  const ends = axes.map(({ id, isLowerBetter }) => {
    const values = runs.map(({ means }) => means[id]).filter((value) => Number.isFinite(value));
    const [low, high] = [Math.min(...values), Math.max(...values)];
    return isLowerBetter ? { worst: high, best: low } : { worst: low, best: high };
  });
  /** @type {(value: number, at: number) => number} */
  const height = (value, at) => {
    const { worst, best } = ends[at];
    const share = best === worst ? 0.5 : (value - worst) / (best - worst);
    return Math.round(10 * (ground - share * (ground - top))) / 10;
  };
  /** @param {number} at */
  const x = (at) => Math.round(10 * (LEFT + step * at)) / 10;
  const label = `${runs.length} runs on ${axes.length} metrics; the numbers are in the table above`;
  return svg(
    "svg",
    {
      viewBox: `0 0 ${wide} ${HEIGHT}`,
      width: wide,
      height: HEIGHT,
      class: "chart parallel",
      role: "img",
      "aria-label": label,
    },
    axes.map(({ title, isLowerBetter }, at) => [
      svg("line", { class: "grid-line", x1: x(at), x2: x(at), y1: top, y2: ground }),
      svg("text", { x: x(at), y: top - 8, "text-anchor": "middle" }, number(ends[at].best)),
      svg("text", { x: x(at), y: ground + 16, "text-anchor": "middle" }, number(ends[at].worst)),
      lines(title + (isLowerBetter ? " ↓" : "")).map(
        (line, row) =>
        svg("text", { class: "axis", x: x(at), y: ground + 34 + 13 * row, "text-anchor": "middle" }, line), // prettier-ignore
      ),
    ]),
    runs.map(({ means }, run) => {
      let isDown = false;
      const path = axes
        .map(({ id }, at) => {
          if (!Number.isFinite(means[id])) {
            isDown = false;
            return "";
          }
          const command = isDown ? "L" : "M";
          isDown = true;
          return `${command}${x(at)} ${height(means[id], at)}`;
        })
        .join("");
      return svg("path", { d: path, fill: "none", stroke: colourOf(run), "stroke-width": 2 });
    }),
  );
}

/**
 * A title in lines of about 14 letters, at most three.
 *
 * @param {string} title
 */
export function lines(title) {
  /** @type {string[]} */
  const found = [];
  for (const word of title.split(" ")) {
    const last = found.at(-1);
    const isFull = last === undefined || last.length + 1 + word.length > AXIS_LETTERS;
    if (isFull && found.length < 3) found.push(word);
    else found[found.length - 1] += ` ${word}`;
  }
  return found.map((line) => (line.length > 18 ? `${line.slice(0, 17)}…` : line));
}
