// A picture as data: strokes, areas and texts in layers. The canvas and the SVG file are made from
// the same list, so a saved figure is what was seen.

const MOVE = 0;
const LINE = 1;
const QUAD = 2;
const CUBE = 3;
const CLOSE = 4;
const DOT = 5;
const LENGTHS = [2, 2, 4, 6, 0, 3];
/** Numbers in a path before the next one is begun: short paths are filled and stroked faster. */
const FULL = 6000;

/** Lines and curves as one list of numbers. */
export class Path {
  constructor() {
    this.data = new Float32Array(256);
    this.length = 0;
  }

  #room(more) {
    if (this.length + more <= this.data.length) return;
    const wider = new Float32Array(Math.max(this.data.length * 2, this.length + more));
    wider.set(this.data);
    this.data = wider;
  }

  move(x, y) {
    this.#put2(MOVE, x, y);
  }

  line(x, y) {
    this.#put2(LINE, x, y);
  }

  #put2(code, x, y) {
    this.#room(3);
    const { data, length } = this;
    data[length] = code;
    data[length + 1] = x;
    data[length + 2] = y;
    this.length += 3;
  }

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

  dot(x, y, r) {
    this.#room(4);
    const { data, length } = this;
    data[length] = DOT;
    data[length + 1] = x;
    data[length + 2] = y;
    data[length + 3] = r;
    this.length += 4;
  }

  box(x, y, w, h) {
    this.move(x, y);
    this.line(x + w, y);
    this.line(x + w, y + h);
    this.line(x, y + h);
    this.close();
  }

  /** Move everything down by so many px. */
  lower(by) {
    const { data, length } = this;
    for (let at = 0; at < length;) {
      const code = data[at];
      const pairs = code === DOT ? 1 : LENGTHS[code] / 2;
      for (let pair = 0; pair < pairs; pair += 1) data[at + 2 + 2 * pair] += by;
      at += 1 + LENGTHS[code];
    }
  }

  /** Append to a canvas' current path. */
  trace(context) {
    const { data, length } = this;
    for (let at = 0; at < length;) {
      const code = data[at];
      if (code === LINE) context.lineTo(data[at + 1], data[at + 2]);
      else if (code === MOVE) context.moveTo(data[at + 1], data[at + 2]);
      else if (code === QUAD)
        context.quadraticCurveTo(data[at + 1], data[at + 2], data[at + 3], data[at + 4]);
      else if (code === CUBE) {
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

  /** As SVG path data, two decimals. */
  written() {
    const { data, length } = this;
    const parts = [];
    const n = (value) => String(Math.round(value * 100) / 100);
    for (let at = 0; at < length;) {
      const code = data[at];
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

export const LAYERS = ["back", "areas", "guides", "strokes", "ring", "dots", "front", "texts"];

export class Picture {
  constructor(width, height) {
    this.width = width;
    this.height = height;
    this.layers = new Map(LAYERS.map((name) => [name, []]));
    this.open = new Map();
    /** Nodes that something was drawn for. */
    this.drawn = 0;
  }

  #path(layer, style, name) {
    const found = this.open.get(name);
    if (found && found.length < FULL) return found;
    const path = new Path();
    this.open.set(name, path);
    this.layers.get(layer).push({ ...style, path });
    return path;
  }

  /** The path that strokes of this colour and width go into. */
  stroke(layer, colour, width, { dash = null, alpha = 1, cap = "butt" } = {}) {
    const style = { kind: "stroke", colour, width, dash, alpha, cap };
    return this.#path(layer, style, `s${layer}${colour}${width}${dash}${alpha}`);
  }

  /** The path that areas of this colour go into. */
  fill(layer, colour, alpha = 1) {
    return this.#path(layer, { kind: "fill", colour, alpha }, `f${layer}${colour}${alpha}`);
  }

  /** One line of text, centred upright on y. `turn` in radians; `halo`: a colour behind it. */
  text(
    layer,
    x,
    y,
    text,
    { size, colour, align = "left", turn = 0, weight = 400, halo = null, whole = "" },
  ) {
    this.layers
      .get(layer)
      .push({ kind: "text", x, y, text, size, colour, align, turn, weight, halo, whole });
  }
}

/** Paint a picture; the context is in the picture's units already. */
export function paint(context, picture, family) {
  context.lineJoin = "round";
  context.textBaseline = "alphabetic";
  context.direction = "ltr";
  let font = "";
  for (const items of picture.layers.values()) {
    for (const item of items) {
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
