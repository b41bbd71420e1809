// A view as a file: the picture with a title and a legend, written as SVG or PNG.

import { legendEntries } from "./colouring.js";
import { stripEntries } from "./item_tints.js";
import { leftOut } from "./left_out.js";
import { LAYERS, paint, Picture } from "./picture.js";
import { drawnName, fitted, line, width } from "./text.js";

/** @import { Entries } from "./colouring.js" */
/** @import { Theme } from "./palettes.js" */
/** @import { Item, TextItem } from "./picture.js" */
/** @import { Scenery } from "./scenery.js" */

/** The most of a figure's height that the legend of its colours takes. */
const LEGEND_SHARE = 0.25;
/** The rows of a legend for which a figure without a given height always grows. */
const LEGEND_ROWS = 9;
/** A circle has its legend beside it where the paper is so much wider than high; its most part of the width. */
const WIDE = 1.25;
const BESIDE = 0.38;
/** The least width of a column of a legend that is long, and what a key has beside its text, px. */
const COLUMN_PX = 120;
const KEY_PX = 40;
const LONGEST_PX = 400;

/** @typedef {{ text: string, colour: string, wide: number }} Key an entry and its width, px */

/** @type {Record<string, string>} */
const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const INVALID = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;
/** @param {string} text */
const escaped = (text) =>
  String(text)
    .replace(INVALID, "\ufffd")
    .replace(/[&<>"]/g, (character) => ESCAPES[character]);
/** @param {number} value */
const n = (value) => String(Math.round(value * 100) / 100);

/**
 * A picture as an SVG document.
 *
 * @param {Picture} picture
 * @param {{ family: string, paper: string, title: string }} options
 */
export function svgOf(picture, { family, paper, title }) {
  const { width: w, height: h } = picture;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${n(w)}" height="${n(h)}" viewBox="0 0 ${n(w)} ${n(h)}" font-family="${escaped(family)}">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${n(w)}" height="${n(h)}" fill="${paper}"/>`,
  ];
  for (const name of LAYERS) {
    const items = picture.layers[name];
    if (!items.length) continue;
    parts.push(`<g class="${name}" stroke-linejoin="round">`, ...items.map(element), "</g>");
  }
  parts.push("</svg>");
  return `${parts.join("\n")}\n`;
}

/** @param {Item} item */
function element(item) {
  if (item.kind === "text") return textElement(item);
  const alpha = item.alpha === 1 ? "" : ` opacity="${n(item.alpha)}"`;
  if (item.kind === "fill") {
    return `<path fill="${item.colour}"${alpha} d="${item.path.written()}"/>`;
  }
  const dash = item.dash ? ` stroke-dasharray="${item.dash.join(" ")}"` : "";
  return `<path fill="none" stroke="${item.colour}" stroke-width="${n(item.width)}"${dash}${alpha} d="${item.path.written()}"/>`;
}

/** @param {TextItem} options */
function textElement({ x, y, text, size, colour, align, turn, weight, halo, whole }) {
  const base = 0.35 * size;
  const anchor = align === "left" ? "" : ` text-anchor="${align === "right" ? "end" : "middle"}"`;
  const heavy = weight === 400 ? "" : ` font-weight="${weight}"`;
  const around = halo
    ? ` stroke="${halo}" stroke-width="3" stroke-linejoin="round" paint-order="stroke"`
    : "";
  const hint = whole && whole !== text ? `<title>${escaped(whole)}</title>` : "";
  const place = turn
    ? `transform="translate(${n(x)} ${n(y)}) rotate(${n((turn * 180) / Math.PI)})" y="${n(base)}"`
    : `x="${n(x)}" y="${n(y + base)}"`;
  return `<text ${place} font-size="${n(size)}" fill="${colour}"${anchor}${heavy}${around}>${escaped(text)}${hint}</text>`;
}

/**
 * The figure as a PNG, `times` as fine as the screen's unit.
 *
 * @param {Picture} picture
 * @param {{ family: string, paper: string, times: number }} options
 */
export async function pngOf(picture, { family, paper, times }) {
  const canvas = new OffscreenCanvas(
    Math.round(picture.width * times),
    Math.round(picture.height * times),
  );
  const context = canvas.getContext("2d");
  if (!context) throw new Error("no canvas of this size");
  context.fillStyle = paper;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.setTransform(times, 0, 0, times, 0, 0);
  paint(context, picture, family);
  return canvas.convertToBlob({ type: "image/png" });
}

/**
 * A picture as the items of a figure of the service (`POST /v1/figures`).
 *
 * @param {Picture} picture
 * @param {string} family
 */
export const itemsOf = (picture, family) =>
  LAYERS.flatMap((name) => picture.layers[name].map((item) => itemOf(item, family)));

/**
 * @param {Item} item
 * @param {string} family
 */
function itemOf(item, family) {
  if (item.kind === "text") {
    const { kind, x, y, text, size, colour, align, turn, weight, halo } = item;
    const wide = width(text, size, family, weight);
    return { kind, x, y, text, size, colour, align, turn, halo, wide };
  }
  const { kind, colour, alpha } = item;
  const path = item.path.written();
  if (item.kind === "fill") return { kind, colour, alpha, path };
  return { kind, colour, alpha, path, width: item.width, dash: item.dash, cap: item.cap };
}

/**
 * The view with a title above it and the legend below, and the names that have no room in it.
 *
 * @param {Scenery} view
 * @param {{
 *   title: string,
 *   legend: boolean,
 *   theme?: Theme,
 *   size?: { width: number, height: number, grows?: boolean } | null,
 * }} options `size`: of all together, px, for which the view is laid out anew, or where it `grows` of the
 *   view alone; null: the view's own, and what stands above and below it
 */
export function figure(view, { title, legend, theme = view.theme, size = null }) {
  const above = title ? 40 : 0;
  const own = size ? null : view.picture(theme);
  const across = size ? size.width : (own?.width ?? 0);
  // A whole circle on wide paper leaves room beside it.
  const isBeside =
    size !== null &&
    view.look.shape === "circular" &&
    view.stage.camera.k < 1.01 &&
    across > WIDE * size.height;
  const room = isBeside ? BESIDE * across : across;
  const most = legendMost(size, isBeside, above);
  const rows = legend ? legends(view, theme, room, most) : [];
  const aside = isBeside && rows.length ? Math.max(...rows.map(({ wide }) => wide)) + 24 : 0;
  const below = rows.length && !aside ? rows.length * 22 + 18 : 0;
  const inside =
    own ??
    view.picture(theme, {
      width: across - aside,
      height: Math.max((size?.height ?? 0) - (size?.grows ? 0 : above + below), across / 4),
    });
  const whole = new Picture(inside.width + aside, inside.height + above + below);
  for (const layer of LAYERS) {
    whole.layers[layer] = inside.layers[layer].map((item) =>
      item.kind === "text"
        ? { ...item, y: item.y + above }
        : { ...item, path: item.path.lowered(above) },
    );
  }
  if (title) {
    whole.text("texts", whole.width / 2, 22, line(title), {
      size: 17,
      colour: theme.text,
      align: "center",
      weight: 600,
    });
  }
  rows.forEach(({ keys, wide }, at) => {
    const top = aside ? (inside.height - rows.length * 22) / 2 : inside.height;
    const y = top + above + 14 + at * 22;
    let x = aside ? inside.width + 12 : (inside.width - wide) / 2;
    for (const key of keys) {
      whole.fill("front", key.colour).box(x, y - 6, 12, 12);
      whole.text("texts", x + 18, y, key.text, { size: 12, colour: theme.text });
      x += key.wide;
    }
  });
  const missing = leftOut(inside, view.store, view.scene, view.look.root);
  return { picture: whole, missing };
}

/**
 * The most rows of a legend.
 *
 * @param {{ height: number, grows?: boolean } | null} size
 * @param {boolean} isBeside
 * @param {number} above px of the title
 */
function legendMost(size, isBeside, above) {
  if (!size) return Infinity;
  if (isBeside) return Math.max(2, Math.floor((size.height - above - 24) / 22));
  const share = Math.floor((LEGEND_SHARE * size.height - 18) / 22);
  return Math.max(size.grows ? LEGEND_ROWS : 2, share);
}

/**
 * The legend of the colours, and below it that of each strip of items.
 *
 * @param {Scenery} view
 * @param {Theme} theme
 * @param {number} room
 * @param {number} most rows of the colours
 */
const legends = (view, theme, room, most) => [
  ...legendRows(legendEntries(view, theme), room, theme, most),
  ...stripEntries(view.items, theme).flatMap((strip) =>
    legendRows({ ...strip, pale: 0 }, room, theme, most),
  ),
];

/**
 * The legend in rows of at most `room` px. Where it would have more than `most` rows its texts are shortened
 * to columns, and what has no place then is counted.
 *
 * @param {Entries} entries
 * @param {number} room
 * @param {Theme} theme
 * @param {number} most
 */
function legendRows({ list, others, pale }, room, theme, most) {
  const long = Math.min(LONGEST_PX, room - 24 - KEY_PX);
  const all = list.map(({ text, colour }) => ({
    text: fitted(drawnName(text), 12, long, theme.family),
    colour,
  }));
  if (others > 0) {
    all.push({
      text: pale ? `${others} smaller, in pale colours by turns` : `${others} others`,
      colour: pale ? theme.pale[0] : theme.other,
    });
  }
  const rows = inRows(all, room, theme);
  if (rows.length <= most) return rows;
  // As few columns as have all, so that texts are long.
  const needed = Math.ceil(all.length / most);
  const columns = Math.max(2, Math.min(needed, Math.floor((room - 24) / COLUMN_PX)));
  const wide = (room - 24) / columns - KEY_PX - 1;
  const short = all.map(({ text, colour }) => ({
    text: fitted(text, 12, wide, theme.family),
    colour,
  }));
  const places = most * columns;
  if (short.length > places) {
    const left = short.length - places + 1;
    short.splice(places - 1, left, { text: `and ${left} more`, colour: theme.other });
  }
  return inRows(short, room, theme);
}

/**
 * Keys in one row where they have room, else in columns.
 *
 * @param {{ text: string, colour: string }[]} all
 * @param {number} room
 * @param {Theme} theme
 */
function inRows(all, room, theme) {
  const keys = all.map((key) => ({ ...key, wide: KEY_PX + width(key.text, 12, theme.family) }));
  const sum = keys.reduce((total, { wide }) => total + wide, 0);
  if (sum <= room - 24) return keys.length ? [{ wide: sum, keys }] : [];
  const widest = keys.reduce((most, { wide }) => Math.max(most, wide), 0);
  const columns = Math.max(1, Math.floor((room - 24) / widest));
  /** @type {{ wide: number, keys: Key[] }[]} */
  const rows = [];
  for (let at = 0; at < keys.length; at += columns) {
    const row = keys.slice(at, at + columns).map((key) => ({ ...key, wide: widest }));
    rows.push({ wide: columns * widest, keys: row });
  }
  return rows;
}
