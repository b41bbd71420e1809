// The settings of a run: the inputs, parameters and extras of a method, as one form.

import { extrasForm } from "../forms/extras_form.js";
import { inputsForm } from "../forms/inputs_form.js";
import { readable } from "../forms/parameter_names.js";
import { roleTitle } from "../forms/roles.js";
import { schemaForm } from "../forms/schema_form.js";
import { placeOf } from "../net/problem.js";
import { button, field } from "../ui/controls.js";
import { el, focusFirst, replace } from "../ui/dom.js";
import { EXTRAS } from "./run_address.js";

/** @import { Dataset, Method } from "../net/answers.js" */
/** @import { InputsForm, InputValue, Role } from "../forms/inputs_form.js" */
/** @import { Problem } from "../net/problem.js" */
/** @import { RunSettings } from "./run_address.js" */

/** @typedef {Awaited<ReturnType<typeof runForm>>} RunForm */

/** The steps that make features of documents. */
const FROM_DOCUMENTS = ["words", "tfidf", "l2"];
const DOCUMENTS = { many: false, description: "One text per point; its words become features." };

/**
 * The form.
 *
 * @param {Method} method
 * @param {RunSettings} settings to begin with; its inputs may change from outside
 * @param {() => Dataset[]} datasets
 * @param {() => unknown} onchange
 */
export async function runForm(method, settings, datasets, onchange) {
  const mayReadDocuments = "features" in method.inputs && !("documents" in method.inputs);
  const place = el("div", { class: "stack" });
  const extras = await extrasForm(method, {
    values: settings.extras,
    onchange: (name) => {
      if (name === "name_by" || readsDocuments() !== isFromDocuments) {
        inputs = newInputs({ ...settings.inputs, ...inputs.read().inputs });
        drawInputs();
      }
      onchange();
    },
  });
  const readsDocuments = () => {
    const { preprocess } = extras.read().fields;
    return mayReadDocuments && Array.isArray(preprocess) && preprocess[0]?.step === "words";
  };
  const params = schemaForm(method.params, {
    values: settings.params,
    onchange,
    waiting: method.waiting,
    titles: Object.fromEntries(Object.keys(method.inputs).map((role) => [role, roleTitle(role)])),
  });
  const name = el("input", {
    type: "text",
    maxlength: 1000,
    autocomplete: "off",
    value: settings.name ?? "",
    onchange,
  });
  const nameRow = field("Name of this run", name, { hint: "optional" });
  const more = el(
    "details",
    { class: "more", open: Object.keys(settings.extras).length > 0 },
    el("summary", {}, "More: prepare, then, support, names"),
    extras.element,
  );

  let isFromDocuments = readsDocuments();
  /** @type {InputsForm} */
  let inputs = newInputs(settings.inputs);
  drawInputs();

  /**
   * The form of the inputs for the current extras.
   *
   * @param {Record<string, InputValue>} values
   */
  function newInputs(values) {
    isFromDocuments = readsDocuments();
    /** @param {string} role */
    const replaced = (role) => (isFromDocuments && role === "features" ? "documents" : role);
    /** @type {Record<string, Role>} */
    const roles = Object.fromEntries(
      Object.entries(method.inputs).map(([role, wanted]) => [
        replaced(role),
        replaced(role) === role ? wanted : { ...wanted, ...DOCUMENTS },
      ]),
    );
    const by = extras.read().fields.name_by;
    if (typeof by === "string" && !(by in roles)) {
      roles[by] = { required: true, many: false, description: "Names the nodes of the tree." };
    }
    return inputsForm(roles, {
      oneOf: method.one_of.map(replaced),
      someOf: method.some_of,
      values,
      datasets: datasets(),
      method: method.id,
      titles: Object.fromEntries(
        Object.keys(method.params.properties ?? {}).map((param) => [param, readable(param)]),
      ),
      isFolding: true,
      onchange,
    });
  }

  function drawInputs() {
    replace(
      place,
      inputs.element,
      mayReadDocuments &&
        !isFromDocuments &&
        documentsOffer(() => {
          beginWithDocuments();
          focusFirst(place, "select[name=documents]");
        }),
    );
  }

  function beginWithDocuments() {
    if (!mayReadDocuments || readsDocuments()) return;
    extras.begin(FROM_DOCUMENTS);
    more.open = true;
  }

  return {
    element: el(
      "div",
      { class: "stack loose" },
      el("section", { class: "stack" }, el("h3", {}, "Inputs"), place),
      !params.isEmpty &&
        el("section", { class: "stack" }, el("h3", {}, "Parameters"), params.element),
      more,
      nameRow,
    ),
    /** The roles of the inputs in the current form. */
    roles: () => inputs.roles,
    beginWithDocuments,
    /**
     * Offer other datasets, and choose some of them by role.
     *
     * @param {Dataset[]} next
     * @param {Record<string, string>} chosen
     */
    refresh: (next, chosen) => inputs.refresh(next, chosen),
    /** The settings as they are in the form now, right or wrong. */
    draft() {
      const chosen = inputs.read().inputs;
      inputs.clear();
      return {
        inputs: chosen,
        params: params.read().values,
        extras: extras.read().fields,
        name: name.value,
      };
    },
    /**
     * The request, or else the first row that holds an error.
     *
     * @returns {{ body: object, invalid?: undefined } | { body?: undefined, invalid: HTMLElement }}
     */
    read() {
      const { inputs: chosen, errors } = inputs.read();
      const { values, errors: paramErrors } = params.read();
      const { fields, errors: extraErrors } = extras.read();
      for (const { pointer, text } of extraErrors) extras.setError(pointer, text);
      if (extraErrors.length) more.open = true;
      const [role] = Object.keys(errors);
      const [param] = Object.keys(paramErrors);
      const invalid =
        (role && inputs.setError(role, errors[role])) ||
        (param && params.setError(param, paramErrors[param])) ||
        (extraErrors.length && more);
      if (invalid) return { invalid };
      const runName = name.value.trim();
      return {
        body: {
          method: method.id,
          inputs: chosen,
          ...(Object.keys(values).length ? { params: values } : {}),
          ...fields,
          ...(runName ? { name: runName } : {}),
        },
      };
    },
    /**
     * Show a problem at its fields; the row of the first, or null.
     *
     * @param {Problem} problem
     * @returns {HTMLElement | null}
     */
    showProblem({ body, detail: whole, errors }) {
      const all = errors.map((error) => ({ pointer: placeOf(error), detail: error.detail }));
      const role = body.role ?? body.where?.role;
      if (role) all.push({ pointer: ["inputs", role], detail: whole });
      const rows = all.map(({ pointer, detail }) => {
        const [part, key] = pointer;
        if (part === "params") return params.setError(key, detail);
        if (part === "inputs") return inputs.setError(key, detail);
        if (part === "name") {
          nameRow.setError(detail);
          return nameRow;
        }
        if (!EXTRAS.includes(String(part))) return null;
        more.open = true;
        return extras.setError(pointer, detail);
      });
      return rows.find(Boolean) ?? null;
    },
  };
}

/**
 * Texts in place of features, if the method itself does not take texts.
 *
 * @param {() => unknown} onclick
 */
const documentsOffer = (onclick) =>
  el(
    "div",
    { class: "row" },
    button("Begin with documents", { kind: "small", iconName: "file", onclick }),
    el(
      "span",
      { class: "field-help" },
      "Their words are counted, weighted by tf-idf and become rows of length 1.",
    ),
  );
