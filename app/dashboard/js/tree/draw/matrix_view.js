// A matrix on a canvas, with trees on two of its sides. Both ways zoom together.

import { beside, moved, showing, wholeOf, zoomed } from "../model/matrix.js";
import { contextOf } from "./stage.js";
import { clip, drawnName, width as widthOf } from "./text.js";

/** @import { Extent, Join, Window } from "../model/matrix.js" */
/** @import { Theme } from "./palettes.js" */

/**
 * @typedef {{ row: number, column: number, x: number, y: number }} Spot what is under the pointer, and
 *   where that is in px
 * @typedef {{ onspot: (spot: Spot | null) => unknown, onchoose: (spot: Spot) => unknown }} Handlers
 * @typedef {{ left: number, top: number, width: number, height: number, window: Window }} Frame where
 *   the matrix is in the canvas, in px, and what it shows
 * @typedef {{
 *   extent: Extent,
 *   rowName: (at: number) => string,
 *   columnName: (at: number) => string,
 *   rowJoins: Join[] | null,
 *   columnJoins: Join[] | null,
 *   isSquare: boolean,
 *   paint: (context: CanvasRenderingContext2D, frame: Frame, theme: Theme) => unknown,
 * }} Subject what is shown; `isSquare`: rows and columns are the same; `paint` draws its cells
 */

const LARGEST = 640;
/** The least side of a square matrix that is fitted to a height, in px. */
const SMALLEST = 160;
const TEXT_PX = 11;
/** The least distance of two names, in px: where rows are lower, each of several has its name. */
const NAMED_PX = 12;
const GAP = 4;
const CLICK_PX = 4;
/** The least extent of a branch that is drawn, in px. */
const LEAST_PX = 0.75;
const STEP = 1.5;
/** The most room for names, in px. */
const NAMES_PX = 104;
/** The greatest height of a row, and width of a column, in px. */
const TALLEST = 28;
const WIDEST = 96;

export class MatrixView {
  element = document.createElement("canvas");
  context = contextOf(this.element);
  /** @type {Subject | null} */
  subject = null;
  /** @type {Theme | null} */
  theme = null;
  /** @type {Frame} */
  frame = { left: 0, top: 0, width: 1, height: 1, window: wholeOf({ rows: 1, columns: 1 }) };
  /** @type {Spot | null} */
  spot = null;
  /** The longest name, in px, or the first that is as long as there is room at most. */
  longest = 0;
  pending = 0; // The id of a requested frame.
  /** @type {{ x: number, y: number, start: Window, isMoved: boolean } | null} */
  drag = null;

  /**
   * @param {HTMLElement} place that gives the width
   * @param {Handlers & { height?: () => number, signal: AbortSignal }} options `height`: the most px of the
   *   whole picture of a square matrix
   */
  constructor(place, { onspot, onchoose, height = () => Infinity, signal }) {
    this.place = place;
    this.height = height;
    this.onspot = onspot;
    this.onchoose = onchoose;
    this.element.className = "matrix-canvas";
    this.element.tabIndex = 0;
    // The matrix takes the arrow keys, which a screen reader would otherwise keep.
    this.element.setAttribute("role", "application");
    this.element.setAttribute("aria-roledescription", "matrix");
    const sizes = new ResizeObserver(() => this.draw());
    sizes.observe(place);
    signal.addEventListener("abort", () => sizes.disconnect());
    this.#listen();
  }

  /**
   * @param {Subject} subject
   * @param {Theme} theme
   */
  show(subject, theme) {
    const { rows, columns } = this.#extent;
    if (subject.extent.rows !== rows || subject.extent.columns !== columns) {
      this.frame.window = wholeOf(subject.extent);
    }
    Object.assign(this, { subject, theme });
    this.longest = subject.isSquare ? longestOf(subject, theme.family) : NAMES_PX;
    // At once: a page that is printed waits for no frame.
    this.#paint();
  }

