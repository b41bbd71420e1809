// A matrix of classes on a canvas, with the tree on two of its sides. Both ways zoom together.

import { moved, wholeOf, zoomed } from "../model/matrix.js";
import { mix } from "./palettes.js";
import { contextOf } from "./stage.js";
import { clip } from "./text.js";

/** @import { Cell, Join, Matrix, Window } from "../model/matrix.js" */
/** @import { Theme } from "./palettes.js" */

/**
 * @typedef {{ row: number, column: number, cell: Cell | undefined, x: number, y: number }} Spot the
 *   classes under the pointer, and where it is in px
 * @typedef {{ onspot: (spot: Spot | null) => unknown, onchoose: (cell: Cell) => unknown }} Handlers
 */

const LARGEST = 640;
const TEXT_PX = 11;
/** The least height of a row with a name, in px. */
const NAMED_PX = 12;
const GAP = 4;
const CLICK_PX = 4;
const STEP = 1.5;
/** Number of shades; a share has that of its square root. */
const SHADES = 32;

export class MatrixView {
  element = document.createElement("canvas");
  context = contextOf(this.element);
  /** @type {Matrix | null} */
  matrix = null;
  /** @type {Join[] | null} */
  joins = null;
  /** @type {Theme | null} */
  theme = null;
  /** @type {Window} */
  window = wholeOf(1);
  /** @type {Spot | null} */
  spot = null;
  /** The matrix in the canvas: left and upper side, and its length, in px. */
  left = 0;
  side = 1;
  asked = 0; // Of requestAnimationFrame.
  /** @type {{ x: number, y: number, start: Window, isMoved: boolean } | null} */
  drag = null;

  /**
   * @param {HTMLElement} place that gives the width
   * @param {Handlers & { signal: AbortSignal }} options
   */
  constructor(place, { onspot, onchoose, signal }) {
    this.place = place;
    this.onspot = onspot;
    this.onchoose = onchoose;
    this.element.className = "matrix-canvas";
    this.element.tabIndex = 0;
    this.element.setAttribute("role", "img");
    const sizes = new ResizeObserver(() => this.draw());
    sizes.observe(place);
    signal.addEventListener("abort", () => sizes.disconnect());
    this.#listen();
  }

  /**
   * @param {Matrix} matrix
   * @param {Join[] | null} joins
   * @param {Theme} theme
   */
  show(matrix, joins, theme) {
    if (this.matrix?.classes !== matrix.classes) this.window = wholeOf(matrix.classes.length);
    Object.assign(this, { matrix, joins, theme });
    this.draw();
  }

  draw() {
    this.asked ||= requestAnimationFrame(() => {
      this.asked = 0;
      this.#paint();
    });
  }

  /** @param {number} factor of the classes shown */
  zoom(factor) {
    const { row, column, span } = this.window;
    this.#zoomAt(factor, { row: row + span / 2, column: column + span / 2 });
  }

  whole() {
    this.window = wholeOf(this.matrix?.classes.length ?? 1);
    this.draw();
  }

