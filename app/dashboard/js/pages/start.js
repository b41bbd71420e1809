// The start: data in, a method, its settings, run.

import { usable } from "../forms/datasets.js";
import { uploads } from "../forms/drop_zone.js";
import { extrasForm } from "../forms/extras_form.js";
import { inputsForm } from "../forms/inputs_form.js";
import { methodPicker, methods } from "../forms/method_picker.js";
import { schemaForm } from "../forms/schema_form.js";
import { Problem, send } from "../net/requests.js";
import { button, el, field, problemBox, replace, toast } from "../ui/dom.js";

const EXTRAS = ["preprocess", "then", "support", "name_by"];
/** What makes features of documents. */
const FROM_DOCUMENTS = ["words", "tfidf", "l2"];
const OUTER = new Set(["method", "name", ...EXTRAS]);

export async function mount(root, { router, params }) {
  const ends = new AbortController();
  const list = await methods();
  const state = fromAddress(params);
  let datasets = await usable(idsOf(state.inputs), { signal: ends.signal });
  let form = null; // The settings of the method that is chosen.
  let turn = 0;

  const settings = el("section", {
    class: "card",
    "aria-labelledby": "settings-title",
    hidden: true,
  });
  const picker = methodPicker(list, { value: null, onchoose: (method) => setMethod(method) });
  const drop = uploads({ ondataset: take, ontree: () => {} });

  replace(
    root,
    el(
      "header",
      { class: "page-head" },
      el(
        "div",
        {},
        el("h1", {}, "Turn data into a hierarchy"),
        el("p", { class: "lead" }, "Add data, choose a method, run it, and explore the tree."),
      ),
    ),
    el(
      "section",
      { class: "card", "aria-labelledby": "data-title" },
      stepTitle(1, "Data", "data-title"),
      drop.element,
    ),
    el(
      "section",
      { class: "card", "aria-labelledby": "method-title" },
      stepTitle(2, "Method", "method-title"),
      picker,
    ),
    settings,
  );
  if (state.method) {
    if (list.some((one) => one.id === state.method)) picker.choose(state.method);
    else toast(`There is no method "${state.method}".`, { kind: "bad" });
  }

  /** A dataset has come in: it is chosen where the method, or the next one, can use it. */
  async function take(dataset, use) {
    if (ends.signal.aborted) return;
    datasets = [dataset, ...datasets.filter((one) => one.id !== dataset.id)];
    const chosen = {};
    const role = use || dataset.role;
    if (role === "documents" && !state.inputs.features) form?.fromDocuments();
    if (
      role &&
      state.inputs[role] === undefined &&
      !(role === "labels" && !form?.roles.includes("labels"))
    ) {
      state.inputs[role] = dataset.id;
      chosen[role] = dataset.id;
    }
    if (form) {
      form.refresh(datasets, chosen);
      remember();
    } else if (role === "logits") {
      picker.choose("l2h");
    } else {
      remember();
    }
  }

  async function setMethod(method) {
    const mine = (turn += 1);
    if (state.method !== method.id) state.params = state.method ? {} : state.params;
    state.method = method.id;
    const made = await settingsForm(method, state, () => datasets, remember);
    if (mine !== turn || ends.signal.aborted) return;
    form = made;
    settings.hidden = false;
    replace(settings, stepTitle(3, "Settings", "settings-title"), form.element, runBar(method));
    if (state.inputs.documents && !state.inputs.features) form.fromDocuments();
    remember();
  }

  /** Write what is chosen into the address, so that a link opens the same. */
  function remember() {
    if (ends.signal.aborted || router.path() !== "/") return;
    let inputs = state.inputs;
    if (form) {
      const { inputs: chosen, ...rest } = form.draft();
      // What another method would take stays chosen, in case the user goes back to it.
      for (const role of form.roles) delete state.inputs[role];
      Object.assign(state.inputs, chosen);
      Object.assign(state, rest);
      inputs = chosen;
    }
    router.navigate("/", toAddress({ ...state, inputs }), { replace: true });
  }

  function runBar(method) {
    const said = el("div", { class: "stack", "aria-live": "polite" });
    const go = button(`Run ${method.title}`, { kind: "primary large", onclick: () => run() });
    const run = async () => {
      replace(said);
      const { body, wrong } = form.read();
      if (wrong) {
        focusOn(wrong);
        replace(said, el("p", { class: "field-wrong" }, "Something above needs another look."));
        return;
      }
      go.disabled = true;
      try {
        const job = await send("POST", "/v1/jobs", body);
        router.navigate(`/jobs/${job.id}`);
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        const first = form.show(error);
        replace(said, problemBox(error, { level: "h3" }));
        if (first) focusOn(first);
      } finally {
        go.disabled = false;
      }
    };
    return el("div", { class: "run-bar stack" }, said, el("div", { class: "row end" }, go));
  }

  return {
    unmount: () => {
      ends.abort();
      drop.stop();
    },
  };
}