  get #extent() {
    return this.subject?.extent ?? { rows: 0, columns: 0 };
  }

  draw() {
    this.pending ||= requestAnimationFrame(() => {
      this.pending = 0;
      this.#paint();
    });
  }

  /** @param {number} factor of what is shown */
  zoom(factor) {
    const { row, column, rows, columns } = this.frame.window;
    this.#zoomAt(factor, { row: row + rows / 2, column: column + columns / 2 });
  }

  whole() {
    this.#look(wholeOf(this.#extent));
  }

  /** @param {Window} window */
  #look(window) {
    this.frame.window = window;
    this.draw();
  }

  /**
   * @param {number} factor
   * @param {{ row: number, column: number }} at
   */
  #zoomAt(factor, at) {
    this.#look(zoomed(this.frame.window, this.#extent, factor, at));
  }

  #listen() {
    const { element } = this;
    element.addEventListener("pointermove", (event) => this.#move(event));
    element.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !this.#spotAt(event)) return;
      element.setPointerCapture(event.pointerId);
      const { offsetX: x, offsetY: y } = event;
      this.drag = { x, y, start: this.frame.window, isMoved: false };
    });
    element.addEventListener("pointerup", (event) => {
      const isClick = this.drag && !this.drag.isMoved;
      this.drag = null;
      const spot = isClick ? this.#spotAt(event) : null;
      if (spot) this.onchoose(spot);
    });
    element.addEventListener("pointercancel", () => (this.drag = null));
    element.addEventListener("pointerleave", () => this.#point(null));
    element.addEventListener(
      "wheel",
      (event) => {
        const spot = this.#spotAt(event);
        if (!spot) return;
        event.preventDefault();
        const at = this.#placeAt(event.offsetX, event.offsetY);
        this.#zoomAt(Math.exp(Math.max(-100, Math.min(100, event.deltaY)) / 400), at);
      },
      { passive: false },
    );
    element.addEventListener("keydown", (event) => this.#key(event));
    element.addEventListener("blur", () => this.#point(null));
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { rows, columns } = this.frame.window;
    const [down, across] = [rows / 8, columns / 8];
    /** @type {(rows: number, columns: number) => void} */
    const go = (y, x) => (event.shiftKey ? this.#moveBy(y * down, x * across) : this.#walk(y, x));
    /** @type {Record<string, () => void>} */
    const actions = {
      "+": () => this.zoom(1 / STEP),
      "=": () => this.zoom(1 / STEP),
      "-": () => this.zoom(STEP),
      0: () => this.whole(),
      ArrowLeft: () => go(0, -1),
      ArrowRight: () => go(0, 1),
      ArrowUp: () => go(-1, 0),
      ArrowDown: () => go(1, 0),
      Enter: () => this.spot && this.onchoose(this.spot),
    };
    if (event.key === "Escape" && this.spot) {
      event.stopPropagation();
      this.#point(null);
    }
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  /**
   * Point to the next cell, which comes into view.
   *
   * @param {number} rows
   * @param {number} columns
   */
  #walk(rows, columns) {
    const extent = this.#extent;
    if (!extent.rows || !extent.columns) return;
    const next = beside(this.spot, this.frame.window, extent, { rows, columns });
    this.#look(showing(this.frame.window, extent, next));
    const { left, top, width, height, window } = this.frame;
    const x = left + ((next.column + 0.5 - window.column) * width) / window.columns;
    const y = top + ((next.row + 0.5 - window.row) * height) / window.rows;
    this.#point({ ...next, x, y });
  }

  /**
   * @param {number} rows
   * @param {number} columns
   */
  #moveBy(rows, columns) {
    this.#look(moved(this.frame.window, this.#extent, { rows, columns }));
  }

  /** @param {PointerEvent} event */
  #move(event) {
    const { drag } = this;
    if (!drag) {
      this.#point(this.#spotAt(event));
      return;
    }
    const [dx, dy] = [event.offsetX - drag.x, event.offsetY - drag.y];
    drag.isMoved ||= Math.hypot(dx, dy) > CLICK_PX;
    if (!drag.isMoved) return;
    this.#point(null);
    const { width, height } = this.frame;
    const { rows, columns } = drag.start;
    const by = { rows: (-dy * rows) / height, columns: (-dx * columns) / width };
    this.#look(moved(drag.start, this.#extent, by));
  }

  /** @param {Spot | null} spot */
  #point(spot) {
    const isOther = spot?.row !== this.spot?.row || spot?.column !== this.spot?.column;
    this.spot = spot;
    this.onspot(spot);
    if (isOther) this.draw();
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  #placeAt(x, y) {
    const { left, top, width, height, window } = this.frame;
    return {
      row: window.row + ((y - top) * window.rows) / height,
      column: window.column + ((x - left) * window.columns) / width,
    };
  }

  /**
   * @param {MouseEvent} event
   * @returns {Spot | null}
   */
  #spotAt({ offsetX: x, offsetY: y }) {
    const { left, top, width, height } = this.frame;
    if (x < left || y < top || x >= left + width || y >= top + height) return null;
    const place = this.#placeAt(x, y);
    const [row, column] = [Math.floor(place.row), Math.floor(place.column)];
    const { rows, columns } = this.#extent;
    return row < rows && column < columns ? { row, column, x, y } : null;
  }

  /**
   * Find room for names, trees and cells; returns the room for names, in px.
   *
   * @param {Subject} subject
   * @param {number} width
   */
  #layOut(subject, width) {
    const { frame } = this;
    const isWide = width >= 480;
    const names = Math.min(isWide ? NAMES_PX : 64, Math.max(28, Math.ceil(this.longest) + 2 * GAP));
    const branches = isWide ? 64 : 36;
    frame.left = names + (subject.rowJoins ? branches : 0);
    frame.top = names + (subject.columnJoins ? branches : 0);
    const most = Math.max(40, width - frame.left - 1);
    const square = Math.min(LARGEST, most, Math.max(SMALLEST, this.height() - frame.top - 1));
    const { rows, columns } = subject.extent;
    frame.width = subject.isSquare ? square : Math.max(40, Math.min(most, columns * WIDEST));
    frame.height = subject.isSquare ? square : Math.max(40, Math.min(LARGEST, rows * TALLEST));
    return names;
  }

  #paint() {
    const { subject, theme, element, context, frame } = this;
    const room = Math.floor(this.place.clientWidth);
    if (!subject || !theme || !room) return;
    const names = this.#layOut(subject, room);
    const { left, top, window } = frame;
    const [width, height] = [left + frame.width + 1, top + frame.height + 1];
    const ratio = Math.min(globalThis.devicePixelRatio || 1, 2);
    if (element.width !== Math.round(width * ratio)) element.width = Math.round(width * ratio);
    if (element.height !== Math.round(height * ratio)) element.height = Math.round(height * ratio);
    element.style.setProperty("width", `${width}px`);
    element.style.setProperty("height", `${height}px`);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = theme.paper;
    context.fillRect(0, 0, width, height);
    context.save();
    context.beginPath();
    context.rect(left, top, frame.width, frame.height);
    context.clip();
    subject.paint(context, frame, theme);
    this.#cross(theme);
    context.restore();
    context.strokeStyle = theme.guide;
    context.lineWidth = 1;
    context.strokeRect(left - 0.5, top - 0.5, frame.width + 1, frame.height + 1);
    /** @type {Side[]} */
    const sides = [
      {
        joins: subject.rowJoins,
        nameOf: subject.rowName,
        n: subject.extent.rows,
        first: window.row,
        shown: window.rows,
        start: top,
        length: frame.height,
        depth: left,
        pointed: this.spot?.row ?? null,
      },
      {
        joins: subject.columnJoins,
        nameOf: subject.columnName,
        n: subject.extent.columns,
        first: window.column,
        shown: window.columns,
        start: left,
        length: frame.width,
        depth: top,
        pointed: this.spot?.column ?? null,
      },
    ];
    for (const [at, side] of sides.entries()) {
      context.save();
      // The upper side is a left one, mirrored at the diagonal.
      if (at === 1) context.transform(0, 1, 1, 0, 0, 0);
      if (side.joins) this.#branches(theme, side, side.depth - names);
      context.restore();
      this.#names(theme, side, names - 2 * GAP, at === 0);
    }
  }

  /** @param {Theme} theme */
  #cross(theme) {
    const { context, spot } = this;
    if (!spot) return;
    const { left, top, width, height, window } = this.frame;
    const [across, down] = [width / window.columns, height / window.rows];
    const x = left + (spot.column - window.column) * across;
    const y = top + (spot.row - window.row) * down;
    const [w, h] = [Math.max(1, across), Math.max(1, down)];
    context.fillStyle = theme.focus;
    context.globalAlpha = 0.14;
    context.fillRect(left, y, width, h);
    context.fillRect(x, top, w, height);
    context.globalAlpha = 1;
    context.strokeStyle = theme.focus;
    context.lineWidth = 1;
    context.strokeRect(x, y, w, h);
  }

  /**
   * The tree at the left side.
   *
   * @param {Theme} theme
   * @param {Side} side
   * @param {number} room
   */
  #branches(theme, { joins, first, shown, start, length }, room) {
    const { context } = this;
    const root = joins?.at(-1)?.height;
    if (!joins || !root) return;
    const px = length / shown;
    context.beginPath();
    context.rect(0, start, room, length);
    context.clip();
    context.beginPath();
    /** @param {number} at */
    const y = (at) => start + (at - first) * px;
    /** @param {number} height */
    const x = (height) => 1 + (room - 2) * (1 - height / root);
    for (const { height, from, to, feet } of joins) {
      if (to < first || from > first + shown || (to - from) * px < LEAST_PX) continue;
      context.moveTo(x(height), y(from));
      context.lineTo(x(height), y(to));
      for (const [at, foot] of feet) {
        context.moveTo(x(height), y(at));
        context.lineTo(x(foot), y(at));
      }
    }
    context.strokeStyle = theme.ink;
    context.lineWidth = 1;
    context.stroke();
  }

  /**
   * @param {Theme} theme
   * @param {Side} side
   * @param {number} room
   * @param {boolean} isRow
   */
  #names(theme, { nameOf, n, first, shown, start, length, depth, pointed }, room, isRow) {
    const { context } = this;
    const px = length / shown;
    const step = Math.ceil(NAMED_PX / px);
    // Names that would run into each other, or into that of the pointed one, are left out.
    /** @param {number} at */
    const hasRoom = (at) =>
      at % step === 0 &&
      (first + shown - at - 0.5) * px >= 0.4 * TEXT_PX &&
      (pointed === null || Math.abs(at - pointed) * px >= NAMED_PX);
    context.font = `${TEXT_PX}px ${theme.family}`;
    context.textBaseline = "middle";
    context.textAlign = isRow ? "right" : "left";
    for (let at = Math.max(0, Math.floor(first)); at < n; at += 1) {
      const middle = start + (at + 0.5 - first) * px;
      if (middle > start + length) break;
      const isPointed = at === pointed;
      if (middle < start || (!isPointed && !hasRoom(at))) continue;
      const text = clip(drawnName(nameOf(at)), TEXT_PX, room, theme.family);
      context.save();
      if (isRow) context.translate(depth - GAP, middle);
      else {
        context.translate(middle, depth - GAP);
        context.rotate(-Math.PI / 2);
      }
      if (isPointed) {
        const size = context.measureText(text).width + 2 * GAP;
        context.fillStyle = theme.paper;
        context.fillRect(isRow ? GAP - size : -GAP, -NAMED_PX / 2 - 1, size, NAMED_PX + 2);
      }
      context.fillStyle = isPointed ? theme.text : theme.muted;
      context.fillText(text, 0, 0);
      context.restore();
    }
  }
}

/**
 * @typedef {{
 *   joins: Join[] | null,
 *   nameOf: (at: number) => string,
 *   n: number,
 *   first: number,
 *   shown: number,
 *   start: number,
 *   length: number,
 *   depth: number,
 *   pointed: number | null,
 * }} Side of the matrix: `n` rows or columns, of which `shown` from `first` on are drawn at `start`, in
 *   px, over `length`; `depth`: the room beside them
 */

/**
 * The width of the longest name of the rows, in px; one that fills the room for names ends the search.
 *
 * @param {Subject} subject
 * @param {string} family
 */
function longestOf({ extent, rowName }, family) {
  let longest = 0;
  for (let row = 0; row < extent.rows && longest < NAMES_PX; row += 1) {
    longest = Math.max(longest, widthOf(drawnName(rowName(row)), TEXT_PX, family));
  }
  return longest;
}
