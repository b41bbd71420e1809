// The points of a map where no graphics card draws them: written into the pixels of a canvas.

import { mix } from "./palettes.js";
import { FADED, levels, LIT_SIZE } from "./point_cloud.js";
import { contextOf } from "./stage.js";

/** @import { Points } from "../model/point_map.js" */
/** @import { Cloud, Shot } from "./point_cloud.js" */

/**
 * A cloud on this canvas.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {Points} points
 * @returns {Cloud}
 */
export function pixelCloud(canvas, points) {
  const context = contextOf(canvas);
  /** @type {Uint8Array} */
  let index = new Uint8Array(points.n);
  /** @type {Uint8Array | null} */
  let lit = null;
  return {
    draw: (shot) => {
      const image = context.createImageData(canvas.width, canvas.height);
      writePixels(new Uint32Array(image.data.buffer), canvas.width, points, { index, lit }, shot);
      context.putImageData(image, 0, 0);
    },
    paint: (colours) => (index = colours),
    light: (chosen) => (lit = chosen),
    stop: () => {},
  };
}

/**
 * Write the points into pixels, row by row, what stands out over the others.
 *
 * @param {Uint32Array} pixels
 * @param {number} width of a row
 * @param {Points} points
 * @param {{ index: Uint8Array, lit: Uint8Array | null }} colours
 * @param {Shot} shot
 */
export function writePixels(pixels, width, { xy, n }, { index, lit }, shot) {
  const { camera, ratio, every, paper, palette } = shot;
  const height = pixels.length / width;
  pixels.fill(packed(paper));
  const plain = palette.map((colour) => packed(lit ? mix(colour, paper, FADED) : colour));
  const strong = palette.map(packed);
  const k = camera.k * ratio;
  const [middleX, middleY] = [width / 2 - camera.x * k, height / 2 + camera.y * k];
  for (const layer of lit ? [0, 1] : [0]) {
    const colours = layer ? strong : plain;
    const side = Math.max(1, Math.round(shot.size * ratio * (layer ? LIT_SIZE : 1)));
    const insets = insetsOf(side);
    for (let at = 0; at < n; at += every) {
      if (lit && lit[at] !== layer) continue;
      const left = Math.round(middleX + xy[2 * at] * k - side / 2);
      const top = Math.round(middleY - xy[2 * at + 1] * k - side / 2);
      if (left < 0 || top < 0 || left + side > width || top + side > height) continue;
      const colour = colours[index[at]];
      let from = top * width + left;
      for (const inset of insets) {
        for (let pixel = from + inset; pixel < from + side - inset; pixel += 1) {
          pixels[pixel] = colour;
        }
        from += width;
      }
    }
  }
}

/**
 * How many pixels each row of a point leaves out on either side: none of small ones, which are squares.
 *
 * @param {number} side
 */
function insetsOf(side) {
  const radius = side / 2;
  return Array.from({ length: side }, (_, row) => {
    const away = row + 0.5 - radius;
    return side < 4 ? 0 : Math.round(radius - Math.sqrt(radius * radius - away * away));
  });
}

/**
 * A colour as a pixel of little-endian machines, which all browsers run on.
 *
 * @param {string} colour
 */
function packed(colour) {
  const [r, g, b] = levels(colour).map((level) => Math.round(255 * level));
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}
