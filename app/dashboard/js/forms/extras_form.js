// The optional extras of a method: steps that prepare features, a second method on the logits,
// bootstrap support, names. The forms are made from the API's own document.

import { asCheckbox, button, codeText, field, select } from "../ui/controls.js";
import { el, replace } from "../ui/dom.js";
import { methods, schemas } from "./catalogue.js";
import { schemaForm } from "./schema_form.js";
import { STEPS } from "../ui/step_titles.js";

/** @import { Method, ObjectSchema, PreprocessStep, Schema } from "../net/answers.js" */
/** @import { FieldRow } from "../ui/controls.js" */
/** @import { SchemaForm } from "./schema_form.js" */

/**
 * @typedef {(string | number)[]} Pointer
 * @typedef {{ pointer: Pointer, text: string }} FieldError
 * @typedef {Record<string, unknown>} Extras by name: `preprocess`, `then`, `support`, `name_by`
 *
 * @typedef {{
 *   name: string,
 *   element: HTMLElement,
 *   read: () => { value: unknown, errors: FieldError[] },
 *   setError: (pointer: Pointer, text: string) => FieldRow,
 * }} Part `value` is undefined where the part is not used; `setError` gives the row that shows the error
 *
 * @typedef {Awaited<ReturnType<typeof extrasForm>>} ExtrasForm
 */

const MOST_STEPS = 8;

/**
 * The form of the extras that the method allows, or of those named in `only`.
 *
 * @param {Method} method
 * @param {{
 *   values?: Extras,
 *   onchange?: (name: string) => unknown,
 *   only?: string[],
 * }} [options] `onchange` is called with the name of the part
 */
export async function extrasForm(method, { values = {}, onchange = () => {}, only } = {}) {
  const [known, list] = await Promise.all([schemas(), methods()]);
  /** @param {string} name */
  const isWanted = (name) => !only || only.includes(name);
  const preprocess =
    "features" in method.inputs && isWanted("preprocess")
      ? preprocessPart(known, values.preprocess, () => onchange("preprocess"))
      : null;
  /** @type {Part[]} */
  const parts = preprocess ? [preprocess] : [];
  const after = list.filter((second) => second.available && canFollow(method, second));
  if (after.length > 0 && isWanted("then")) {
    parts.push(thenPart(after, values.then, () => onchange("then")));
  }
  if (isWanted("support")) {
    parts.push(supportPart(known.Support, values.support, () => onchange("support")));
  }
  if (isWanted("name_by")) {
    parts.push(nameByPart(method, values.name_by, () => onchange("name_by")));
  }
  return {
    element: el(
      "div",
      { class: "stack extras" },
      parts.map((part) => part.element),
    ),
    /**
     * Put steps of preprocessing before all others.
     *
     * @param {string[]} steps
     */
    begin: (steps) => preprocess?.begin(steps),
    /** The extras that are used, and all errors. */
    read() {
      /** @type {Extras} */
      const fields = {};
      /** @type {FieldError[]} */
      const errors = [];
      for (const part of parts) {
        const { value, errors: own } = part.read();
        errors.push(
          ...own.map(({ pointer, text }) => ({ pointer: [part.name, ...pointer], text })),
        );
        if (value !== undefined) fields[part.name] = value;
      }
      return { fields, errors };
    },
    /**
     * Show an error; the row that shows it.
     *
     * @param {Pointer} pointer
     * @param {string} text
     */
    setError: (pointer, text) =>
      parts.find((part) => part.name === pointer[0])?.setError(pointer.slice(1), text),
  };
}

/**
 * @param {Record<string, string>} errors by name
 * @param {Pointer} lead
 */
const pointed = (errors, lead) =>
  Object.entries(errors).map(([name, text]) => ({ pointer: [...lead, name], text }));

/**
 * Show an error in a form, or at the row where the form does not have the field.
 *
 * @param {SchemaForm | null | undefined} form
 * @param {FieldRow} row
 * @param {Pointer} pointer
 * @param {string} text
 */
