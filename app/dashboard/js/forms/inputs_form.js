// The inputs of a method: for each role a dataset, or texts typed in.

import { get } from "../net/requests.js";
import { button, codeText, field, optionElements, select } from "../ui/controls.js";
import { el, focusFirst, replace, unique } from "../ui/dom.js";
import { moment } from "../ui/format.js";
import { fitting, labelOf, roleTitle, TEXTS } from "./roles.js";

/** @import { Dataset, Job, Page } from "../net/answers.js" */
/** @import { FieldRow, Option } from "../ui/controls.js" */

/**
 * @typedef {string | string[]} InputValue an id, several ids, or texts
 * @typedef {{ required: boolean, many: boolean, description: string }} Role
 * @typedef {{ value?: InputValue, error?: string }} InputReading
 *
 * @typedef {{
 *   control: HTMLElement,
 *   group: boolean,
 *   read: () => InputReading,
 *   refresh: (datasets: Dataset[], chosen?: string) => void,
 * }} Input `refresh` offers other datasets, of which one may be chosen
 *
 * @typedef {{
 *   role: string,
 *   isOptional: boolean,
 *   initial: InputValue | undefined,
 *   datasets: Dataset[],
 *   method: string | undefined,
 *   onchange: () => unknown,
 * }} InputOptions
 *
 * @typedef {ReturnType<typeof inputsForm>} InputsForm
 */

/**
 * A form for the roles, of which exactly one of `oneOf` is needed. `method` is whose earlier jobs are
 * offered.
 *
 * @param {Record<string, Role>} roles
 * @param {{
 *   oneOf?: string[],
 *   values?: Record<string, InputValue | undefined>,
 *   datasets: Dataset[],
 *   method?: string,
 *   onchange?: () => unknown,
 * }} options
 */
export function inputsForm(
  roles,
  { oneOf = [], values = {}, datasets, method, onchange = () => {} },
) {
  const entries = Object.entries(roles).map(([role, wanted]) => {
    const isChoice = oneOf.includes(role);
    const isOptional = isChoice || !wanted.required;
    const initial = values[role];
    const input = inputOf(wanted.many, { role, isOptional, initial, datasets, method, onchange });
    const row = field(roleTitle(role), input.control, {
      help: codeText(wanted.description),
      hint: wanted.required ? "required" : isChoice ? "one of these" : "optional",
      group: input.group,
    });
    row.dataset.role = role;
    return { role, row, input, isRequired: wanted.required };
  });
  return {
    element: el(
      "div",
      { class: "grid inputs" },
      entries.map((entry) => entry.row),
    ),
    roles: entries.map((entry) => entry.role),
    /** The inputs that are chosen, and the errors by role, which are shown. */
    read() {
      /** @type {Record<string, InputValue>} */
      const inputs = {};
      /** @type {Record<string, string>} */
      const errors = {};
      for (const { role, input, isRequired } of entries) {
        const { value, error } = input.read();
        if (error) errors[role] = error;
        else if (value !== undefined) inputs[role] = value;
        else if (isRequired) errors[role] = "Choose a dataset; this input is required.";
      }
      const chosen = oneOf.filter((role) => role in inputs);
      if (oneOf.length && chosen.length !== 1) {
        const names = oneOf.map((role) => roleTitle(role).toLowerCase()).join(", ");
        errors[chosen.at(-1) ?? oneOf[0]] ??= `Exactly one of ${names} is needed.`;
      }
      for (const { role, row } of entries) row.setError(errors[role] ?? null);
      return { inputs, errors };
    },
    /** Remove the errors. */
    clear() {
      for (const { row } of entries) row.setError(null);
    },
    /**
     * Show an error at a role; its row.
     *
     * @param {unknown} role
     * @param {string} text
     * @returns {FieldRow | undefined}
     */
    setError(role, text) {
      const entry = entries.find((candidate) => candidate.role === role);
      entry?.row.setError(text);
      return entry?.row;
    },
    /**
     * Offer other datasets, and choose some of them by role.
     *
     * @param {Dataset[]} next
     * @param {Record<string, string>} chosen
     */
    refresh(next, chosen) {
      for (const { role, input } of entries) input.refresh(next, chosen[role]);
    },
  };
}

/**
 * @param {boolean} many
 * @param {InputOptions} options
 */
function inputOf(many, options) {
  if (options.role === "base") return earlierJob(options);
  if (many) return severalDatasets(options);
  return TEXTS.has(options.role) ? datasetOrTexts(options) : oneDataset(options);
}

/**
 * The options of a select for the datasets that fit.
 *
 * @param {InputOptions} options
 * @param {Dataset[]} datasets
 * @param {Option[]} [others]
 * @returns {Option[]}
 */
