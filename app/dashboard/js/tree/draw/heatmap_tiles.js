// The cells of a heatmap from its tiles: the finest that are there, coarser ones until they are.

import { cellAt, cellsIn, levelFor, levelsOf, rowsBy, shadesOf, tilesIn, valueIn } from "../model/heatmap.js"; // prettier-ignore
import { wholeOf } from "../model/matrix.js";
import { mix } from "./palettes.js";
import { contextOf } from "./stage.js";

/** @import { HeatmapResult } from "../../net/answers.js" */
/** @import { Tile } from "../model/heatmap.js" */
/** @import { Extent } from "../model/matrix.js" */
/** @import { Frame } from "./matrix_view.js" */
/** @import { Theme } from "./palettes.js" */

/** @typedef {Tile & { cells: Uint16Array, picture: HTMLCanvasElement | null }} Loaded */

const COLOURS = 256;
const AT_ONCE = 6;
/** The most tiles that are kept: each is up to 400 kB. */
const KEPT = 150;

export class HeatmapTiles {
  /** @type {Map<string, Loaded>} By name, the one used last at the end. */
  loaded = new Map();
  /** @type {Set<string>} Tiles on their way. */
  underway = new Set();
  /** @type {Tile[]} */
  wanted = [];
  /** @type {Uint32Array} The colour of each value. */
  inks = new Uint32Array(0);
  /** @type {Theme | null} */
  theme = null;
  /** @type {Uint16Array | null} All values by rows, once rows were ordered. */
  all = null;
  /** @type {Uint32Array | null} The rows by a column; null in the order of the tree. */
  order = null;
  /** @type {HTMLCanvasElement | null} The cells in this order. */
  ordered = null;

  /**
   * @param {HeatmapResult} result
   * @param {{
   *   load: (tile: Tile) => Promise<Uint16Array>,
   *   onloaded: () => unknown,
   *   onproblem: (error: unknown) => unknown,
   * }} handlers
   */
  constructor(result, { load, onloaded, onproblem }) {
    this.result = result;
    /** @type {Extent} */
    this.extent = { rows: result.n_rows, columns: result.n_columns };
    Object.assign(this, { load, onloaded, onproblem });
    this.load = load;
    this.onloaded = onloaded;
    this.onproblem = onproblem;
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Frame} frame
   * @param {Theme} theme
   */
  paint(context, frame, theme) {
    if (theme !== this.theme) this.#colour(theme);
    const { left, top, width, height, window } = frame;
    const [across, down] = [width / window.columns, height / window.rows];
    const ratio = context.getTransform().a;
    if (this.order) {
      const { row, column, rows, columns } = window;
      context.imageSmoothingEnabled = across * ratio < 1 || down * ratio < 1;
      const cells = this.#inOrder(this.order);
      context.drawImage(cells, column, row, columns, rows, left, top, width, height);
      return;
    }
    const level = levelFor(this.extent, { down: down * ratio, across: across * ratio });
    const tiles = tilesIn(this.extent, level, window);
    this.#want([...tilesIn(this.extent, 0, window), ...tiles]);
    const covered = tiles.filter((tile) => this.loaded.has(nameOf(tile)));
    // Coarse tiles first, below the finer ones.
    const below = covered.length < tiles.length ? this.#coarser(level, frame) : [];
    for (const tile of [...below, ...covered]) {
      const known = this.loaded.get(nameOf(tile));
      if (!known) continue;
      const { rows, columns } = tile;
      const [w, h] = [cellsIn(columns), cellsIn(rows)];
      // Cells smaller than a pixel are averaged, larger ones have edges.
      context.imageSmoothingEnabled = columns.pooled * across * ratio < 1;
      context.drawImage(
        this.#picture(known),
        ...[0, 0, w, h],
        left + (columns.start - window.column) * across,
        top + (rows.start - window.row) * down,
        w * columns.pooled * across,
        h * rows.pooled * down,
      );
    }
  }

  /**
   * Order the rows by a column, from the highest; null: by the tree.
   *
   * @param {number | null} column
   */
  async orderBy(column) {
    this.all ??= column === null ? null : await this.#whole();
    const { all, extent } = this;
    this.order = column === null || !all ? null : rowsBy(all, extent, column, this.result.missing);
    this.ordered = null;
  }

  /** All values by rows. */
  async #whole() {
    const { rows, columns } = this.extent;
    const all = new Uint16Array(rows * columns);
    const wanted = tilesIn(this.extent, levelsOf(this.extent) - 1, wholeOf(this.extent));
    const next = async () => {
      for (let tile = wanted.pop(); tile; tile = wanted.pop()) {
        const cells = this.loaded.get(nameOf(tile))?.cells ?? (await this.load(tile));
        const wide = cellsIn(tile.columns);
        for (let row = tile.rows.start; row < tile.rows.stop; row += 1) {
          const at = (row - tile.rows.start) * wide;
          all.set(cells.subarray(at, at + wide), row * columns + tile.columns.start);
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, next));
    return all;
  }

