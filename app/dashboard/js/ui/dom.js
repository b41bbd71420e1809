// The page's building blocks. Everything is made of elements and text nodes: nothing that a user
// or the service writes is ever read as markup.

import { isExact, readable, seen } from "../net/names.js";

const SVG = "http://www.w3.org/2000/svg";
const AS_PROPERTY = new Set(["value", "checked", "selected", "indeterminate", "textContent"]);
/** Marks by which a text would be shown reversed, with what follows. */
const TURNING = /[\u202a-\u202e]/g;
const AS_WRITTEN = new Set(["CODE", "PRE", "TEXTAREA"]);
const SAFE_ADDRESS = /^(#|\.|\/(?!\/)|blob:|data:image\/|[a-z0-9_-]+(\/|$|\?|\.))/i;

/**
 * The possible children of an element. Lists may be nested.
 *
 * @typedef {Node | string | number | null | undefined | false | Children} Child
 * @typedef {{ readonly length: number, readonly [at: number]: Child }} Children
 */

/**
 * @template {Element} E
 * @typedef {{
 *   class?: string | null,
 *   dataset?: Record<string, string>,
 *   style?: Record<string, string | number>,
 *   onclick?: (event: MouseEvent & { currentTarget: E }) => unknown,
 *   onchange?: (event: Event & { currentTarget: E }) => unknown,
 *   oninput?: (event: Event & { currentTarget: E }) => unknown,
 *   onsubmit?: (event: SubmitEvent & { currentTarget: E }) => unknown,
 *   onclose?: (event: Event & { currentTarget: E }) => unknown,
 *   onpointerenter?: (event: PointerEvent & { currentTarget: E }) => unknown,
 *   onpointerleave?: (event: PointerEvent & { currentTarget: E }) => unknown,
 *   [name: string]: string | number | boolean | object | null | undefined,
 * }} Attributes
 */

/**
 * An element. `attributes`: `class`, `dataset` {}, `style` {} (properties, custom ones too),
 * `onclick` and the like as functions, any attribute; true writes it empty, false and null leave it
 * out. `children`: nodes, texts, numbers, lists of those; null and false are left out.
 *
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Attributes<HTMLElementTagNameMap[K]>} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/**
 * The same for SVG.
 *
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} tag
 * @param {Attributes<SVGElementTagNameMap[K]>} [attributes]
 * @param {...Child} children
 * @returns {SVGElementTagNameMap[K]}
 */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/**
 * @template {HTMLElement | SVGElement} E
 * @param {E} element
 * @param {object} attributes
 * @param {Child[]} children
 */
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "dataset") Object.assign(element.dataset, value);
    else if (name === "style") setStyle(element, value);
    else if (AS_PROPERTY.has(name)) Object.assign(element, { [name]: value });
    else if (name === "href" || name === "src") setAddress(element, name, String(value));
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, ...children);
  return element;
}

/**
 * @param {HTMLElement | SVGElement} element
 * @param {Record<string, string | number>} properties
 */
function setStyle(element, properties) {
  for (const [name, value] of Object.entries(properties)) {
    element.style.setProperty(name, String(value));
  }
}

/**
 * @param {Element} element
 * @param {"href" | "src"} name
 * @param {string} address
 */
function setAddress(element, name, address) {
  if (!SAFE_ADDRESS.test(address)) throw new Error(`not an address of this page: ${address}`);
  element.setAttribute(name, address);
}

/**
 * The node of a text: without marks that reverse it, but of code with every character.
 *
 * @param {Element} element that it is for
 * @param {string} text
 */
const textNode = (element, text) =>
  document.createTextNode(AS_WRITTEN.has(element.tagName) ? text : text.replace(TURNING, ""));

/**
 * Append nodes, texts, numbers and lists of those; returns the element.
 *
 * @template {Element} E
 * @param {E} element
 * @param {...Child} children
 */
export function append(element, ...children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(element, ...child);
    else element.append(child instanceof Node ? child : textNode(element, String(child)));
  }
  return element;
}

/**
 * Remove all children, then append; returns the element.
 *
 * @template {Element} E
 * @param {E} element
 * @param {...Child} children
 */
export function replace(element, ...children) {
  element.replaceChildren();
  return append(element, ...children);
}

/** @type {WeakMap<Element, Map<string, Element>>} What `keep` has put into an element. */
const kept = new WeakMap();

/**
 * Show children by their keys, in this order. One whose key was there before stays the same element, so
 * that a click is not lost whose button goes down before the drawing and up after it.
 *
 * @template {Element} E
 * @param {E} parent has no other children
 * @param {(readonly [key: string, make: () => Element])[]} children
 */
export function keep(parent, children) {
  const before = kept.get(parent) ?? new Map();
  const now = new Map(children.map(([key, make]) => [key, before.get(key) ?? make()]));
  for (const [key, element] of before) if (!now.has(key)) element.remove();
  /** @type {ChildNode | null} */
  let next = parent.firstChild;
  for (const element of now.values()) {
    if (element === next) next = element.nextSibling;
    else parent.insertBefore(element, next);
  }
  kept.set(parent, now);
  return parent;
}

/**
 * A text from a user, isolated so that its direction does not affect the text around it.
 *
 * @param {string | number} text
 * @param {Attributes<HTMLElement>} [attributes]
 */
export const bdi = (text, attributes = {}) =>
  // In a list each name has a direction; `auto` would give that of the first one to all.
  el(
    "bdi",
    { dir: String(text).includes("\u2068") ? "ltr" : "auto", ...attributes },
    seen(String(text)),
  );

/**
 * A name of data, a class or a node as readers write it; the name itself is its title where that differs.
 * Names of files and addresses stay as they are.
 *
 * @param {string} name
 * @param {Attributes<HTMLElement>} [attributes]
 */
export function bdiName(name, attributes = {}) {
  const text = isExact(name) ? name : readable(name);
  return bdi(text, text === name ? attributes : { title: name, ...attributes });
}

let serial = 0;

/** An id that is unique on the page. */
export const unique = (prefix = "id") => `${prefix}-${(serial += 1)}`;

/**
 * Focus the first element in `root` that matches; returns whether there was one.
 *
 * @param {ParentNode | null | undefined} root
 * @param {string} selector
 */
export function focusFirst(root, selector) {
  /** @type {HTMLElement | null | undefined} */
  const element = root?.querySelector(selector);
  element?.focus();
  return Boolean(element);
}
