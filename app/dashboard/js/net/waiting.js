// What the service does not accept for lack of a package: maps, forms of pictures, values of parameters.
// Pure.

/** @import { WaitingValue } from "./answers.js" */

/** @type {WaitingValue[]} Maps and forms of pictures. */
let known = [];

/**
 * Keep which maps and forms of pictures wait.
 *
 * @param {WaitingValue[]} values
 */
export function keepWaiting(values) {
  known = values;
}

/**
 * What a value waits for, in words; empty where it is accepted.
 *
 * @param {string} parameter
 * @param {unknown} value
 * @param {WaitingValue[]} [values] by default maps (`by`) and forms of pictures (`form`)
 */
export function waitsFor(parameter, value, values = known) {
  const found = values.find((each) => each.parameter === parameter && each.value === value);
  if (!found) return "";
  return `${found.needs.join(", ")} ${found.needs.length > 1 ? "are" : "is"} not installed`;
}