function stepTitle(number, text, id) {
  return el(
    "h2",
    { id, class: "step-title" },
    el("span", { class: "step-number", "aria-hidden": "true" }, number),
    text,
  );
}

/** The inputs, parameters and extras of a method, as one form. */
async function settingsForm(method, state, datasets, onchange) {
  const place = el("div", { class: "stack" });
  const mayRead = "features" in method.inputs && !("documents" in method.inputs);
  let inputs = null;
  let isFromDocuments = false;
  const extras = await extrasForm(method, {
    values: state.extras,
    onchange: (what) => {
      if (what === "name_by" || readsDocuments() !== isFromDocuments) drawInputs();
      onchange();
    },
  });
  const readsDocuments = () => mayRead && extras.read().fields.preprocess?.[0]?.step === "words";
  const fromDocuments = () => {
    if (!mayRead || readsDocuments()) return;
    extras.begin(FROM_DOCUMENTS);
    more.open = true;
  };
  const params = schemaForm(method.params, { values: state.params, onchange });
  const name = el("input", {
    type: "text",
    maxlength: 1000,
    autocomplete: "off",
    value: state.name ?? "",
    onchange,
  });
  const nameRow = field("Name of this run", name, { hint: "optional" });
  const more = el(
    "details",
    { class: "more", open: Object.keys(state.extras).length > 0 },
    el("summary", {}, "More: prepare, then, support, names"),
    extras.element,
  );

  function drawInputs() {
    const values = inputs ? { ...state.inputs, ...inputs.read().inputs } : state.inputs;
    isFromDocuments = readsDocuments();
    const named = (role) => (isFromDocuments && role === "features" ? "documents" : role);
    const roles = Object.fromEntries(
      Object.entries(method.inputs).map(([role, wanted]) =>
        named(role) === role ? [role, wanted] : ["documents", { ...wanted, ...DOCUMENTS }],
      ),
    );
    const by = extras.read().fields.name_by;
    if (by && !(by in roles)) {
      roles[by] = { required: true, many: false, description: "Names the nodes of the tree." };
    }
    inputs = inputsForm(roles, {
      oneOf: method.one_of.map(named),
      values,
      datasets: datasets(),
      method: method.id,
      onchange,
    });
    for (const role of inputs.roles) inputs.wrong(role, null);
    replace(
      place,
      inputs.element,
      mayRead &&
        !isFromDocuments &&
        documentsOffer(() => {
          fromDocuments();
          place.querySelector("select[name=documents]").focus();
        }),
    );
  }
  drawInputs();

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
    get roles() {
      return inputs.roles;
    },
    fromDocuments,
    refresh: (next, chosen) => inputs.refresh(next, chosen),
    /** What stands in the form now, right or wrong. */
    draft() {
      const found = inputs.read();
      for (const role of inputs.roles) inputs.wrong(role, null);
      return {
        inputs: found.inputs,
        params: params.read().values,
        extras: extras.read().fields,
        name: name.value,
      };
    },
    /** {body} for the API, or {wrong}: the first row that needs another look. */
    read() {
      const given = inputs.read();
      const chosen = params.read();
      const around = extras.read();
      const roles = Object.keys(given.errors);
      const names = Object.keys(chosen.errors);
      for (const { pointer, text } of around.errors) extras.wrong(pointer, text);
      if (around.errors.length) more.open = true;
      if (roles.length) return { wrong: place.querySelector(`[data-role="${roles[0]}"]`) };
      if (names.length) return { wrong: params.wrong(names[0], chosen.errors[names[0]]) };
      if (around.errors.length) return { wrong: more };
      const body = { method: method.id, inputs: given.inputs };
      if (Object.keys(chosen.values).length) body.params = chosen.values;
      Object.assign(body, around.fields);
      if (name.value.trim()) body.name = name.value.trim();
      return { body };
    },
    /** Show what the service found wrong at its fields; the first of them. */
    show(problem) {
      const places = [...problem.errors];
      const { pointer: at, role = problem.body.where?.role } = problem.body;
      if (at) places.push({ pointer: at, detail: problem.detail });
      else if (role) places.push({ pointer: ["inputs", role], detail: problem.detail });
      let first = null;
      for (const { pointer = [], detail } of places) {
        const [part, key] = pointer;
        let row = null;
        if (part === "params") row = params.wrong(key, detail);
        else if (part === "inputs") row = inputs.wrong(key, detail);
        else if (part === "name") row = (nameRow.wrong(detail), nameRow);
        else if (EXTRAS.includes(part)) {
          more.open = true;
          row = extras.wrong(pointer, detail);
        }
        first ??= row;
      }
      return first;
    },
  };
}