  /**
   * @param {number} factor
   * @param {{ row: number, column: number }} at
   */
  #zoomAt(factor, at) {
    this.window = zoomed(this.window, this.matrix?.classes.length ?? 1, factor, at);
    this.draw();
  }

  #listen() {
    const { element } = this;
    element.addEventListener("pointermove", (event) => this.#move(event));
    element.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !this.#spotAt(event)) return;
      element.setPointerCapture(event.pointerId);
      const { offsetX: x, offsetY: y } = event;
      this.drag = { x, y, start: this.window, isMoved: false };
    });
    element.addEventListener("pointerup", (event) => {
      const isClick = this.drag && !this.drag.isMoved;
      this.drag = null;
      const cell = isClick ? this.#spotAt(event)?.cell : undefined;
      if (cell) this.onchoose(cell);
    });
    element.addEventListener("pointercancel", () => (this.drag = null));
    element.addEventListener("pointerleave", () => this.#point(null));
    element.addEventListener(
      "wheel",
      (event) => {
        const spot = this.#spotAt(event);
        if (!spot) return;
        event.preventDefault();
        const { offsetX: x, offsetY: y } = event;
        const px = this.side / this.window.span;
        const at = {
          row: this.window.row + (y - this.left) / px,
          column: this.window.column + (x - this.left) / px,
        };
        this.#zoomAt(Math.exp(Math.max(-100, Math.min(100, event.deltaY)) / 400), at);
      },
      { passive: false },
    );
    element.addEventListener("keydown", (event) => this.#key(event));
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = this.window.span / 8;
    /** @type {Record<string, () => void>} */
    const actions = {
      "+": () => this.zoom(1 / STEP),
      "=": () => this.zoom(1 / STEP),
      "-": () => this.zoom(STEP),
      0: () => this.whole(),
      ArrowLeft: () => this.#moveBy(0, -step),
      ArrowRight: () => this.#moveBy(0, step),
      ArrowUp: () => this.#moveBy(-step, 0),
      ArrowDown: () => this.#moveBy(step, 0),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  /**
   * @param {number} rows
   * @param {number} columns
   */
  #moveBy(rows, columns) {
    this.window = moved(this.window, this.matrix?.classes.length ?? 1, { rows, columns });
    this.draw();
  }

  /** @param {PointerEvent} event */
  #move(event) {
    const { drag } = this;
    if (!drag) {
      this.#point(this.#spotAt(event));
      return;
    }
    const px = this.side / drag.start.span;
    const [dx, dy] = [event.offsetX - drag.x, event.offsetY - drag.y];
    drag.isMoved ||= Math.hypot(dx, dy) > CLICK_PX;
    if (!drag.isMoved) return;
    this.#point(null);
    const by = { rows: -dy / px, columns: -dx / px };
    this.window = moved(drag.start, this.matrix?.classes.length ?? 1, by);
    this.draw();
  }

  /** @param {Spot | null} spot */
  #point(spot) {
    const isOther = spot?.row !== this.spot?.row || spot?.column !== this.spot?.column;
    this.spot = spot;
    this.onspot(spot);
    if (isOther) this.draw();
  }

  /**
   * @param {MouseEvent} event
   * @returns {Spot | null}
   */
  #spotAt({ offsetX: x, offsetY: y }) {
    const { matrix, window, left, side } = this;
    if (!matrix?.classes.length) return null;
    if (x < left || y < left || x >= left + side || y >= left + side) return null;
    const px = side / window.span;
    const row = Math.floor(window.row + (y - left) / px);
    const column = Math.floor(window.column + (x - left) / px);
    if (row >= matrix.classes.length || column >= matrix.classes.length) return null;
    return { row, column, cell: matrix.cellAt(row, column), x, y };
  }

  #paint() {
    const { matrix, theme, element, context, window } = this;
    const width = Math.floor(this.place.clientWidth);
    if (!matrix || !theme || !width) return;
    const isWide = width >= 480;
    const names = isWide ? 104 : 64;
    this.left = names + (this.joins ? (isWide ? 64 : 36) : 0);
    this.side = Math.max(40, Math.min(LARGEST, width - this.left - 1));
    const length = this.left + this.side + 1;
    const ratio = Math.min(globalThis.devicePixelRatio || 1, 2);
    element.width = Math.round(length * ratio);
    element.height = Math.round(length * ratio);
    element.style.setProperty("width", `${length}px`);
    element.style.setProperty("height", `${length}px`);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = theme.paper;
    context.fillRect(0, 0, length, length);
    const px = this.side / window.span;
    // Without names the tree has their room too.
    const branches = px < NAMED_PX ? this.left - 2 * GAP : this.left - names;
    context.save();
    context.beginPath();
    context.rect(this.left, this.left, this.side, this.side);
    context.clip();
    this.#cells(matrix, theme, px);
    context.restore();
    context.strokeStyle = theme.guide;
    context.lineWidth = 1;
    context.strokeRect(this.left - 0.5, this.left - 0.5, this.side + 1, this.side + 1);
    for (const isRow of [true, false]) {
      context.save();
      // The upper side is the left one, mirrored at the diagonal.
      if (!isRow) context.transform(0, 1, 1, 0, 0, 0);
      if (this.joins) this.#branches(theme, px, branches, isRow ? window.row : window.column);
      context.restore();
      this.#names(matrix, theme, { px, room: names - 2 * GAP, isRow });
    }
  }

  /**
   * @param {Matrix} matrix
   * @param {Theme} theme
   * @param {number} px of a class
   */
  #cells({ cells, classes, most }, theme, px) {
    const { context, window, left, spot } = this;
    const size = Math.max(1, px);
    /** @param {number} at */
    const x = (at) => left + (at - window.column) * px;
    /** @param {number} at */
    const y = (at) => left + (at - window.row) * px;
    const end = window.span + 1;
    /**
     * @param {number} row
     * @param {number} column
     */
    const isSeen = (row, column) =>
      row > window.row - 1 &&
      row < window.row + end &&
      column > window.column - 1 &&
      column < window.column + end;
    context.fillStyle = theme.shared;
    for (const at of classes.keys()) if (isSeen(at, at)) context.fillRect(x(at), y(at), size, size);
    const shades = Array.from({ length: SHADES }, (_, at) =>
      mix(theme.paper, theme.series[0], (at + 1) / SHADES),
    );
    // The largest last, so that it is seen where classes are smaller than a pixel.
    for (const { row, column, share } of cells) {
      if (!isSeen(row, column)) continue;
      context.fillStyle = shades[Math.ceil(SHADES * Math.sqrt(share / most)) - 1];
      context.fillRect(x(column), y(row), size, size);
    }
    if (!spot) return;
    context.fillStyle = theme.focus;
    context.globalAlpha = 0.14;
    context.fillRect(left, y(spot.row), this.side, size);
    context.fillRect(x(spot.column), left, size, this.side);
    context.globalAlpha = 1;
    context.strokeStyle = theme.focus;
    context.strokeRect(x(spot.column), y(spot.row), size, size);
  }

  /**
   * The tree at the left side.
   *
   * @param {Theme} theme
   * @param {number} px
   * @param {number} room
   * @param {number} first row of the window
   */
  #branches(theme, px, room, first) {
    const { context, joins, left, side, window } = this;
    const top = joins?.at(-1)?.height;
    if (!joins || !top) return;
    context.beginPath();
    context.rect(0, left, room, side);
    context.clip();
    context.beginPath();
    /** @param {number} at */
    const y = (at) => left + (at - first) * px;
    /** @param {number} height */
    const x = (height) => 1 + (room - 2) * (1 - height / top);
    for (const { height, from, to, feet } of joins) {
      if (to < first || from > first + window.span) continue;
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
   * @param {Matrix} matrix
   * @param {Theme} theme
   * @param {{ px: number, room: number, isRow: boolean }} options
   */
  #names({ classes }, theme, { px, room, isRow }) {
    const { context, left, window, spot } = this;
    const first = isRow ? window.row : window.column;
    const pointed = spot && (isRow ? spot.row : spot.column);
    // Names that would run into each other, or into that of the pointed class, are left out.
    /** @param {number} at */
    const hasRoom = (at) =>
      px >= NAMED_PX && (pointed === null || Math.abs(at - pointed) * px >= NAMED_PX);
    context.font = `${TEXT_PX}px ${theme.family}`;
    context.textBaseline = "middle";
    context.textAlign = isRow ? "right" : "left";
    for (let at = Math.max(0, Math.floor(first)); at < classes.length; at += 1) {
      const middle = left + (at + 0.5 - first) * px;
      if (middle > left + this.side) break;
      const isPointed = at === pointed;
      if (middle < left || (!isPointed && !hasRoom(at))) continue;
      const { name, node } = classes[at];
      const text = clip(name ?? `${node}`, TEXT_PX, room, theme.family);
      context.save();
      if (isRow) context.translate(left - GAP, middle);
      else {
        context.translate(middle, left - GAP);
        context.rotate(-Math.PI / 2);
      }
      if (isPointed) {
        const length = context.measureText(text).width + 2 * GAP;
        context.fillStyle = theme.paper;
        context.fillRect(isRow ? GAP - length : -GAP, -NAMED_PX / 2 - 1, length, NAMED_PX + 2);
      }
      context.fillStyle = isPointed ? theme.text : theme.muted;
      context.fillText(text, 0, 0);
      context.restore();
    }
  }
}
