// What may stand around a method: steps that prepare features, a second method on the logits,
// bootstrap support, names. Their forms are made from the API's own document.

import { get } from "../net/requests.js";
import { button, el, field, replace, select } from "../ui/dom.js";
import { methods } from "./method_picker.js";
import { explained, schemaForm } from "./schema_form.js";

let document_ = null;

/** The schemas of the API's document, by name; asked for once. */
async function schemas() {
  document_ ??= get("/openapi.json", { quiet: true }).then(
    (found) => found.components.schemas,
    (error) => {
      document_ = null;
      throw error;
    },
  );
  return document_;
}

const STEPS = {
  words: "Count the words of documents",
  tfidf: "Weigh terms (tf-idf)",
  standardize: "Standardise columns",
  l2: "Bring rows to length 1",
  pca: "Principal components",
  svd: "Truncated SVD",
};

/**
 * -> {element, read() -> {fields, errors: [{pointer, text}]}, wrong(pointer, text), begin(steps)}
 * `fields`: those of `preprocess`, `then`, `support`, `name_by` that are asked for.
 */
export async function extrasForm(method, { values = {}, onchange, only } = {}) {
  const known = await schemas();
  const list = await methods();
  const wants = (name) => !only || only.includes(name);
  const parts = [];
  if ("features" in method.inputs && wants("preprocess")) {
    parts.push(preprocessPart(known, values.preprocess ?? [], onchange));
  }
  if (method.outputs.includes("logits") && wants("then")) {
    parts.push(thenPart(list, values.then, onchange));
  }
  if (wants("support")) parts.push(supportPart(known, values.support, onchange));
  if (wants("name_by")) parts.push(nameByPart(method, values.name_by, onchange));
  return {
    element: el(
      "div",
      { class: "stack extras" },
      parts.map((part) => part.element),
    ),
    begin: (steps) => parts.find((part) => part.name === "preprocess")?.begin(steps),
    isUsed: () => parts.some((part) => part.read().value !== undefined),
    read() {
      const fields = {};
      const errors = [];
      for (const part of parts) {
        const { value, errors: wrong = [] } = part.read();
        errors.push(
          ...wrong.map(({ pointer, text }) => ({ pointer: [part.name, ...pointer], text })),
        );
        if (value !== undefined) fields[part.name] = value;
      }
      return { fields, errors };
    },
    wrong(pointer, text) {
      return parts.find((part) => part.name === pointer[0])?.wrong(pointer.slice(1), text);
    },
  };
}

const failed = (errors, lead) =>
  Object.entries(errors).map(([name, text]) => ({ pointer: [...lead, name], text }));

function preprocessPart(known, given, onchange) {
  const items = known.NewJob.properties.preprocess.items;
  const refs = items.discriminator.mapping;
  const schemaOf = (step) => known[refs[step].split("/").at(-1)];
  const real = Array.isArray(given) ? given.filter((step) => Object.hasOwn(refs, step?.step)) : [];
  let steps = real.map((step) => make(step.step, step));
  const place = el("ol", { class: "steps" });
  const adder = select(
    [["", "Add a step…"], ...Object.keys(refs).map((step) => [step, STEPS[step] ?? step])],
    {
      onchange: (event) => {
        const step = event.target.value;
        event.target.value = "";
        if (!step || steps.length >= 8) return;
        steps.push(make(step, {}));
        draw();
        onchange?.();
      },
    },
  );
  function make(step, values) {
    return { step, form: schemaForm(schemaOf(step), { values, skip: ["step"], onchange }) };
  }
  const draw = () => {
    place.hidden = steps.length === 0;
    replace(
      place,
      steps.map((one, at) =>
        el(
          "li",
          { class: "step" },
          el(
            "div",
            { class: "row apart" },
            el("strong", {}, STEPS[one.step] ?? one.step, " ", el("code", {}, one.step)),
            button("", {
              kind: "ghost small icon-only",
              iconName: "close",
              "aria-label": `Remove step ${at + 1}, ${one.step}`,
              onclick: () => {
                steps = steps.filter((other) => other !== one);
                draw();
                adder.focus();
                onchange?.();
              },
            }),
          ),
          el(
            "p",
            { class: "field-help" },
            explained(schemaOf(one.step).description?.split("\n\n")[0]),
          ),
          !one.form.isEmpty && one.form.element,
        ),
      ),
    );
    row.wrong(null);
  };
  const row = field("Prepare the features", adder, {
    help: "In this order; kept with the model and applied to new rows.",
  });
  const element = el("div", { class: "stack tight" }, row, place);
  draw();
  return {
    name: "preprocess",
    element,
    /** Put the steps `wanted` before all others. */
    begin(wanted) {
      const first = wanted.map((step) => steps.find((one) => one.step === step) ?? make(step, {}));
      steps = [...first, ...steps.filter((one) => !first.includes(one))].slice(0, 8);
      draw();
      onchange?.();
    },
    read() {
      const errors = [];
      const value = steps.map((one, at) => {
        const { values, errors: wrong } = one.form.read();
        errors.push(...failed(wrong, [at]));
        return { step: one.step, ...values };
      });
      return { value: value.length ? value : undefined, errors };
    },
    wrong(pointer, text) {
      const at = pointer.find((part) => typeof part === "number");
      return steps[at]?.form.wrong(pointer.at(-1), text) ?? (row.wrong(text), row);
    },
  };
}

