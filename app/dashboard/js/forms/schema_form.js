// A form made from a JSON Schema: the parameters of a method.

import { waitsFor } from "../net/waiting.js";
import { asCheckbox, codeText, field, select } from "../ui/controls.js";
import { el } from "../ui/dom.js";
import { readable, worded } from "./parameter_names.js";
import {
  acceptedText,
  literalsOf,
  readAmount,
  readEither,
  readList,
  readNumbersByName,
  readText,
  same,
  shownNumbersByName,
  simplified,
} from "./schema.js";

/** @import { ObjectSchema, WaitingValue } from "../net/answers.js" */
/** @import { FieldRow, Option } from "../ui/controls.js" */
/** @import { Property, Reading } from "./schema.js" */

/**
 * @typedef {{
 *   control: HTMLInputElement | HTMLSelectElement,
 *   read: () => Reading,
 * }} Control
 * @typedef {{ label: string, choices?: Record<string, string> }} Words a parameter and its values in
 *   the words of the form, where its name would not do
 * @typedef {{ name: string, initial: unknown, row: FieldRow, read: () => Reading }} Entry
 *
 * @typedef {{
 *   element: HTMLElement,
 *   isEmpty: boolean,
 *   read: () => { values: Record<string, unknown>, errors: Record<string, string> },
 *   setError: (name: unknown, text: string | null) => FieldRow | undefined,
 * }} SchemaForm `read` gives the values that differ from the defaults, and the errors by name; `setError`
 *   shows an error at a field, and gives its row
 */

/** Parameters that are seldom changed: collapsed if a method has many. */
const FINE = new Set([
  ...["seed", "max_iter", "tol", "device", "processes", "level"],
  ...["batch_size", "delay", "forgetting", "burn_in", "n_samples"],
  ...["empirical_bayes", "max_kappa", "kappa_median", "kappa_sigma", "first_c0", "weight_sd"],
]);
const MANY = 12;

/**
 * A form for the properties of `schema`. `values` are those that differ from the defaults; `skip` are the
 * names of properties that are left out.
 *
 * @param {ObjectSchema} schema
 * @param {{
 *   values?: Record<string, unknown>,
 *   onchange?: () => unknown,
 *   skip?: string[],
 *   waiting?: WaitingValue[],
 *   words?: Record<string, Words>,
 *   titles?: Record<string, string>,
 * }} [options] `waiting`: values that cannot be chosen, since they wait for a package; `titles`: what the
 *   inputs are called that descriptions name
 * @returns {SchemaForm}
 */
export function schemaForm(
  schema,
  { values = {}, onchange, skip = [], waiting, words = {}, titles = {} } = {},
) {
  const properties = Object.entries(schema.properties ?? {});
  const own = Object.fromEntries(properties.map(([name]) => [name, readable(name)]));
  const entries = properties
    .filter(([name]) => !skip.includes(name))
    .map(([name, property]) =>
      entryOf(name, simplified(property, schema.$defs), values[name], {
        onchange,
        waiting,
        words: words[name],
        titles: { ...own, ...titles },
      }),
    );
  const required = new Set(schema.required ?? []);
  const fine = entries.length > MANY ? entries.filter((entry) => FINE.has(entry.name)) : [];
  /** @param {Entry[]} some */
  const grid = (some) =>
    el(
      "div",
      { class: "grid params" },
      some.map((entry) => entry.row),
    );
  const fold =
    fine.length > 0
      ? el(
          "details",
          { class: "more", open: fine.some((entry) => values[entry.name] !== undefined) },
          el("summary", {}, `Fine tuning: ${fine.length} parameters that seldom need a change`),
          grid(fine),
        )
      : null;
  const element = fold
    ? el("div", { class: "stack" }, grid(entries.filter((entry) => !fine.includes(entry))), fold)
    : grid(entries);
  /**
   * Show an error at an entry, where it is seen.
   *
   * @param {Entry} entry
   * @param {string | null} text
   */
  const show = (entry, text) => {
    entry.row.setError(text);
    if (text && fold && fine.includes(entry)) fold.open = true;
  };
  return {
    element,
    isEmpty: entries.length === 0,
    read() {
      /** @type {Record<string, unknown>} */
      const changed = {};
      /** @type {Record<string, string>} */
      const errors = {};
      for (const entry of entries) {
        const { value, error } = entry.read();
        const isMissing = value === undefined && required.has(entry.name);
        const text = error ?? (isMissing ? "This is required." : null);
        show(entry, text);
        if (text) errors[entry.name] = text;
        else if (value !== undefined && !same(value, entry.initial)) changed[entry.name] = value;
      }
      return { values: changed, errors };
    },
    setError(name, text) {
      const entry = entries.find((candidate) => candidate.name === name);
      if (entry) show(entry, text);
      return entry?.row;
    },
  };
}

