// The confusions of a classifier as curves from the true label to the given one, which has a dot.

/** @import { ErrorLink } from "../model/errors.js" */
/** @import { Drawn } from "../model/scene.js" */
/** @import { Picture } from "./picture.js" */
/** @import { Place } from "./place.js" */

const THIN = 0.8;
const THICK = 3;
const ALPHA = 0.45;
/** How far from the root the middle of a curve is pulled, as a share of its ends' distance. */
const PULL = 0.45;

/**
 * @param {Picture} picture
 * @param {Drawn} scene
 * @param {Place} place
 * @param {ErrorLink[]} links
 * @param {string} colour
 */
export function errorLinks(picture, scene, place, links, colour) {
  const most = Math.max(...links.map(({ count }) => count));
  const { u, v } = scene;
  for (const { from, to, count } of links) {
    const width = THIN + ((THICK - THIN) * count) / most;
    const path = picture.stroke("front", colour, width, { alpha: ALPHA, cap: "round" });
    place.move(path, u[from], v[from]);
    const [ax, ay] = place.at(u[from], v[from] * PULL);
    const [bx, by] = place.at(u[to], v[to] * PULL);
    const [x, y] = place.at(u[to], v[to]);
    path.cube(ax, ay, bx, by, x, y);
    picture.fill("front", colour).dot(x, y, 2 + width / 2);
  }
}