function thenPart(list, given, onchange) {
  const after = list.filter((one) => "logits" in one.inputs);
  const chosen = typeof given === "string" ? { method: given, params: {} } : given;
  const place = el("div");
  let form = null;
  const choice = select([["", "Nothing"], ...after.map((one) => [one.id, one.title])], {
    value: chosen?.method ?? "",
    onchange: () => {
      draw({});
      onchange?.();
    },
  });
  const draw = (values) => {
    const method = after.find((one) => one.id === choice.value);
    form = method ? schemaForm(method.params, { values, onchange }) : null;
    replace(place, form?.element);
  };
  draw(chosen?.params ?? {});
  const row = field("Then, on the logits that come out", choice, {
    help: "A hierarchy on top of flat clusters.",
  });
  return {
    name: "then",
    element: el("div", { class: "stack tight" }, row, place),
    read() {
      if (!form) return { value: undefined };
      const { values, errors } = form.read();
      const plain = Object.keys(values).length === 0;
      return {
        value: plain ? choice.value : { method: choice.value, params: values },
        errors: failed(errors, ["params"]),
      };
    },
    wrong: (pointer, text) => form?.wrong(pointer.at(-1), text) ?? (row.wrong(text), row),
  };
}

function supportPart(known, given, onchange) {
  const place = el("div");
  let form = null;
  const box = el("input", { type: "checkbox", checked: Boolean(given) });
  const draw = (values) => {
    form = box.checked ? schemaForm(known.Support, { values, onchange }) : null;
    replace(place, form?.element);
  };
  box.addEventListener("change", () => {
    draw({});
    onchange?.();
  });
  draw(given ?? {});
  const row = field("Bootstrap support", box, {
    help: "Runs the method again and again; every node says how often its cluster comes back.",
  });
  const title = row.querySelector("label");
  title.className = "check";
  title.prepend(box);
  return {
    name: "support",
    element: el("div", { class: "stack tight" }, row, place),
    read() {
      if (!form) return { value: undefined };
      const { values, errors } = form.read();
      return { value: values, errors: failed(errors, []) };
    },
    wrong: (pointer, text) => form?.wrong(pointer.at(-1), text) ?? (row.wrong(text), row),
  };
}

function nameByPart(method, given, onchange) {
  const choice = select(
    [
      ["", "The names given, or their numbers"],
      ["labels", "Labels: the largest class with its share"],
      ...("features" in method.inputs
        ? [["feature_names", "Names of the features: the terms that tell most"]]
        : []),
    ],
    { value: given ?? "", onchange: () => onchange?.("name_by") },
  );
  const row = field("Name the nodes by", choice);
  return {
    name: "name_by",
    element: row,
    read: () => ({ value: choice.value || undefined }),
    wrong: (_, text) => (row.wrong(text), row),
  };
}
