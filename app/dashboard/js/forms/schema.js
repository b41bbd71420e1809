// The parts of a JSON Schema for a parameter: its title, its kind and range, and the values that a
// text can mean. Pure.

import { capitalized, number, uncapitalized } from "../ui/format.js";
import { readable } from "./parameter_names.js";

/** @import { ObjectSchema, Schema } from "../net/answers.js" */

/**
 * A schema whose references are resolved. `nullable`: null is also allowed; `kinds`: its
 * alternative schemas, if there are several.
 *
 * @typedef {Schema & { nullable: boolean, kinds?: Schema[] }} Property
 *
 * @typedef {{ value?: unknown, error?: string }} Reading the value of a text, or what is wrong with it
 *
 * @typedef {{ low?: number, high?: number, openLow?: boolean, openHigh?: boolean, whole?: boolean }} Range
 */

/**
 * Whether two values are the same as JSON.
 *
 * @param {unknown} a
 * @param {unknown} b
 */
export const same = (a, b) => a === b || JSON.stringify(a) === JSON.stringify(b);

/**
 * A property with its references resolved and "or null" separated.
 *
 * @param {Schema} property
 * @param {Record<string, Schema>} [defs]
 * @returns {Property}
 */
export function simplified(property, defs = {}) {
  /**
   * @param {Schema} schema
   * @returns {Schema}
   */
  const resolved = (schema) =>
    schema.$ref ? { ...defs[schema.$ref.split("/").at(-1) ?? ""], ...schema } : schema;
  const whole = resolved(property);
  const choices = (whole.anyOf ?? whole.oneOf)?.map(resolved);
  if (!choices) {
    const types = [whole.type].flat().filter((type) => type !== "null");
    const nullable = [whole.type].flat().includes("null");
    return { ...whole, type: types.length === 1 ? types[0] : whole.type, nullable };
  }
  const kinds = choices.filter((kind) => kind.type !== "null");
  const nullable = kinds.length < choices.length;
  return kinds.length === 1 ? { ...whole, ...kinds[0], nullable } : { ...whole, kinds, nullable };
}

/**
 * The range of a number, as far as the schema states it.
 *
 * @param {Schema} schema
 * @returns {Range}
 */
export const rangeOf = (schema) => ({
  low: schema.minimum ?? schema.exclusiveMinimum,
  high: schema.maximum ?? schema.exclusiveMaximum,
  openLow: schema.exclusiveMinimum !== undefined,
  openHigh: schema.exclusiveMaximum !== undefined,
  whole: schema.type === "integer",
});

/**
 * "from 1 to 20", "above 0", "of 2 or more"; "" for any number.
 *
 * @param {Range} range
 */
export function rangeText({ low, high, openLow, openHigh, whole }) {
  // Bounds that are never reached count as none.
  const isBound = high !== undefined && Math.abs(high) < (whole ? 1e15 : 1e12);
  if (low !== undefined && isBound) {
    if (!openLow && !openHigh) return `from ${number(low)} to ${number(high)}`;
    return `${openLow ? "above" : "from"} ${number(low)}, ${openHigh ? "below" : "up to"} ${number(high)}`;
  }
  if (low !== undefined) return openLow ? `above ${number(low)}` : `of ${number(low)} or more`;
  return isBound ? `up to ${number(high)}` : "";
}

/**
 * Whether a number lies within a range.
 *
 * @param {number} value
 * @param {Range} range
 */
function isWithin(value, { low = -Infinity, high = Infinity, openLow, openHigh, whole }) {
  return (
    Number.isFinite(value) &&
    (!whole || Number.isInteger(value)) &&
    (openLow ? value > low : value >= low) &&
    (openHigh ? value < high : value <= high)
  );
}

/**
 * The values that a schema lists; null if it lists none.
 *
 * @param {Schema} schema
 */
export const literalsOf = (schema) =>
  schema.enum ?? (schema.const === undefined ? null : [schema.const]);

