// What an open page offers: its tabs, buttons, links and fields, by the names that a reader of screens gives
// them, and the entries of its menus. What lies in a tab or a fold that is closed is opened first.

import { entriesOf } from "../ui/menus.js";

/** @typedef {{ label: string, about: string, go: () => unknown }} Choice */

const PICTURES = "[role='tree'], [role='application']";
const CONTROLS = `button, a.button, summary, select, input:not([type='file']), textarea, ${PICTURES}`;
/** Entries of lists, which are found by their names, and parts of a control. */
const WITHIN = "table, ul, ol, [role='listbox'], [role='menu'], .find, .tree-legend, .sheet-handle";
/** What an entry of the legend is. */
const CLUSTER = "Cluster of the picture";
const MOST = 300;
const LONGEST = 60;

/**
 * The choices of a page, each label once for a place.
 *
 * @param {HTMLElement} root
 * @returns {Choice[]}
 */
export function choicesOf(root) {
  /** @type {Map<string, Choice>} */
  const choices = new Map();
  for (const control of root.querySelectorAll(CONTROLS)) {
    if (choices.size >= MOST) break;
    if (!(control instanceof HTMLElement) || control.closest(WITHIN) || isOff(control)) continue;
    const label = nameOf(control);
    if (!label) continue;
    const about = control.getAttribute("role") === "tab" ? "Tab" : placeOf(control);
    choices.set(`${about} ${label}`, { label, about, go: () => reach(control) });
    for (const { label: entry, onselect, href, disabled } of entriesOf.get(control)?.() ?? []) {
      if (disabled) continue;
      const go = () => (href ? location.assign(href) : onselect?.());
      choices.set(`${label} ${entry}`, { label: entry, about: label, go });
    }
  }
  for (const key of root.querySelectorAll("button.tree-key")) {
    const label = key.querySelector(".tree-key-text")?.textContent?.trim().slice(0, LONGEST);
    if (!(key instanceof HTMLElement) || !label || key.closest("[hidden]")) continue;
    choices.set(`${CLUSTER} ${label}`, { label, about: CLUSTER, go: () => reach(key) });
  }
  return [...choices.values()];
}

/**
 * Whether a control cannot be used, nor after its tab and folds are opened.
 *
 * @param {HTMLElement} control
 */
function isOff(control) {
  if ("disabled" in control && control.disabled) return true;
  const hidden = control.closest("[hidden]");
  return hidden !== null && !hidden.matches("[role='tabpanel']");
}

/** @param {HTMLElement} control */
function nameOf(control) {
  const { id, localName } = control;
  const label = id ? document.querySelector(`label[for="${CSS.escape(id)}"]`) : null;
  const isField = localName !== "button" && localName !== "summary" && localName !== "a";
  const named = isField ? (label ?? control.closest("label")) : control;
  const given = control.getAttribute("aria-label") ?? (named ? wordsOf(named) : "");
  // A picture is called by the first of its sentences.
  const own = control.matches(PICTURES) ? given.split(". ")[0] : given;
  return own.replace(/\s+/g, " ").trim().slice(0, LONGEST);
}

/**
 * The text of an element without that of a field within it.
 *
 * @param {Element} element
 */
function wordsOf(element) {
  const copy = /** @type {Element} */ (element.cloneNode(true));
  copy.querySelectorAll("select, input, textarea, button, output").forEach((one) => one.remove());
  return copy.textContent ?? "";
}

/**
 * The heading of the part of the page in which a control stands.
 *
 * @param {HTMLElement} control
 */
function placeOf(control) {
  const part = control.closest("section, aside, header");
  const heading = part?.querySelector("h1, h2, h3");
  return heading?.textContent?.trim().slice(0, LONGEST) || "This page";
}

/** @param {HTMLElement} control */
function reach(control) {
  const panel = control.closest("[role='tabpanel']");
  const tab = panel && document.getElementById(panel.getAttribute("aria-labelledby") ?? "");
  const isShown = control.checkVisibility();
  if (tab && !isShown) tab.click();
  for (let fold = control.closest("details"); fold;) {
    fold.open = true;
    fold = fold.parentElement?.closest("details") ?? null;
  }
  control.scrollIntoView({ block: "nearest" });
  control.focus();
  if (control.matches("button, a")) control.click();
}
