// A picture as data: strokes, areas and texts in layers. The canvas and the SVG file are made from
// the same list, so a saved figure equals the picture on screen.

/** @import { Place } from "./place.js" */

const MOVE = 0;
const LINE = 1;
const QUAD = 2;
const CUBE = 3;
const CLOSE = 4;
const DOT = 5;
const LENGTHS = [2, 2, 4, 6, 0, 3];
/** The numbers in a path before a new one is begun: short paths are filled and stroked faster. */
const FULL = 6000;
/** The length of a straight piece of a curve, px, and the most pieces. */
const PIECE = 8;
const MOST_PIECES = 200;

/**
 * @typedef {"back" | "areas" | "guides" | "strokes" | "ring" | "dots" | "front" | "texts"} Layer
 * @typedef {{
 *   kind: "stroke",
 *   colour: string,
 *   width: number,
 *   dash: number[] | null,
 *   alpha: number,
 *   cap: CanvasLineCap,
 *   path: Path,
 * }} StrokeItem
 * @typedef {{ kind: "fill", colour: string, alpha: number, path: Path }} FillItem
 * @typedef {{
 *   size: number,
 *   colour: string,
 *   align?: "left" | "center" | "right",
 *   turn?: number,
 *   weight?: number,
 *   halo?: string | null,
 *   whole?: string,
 * }} TextStyle `turn` in radians; `halo`: a colour behind the text; `whole`: the text before it was cut
 * @typedef {Required<TextStyle> & { kind: "text", x: number, y: number, text: string }} TextItem
 * @typedef {StrokeItem | FillItem | TextItem} Item
 */

/** @typedef {CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D} Pen */

/** Lines and curves as one list of numbers. */
export class Path {
  data = new Float32Array(256);
  length = 0;

  /** @param {number} more */
  #room(more) {
    if (this.length + more <= this.data.length) return;
    const wider = new Float32Array(Math.max(this.data.length * 2, this.length + more));
    wider.set(this.data);
    this.data = wider;
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  move(x, y) {
    this.#put2(MOVE, x, y);
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  line(x, y) {
    this.#put2(LINE, x, y);
  }

  /**
   * @param {number} code
   * @param {number} x
   * @param {number} y
   */
  #put2(code, x, y) {
    this.#room(3);
    const { data, length } = this;
    data[length] = code;
    data[length + 1] = x;
    data[length + 2] = y;
    this.length += 3;
  }

  /**
   * @param {number} cx
   * @param {number} cy
   * @param {number} x
   * @param {number} y
   */
  quad(cx, cy, x, y) {
    this.#room(5);
    const { data, length } = this;
    data[length] = QUAD;
    data[length + 1] = cx;
    data[length + 2] = cy;
    data[length + 3] = x;
    data[length + 4] = y;
    this.length += 5;
  }

  /**
   * @param {number} ax
   * @param {number} ay
   * @param {number} bx
   * @param {number} by
   * @param {number} x
   * @param {number} y
   */
  cube(ax, ay, bx, by, x, y) {
    this.#room(7);
    const { data, length } = this;
    data[length] = CUBE;
    data[length + 1] = ax;
    data[length + 2] = ay;
    data[length + 3] = bx;
    data[length + 4] = by;
    data[length + 5] = x;
    data[length + 6] = y;
    this.length += 7;
  }

  close() {
    this.#room(1);
    this.data[this.length] = CLOSE;
    this.length += 1;
  }

  /**
   * @param {number} x
   * @param {number} y
   * @param {number} r
   */
  dot(x, y, r) {
    this.#room(4);
    const { data, length } = this;
    data[length] = DOT;
    data[length + 1] = x;
    data[length + 2] = y;
    data[length + 3] = r;
    this.length += 4;
  }

  /**
   * @param {number} x
   * @param {number} y
   * @param {number} w
   * @param {number} h
   */
  box(x, y, w, h) {
    this.move(x, y);
    this.line(x + w, y);
    this.line(x + w, y + h);
    this.line(x, y + h);
    this.close();
  }

  /**
   * The same path moved down by `px`.
   *
   * @param {number} px
   */
  lowered(px) {
    const path = new Path();
    path.data = this.data.slice(0, this.length);
    path.length = this.length;
    const { data, length } = path;
    for (let at = 0; at < length;) {
      const code = data[at];
      const pairs = code === DOT ? 1 : LENGTHS[code] / 2;
      for (let pair = 0; pair < pairs; pair += 1) data[at + 2 + 2 * pair] += px;
      at += 1 + LENGTHS[code];
    }
    return path;
  }

