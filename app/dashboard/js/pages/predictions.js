// New rows placed by a fitted model: asked for on its job's page, shown there or on the page of the
// job that it becomes.

import { usable } from "../forms/datasets.js";
import { inputsForm } from "../forms/inputs_form.js";
import { methodOf } from "../forms/method_picker.js";
import { readable } from "../forms/schema_form.js";
import { aborted, download, get, Problem, raw, saveBlob, send } from "../net/requests.js";
import { csvOf, rowsOf } from "../ui/csv.js";
import { button, el, problemBox, replace, said, table, toast, waiting } from "../ui/dom.js";
import { count, number, plural } from "../ui/format.js";
import { namesOf } from "./clusters_card.js";

/** So many rows are answered at once; more become a job with a page of its own. */
const AT_ONCE = 5000;
const SHOWN = 100;
const PEEK_BYTES = 1 << 18;
const TITLES = {
  in_sample: "In-sample",
  in_sample_rank: "Rank among known rows",
  log_likelihood: "Log-likelihood, nats",
};

/** A card to place new rows with the model of `job`; hidden where it places none. */
export function placingCard(job, { router, signal }) {
  const element = el("section", {
    class: "card",
    "aria-labelledby": "placing-title",
    hidden: true,
  });
  fill(element, job, { router, signal }).catch((error) => {
    if (!aborted(error) && error.status !== 404) element.remove();
  });
  return element;
}

async function fill(element, job, { router, signal }) {
  const method = await methodOf(job.method);
  if (!method?.predicts || !job.result.model) return;
  const model = await get(`/v1/models/${job.result.model}`, { signal, quiet: true });
  const datasets = await usable([], { signal });
  const inputs = inputsForm(rolesOf(method, model), { datasets, method: job.method });
  const found = el("div", { class: "stack" });
  const go = button("Place them", { kind: "primary", onclick: () => place() });
  const place = async () => {
    const { inputs: given, errors } = inputs.read();
    replace(found);
    if (Object.keys(errors).length) return;
    const many = Object.values(given)
      .map((id) => datasets.find((one) => one.id === id)?.shape?.[0] ?? Infinity)
      .some((rows) => rows > AT_ONCE);
    go.disabled = true;
    replace(found, waiting("Placing…"));
    try {
      const path = `/v1/models/${model.id}/predictions`;
      const headers = { Prefer: `wait=${many ? 0 : 20}` };
      const answer = await send("POST", path, { inputs: given }, { headers, signal });
      if (answer.items) replace(found, await inline(answer.items, job, { router, signal }));
      else router.navigate(`/jobs/${answer.id}`);
    } catch (error) {
      if (aborted(error)) return;
      if (!(error instanceof Problem)) throw error;
      const row = inputs.wrong(error.body.where?.role, error.detail);
      replace(found, !row && problemBox(error, { level: "h3" }));
      row?.querySelector("select")?.focus();
    } finally {
      go.disabled = false;
    }
  };
  element.hidden = false;
  replace(
    element,
    el("h2", { id: "placing-title" }, "Place new rows"),
    el(
      "div",
      { class: "stack" },
      verdict(model),
      model.preprocess.length > 0 &&
        el(
          "p",
          { class: "quiet" },
          "They are prepared as the fitted rows were: ",
          model.preprocess.map(({ step }) => step).join(", then "),
          ".",
        ),
      inputs.element,
      el("div", { class: "row" }, go),
      found,
    ),
  );
}

/** The inputs that predictions need; when a row is from may be said besides. */
function rolesOf(method, model) {
  const besides = "timestamps" in method.inputs ? ["timestamps"] : [];
  return Object.fromEntries(
    [...new Set([...model.inputs, ...besides])].map((role) => [
      role,
      { ...method.inputs[role], required: model.inputs.includes(role), many: false },
    ]),
  );
}

/** From which likelihood on a row is in-sample. */
function verdict(model) {
  const { level, threshold } = model.stages.at(0)?.facts ?? {};
  if (!Number.isFinite(level) || !Number.isFinite(threshold)) return null;
  const held = model.params.held_out > 0 ? "held out from the fit" : "that were fitted";
  return el(
    "p",
    { class: "quiet" },
    "Each row gets its cluster and how probable that is. In-sample is a row whose log-likelihood is " +
      `${number(threshold)} nats or more, as it is of ${number(100 * level)} % of the rows ${held}.`,
  );
}

