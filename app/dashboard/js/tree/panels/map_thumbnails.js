// Thumbnails on the map: once few points are in view, those whose items have a picture show it.

import { el, replace } from "../../ui/dom.js";
import { havePictures, itemImage, itemOf } from "./item_values.js";

/** @import { MapView } from "../draw/map_view.js" */
/** @import { TreeView } from "../draw/view.js" */
/** @import { Items } from "../model/items.js" */

/** The most points in view with which pictures are shown, and the most pictures. */
const MOST_IN_VIEW = 250;
const MOST = 40;
const SIDE_PX = 40;
const MOST_KNOWN = 400;
const AT_ONCE = 6;
const WAIT_MS = 200;

/**
 * The pictures between the points and the names of a map; `moved` after each frame of it, `forget` for
 * other points.
 *
 * @param {TreeView} view
 * @param {MapView} map
 */
export function mapThumbnails(view, map) {
  const { source, signal } = view;
  const layer = el("div", { class: "map-thumbnails", "aria-hidden": "true" });
  map.over.before(layer);
  /** @type {Map<number, HTMLElement>} By place. */
  const known = new Map();
  /** @type {number[]} The places whose pictures are shown, or will be once they are there. */
  let shown = [];
  /** @type {Items | null} What the known pictures are of. */
  let items = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  let loading = 0;
  signal.addEventListener("abort", () => clearTimeout(timer));

  const forget = () => {
    known.clear();
    shown = [];
    replace(layer);
  };
  /** @param {number} place */
  const at = (place) => map.px(map.points.xy[2 * place], map.points.xy[2 * place + 1]);
  /** @param {[number, number]} corner */
  const isInView = ([x, y]) => x >= 0 && y >= 0 && x <= map.width && y <= map.height;
  const put = () => {
    for (const place of shown) {
      const [x, y] = at(place).map(Math.round);
      const style = known.get(place)?.style;
      style?.setProperty("transform", `translate(${x}px, ${y}px)`);
      style?.setProperty("border-color", map.palette[map.index[place]] ?? "");
    }
  };
  /** The places in view, apart from each other, those shown before first; none of many. */
  const chosen = () => {
    /** @type {number[]} */
    const inView = [];
    for (let place = 0; place < map.points.n; place += 1) {
      if (!isInView(at(place))) continue;
      inView.push(place);
      if (inView.length > MOST_IN_VIEW) return [];
    }
    const before = new Set(shown);
    /** @type {number[]} */
    const apart = [];
    for (const place of [...inView.filter((each) => before.has(each)), ...inView]) {
      if (apart.length === MOST) break;
      const [x, y] = at(place);
      const isFree = apart.every((other) => {
        const [left, top] = at(other);
        return Math.abs(left - x) > SIDE_PX || Math.abs(top - y) > SIDE_PX;
      });
      if (isFree) apart.push(place);
    }
    return apart;
  };
  const choose = () => {
    if (items !== view.items) {
      items = view.items;
      forget();
    }
    shown = items && havePictures(items) ? chosen() : [];
    if (known.size > MOST_KNOWN) {
      const old = [...known.keys()].filter((place) => !shown.includes(place));
      for (const place of old) known.delete(place);
    }
    replace(layer, ...shown.flatMap((place) => known.get(place) ?? []));
    put();
    load();
  };
  /** Load pictures that are missing, a few at once. */
  const load = () => {
    for (const place of shown) {
      if (loading >= AT_ONCE || !items) return;
      if (known.has(place)) continue;
      const element = el("div", {});
      known.set(place, element);
      layer.append(element);
      loading += 1;
      fill(items, place, element)
        // What has no picture, or none any more, is a point alone.
        .catch(() => {})
        .finally(() => {
          loading -= 1;
          if (!signal.aborted) load();
        });
    }
    put();
  };
  /** @param {Items} of @param {number} place @param {HTMLElement} element */
  const fill = async (of, place, element) => {
    const { leaf, row } = await source.place(place, signal);
    const item = await itemOf(of, { node: leaf, row }, signal);
    replace(element, item && itemImage(of.columns, item, signal));
  };
  return {
    moved: () => {
      put();
      clearTimeout(timer);
      timer = setTimeout(choose, WAIT_MS);
    },
    forget,
  };
}
