// A new comparison: the data, the runs, how many seeds, which metrics.

import { usable } from "../forms/datasets.js";
import { extrasForm } from "../forms/extras_form.js";
import { inputsForm } from "../forms/inputs_form.js";
import { methods } from "../forms/method_picker.js";
import { metrics, metricsForm } from "../forms/metrics_form.js";
import { schemaForm } from "../forms/schema_form.js";
import { get, Problem, send } from "../net/requests.js";
import { button, el, field, problemBox, replace, select } from "../ui/dom.js";

const SEEDS = {
  properties: {
    seeds: {
      type: "integer",
      minimum: 1,
      maximum: 100,
      default: 5,
      description:
        "How often a method that draws is run, its seed one higher each time; others are run once.",
    },
  },
};
const FIRST = { features: ["hac", "kmeans", "gmm"], logits: ["l2h"] };

export async function mount(root, { router, params }) {
  const ends = new AbortController();
  const { signal } = ends;
  const [list, catalogue] = await Promise.all([methods(), metrics()]);
  const trees = (await get("/v1/trees?limit=200", { signal, quiet: true })).items;
  const roles = ["features", "logits", "distances", "similarity"];
  const values = Object.fromEntries(
    [...roles, "labels", "names"].map((role) => [role, params[role]]),
  );
  const datasets = await usable(Object.values(values).flat().filter(Boolean), { signal });

  const given = Object.fromEntries(
    [...roles, "labels"].map((role) => [
      role,
      {
        required: false,
        many: false,
        description:
          role === "labels"
            ? "True classes, for the metrics only."
            : "For the methods that take it.",
      },
    ]),
  );
  const inputs = inputsForm(given, { values, datasets, onchange: () => chooser.draw() });
  const truth = select([["", "–"], ...trees.map((tree) => [tree.id, tree.name ?? tree.id])], {
    onchange: () => chooser.draw(),
  });
  const truthRow = field("True hierarchy", truth, {
    hint: "optional",
    help: "A tree that was imported, for the metrics only.",
  });
  const seeds = schemaForm(SEEDS);
  const chooser = metricsForm(catalogue, { given: () => roleNames() });
  const name = el("input", {
    type: "text",
    maxlength: 1000,
    autocomplete: "off",
    value: params.name ?? "",
  });
  const nameRow = field("Name of this comparison", name, { hint: "optional" });
  const wrong = el("div", { class: "stack", "aria-live": "polite" });
  const place = el("ol", { class: "runs" });
  let runs = [];
  const adder = select([["", "Add a run…"], ...byFamily(list)], {
    "aria-label": "Add a run",
    onchange: async (event) => {
      const id = event.target.value;
      event.target.value = "";
      if (id) (await add(id)).element.querySelector("summary").focus();
    },
  });
  const go = button("Run the comparison", { kind: "primary large", onclick: () => run() });

  function roleNames() {
    const found = Object.keys(inputs.read().inputs);
    return [...found, ...(truth.value ? ["hierarchy"] : []), "measured"];
  }

  async function add(id, { open = true, silent = false } = {}) {
    const method = list.find((one) => one.id === id);
    const form = schemaForm(method.params, { skip: ["seed"] });
    const extras = await extrasForm(method, { only: ["preprocess", "then"] });
    const error = el("p", { class: "field-wrong", hidden: true });
    const one = { method, form, extras, error };
    one.element = el(
      "li",
      { class: "run" },
      el(
        "details",
        { open },
        el(
          "summary",
          {},
          el("strong", {}, method.title),
          " ",
          el("code", { class: "quiet" }, method.id),
        ),
        el("div", { class: "stack" }, !form.isEmpty && form.element, extras.element),
      ),
      button("", {
        kind: "ghost small icon-only",
        iconName: "close",
        "aria-label": `Remove the run of ${method.title}`,
        onclick: () => {
          runs = runs.filter((other) => other !== one);
          one.element.remove();
          adder.focus();
        },
      }),
      error,
    );
    runs.push(one);
    place.append(one.element);
    if (!silent) one.element.scrollIntoView({ block: "nearest" });
    return one;
  }

  function read() {
    let first = null;
    const chosen = inputs.read().inputs;
    const { values: count, errors: wrongCount } = seeds.read();
    if (Object.keys(wrongCount).length) first = seeds.element;
    const asked = runs.map((one) => {
      one.error.hidden = true;
      const { values: own, errors } = one.form.read();
      const around = one.extras.read();
      for (const { pointer, text } of around.errors) one.extras.wrong(pointer, text);
      if (Object.keys(errors).length || around.errors.length) {
        one.element.querySelector("details").open = true;
        first ??= one.element;
      }
      return {
        method: one.method.id,
        ...(Object.keys(own).length ? { params: own } : {}),
        ...around.fields,
      };
    });
    const { labels, ...rest } = chosen;
    const body = { inputs: rest, runs: asked, ...count };
    if (labels) body.labels = labels;
    if (truth.value) body.hierarchy = truth.value;
    const ids = chooser.read();
    if (ids) body.metrics = ids;
    if (name.value.trim()) body.name = name.value.trim();
    return { body, first };
  }

  async function run() {
    replace(wrong);
    const { body, first } = read();
    const missing = [];
    if (!Object.keys(body.inputs).length) missing.push("Choose the data.");
    if (!runs.length) missing.push("Add a run.");
    if (missing.length) {
      replace(
        wrong,
        missing.map((text) => el("p", { class: "field-wrong" }, text)),
      );
      return;
    }
    if (first) {
      first.querySelector("[aria-invalid]")?.focus();
      replace(wrong, el("p", { class: "field-wrong" }, "Something above needs another look."));
      return;
    }
    go.disabled = true;
    try {
      const found = await send("POST", "/v1/comparisons", body);
      router.navigate(`/comparisons/${found.id}`);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      show(error);
      replace(wrong, problemBox(error, { level: "h3" }));
    } finally {
      go.disabled = false;
    }
  }

  function show(problem) {
    for (const { pointer = [], detail } of problem.errors) {
      const [part, at, inside, key] = pointer;
      if (part === "inputs" || part === "labels")
        inputs.wrong(part === "labels" ? part : at, detail);
      else if (part === "seeds") seeds.wrong("seeds", detail);
      else if (part === "hierarchy") truthRow.wrong(detail);
      else if (part === "name") nameRow.wrong(detail);
      else if (part === "runs" && runs[at]) {
        const one = runs[at];
        one.element.querySelector("details").open = true;
        const row =
          inside === "params"
            ? one.form.wrong(key, detail)
            : one.extras.wrong(pointer.slice(2), detail);
        if (!row) {
          replace(one.error, detail);
          one.error.hidden = false;
        }
      }
    }
    root.querySelector("[aria-invalid]")?.focus();
  }

  replace(
    root,
    el(
      "header",
      { class: "page-head" },
      el(
        "div",
        {},
        el(
          "p",
          { class: "eyebrow" },
          el("a", { href: router.href("/comparisons") }, "Comparisons"),
          " / New",
        ),
        el("h1", {}, "Compare methods"),
        el(
          "p",
          { class: "lead" },
          "Every run with every seed is fitted and measured; one table says mean, spread and time.",
        ),
      ),
    ),
    el(
      "section",
      { class: "card stack", "aria-labelledby": "inputs-title" },
      el("h2", { id: "inputs-title" }, "Data"),
      inputs.element,
      truthRow,
    ),
    el(
      "section",
      { class: "card stack", "aria-labelledby": "runs-title" },
      el("h2", { id: "runs-title" }, "Runs"),
      place,
      adder,
    ),
    el(
      "section",
      { class: "card stack", "aria-labelledby": "how-title" },
      el("h2", { id: "how-title" }, "Options"),
      seeds.element,
      chooser.element,
      nameRow,
    ),
    el("div", { class: "run-bar stack" }, wrong, el("div", { class: "row end" }, go)),
  );
  const role = roles.find((one) => values[one]);
  const start = (params.methods?.split(",") ?? FIRST[role] ?? FIRST.features).filter((id) =>
    list.some((one) => one.id === id),
  );
  for (const id of start) await add(id, { open: false, silent: true });
  chooser.draw();
  return () => ends.abort();
}

const byFamily = (list) =>
  [...list]
    .sort((a, b) => a.family.localeCompare(b.family) || a.title.localeCompare(b.title))
    .map((one) => [one.id, `${one.title} (${one.family})`]);
