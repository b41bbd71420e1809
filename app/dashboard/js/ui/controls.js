// Buttons, labelled fields and selects.

import { el, replace, unique } from "./dom.js";
import { icon } from "./icons.js";

/** @import { Attributes, Child } from "./dom.js" */
/** @import { IconName } from "./icons.js" */

/** @typedef {Attributes<HTMLButtonElement> & { kind?: string, iconName?: IconName }} ButtonOptions */

/**
 * A button. `kind`: classes beside "button".
 *
 * @param {string} label
 * @param {ButtonOptions} [options]
 */
export function button(label, { kind = "", iconName, onclick, ...attributes } = {}) {
  return el(
    "button",
    { type: "button", class: `button ${kind}`.trim(), onclick, ...attributes },
    iconName && icon(iconName),
    label && el("span", {}, label),
  );
}

/**
 * Change the words of a button that has some. Its element stays: where it is replaced between press and
 * release, the browser fires no click.
 *
 * @param {HTMLButtonElement} element
 * @param {string} label
 */
export function relabel(element, label) {
  const words = element.querySelector("span");
  if (words && words.textContent !== label) words.textContent = label;
}

/**
 * @typedef {HTMLDivElement & {
 *   control: HTMLElement,
 *   setError(message: Child): void,
 * }} FieldRow `setError` shows an error at the control; null takes it away.
 */

/**
 * A labelled control with help and a place for its error. `hint`: a word beside the label; `group`:
 * the control is a group of several.
 *
 * @param {Child} label
 * @param {HTMLElement} control
 * @param {{ help?: Child, hint?: Child, wide?: boolean, group?: boolean }} [options]
 * @returns {FieldRow}
 */
export function field(label, control, { help, hint, wide = false, group = false } = {}) {
  const id = control.id || unique("f");
  control.id = id;
  const error = el("p", { class: "field-wrong", id: `${id}-wrong`, hidden: true });
  const text = help && el("p", { class: "field-help", id: `${id}-help` }, help);
  const title = el(
    group ? "span" : "label",
    group ? { class: "field-label", id: `${id}-label` } : { class: "field-label", for: id },
    label,
    hint && el("span", { class: "field-hint" }, hint),
  );
  if (group) control.setAttribute("aria-labelledby", `${id}-label`);
  const row = el("div", { class: `field${wide ? " wide" : ""}` }, title, control, text, error);
  /** @param {Child} message */
  const setError = (message) => {
    error.hidden = !message;
    replace(error, message || "");
    row.classList.toggle("is-wrong", Boolean(message));
    if (message) control.setAttribute("aria-invalid", "true");
    else control.removeAttribute("aria-invalid");
    const ids = [help && `${id}-help`, message && `${id}-wrong`].filter(Boolean);
    if (ids.length) control.setAttribute("aria-describedby", ids.join(" "));
    else control.removeAttribute("aria-describedby");
  };
  if (help) control.setAttribute("aria-describedby", `${id}-help`);
  return Object.assign(row, { control, setError });
}

/**
 * Make a field's label the label of its checkbox: the box comes before the words.
 *
 * @template {FieldRow} R
 * @param {R} row
 */
export function asCheckbox(row) {
  const title = row.querySelector("label");
  title?.classList.replace("field-label", "check");
  title?.prepend(row.control);
  return row;
}

/**
 * @typedef {readonly [value: string | number, label: string, waits?: string]} Option `waits`: why it cannot
 *   be chosen
 */

/**
 * A select of [value, label] pairs.
 *
 * @param {readonly Option[]} options
 * @param {Attributes<HTMLSelectElement> & { value?: string | number | null }} [attributes]
 */
export const select = (options, { value, ...attributes } = {}) =>
  el("select", attributes, optionElements(options, value));

/**
 * The elements of a select's options, the one of `value` selected.
 *
 * @param {readonly Option[]} options
 * @param {string | number | null} [value]
 */
export const optionElements = (options, value) =>
  options.map(([code, label, waits]) =>
    el(
      "option",
      { value: code, selected: String(code) === String(value ?? ""), disabled: Boolean(waits) },
      waits ? `${label}: ${waits}` : label,
    ),
  );

/**
 * A description with the text in backquotes as code.
 *
 * @param {string | null | undefined} text
 * @returns {Child}
 */
export function codeText(text) {
  if (!text) return null;
  return text.split("`").map((piece, at) => (at % 2 ? el("code", {}, piece) : piece));
}