function setErrorIn(form, row, pointer, text) {
  const inside = form?.setError(pointer.at(-1), text);
  if (!inside) row.setError(text);
  return inside ?? row;
}

/**
 * @param {unknown} value
 * @returns {value is Record<string, unknown>}
 */
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Steps that prepare the features. `begin` puts steps before all others.
 *
 * @param {Record<string, Schema>} known
 * @param {unknown} initial
 * @param {() => unknown} onchange
 * @returns {Part & { begin: (steps: string[]) => void }}
 */
function preprocessPart(known, initial, onchange) {
  const refs = known.NewJobPreprocess.items?.discriminator?.mapping ?? {};
  /**
   * @param {string} step
   * @returns {ObjectSchema}
   */
  const schemaOf = (step) => known[refs[step].split("/").at(-1) ?? ""];
  /**
   * @param {string} step
   * @param {Record<string, unknown>} values
   */
  const entryOf = (step, values) => ({
    step,
    form: schemaForm(schemaOf(step), { values, skip: ["step"], onchange }),
  });
  let entries = stepsIn(initial, refs).map((step) => entryOf(step.step, step));
  const place = el("ol", { class: "steps" });
  const adder = select([["", "Add a step…"], ...Object.keys(refs).map(stepOption)], {
    onchange: () => {
      const step = adder.value;
      adder.value = "";
      if (!step || entries.length >= MOST_STEPS) return;
      entries.push(entryOf(step, {}));
      draw();
      onchange();
    },
  });
  const row = field("Prepare the features", adder, {
    help: "In this order; kept with the model and applied to new rows.",
  });
  /**
   * @param {typeof entries[number]} entry
   * @param {number} at
   */
  const item = (entry, at) =>
    el(
      "li",
      { class: "step" },
      el(
        "div",
        { class: "row apart" },
        el("strong", {}, STEPS[entry.step] ?? entry.step, " ", el("code", {}, entry.step)),
        button("", {
          kind: "ghost small icon-only",
          iconName: "close",
          "aria-label": `Remove step ${at + 1}, ${entry.step}`,
          onclick: () => {
            entries = entries.filter((other) => other !== entry);
            draw();
            adder.focus();
            onchange();
          },
        }),
      ),
      el(
        "p",
        { class: "field-help" },
        codeText(schemaOf(entry.step).description?.split("\n\n")[0]),
      ),
      !entry.form.isEmpty && entry.form.element,
    );
  const draw = () => {
    place.hidden = entries.length === 0;
    replace(place, entries.map(item));
    row.setError(null);
  };
  draw();
  return {
    name: "preprocess",
    element: el("div", { class: "stack tight" }, row, place),
    begin(steps) {
      const first = steps.map(
        (step) => entries.find((entry) => entry.step === step) ?? entryOf(step, {}),
      );
      const others = entries.filter((entry) => !first.includes(entry));
      entries = [...first, ...others].slice(0, MOST_STEPS);
      draw();
      onchange();
    },
    read() {
      /** @type {FieldError[]} */
      const errors = [];
      const value = entries.map(({ step, form }, at) => {
        const { values, errors: own } = form.read();
        errors.push(...pointed(own, [at]));
        return { step, ...values };
      });
      return { value: value.length ? value : undefined, errors };
    },
    setError(pointer, text) {
      const at = pointer.find((step) => typeof step === "number");
      return setErrorIn(at === undefined ? null : entries[at]?.form, row, pointer, text);
    },
  };
}

/**
 * @param {string} step
 * @returns {[string, string]}
 */
const stepOption = (step) => [step, STEPS[step] ?? step];

/**
 * The existing steps in a value from the address.
 *
 * @param {unknown} value
 * @param {object} known
 * @returns {PreprocessStep[]}
 */
const stepsIn = (value, known) =>
  Array.isArray(value)
    ? value.filter((step) => isObject(step) && Object.hasOwn(known, String(step.step)))
    : [];

/**
 * Whether `second` can run on what `first` gives: logits, or transformed rows and nothing besides.
 *
 * @param {Method} first
 * @param {Method} second
 */