  /**
   * Append to a canvas' current path.
   *
   * @param {Pen} context
   */
  trace(context) {
    const { data, length } = this;
    for (let at = 0; at < length;) {
      const code = data[at];
      if (code === LINE) context.lineTo(data[at + 1], data[at + 2]);
      else if (code === MOVE) context.moveTo(data[at + 1], data[at + 2]);
      else if (code === QUAD) {
        context.quadraticCurveTo(data[at + 1], data[at + 2], data[at + 3], data[at + 4]);
      } else if (code === CUBE) {
        context.bezierCurveTo(
          data[at + 1],
          data[at + 2],
          data[at + 3],
          data[at + 4],
          data[at + 5],
          data[at + 6],
        );
      } else if (code === CLOSE) context.closePath();
      else {
        context.moveTo(data[at + 1] + data[at + 3], data[at + 2]);
        context.arc(data[at + 1], data[at + 2], data[at + 3], 0, 2 * Math.PI);
      }
      at += 1 + LENGTHS[code];
    }
  }

  /**
   * The straight pieces of the path, of curves pieces of a few px.
   *
   * @param {(x0: number, y0: number, x1: number, y1: number) => void} visit
   */
  pieces(visit) {
    const { data, length } = this;
    let [x, y, fromX, fromY] = [0, 0, 0, 0];
    for (let at = 0; at < length; at += 1 + LENGTHS[data[at]]) {
      const code = data[at];
      if (code === CLOSE) visit(x, y, fromX, fromY);
      else if (code !== DOT) {
        const last = at + LENGTHS[code];
        const [toX, toY] = [data[last - 1], data[last]];
        if (code === MOVE) [fromX, fromY] = [toX, toY];
        else if (code === CUBE) bend(data, at, x, y, visit);
        else visit(x, y, toX, toY);
        [x, y] = [toX, toY];
      }
    }
  }

  /**
   * Lines that cover the areas within the path, from the beginning of each.
   *
   * @param {(x0: number, y0: number, x1: number, y1: number) => void} visit
   */
  fan(visit) {
    let [fromX, fromY, lastX, lastY] = [NaN, NaN, NaN, NaN];
    this.pieces((x0, y0, x1, y1) => {
      if (x0 !== lastX || y0 !== lastY) [fromX, fromY] = [x0, y0];
      [lastX, lastY] = [x1, y1];
      const isSide = (x0 === fromX && y0 === fromY) || (x1 === fromX && y1 === fromY);
      const far = Math.abs(x1 - x0) + Math.abs(y1 - y0);
      // The sides are lines anyway, and between the sides of narrow areas is nothing.
      if (isSide || far < PIECE / 2) return;
      const steps = Math.min(MOST_PIECES, Math.ceil(far / PIECE));
      for (let step = 1; step <= steps; step += 1) {
        visit(fromX, fromY, x0 + ((x1 - x0) * step) / steps, y0 + ((y1 - y0) * step) / steps);
      }
    });
  }

  /** As SVG path data, two decimals. */
  written() {
    const { data, length } = this;
    const parts = [];
    /** @param {number} value */
    const n = (value) => String(Math.round(value * 100) / 100);
    for (let at = 0; at < length;) {
      const code = data[at];
      /** @param {number} k */
      const value = (k) => n(data[at + k]);
      if (code === DOT) {
        const [x, y, r] = [data[at + 1], data[at + 2], data[at + 3]];
        parts.push(
          `M${n(x - r)} ${n(y)}a${n(r)} ${n(r)} 0 1 0 ${n(2 * r)} 0a${n(r)} ${n(r)} 0 1 0 ${n(-2 * r)} 0Z`,
        );
      } else {
        const numbers = [];
        for (let k = 1; k <= LENGTHS[code]; k += 1) numbers.push(value(k));
        parts.push("MLQCZ"[code] + numbers.join(" "));
      }
      at += 1 + LENGTHS[code];
    }
    return parts.join("");
  }
}

/**
 * The pieces of a cubic curve.
 *
 * @param {Float32Array} data
 * @param {number} at
 * @param {number} x
 * @param {number} y
 * @param {(x0: number, y0: number, x1: number, y1: number) => void} visit
 */
function bend(data, at, x, y, visit) {
  const [ax, ay, bx, by] = [data[at + 1], data[at + 2], data[at + 3], data[at + 4]];
  const [cx, cy] = [data[at + 5], data[at + 6]];
  const steps = Math.max(1, Math.min(MOST_PIECES, Math.ceil(Math.hypot(cx - x, cy - y) / PIECE)));
  let [lastX, lastY] = [x, y];
  for (let step = 1; step <= steps; step += 1) {
    const [t, s] = [step / steps, 1 - step / steps];
    const [t0, t1, t2, t3] = [s * s * s, 3 * s * s * t, 3 * s * t * t, t * t * t];
    const [toX, toY] = [t0 * x + t1 * ax + t2 * bx + t3 * cx, t0 * y + t1 * ay + t2 * by + t3 * cy];
    visit(lastX, lastY, toX, toY);
    [lastX, lastY] = [toX, toY];
  }
}