/**
 * @param {string} name
 * @param {Property} property
 * @param {unknown} given undefined: as by default
 * @param {{ onchange?: () => unknown, waiting?: WaitingValue[], words?: Words, titles: Record<string, string> }} options
 * @returns {Entry}
 */
function entryOf(name, property, given, { onchange, waiting = [], words, titles }) {
  const initial = property.default;
  const value = given === undefined ? initial : given;
  const { control, read } = controlOf(name, property, value, waiting, words?.choices);
  const accepted = acceptedText(property);
  const description = codeText(worded(property.description, titles));
  const help = [description, accepted && ` ${accepted}`];
  const row = field(words?.label ?? readable(name), control, {
    help: description || accepted ? help : null,
  });
  if (isTick(property)) asCheckbox(row);
  row.dataset.param = name;
  row.title = `In requests: ${name}`;
  control.addEventListener("change", () => {
    row.setError(read().error ?? null);
    onchange?.();
  });
  return { name, initial, row, read };
}

/** @param {Property} property */
const isTick = (property) =>
  property.type === "boolean" && !property.kinds && !literalsOf(property);

/**
 * The control of a property, by its kind.
 *
 * @param {string} name
 * @param {Property} property
 * @param {unknown} value
 * @param {WaitingValue[]} waiting
 * @param {Record<string, string>} [choices]
 * @returns {Control}
 */
function controlOf(name, property, value, waiting, choices) {
  const literals = literalsOf(property);
  if (property.kinds) return typed(name, property, value, readEither);
  if (property.type === "array") {
    const text = Array.isArray(value) ? value.join(", ") : "";
    return typed(name, property, text, readList);
  }
  if (property.type === "object") {
    return typed(name, property, shownNumbersByName(value), readNumbersByName);
  }
  if (literals) return choice(name, property, literals, value, waiting, choices);
  if (isTick(property)) {
    const control = el("input", { type: "checkbox", name, checked: Boolean(value) });
    return { control, read: () => ({ value: control.checked }) };
  }
  if (property.type === "integer" || property.type === "number") {
    const { control, read } = typed(name, property, value, readAmount);
    control.setAttribute("inputmode", property.type === "integer" ? "numeric" : "decimal");
    return { control, read };
  }
  return typed(name, property, value, readText);
}

/**
 * A choice among the values that a property lists.
 *
 * @param {string} name
 * @param {Property} property
 * @param {unknown[]} literals
 * @param {unknown} value
 * @param {WaitingValue[]} waiting
 * @param {Record<string, string>} [words]
 * @returns {Control}
 */
function choice(name, property, literals, value, waiting, words = {}) {
  /** @type {Option[]} */
  const options = literals.map((literal) => [
    JSON.stringify(literal),
    words[String(literal)] ?? String(literal),
    waitsFor(name, literal, waiting),
  ]);
  if (property.nullable) options.unshift(["null", "none"]);
  const control = select(options, { value: JSON.stringify(value ?? null), name });
  return { control, read: () => ({ value: JSON.parse(control.value) }) };
}

/**
 * A field to type into.
 *
 * @param {string} name
 * @param {Property} property
 * @param {unknown} value
 * @param {(text: string, property: Property) => Reading} read
 * @returns {Control}
 */
function typed(name, property, value, read) {
  const control = el("input", {
    type: "text",
    name,
    value: String(value ?? ""),
    autocomplete: "off",
    spellcheck: "false",
    placeholder: property.nullable ? "none" : "",
  });
  return { control, read: () => read(control.value, property) };
}