  /** @param {Uint32Array} order */
  #inOrder(order) {
    if (this.ordered) return this.ordered;
    const { rows, columns } = this.extent;
    const cells = new Uint16Array(rows * columns);
    for (const [at, row] of order.entries()) {
      cells.set((this.all ?? cells).subarray(row * columns, (row + 1) * columns), at * columns);
    }
    this.ordered = this.#painted(cells, columns, rows);
    return this.ordered;
  }

  /**
   * The value at a row and column of the tree's order, from the finest tile that is there, and how many rows and columns it
   * is the average of.
   *
   * @param {number} row
   * @param {number} column
   */
  at(row, column) {
    if (this.all) {
      const value = valueIn(this.all[row * this.extent.columns + column], this.result);
      return { value, rows: 1, columns: 1 };
    }
    /** @type {Loaded | null} */
    let finest = null;
    for (const tile of this.loaded.values()) {
      if (cellAt(tile, row, column) >= 0 && tile.level >= (finest?.level ?? 0)) finest = tile;
    }
    if (!finest) return null;
    return {
      value: valueIn(finest.cells[cellAt(finest, row, column)], this.result),
      rows: finest.rows.pooled,
      columns: finest.columns.pooled,
    };
  }

  /**
   * @param {number} level
   * @param {Frame} frame
   */
  #coarser(level, { window }) {
    /** @type {Tile[]} */
    const known = [];
    for (let above = 0; above < level; above += 1) {
      for (const tile of tilesIn(this.extent, above, window)) {
        if (this.loaded.has(nameOf(tile))) known.push(tile);
      }
    }
    return known;
  }

  /** @param {Tile[]} tiles that are shown */
  #want(tiles) {
    for (const tile of tiles) {
      const known = this.loaded.get(nameOf(tile));
      if (!known) continue;
      this.loaded.delete(nameOf(tile));
      this.loaded.set(nameOf(tile), known);
    }
    this.wanted = tiles.filter((tile) => !this.loaded.has(nameOf(tile)));
    this.#loadMore();
  }

  #loadMore() {
    for (const tile of this.wanted) {
      if (this.underway.size >= AT_ONCE) return;
      if (!this.underway.has(nameOf(tile))) this.#load(tile);
    }
  }

  /** @param {Tile} tile */
  async #load(tile) {
    const name = nameOf(tile);
    this.underway.add(name);
    try {
      const cells = await this.load(tile);
      this.loaded.set(name, { ...tile, cells, picture: null });
      for (const oldest of this.loaded.keys()) {
        if (this.loaded.size <= KEPT) break;
        this.loaded.delete(oldest);
      }
      this.underway.delete(name);
      this.onloaded();
      this.#loadMore();
    } catch (error) {
      // It is not requested again until something else is shown.
      this.wanted = this.wanted.filter((each) => nameOf(each) !== name);
      this.underway.delete(name);
      this.onproblem(error);
    }
  }

  /** @param {Theme} theme */
  #colour(theme) {
    this.theme = theme;
    const inks = Uint32Array.from(rampOf(this.result, theme, COLOURS), pixelOf);
    this.inks = Uint32Array.from(shadesOf(this.result, COLOURS), (shade) => inks[shade]);
    const { missing } = this.result;
    if (typeof missing === "number") this.inks[missing] = pixelOf(missingInk(theme));
    for (const tile of this.loaded.values()) tile.picture = null;
    this.ordered = null;
  }

  /** @param {Loaded} tile */
  #picture(tile) {
    tile.picture ??= this.#painted(tile.cells, cellsIn(tile.columns), cellsIn(tile.rows));
    return tile.picture;
  }

  /**
   * @param {Uint16Array} values by rows
   * @param {number} width
   * @param {number} height
   */
  #painted(values, width, height) {
    const picture = document.createElement("canvas");
    picture.width = width;
    picture.height = height;
    const context = contextOf(picture);
    const image = context.createImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer);
    for (const [at, cell] of values.entries()) pixels[at] = this.inks[cell];
    context.putImageData(image, 0, 0);
    return picture;
  }
}

/** @param {Tile} tile */
const nameOf = ({ level, row, column }) => `${level}/${row}/${column}`;

/**
 * The colour of cells without a value: grey, which is no colour of a scale.
 *
 * @param {Theme} theme
 */
export const missingInk = ({ paper, text }) => mix(paper, text, 0.45);

/**
 * Whether colours go both ways from the middle: values that are compared with their mean.
 *
 * @param {Pick<HeatmapResult, "what" | "scale">} result
 */
export const isDiverging = ({ what, scale }) => what === "features" && scale === "standard";

/**
 * The colours of a heatmap from the lowest shown value to the highest, safe for the colour-blind: from
 * one colour of the palette by that of the page to another, or from the page's to one. What is near is
 * strong.
 *
 * @param {Pick<HeatmapResult, "what" | "scale">} result
 * @param {Theme} theme
 * @param {number} n
 */
export function rampOf(result, { paper, text, series }, n) {
  const [strong, other] = [mix(series[0], text, 0.2), mix(series[1] ?? text, text, 0.1)];
  return Array.from({ length: n }, (_, at) => {
    const share = at / (n - 1);
    if (isDiverging(result)) {
      return share < 0.5 ? mix(strong, paper, 2 * share) : mix(paper, other, 2 * share - 1);
    }
    return mix(paper, strong, result.what === "distances" ? 1 - share : share);
  });
}

/** @param {string} colour #rrggbb */
function pixelOf(colour) {
  const [red, green, blue] = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
  // In memory, red comes first.
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}
