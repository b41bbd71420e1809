// The inputs of a method: for each role a dataset, or values typed in where they are words.

import { get } from "../net/requests.js";
import { button, el, field, replace, select, unique } from "../ui/dom.js";
import { moment } from "../ui/format.js";
import { fitting, labelOf, TEXTS } from "./datasets.js";
import { explained } from "./schema_form.js";

const TITLES = {
  logits: "Logits",
  features: "Features",
  labels: "Labels",
  names: "Names",
  feature_names: "Names of the features",
  distances: "Distances",
  similarity: "Similarity",
  base: "Earlier job to go on from",
  hierarchy: "True hierarchy",
  top_classes: "Best classes",
};

export const roleTitle = (role) =>
  TITLES[role] ?? role.replaceAll("_", " ").replace(/^./, (letter) => letter.toUpperCase());

/**
 * Rows for the roles in `roles` ({role: {required, many, description}}), of which exactly one of
 * `oneOf` is needed. `values` by role: an id, or a list of ids.
 * -> {element, read() -> {inputs, errors}, wrong(role, text), refresh(datasets)}
 */
export function inputsForm(roles, { oneOf = [], values = {}, datasets, method, onchange } = {}) {
  const rows = Object.entries(roles).map(([role, wanted]) =>
    inputRow(
      role,
      { ...wanted, choice: oneOf.includes(role), method },
      values[role],
      datasets,
      onchange,
    ),
  );
  const element = el(
    "div",
    { class: "grid inputs" },
    rows.map((one) => one.row),
  );
  return {
    element,
    read() {
      const inputs = {};
      const errors = {};
      for (const one of rows) {
        const { value, error } = one.read();
        if (error) errors[one.role] = error;
        if (value !== undefined) inputs[one.role] = value;
      }
      const given = oneOf.filter((role) => inputs[role] !== undefined);
      if (oneOf.length && given.length !== 1) {
        const names = oneOf.map((role) => roleTitle(role).toLowerCase()).join(", ");
        const role = given.length ? given.at(-1) : oneOf[0];
        errors[role] ??= `Exactly one of ${names} is needed.`;
      }
      for (const one of rows) one.row.wrong(errors[one.role] ?? null);
      return { inputs, errors };
    },
    wrong(role, text) {
      const one = rows.find((other) => other.role === role);
      one?.row.wrong(text);
      return one?.row;
    },
    refresh(next, chosen = {}) {
      for (const one of rows) one.refresh(next, chosen[one.role]);
    },
    roles: rows.map((one) => one.role),
  };
}

function inputRow(role, wanted, given, datasets, onchange) {
  const kind = role === "base" ? earlierJob : wanted.many ? several : one;
  const made = kind(role, wanted, given, datasets, onchange);
  const needed = wanted.required ? "required" : wanted.choice ? "one of these" : "optional";
  const row = field(roleTitle(role), made.control, {
    help: explained(wanted.description),
    hint: needed,
    group: made.group,
  });
  row.dataset.role = role;
  const read = () => {
    const { value, error } = made.read();
    if (error) return { error };
    if (value === undefined && wanted.required)
      return { error: "Choose one; this input is required." };
    return { value };
  };
  return { role, row, read, refresh: made.refresh };
}

const TYPED = "typed";

function one(role, wanted, given, datasets, onchange) {
  let typed = Array.isArray(given) ? given.map(String) : null;
  const list = select([], { name: role });
  const text = el("textarea", {
    rows: 4,
    spellcheck: "false",
    placeholder: "One a line",
    "aria-label": `${roleTitle(role)}, one a line`,
    value: typed ? typed.join("\n") : "",
    hidden: !typed,
    oninput: () => onchange?.(),
  });
  let known = [];
  const draw = (next, chosen) => {
    known = next;
    const fit = fitting(known, role);
    const options = [
      ["", fit.length || wanted.choice || !wanted.required ? "–" : "Nothing uploaded fits yet"],
    ];
    if (TEXTS.has(role)) options.push([TYPED, "Type them in…"]);
    options.push(...fit.map((dataset) => [dataset.id, labelOf(dataset)]));
    replace(list, [...select(options).childNodes]);
    list.value = options.some(([id]) => id === chosen) ? chosen : "";
  };
  draw(datasets, typed ? TYPED : given);
  list.addEventListener("change", () => {
    text.hidden = list.value !== TYPED;
    if (!text.hidden) text.focus();
    onchange?.();
  });
  const control = TEXTS.has(role) ? el("div", { class: "stack tight" }, list, text) : list;
  if (TEXTS.has(role)) list.setAttribute("aria-label", roleTitle(role));
  return {
    control,
    group: TEXTS.has(role),
    read() {
      if (list.value !== TYPED) return { value: list.value || undefined };
      const lines = text.value.split(/\r?\n/);
      while (lines.length && !lines.at(-1)) lines.pop();
      return lines.length ? { value: lines } : { error: "Type one a line, or choose nothing." };
    },
    refresh: (next, chosen) => {
      typed = null;
      draw(next, chosen ?? list.value);
    },
  };
}

/** Several datasets, one below the other. */
function several(role, wanted, given, datasets, onchange) {
  let known = datasets;
  let chosen = given === undefined ? [""] : [given].flat();
  const place = el("div", { class: "stack tight", role: "group", id: unique("several") });
  const draw = () => {
    const options = [["", "–"], ...fitting(known, role).map((one_) => [one_.id, labelOf(one_)])];
    replace(
      place,
      chosen.map((id, at) =>
        el(
          "div",
          { class: "row nowrap" },
          select(options, {
            value: id,
            "aria-label": `${roleTitle(role)}${chosen.length > 1 ? ` ${at + 1}` : ""}`,
            onchange: (event) => {
              chosen[at] = event.target.value;
              onchange?.();
            },
          }),
          chosen.length > 1 &&
            button("", {
              kind: "ghost icon-only",
              iconName: "close",
              "aria-label": `Remove ${at + 1}`,
              onclick: () => {
                chosen.splice(at, 1);
                draw();
                onchange?.();
              },
            }),
        ),
      ),
      button("Another space", {
        kind: "small ghost",
        iconName: "plus",
        onclick: () => {
          chosen.push("");
          draw();
          place.querySelectorAll("select")[chosen.length - 1].focus();
        },
      }),
    );
  };
  draw();
  return {
    control: place,
    group: true,
    read() {
      const ids = chosen.filter(Boolean);
      return { value: ids.length === 0 ? undefined : ids.length === 1 ? ids[0] : ids };
    },
    refresh: (next, first) => {
      known = next;
      if (first && !chosen.filter(Boolean).length) chosen = [first];
      draw();
    },
  };
}

/** A finished job of the same method. */
function earlierJob(role, wanted, given, datasets, onchange) {
  const list = select([["", "–"]], { name: role });
  list.addEventListener("change", () => onchange?.());
  const query = `status=succeeded&method=${encodeURIComponent(wanted.method ?? "")}&limit=100`;
  get(`/v1/jobs?${query}`, { quiet: true }).then(
    (page) => {
      const options = page.items.map((job) => [
        job.id,
        `${job.name ?? job.id} · ${moment(job.created_at)}`,
      ]);
      list.append(...select(options).childNodes);
      list.value = given ?? "";
    },
    () => {},
  );
  return { control: list, read: () => ({ value: list.value || undefined }), refresh: () => {} };
}
