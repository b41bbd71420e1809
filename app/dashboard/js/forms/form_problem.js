// A request that a form made and that failed: shown at the field that it is about, else below the form.

import { aborted, Problem, problemOf } from "../net/problem.js";
import { focusFirst, replace } from "../ui/dom.js";
import { problemBox } from "../ui/notices.js";

/** @import { FieldRow } from "../ui/controls.js" */

/**
 * @typedef {{ setError: (name: unknown, text: string) => FieldRow | undefined }} Form
 *
 * @param {unknown} error nothing is shown of a request that was given up
 * @param {HTMLElement} results what is below the form
 * @param {{ inputs: Form, params?: Form | null }} forms of the roles of inputs, and of parameters
 */
export function showProblem(error, results, { inputs, params }) {
  if (aborted(error)) return;
  const problem = problemOf(error);
  const { role, parameter } = error instanceof Problem ? (error.body.where ?? {}) : {};
  const text = problem.detail ?? "";
  const row = inputs.setError(role, text) ?? params?.setError(parameter, text);
  replace(results, !row && problemBox(problem, { level: "h3" }));
  focusFirst(row, "select, input");
}

/**
 * Go to the first field of forms that were read as wrong; whether there is one.
 *
 * @param {...(HTMLElement | undefined)} forms
 */
export const focusWrong = (...forms) =>
  forms.some((form) => form && focusFirst(form, ".is-wrong :is(select, input, textarea)"));
