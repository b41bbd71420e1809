// Trees measured against labels, features or another tree; what came of it stays side by side.

import { usable } from "../forms/datasets.js";
import { inputsForm } from "../forms/inputs_form.js";
import { methods } from "../forms/method_picker.js";
import { metrics, metricsForm } from "../forms/metrics_form.js";
import { aborted, get, Problem, send } from "../net/requests.js";
import { button, el, field, problemBox, replace, said, select, toast } from "../ui/dom.js";
import { moment } from "../ui/format.js";
import { ENDED, follow } from "../ui/progress.js";
import { evaluationTable } from "./evaluation_table.js";

const KEPT = "umbel.evaluations";
const ROLES = {
  labels: { required: false, many: false, description: "The true class of every input row." },
  features: {
    required: false,
    many: false,
    description: "The rows' features, for the metrics without labels.",
  },
  distances: { required: false, many: false, description: "Pairwise distances of the rows." },
  similarity: { required: false, many: false, description: "Pairwise similarities of the rows." },
};

export async function mount(root, { router, params }) {
  const ends = new AbortController();
  const { signal } = ends;
  const [catalogue, list, page] = await Promise.all([
    metrics(),
    methods(),
    get("/v1/trees?limit=200", { signal, quiet: true }),
  ]);
  const titles = new Map(list.map((one) => [one.id, one.title]));
  const trees = page.items;
  const wanted = (params.trees ?? "").split(",").filter((id) => id.startsWith("tr_"));
  for (const id of wanted.filter((one) => !trees.some((tree) => tree.id === one))) {
    const tree = await get(`/v1/trees/${id}?depth=0`, { signal, quiet: true }).catch((error) => {
      if (error.status !== 404) throw error;
      toast("One of the trees in the address is not there any more.");
    });
    if (tree) trees.push(tree);
  }
  const values = Object.fromEntries(Object.keys(ROLES).map((role) => [role, params[role]]));
  const datasets = await usable(Object.values(values).filter(Boolean), { signal });
  const nameOf = (tree) => tree.name ?? `${titles.get(tree.method) ?? tree.method} tree`;

  let columns = kept();
  const chosen = new Set(wanted);
  const treeBoxes = el(
    "div",
    { class: "choices", role: "group", "aria-labelledby": "trees-title", tabindex: "0" },
    trees.length === 0 && el("p", { class: "quiet" }, "No trees yet."),
    trees.map((tree) =>
      el(
        "label",
        { class: "check" },
        el("input", {
          type: "checkbox",
          value: tree.id,
          checked: chosen.has(tree.id),
          onchange: (event) => {
            if (event.target.checked) chosen.add(tree.id);
            else chosen.delete(tree.id);
            remember();
          },
        }),
        el(
          "span",
          {},
          said(nameOf(tree)),
          el("span", { class: "quiet" }, ` ${tree.n_leaves} leaves, ${moment(tree.created_at)}`),
        ),
      ),
    ),
  );
  const inputs = inputsForm(ROLES, { values, datasets, onchange: () => changed() });
  const truth = select([["", "–"], ...trees.map((tree) => [tree.id, nameOf(tree)])], {
    value: params.hierarchy ?? "",
    onchange: () => changed(),
  });
  const truthRow = field("Another tree", truth, {
    help: "A true hierarchy of which the labels name the leaves, or a tree over the same rows.",
    hint: "optional",
  });
  const cutKind = select(
    [
      ["", "As the service chooses"],
      ["k", "So many clusters"],
      ["height", "At a height"],
      ["level", "At a depth"],
    ],
    {
      value: ["k", "height", "level"].find((one) => params[one] !== undefined) ?? "",
      onchange: () => {
        cutRow.hidden = !cutKind.value;
        remember();
      },
    },
  );
  const cutValue = el("input", {
    type: "text",
    inputmode: "decimal",
    value: params[cutKind.value] ?? "",
    onchange: () => remember(),
  });
  const cutRow = field("Value of the cut", cutValue);
  cutRow.hidden = !cutKind.value;
  const chooser = metricsForm(catalogue, {
    chosen: (params.metrics ?? "").split(",").filter(Boolean),
    given: () => givenRoles(),
    onchange: () => remember(),
  });
  const wrong = el("div", { class: "stack", "aria-live": "polite" });
  const go = button("Measure", { kind: "primary large", onclick: () => run() });
  const results = el("section", { class: "stack", "aria-labelledby": "results-title" });

  function givenRoles() {
    const found = Object.keys(inputs.read().inputs);
    return [
      ...found,
      ...(truth.value ? ["hierarchy"] : []),
      ...(found.length || truth.value ? ["measured"] : []),
    ];
  }
  function changed() {
    chooser.draw();
    remember();
  }
  function remember() {
    if (signal.aborted) return;
    router.navigate(
      "/evaluations",
      {
        trees: [...chosen].join(","),
        ...inputs.read().inputs,
        hierarchy: truth.value,
        metrics: chooser.read()?.join(","),
        ...(cutKind.value ? { [cutKind.value]: cutValue.value } : {}),
      },
      { replace: true },
    );
  }

  function request() {
    const body = { ...inputs.read().inputs };
    if (truth.value) body.hierarchy = truth.value;
    const ids = chooser.read();
    if (ids) body.metrics = ids;
    if (cutKind.value) body.cut = { [cutKind.value]: Number(cutValue.value) };
    return body;
  }

  async function run() {
    replace(wrong);
    cutRow.wrong(null);
    const problems = [];
    if (!chosen.size) problems.push("Choose a tree.");
    if (!givenRoles().length)
      problems.push("Choose what to measure against: labels, features or another tree.");
    if (
      cutKind.value &&
      (cutValue.value.trim() === "" || !Number.isFinite(Number(cutValue.value)))
    ) {
      cutRow.wrong("Give a number.");
      problems.push("The cut needs a number.");
    }
    if (problems.length) {
      replace(
        wrong,
        problems.map((text) => el("p", { class: "field-wrong" }, text)),
      );
      return;
    }
    go.disabled = true;
    const body = request();
    for (const id of chosen) {
      const tree = trees.find((one) => one.id === id);
      try {
        let found = await send("POST", `/v1/trees/${id}/evaluations`, body, { signal });
        if (found.id && found.status) found = await evaluation(found, signal);
        show([...columns, columnOf(tree, body, found)]);
      } catch (error) {
        if (aborted(error) || signal.aborted) return;
        if (!(error instanceof Problem)) throw error;
        const { parameter, role } = error.body.where ?? {};
        if (["k", "height", "level"].includes(parameter)) cutRow.wrong(error.detail);
        if (role) inputs.wrong(role, error.detail);
        for (const { pointer = [], detail } of error.errors) {
          if (pointer[0] === "cut") cutRow.wrong(detail);
          else if (pointer[0] === "hierarchy") truthRow.wrong(detail);
          else inputs.wrong(pointer[1] ?? pointer[0], detail);
        }
        wrong.append(el("p", {}, said(nameOf(tree)), ":"), problemBox(error, { level: "h3" }));
      }
    }
    go.disabled = false;
    results.scrollIntoView({ block: "nearest" });
  }

  function columnOf(tree, body, found) {
    const dataset = datasets.find((one) => one.id === body.labels);
    return {
      at: Date.now(),
      tree: tree.id,
      name: nameOf(tree),
      against:
        dataset?.name ??
        Object.keys(body)
          .filter((role) => role in ROLES || role === "hierarchy")
          .join(", "),
      cut: found.cut,
      metrics: found.metrics,
      standard_errors: found.standard_errors ?? {},
      warnings: found.warnings ?? [],
    };
  }

  function draw() {
    replace(
      results,
      evaluationTable(columns, catalogue, {
        router,
        onremove: (one) => show(columns.filter((other) => other !== one)),
        onclear: () => show([]),
      }),
    );
  }

  function show(next) {
    columns = next;
    keep(columns);
    draw();
  }

  replace(
    root,
    el(
      "header",
      { class: "page-head" },
      el(
        "div",
        {},
        el("h1", {}, "Evaluate"),
        el(
          "p",
          { class: "lead" },
          "How good is a tree? Measure one or several against what is known, and keep the results side by side.",
        ),
      ),
    ),
    el(
      "section",
      { class: "card stack loose", "aria-label": "What to measure" },
      el("div", { class: "stack tight" }, el("h2", { id: "trees-title" }, "Trees"), treeBoxes),
      el("div", { class: "stack" }, el("h2", {}, "Against"), inputs.element, truthRow),
      el("div", { class: "grid" }, field("Clusters for the flat metrics", cutKind), cutRow),
      chooser.element,
      wrong,
      el("div", { class: "row end" }, go),
    ),
    results,
  );
  draw();
  return () => ends.abort();
}

/** The evaluation of a job that takes longer. */
async function evaluation(job, signal) {
  const done = ENDED.has(job.status) ? job : await follow(job.id, { signal });
  if (done.status !== "succeeded")
    throw new Problem(done.error ?? { title: `The evaluation was ${done.status}` });
  return done.result.evaluation;
}

function kept() {
  try {
    const found = JSON.parse(sessionStorage.getItem(KEPT) ?? "[]");
    return Array.isArray(found) ? found : [];
  } catch {
    return [];
  }
}

function keep(columns) {
  try {
    sessionStorage.setItem(KEPT, JSON.stringify(columns));
  } catch {
    // They stay on the page, then, until it is left.
  }
}