function datasetOptions({ role, isOptional }, datasets, others = []) {
  const fit = fitting(datasets, role);
  return [
    ["", fit.length || isOptional ? "–" : "No uploaded dataset fits yet"],
    ...others,
    ...fit.map(idAndLabel),
  ];
}

/**
 * @param {Dataset} dataset
 * @returns {Option}
 */
const idAndLabel = (dataset) => [dataset.id, labelOf(dataset)];

/**
 * @param {InputOptions} options
 * @returns {Input}
 */
function oneDataset(options) {
  const { role, initial, datasets, onchange } = options;
  const list = select([], { name: role, onchange });
  /** @type {Input["refresh"]} */
  const refresh = (next, chosen = list.value) =>
    void replace(list, optionElements(datasetOptions(options, next), chosen));
  refresh(datasets, typeof initial === "string" ? initial : "");
  return { control: list, group: false, read: () => ({ value: list.value || undefined }), refresh };
}

const TYPED = "typed";

/**
 * A dataset, or typed texts, one per line.
 *
 * @param {InputOptions} options
 * @returns {Input}
 */
function datasetOrTexts(options) {
  const { role, initial, datasets, onchange } = options;
  const texts = Array.isArray(initial) ? initial.map(String) : null;
  const list = select([], { name: role, "aria-label": roleTitle(role) });
  const area = el("textarea", {
    rows: 4,
    spellcheck: "false",
    placeholder: "One per line",
    "aria-label": `${roleTitle(role)}, one per line`,
    value: texts ? texts.join("\n") : "",
    hidden: !texts,
    oninput: onchange,
  });
  list.addEventListener("change", () => {
    area.hidden = list.value !== TYPED;
    if (!area.hidden) area.focus();
    onchange();
  });
  /** @type {Input["refresh"]} */
  const refresh = (next, chosen = list.value) =>
    void replace(
      list,
      optionElements(datasetOptions(options, next, [[TYPED, "Type them in…"]]), chosen),
    );
  refresh(datasets, texts ? TYPED : typeof initial === "string" ? initial : "");
  return {
    control: el("div", { class: "stack tight" }, list, area),
    group: true,
    read() {
      if (list.value !== TYPED) return { value: list.value || undefined };
      const lines = area.value.split(/\r?\n/);
      while (lines.length && !lines.at(-1)) lines.pop();
      return lines.length ? { value: lines } : { error: "Type one per line, or choose nothing." };
    },
    refresh,
  };
}

/**
 * Several datasets, one below the other.
 *
 * @param {InputOptions} options
 * @returns {Input}
 */
function severalDatasets({ role, initial, datasets, onchange }) {
  let known = datasets;
  let chosen = initial === undefined ? [""] : [initial].flat();
  const place = el("div", { class: "stack tight", role: "group", id: unique("several") });
  const draw = () => {
    /** @type {Option[]} */
    const options = [["", "–"], ...fitting(known, role).map(idAndLabel)];
    const isList = chosen.length > 1;
    replace(
      place,
      chosen.map((id, at) =>
        el(
          "div",
          { class: "row nowrap" },
          select(options, {
            value: id,
            "aria-label": `${roleTitle(role)}${isList ? ` ${at + 1}` : ""}`,
            onchange: (event) => {
              chosen[at] = event.currentTarget.value;
              onchange();
            },
          }),
          isList &&
            button("", {
              kind: "ghost icon-only",
              iconName: "close",
              "aria-label": `Remove ${at + 1}`,
              onclick: () => {
                chosen.splice(at, 1);
                draw();
                onchange();
              },
            }),
        ),
      ),
      button("Another dataset", {
        kind: "small ghost",
        iconName: "plus",
        onclick: () => {
          chosen.push("");
          draw();
          focusFirst(place.children[chosen.length - 1], "select");
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
      return { value: ids.length > 1 ? ids : ids[0] };
    },
    refresh: (next, first) => {
      known = next;
      if (first && !chosen.some(Boolean)) chosen = [first];
      draw();
    },
  };
}

/**
 * A finished job of the same method.
 *
 * @param {InputOptions} options
 * @returns {Input}
 */
function earlierJob({ role, initial, method, onchange }) {
  const list = select([["", "–"]], { name: role, onchange });
  const query = `status=succeeded&method=${encodeURIComponent(method ?? "")}&limit=100`;
  const load = async () => {
    /** @type {Page<Job>} */
    const page = await get(`/v1/jobs?${query}`, { quiet: true });
    list.append(
      ...optionElements(
        page.items.map((job) => [job.id, `${job.name ?? job.id} · ${moment(job.created_at)}`]),
        typeof initial === "string" ? initial : "",
      ),
    );
  };
  load().catch(() => {}); // Then the list stays empty.
  return {
    control: list,
    group: false,
    read: () => ({ value: list.value || undefined }),
    refresh: () => {},
  };
}
