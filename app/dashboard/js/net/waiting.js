// What the service does not accept for lack of a package: maps, forms of pictures, values of parameters.

import { get } from "./requests.js";

/** @import { WaitingValue } from "./answers.js" */

/** @type {WaitingValue[]} Maps and forms of pictures. */
let known = [];
/** @type {Promise<void> | null} */
let learning = null;

/**
 * Read which maps and forms wait, once. Where that fails none is known to, and the service refuses those
 * that do.
 */
export function learnWaiting() {
  learning ??= get("/v1/version", { quiet: true }).then(
    ({ waiting }) => {
      known = waiting ?? [];
    },
    () => {
      learning = null;
    },
  );
  return learning;
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
  return found ? `${found.needs.join(", ")} is not installed` : "";
}
