// The values of items as elements: images that the service keeps, and texts.

import { aborted } from "../../net/problem.js";
import { bdi, el, replace } from "../../ui/dom.js";
import { fetchedImage } from "../../ui/images.js";
import { briefly, itemText } from "../draw/item_words.js";

/** @import { ItemColumn, ItemDetails } from "../../net/answers.js" */
/** @import { TreeView } from "../draw/view.js" */
/** @import { Items } from "../model/items.js" */

const LONGEST = 160;
const BRIEF = 3;
const WAIT_MS = 120;
/** Pictures of items under an inner node. */
const PICTURES = 4;

/**
 * The picture of an item; null for an item without one.
 *
 * @param {ItemColumn[]} columns
 * @param {ItemDetails} item
 * @param {AbortSignal} signal
 */
export function itemImage(columns, { item, values }, signal) {
  for (const { name, kind } of columns) {
    const value = values[name];
    if (kind !== "image" || value === null || typeof value !== "object") continue;
    const place = el("div", { class: "item-image" });
    fetchedImage(value.image, { alt: `${name} of item ${item}` }, signal).then(
      (image) => replace(place, image),
      (error) => {
        if (!aborted(error)) replace(place, el("span", { class: "quiet" }, "no picture"));
      },
    );
    return place;
  }
  return null;
}

/**
 * A note in a tooltip about the item under the pointer: `tell` of the item of a leaf or of a row of it, of
 * the pictures of several items under a node, or of none. It is filled in a moment later.
 *
 * @param {TreeView} view
 */
export function itemNote(view) {
  const element = el("div", { class: "item-note", hidden: true });
  /** @type {AbortController | null} */
  let request = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  /** @param {{ node: number, row?: number, isInner?: boolean } | null} of */
  const tell = (of) => {
    clearTimeout(timer);
    request?.abort();
    element.hidden = true;
    const { items } = view;
    if (!of || !items || (of.isInner && !havePictures(items))) return;
    const own = new AbortController();
    request = own;
    timer = setTimeout(async () => {
      try {
        if (of.isInner) {
          const some = await examplesOf(items, of.node, own.signal);
          if (own.signal.aborted) return;
          const pictures = some.map((item) => itemImage(items.columns, item, own.signal));
          replace(element, el("div", { class: "row" }, pictures));
          element.hidden = false;
          return;
        }
        const item = await itemOf(items, of, own.signal);
        if (!item || own.signal.aborted) return;
        replace(
          element,
          itemImage(items.columns, item, own.signal),
          itemLines(items.columns, item),
        );
        element.hidden = false;
      } catch {
        // The tooltip says what else there is to say.
      }
    }, WAIT_MS);
  };
  return { element, tell };
}

/**
 * The item that a leaf or a row is; of a leaf of several rows one of them.
 *
 * @param {Items} items
 * @param {{ node: number, row?: number }} of
 * @param {AbortSignal} signal
 */
export async function itemOf({ attachment, source }, { node, row }, signal) {
  if (row !== undefined && attachment.result?.per === "row") return source.item(row, signal);
  const { items } = await source.examples(node, { by: "random", n: 1, signal });
  return items[0];
}

/** @param {Items} items */
export const havePictures = ({ columns }) => columns.some(({ kind }) => kind === "image");

/**
 * A few items under a node, the most typical ones where items have such an order.
 *
 * @param {Items} items
 * @param {number} node
 * @param {AbortSignal} signal
 */
async function examplesOf({ attachment, source }, node, signal) {
  const by = attachment.result?.basis ? "central" : "random";
  return (await source.examples(node, { by, n: PICTURES, signal })).items;
}

/**
 * The first values of an item, each with its column's name, as lines of a tooltip.
 *
 * @param {ItemColumn[]} columns
 * @param {ItemDetails} item
 */
const itemLines = (columns, { values }) =>
  briefly(columns, values, BRIEF).map(([name, text]) =>
    el("span", {}, bdi(name), ": ", bdi(text.slice(0, LONGEST))),
  );

/**
 * All values of an item but images, as terms and descriptions.
 *
 * @param {ItemColumn[]} columns
 * @param {ItemDetails} item
 */
export const itemFacts = (columns, { values }) =>
  el(
    "dl",
    { class: "item-facts" },
    columns.map(({ name, kind }) => {
      const value = values[name];
      if (kind === "image" || value === null || value === undefined) return null;
      return [el("dt", {}, bdi(name)), el("dd", {}, bdi(itemText(kind, value)))];
    }),
  );