/**
 * From the bottom to the top.
 *
 * @type {readonly Layer[]}
 */
export const LAYERS = ["back", "areas", "guides", "strokes", "ring", "dots", "front", "texts"];

export class Picture {
  /**
   * @param {number} width
   * @param {number} height
   */
  constructor(width, height) {
    this.width = width;
    this.height = height;
    /** @type {Record<Layer, Item[]>} */
    this.layers = {
      back: [],
      areas: [],
      guides: [],
      strokes: [],
      ring: [],
      dots: [],
      front: [],
      texts: [],
    };
    /** @type {Map<string, Path>} The current path of each style. */
    this.open = new Map();
    /** How many nodes were drawn. */
    this.drawn = 0;
    /** @type {Place | null} Where it was drawn. */
    this.place = null;
  }

  /**
   * @param {string} name
   * @param {(path: Path) => void} item
   */
  #path(name, item) {
    const open = this.open.get(name);
    if (open && open.length < FULL) return open;
    const path = new Path();
    this.open.set(name, path);
    item(path);
    return path;
  }

  /**
   * The path for strokes of this colour and width.
   *
   * @param {Layer} layer
   * @param {string} colour
   * @param {number} width
   * @param {{ dash?: number[] | null, alpha?: number, cap?: CanvasLineCap }} [options]
   */
  stroke(layer, colour, width, { dash = null, alpha = 1, cap = "butt" } = {}) {
    return this.#path(`s${layer}${colour}${width}${dash}${alpha}`, (path) =>
      this.layers[layer].push({ kind: "stroke", colour, width, dash, alpha, cap, path }),
    );
  }

  /**
   * The path for areas of this colour.
   *
   * @param {Layer} layer
   * @param {string} colour
   * @param {number} [alpha]
   */
  fill(layer, colour, alpha = 1) {
    return this.#path(`f${layer}${colour}${alpha}`, (path) =>
      this.layers[layer].push({ kind: "fill", colour, alpha, path }),
    );
  }

  /**
   * One line of text, vertically centred on y.
   *
   * @param {Layer} layer
   * @param {number} x
   * @param {number} y
   * @param {string} text
   * @param {TextStyle} options
   */
  text(
    layer,
    x,
    y,
    text,
    { size, colour, align = "left", turn = 0, weight = 400, halo = null, whole = "" },
  ) {
    this.layers[layer].push({
      kind: "text",
      x,
      y,
      text,
      size,
      colour,
      align,
      turn,
      weight,
      halo,
      whole,
    });
  }
}

/**
 * Paint a picture on a context that already uses the picture's units.
 *
 * @param {Pen} context
 * @param {Picture} picture
 * @param {string} family
 */
export function paint(context, picture, family) {
  context.lineJoin = "round";
  context.textBaseline = "alphabetic";
  context.direction = "ltr";
  let font = "";
  for (const layer of LAYERS) {
    for (const item of picture.layers[layer]) {
      if (item.kind === "text") {
        const wanted = `${item.weight} ${item.size}px ${family}`;
        if (wanted !== font) context.font = font = wanted;
        write(context, item);
        continue;
      }
      context.globalAlpha = item.alpha;
      context.beginPath();
      item.path.trace(context);
      if (item.kind === "fill") {
        context.fillStyle = item.colour;
        context.fill();
        continue;
      }
      context.strokeStyle = item.colour;
      context.lineWidth = item.width;
      context.lineCap = item.cap;
      if (item.dash) context.setLineDash(item.dash);
      context.stroke();
      if (item.dash) context.setLineDash([]);
    }
  }
  context.globalAlpha = 1;
}

/**
 * @param {Pen} context
 * @param {TextItem} options
 */
function write(context, { x, y, text, size, colour, align, turn, halo }) {
  context.globalAlpha = 1;
  context.textAlign = align;
  const turned = turn !== 0;
  if (turned) {
    context.save();
    context.translate(x, y);
    context.rotate(turn);
  }
  const [left, base] = turned ? [0, 0.35 * size] : [x, y + 0.35 * size];
  if (halo) {
    context.strokeStyle = halo;
    context.lineWidth = 3;
    context.strokeText(text, left, base);
  }
  context.fillStyle = colour;
  context.fillText(text, left, base);
  if (turned) context.restore();
}