const DOCUMENTS = { many: false, description: "One text per point; its words become features." };

/** Texts in place of features, where the method takes none itself. */
const documentsOffer = (onclick) =>
  el(
    "div",
    { class: "row" },
    button("Begin with documents", { kind: "small", iconName: "file", onclick }),
    el(
      "span",
      { class: "field-help" },
      "Their words are counted, weighed by tf-idf and become rows of length 1.",
    ),
  );

function focusOn(row) {
  const control = row.querySelector("input, select, textarea, button") ?? row;
  control.focus();
  row.scrollIntoView({ block: "center" });
}

// --- the address ---------------------------------------------------------------------------------

function fromAddress(params) {
  const state = {
    method: params.method ?? null,
    name: params.name,
    inputs: {},
    params: {},
    extras: {},
  };
  for (const [name, text] of Object.entries(params)) {
    if (name.startsWith("p.")) state.params[name.slice(2)] = parsed(text);
    else if (EXTRAS.includes(name)) state.extras[name] = parsed(text);
    else if (!OUTER.has(name)) state.inputs[name] = inputOf(text);
  }
  return state;
}

/** An id, several with commas between them, or a list as JSON. */
function inputOf(text) {
  if (text.startsWith("[")) return parsed(text);
  return text.includes(",") ? text.split(",") : text;
}

export function toAddress(state) {
  const found = { method: state.method, name: state.name };
  for (const [role, value] of Object.entries(state.inputs)) {
    const ids = Array.isArray(value) && value.every((one) => String(one).startsWith("ds_"));
    const text = ids ? value.join(",") : Array.isArray(value) ? JSON.stringify(value) : value;
    // A long list that was typed in stays on the page.
    if (text.length <= 2000) found[role] = text;
  }
  for (const [name, value] of Object.entries(state.params))
    found[`p.${name}`] = JSON.stringify(value);
  for (const [name, value] of Object.entries(state.extras)) found[name] = JSON.stringify(value);
  return found;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const idsOf = (inputs) =>
  Object.values(inputs)
    .flat()
    .filter((one) => String(one).startsWith("ds_"));