/**
 * The text as a value of a plain kind; undefined if it is none.
 *
 * @param {string} text
 * @param {Schema} kind
 */
export function valueOf(text, kind) {
  const literals = literalsOf(kind);
  if (literals) return literals.find((literal) => String(literal) === text);
  if (kind.type === "string" || kind.type === undefined) return text;
  if (kind.type === "boolean") return text === "true" ? true : text === "false" ? false : undefined;
  const value = numberOf(text);
  return isWithin(value, rangeOf(kind)) ? value : undefined;
}

/**
 * "a whole number", "a text", or the values that are allowed.
 *
 * @param {Schema} kind
 */
export function kindName(kind) {
  const literals = literalsOf(kind);
  if (literals) return literals.join(", ");
  if (kind.type === "integer") return "a whole number";
  if (kind.type === "number") return "a number";
  return kind.type === "boolean" ? "true or false" : "a text";
}

/**
 * The number in a text, even "12,000"; NaN if there is none.
 *
 * @param {string} text
 */
export function numberOf(text) {
  const trimmed = text.trim();
  const isGrouped = /^[+-]?[1-9]\d{0,2}([\s_,]\d{3})+(\.\d+)?$/.test(trimmed);
  const plain = isGrouped ? trimmed.replaceAll(/[\s_,]/g, "") : trimmed;
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain) ? Number(plain) : NaN;
}

// --- the texts of fields -------------------------------------------------------------------------

/**
 * "a whole number from 1 to 20".
 *
 * @param {Schema} property
 */
export const amountText = (property) =>
  `${kindName(property)} ${rangeText(rangeOf(property))}`.trim();

/**
 * The number in a field.
 *
 * @param {string} text
 * @param {Property} property
 * @returns {Reading}
 */
export function readAmount(text, property) {
  const wanted = amountText(property);
  if (!text.trim()) {
    if (property.nullable) return { value: null };
    return property.default === undefined
      ? { value: undefined }
      : { error: `Enter ${wanted}; the default is ${property.default}.` };
  }
  const value = valueOf(text, property);
  return value === undefined
    ? { error: `Enter ${wanted}${property.nullable ? ", or nothing" : ""}.` }
    : { value };
}

/**
 * The values in a field, with commas between them.
 *
 * @param {string} text
 * @param {Property} property
 * @returns {Reading}
 */
export function readList(text, property) {
  const pieces = text.split(/[,;\s]+/).filter(Boolean);
  if (!pieces.length && property.nullable) return { value: null };
  const item = simplified(property.items ?? {});
  const values = pieces.map((piece) => valueOf(piece, item));
  if (values.includes(undefined)) return { error: `Enter ${kindName(item)}s separated by commas.` };
  const { minItems: low = 0, maxItems: high = Infinity } = property;
  if (values.length < low || values.length > high) {
    return {
      error: `Enter ${high === Infinity ? `at least ${low}` : `${low} to ${high}`} values.`,
    };
  }
  return { value: values };
}

/**
 * "auto or a whole number of 1 or more".
 *
 * @param {Property} property
 */
export const kindsText = ({ kinds = [] }) =>
  [...kinds]
    .sort((a, b) => Number(!literalsOf(a)) - Number(!literalsOf(b)))
    .map((kind) => (literalsOf(kind) ? kindName(kind) : amountText(kind)))
    .join(" or ");

/**
 * The value in a field of several kinds: of the first that the text is of.
 *
 * @param {string} text
 * @param {Property} property
 * @returns {Reading}
 */
export function readEither(text, property) {
  const trimmed = text.trim();
  if (!trimmed && property.nullable) return { value: null };
  const value = (property.kinds ?? [])
    .map((kind) => valueOf(trimmed, kind))
    .find((candidate) => candidate !== undefined);
  return value === undefined ? { error: `Enter ${kindsText(property)}.` } : { value };
}

/**
 * The numbers by name in a field, "width: 2, height: 0.5", or as JSON where names have such marks.
 *
 * @param {string} text
 * @param {Property} property
 * @returns {Reading}
 */