const canFollow = ({ outputs }, { inputs }) =>
  (outputs.includes("logits") && "logits" in inputs) ||
  (outputs.includes("transformation") &&
    "features" in inputs &&
    Object.entries(inputs).every(([role, { required }]) => role === "features" || !required));

/**
 * A second method on the logits or the transformed rows.
 *
 * @param {Method[]} after
 * @param {unknown} initial
 * @param {() => unknown} onchange
 * @returns {Part}
 */
function thenPart(after, initial, onchange) {
  const chosen = isObject(initial) ? initial : { method: initial, params: {} };
  const place = el("div");
  /** @type {SchemaForm | null} */
  let form = null;
  /** @type {[string, string][]} */
  const options = [["", "Nothing"], ...after.map(idAndTitle)];
  const choice = select(options, {
    value: String(chosen.method ?? ""),
    onchange: () => {
      draw({});
      onchange();
    },
  });
  /** @param {Record<string, unknown>} values */
  const draw = (values) => {
    const method = after.find((candidate) => candidate.id === choice.value);
    form = method ? schemaForm(method.params, { values, onchange, waiting: method.waiting }) : null;
    replace(place, form?.element);
  };
  draw(isObject(chosen.params) ? chosen.params : {});
  const row = field("Then, on the result", choice, {
    help: "On the logits, a hierarchy on top of flat clusters; or on the transformed rows.",
  });
  return {
    name: "then",
    element: el("div", { class: "stack tight" }, row, place),
    read() {
      if (!form) return { value: undefined, errors: [] };
      const { values, errors } = form.read();
      const isPlain = Object.keys(values).length === 0;
      return {
        value: isPlain ? choice.value : { method: choice.value, params: values },
        errors: pointed(errors, ["params"]),
      };
    },
    setError: (pointer, text) => setErrorIn(form, row, pointer, text),
  };
}

/**
 * @param {Method} method
 * @returns {[string, string]}
 */
const idAndTitle = ({ id, title }) => [id, title];

/**
 * Bootstrap support.
 *
 * @param {ObjectSchema} schema
 * @param {unknown} initial
 * @param {() => unknown} onchange
 * @returns {Part}
 */
function supportPart(schema, initial, onchange) {
  const place = el("div");
  /** @type {SchemaForm | null} */
  let form = null;
  const box = el("input", { type: "checkbox", checked: Boolean(initial) });
  /** @param {Record<string, unknown>} values */
  const draw = (values) => {
    form = box.checked ? schemaForm(schema, { values, onchange }) : null;
    replace(place, form?.element);
  };
  box.addEventListener("change", () => {
    draw({});
    onchange();
  });
  draw(isObject(initial) ? initial : {});
  const row = asCheckbox(
    field("Bootstrap support", box, {
      help: "Runs the method repeatedly on resampled or noisy data; every node states how often its cluster comes back.",
    }),
  );
  return {
    name: "support",
    element: el("div", { class: "stack tight" }, row, place),
    read() {
      if (!form) return { value: undefined, errors: [] };
      const { values, errors } = form.read();
      return { value: values, errors: pointed(errors, []) };
    },
    setError: (pointer, text) => setErrorIn(form, row, pointer, text),
  };
}

/**
 * The naming of nodes.
 *
 * @param {Method} method
 * @param {unknown} initial
 * @param {() => unknown} onchange
 * @returns {Part}
 */
function nameByPart(method, initial, onchange) {
  /** @type {[string, string][]} */
  const options = [
    ["", "The given names, or their numbers"],
    ["labels", "Labels: the largest class with its share"],
  ];
  if ("features" in method.inputs) {
    options.push(["feature_names", "Names of the features: the most distinctive terms"]);
  }
  const choice = select(options, { value: String(initial ?? ""), onchange });
  const row = field("Name the nodes by", choice);
  return {
    name: "name_by",
    element: row,
    read: () => ({ value: choice.value || undefined, errors: [] }),
    setError: (_, text) => {
      row.setError(text);
      return row;
    },
  };
}