async function inline(items, job, { router, signal }) {
  const { tree, model } = job.result;
  const called = await namesOf(tree, signal);
  const own = Object.keys(items[0] ?? {}).filter(
    (key) => !["leaf", "path", "probabilities"].includes(key),
  );
  const rows = items.map((one, at) => [
    at,
    one.leaf,
    one.probabilities.at(-1),
    ...own.map((key) => one[key]),
  ]);
  return [
    counted(rows, own),
    rowTable(rows.slice(0, SHOWN), own, { router, tree, called }),
    rows.length > SHOWN &&
      el("p", { class: "quiet" }, `The first ${SHOWN} of ${count(rows.length)}.`),
    el(
      "div",
      { class: "row" },
      button("Save as CSV", {
        kind: "small",
        iconName: "download",
        onclick: () =>
          saveBlob(
            csvOf([["row", "leaf", "probability", ...own], ...rows]),
            `${model}-predictions.csv`,
          ),
      }),
    ),
  ];
}

/** How many rows there are, and how many are in-sample where the method says so. */
function counted(rows, own) {
  const at = own.indexOf("in_sample");
  const inside = rows.filter((row) => row[3 + at] === 1).length;
  const share = number((100 * inside) / rows.length);
  const says = at >= 0 && rows.length > 0;
  return el(
    "p",
    { role: "status" },
    plural(rows.length, "row"),
    says ? `, ${count(inside)} of them in-sample (${share} %).` : " placed.",
  );
}

/** Rows of [row, leaf, probability, ...own]. */
function rowTable(rows, own, { router, tree, called }) {
  const leafOf = ([, leaf]) =>
    el(
      "a",
      { href: router.href(`/trees/${tree}`, { node: String(leaf) }) },
      called.get(leaf) ? said(called.get(leaf)) : `node ${leaf}`,
    );
  const list = table({
    caption: "New rows and where they lie",
    columns: [
      { label: "Row", numeric: true, head: true, sort: (row) => row[0], cell: (row) => row[0] },
      { label: "Cluster", sort: (row) => row[1], cell: leafOf },
      {
        label: "Probability",
        numeric: true,
        sort: (row) => row[2],
        cell: (row) => number(row[2]),
      },
      ...own.map((name, at) => ({
        label: TITLES[name] ?? readable(name),
        numeric: name !== "in_sample" && typeof rows[0]?.[3 + at] === "number",
        sort: (row) => row[3 + at],
        cell: (row) => valueOf(name, row[3 + at]),
      })),
    ],
    rows,
  });
  list.classList.add("long");
  return list;
}

const valueOf = (name, value) =>
  name === "in_sample"
    ? value === 1
      ? "yes"
      : "no"
    : typeof value === "string"
      ? said(value)
      : number(value);

/** What a job of predictions has left: its first rows, and all of them as files. */
export function placed(job, { router, signal }) {
  const path = `/v1/jobs/${job.id}/predictions`;
  const place = el("div", { class: "stack" }, waiting());
  const save = (suffix, accept) => async () => {
    try {
      await download(path, `${job.id}.${suffix}`, { accept, signal });
    } catch (error) {
      if (!aborted(error)) toast(error.detail || error.message, { kind: "bad" });
    }
  };
  const draw = async () => {
    try {
      const { tree } = job.result;
      const [{ own, rows, whole }, called] = await Promise.all([
        peek(path, signal),
        namesOf(tree, signal),
      ]);
      replace(
        place,
        whole && counted(rows, own),
        rowTable(rows.slice(0, SHOWN), own, { router, tree, called }),
        (!whole || rows.length > SHOWN) && el("p", { class: "quiet" }, "The first rows of it."),
      );
    } catch (error) {
      if (!aborted(error)) replace(place, problemBox(error, { level: "h3", retry: draw }));
    }
  };
  draw();
  return el(
    "section",
    { class: "card", "aria-labelledby": "placed-title" },
    el("h2", { id: "placed-title" }, "Where the rows lie"),
    el(
      "div",
      { class: "stack" },
      place,
      el(
        "div",
        { class: "row" },
        button("Download as CSV", { iconName: "download", onclick: save("csv", "text/csv") }),
        button("Download as JSON", {
          iconName: "download",
          onclick: save("json", "application/json"),
        }),
      ),
    ),
  );
}

/** The first rows of an answer that may be as long as it likes. */
async function peek(path, signal) {
  const response = await raw(path, { accept: "text/csv", signal, quiet: true });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  let whole = false;
  while (text.length < PEEK_BYTES && !whole) {
    const { value, done } = await reader.read();
    whole = done;
    text += value ?? "";
  }
  if (!whole) {
    await reader.cancel();
    text = text.slice(0, text.lastIndexOf("\n"));
  }
  const [head, ...lines] = rowsOf(text);
  const own = head.slice(4);
  const rows = lines.map(([row, leaf, , shares, ...rest]) => [
    Number(row),
    Number(leaf),
    Number(shares.split(" ").at(-1)),
    ...rest.map((one) => (one !== "" && Number.isFinite(Number(one)) ? Number(one) : one)),
  ]);
  return { own, rows, whole };
}