export function readNumbersByName(text, property) {
  const wanted = { error: "Enter names with numbers, such as width: 2, height: 0.5." };
  const trimmed = text.trim();
  if (!trimmed) return { value: property.nullable ? null : {} };
  /** @type {[name: string, value: unknown][]} */
  let entries;
  if (trimmed.startsWith("{")) {
    try {
      entries = Object.entries(JSON.parse(trimmed));
    } catch {
      return wanted;
    }
  } else {
    entries = trimmed.split(",").map((piece) => {
      const at = piece.lastIndexOf(":");
      return at < 0 ? ["", NaN] : [piece.slice(0, at).trim(), numberOf(piece.slice(at + 1))];
    });
  }
  const isRight = entries.every(
    ([name, value]) => name && typeof value === "number" && Number.isFinite(value),
  );
  return isRight ? { value: Object.fromEntries(entries) } : wanted;
}

/**
 * Numbers by name as a field shows them.
 *
 * @param {unknown} value
 */
export function shownNumbersByName(value) {
  const entries = Object.entries(value ?? {});
  if (entries.some(([name]) => /[:,]|^\s|\s$|^\{/.test(name))) return JSON.stringify(value);
  return entries.map(([name, each]) => `${name}: ${each}`).join(", ");
}

/**
 * The text in a field.
 *
 * @param {string} text
 * @param {Property} property
 * @returns {Reading}
 */
export function readText(text, property) {
  if (!text && property.nullable) return { value: null };
  if (property.pattern && !new RegExp(property.pattern, "u").test(text)) {
    return { error: `It must match ${property.pattern}.` };
  }
  return { value: text };
}

/**
 * The values that a field accepts, as a sentence; "" if its kind shows it.
 *
 * @param {Property} property
 */
export function acceptedText(property) {
  if (property.kinds) {
    return property.kinds.some(literalsOf) ? `Accepted: ${kindsText(property)}.` : "";
  }
  if (property.type === "array") return "Several, separated by commas.";
  if (property.type === "object") return "Names with numbers: width: 2, height: 0.5.";
  const isNumber = property.type === "integer" || property.type === "number";
  if (!isNumber || literalsOf(property) || !rangeText(rangeOf(property))) return "";
  return `${capitalized(amountText(property))}.`;
}

// --- parameters ----------------------------------------------------------------------------------

/**
 * A short text of parameters in the words of the form: "linkage: ward, metric: cosine"; for none:
 * "defaults".
 *
 * @param {Record<string, unknown> | null} params
 */
export function shownParams(params) {
  const entries = Object.entries(params ?? {});
  if (!entries.length) return "defaults";
  return entries
    .map(([name, value]) => {
      return `${uncapitalized(readable(name))}: ${valueText(value)}`;
    })
    .join(", ");
}

/** @param {unknown} value */
function valueText(value) {
  if (value === null) return "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return value.join(" ");
  return Object(value) === value ? `(${shownNumbersByName(value)})` : String(value);
}

/**
 * The parameters that differ from the defaults of a method's schema.
 *
 * @param {ObjectSchema | undefined} schema
 * @param {Record<string, unknown> | null} params
 */
export function changedParams(schema, params) {
  return Object.fromEntries(
    Object.entries(params ?? {}).filter(([name, value]) => {
      const property = schema?.properties?.[name];
      return !property || !same(property.default, value);
    }),
  );
}

/**
 * The parameters that tell a run from others of its method: those that differ from the defaults, or
 * from another run's.
 *
 * @param {ObjectSchema | undefined} schema
 * @param {Record<string, unknown>} params
 * @param {Record<string, unknown>[]} others
 */
export function tellingParams(schema, params, others) {
  const changed = changedParams(schema, params);
  return Object.fromEntries(
    Object.entries(params).filter(
      ([name, value]) =>
        name in changed || others.some((other) => name in other && !same(other[name], value)),
    ),
  );
}
