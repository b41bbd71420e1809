// The settings of a run as parameters of the start page's address, and back. Pure.

/** @import { InputValue } from "../forms/inputs_form.js" */
/** @import { Params } from "../net/address.js" */

/**
 * @typedef {{
 *   method: string | null,
 *   name: string | null | undefined,
 *   inputs: Record<string, InputValue>,
 *   params: Record<string, unknown>,
 *   extras: Record<string, unknown>,
 * }} RunSettings
 */

/** The names of what may be added to a method. */
export const EXTRAS = ["preprocess", "then", "support", "name_by"];
const NOT_ROLES = new Set(["method", "name", "welcome", ...EXTRAS]);
const LONGEST = 2000;

/**
 * The settings that an address describes.
 *
 * @param {Params} params
 * @returns {RunSettings}
 */
export function settingsIn(params) {
  /** @type {RunSettings} */
  const settings = {
    method: params.method ?? null,
    name: params.name,
    inputs: {},
    params: {},
    extras: {},
  };
  for (const [name, text] of Object.entries(params)) {
    if (name.startsWith("p.")) settings.params[name.slice(2)] = parsed(text);
    else if (EXTRAS.includes(name)) settings.extras[name] = parsed(text);
    else if (!NOT_ROLES.has(name)) settings.inputs[name] = inputIn(text);
  }
  return settings;
}

/**
 * An id, several separated by commas, or a list as JSON.
 *
 * @param {string} text
 * @returns {InputValue}
 */
function inputIn(text) {
  if (text.startsWith("[")) {
    const list = parsed(text);
    return Array.isArray(list) ? list : text;
  }
  return text.includes(",") ? text.split(",") : text;
}

/**
 * The parameters of the address for these settings.
 *
 * @param {RunSettings} settings
 */
export function addressParams({ method, name, inputs, params, extras }) {
  /** @type {Record<string, string | null | undefined>} */
  const address = { method, name };
  for (const [role, value] of Object.entries(inputs)) {
    const text = inputText(value);
    // A long list that was typed in stays on the page.
    if (text.length <= LONGEST) address[role] = text;
  }
  for (const [param, value] of Object.entries(params)) {
    address[`p.${param}`] = JSON.stringify(value);
  }
  for (const [extra, value] of Object.entries(extras)) address[extra] = JSON.stringify(value);
  return address;
}

/** @param {InputValue} value */
function inputText(value) {
  if (!Array.isArray(value)) return value;
  return value.every(isDataset) ? value.join(",") : JSON.stringify(value);
}

/**
 * @param {unknown} value
 * @returns {value is string}
 */
const isDataset = (value) => typeof value === "string" && value.startsWith("ds_");

/**
 * JSON, or else the text itself.
 *
 * @param {string} text
 * @returns {unknown}
 */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * The ids of the datasets among inputs.
 *
 * @param {Record<string, InputValue>} inputs
 */
export const datasetIds = (inputs) => Object.values(inputs).flat().filter(isDataset);
