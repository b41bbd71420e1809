// The inputs of a method: for each role a dataset, or texts typed in.

import { get } from "../net/requests.js";
import { upload } from "../net/uploads.js";
import { button, codeText, field, optionElements, select } from "../ui/controls.js";
import { el, focusFirst, replace, unique } from "../ui/dom.js";
import { distinct, moment, plural } from "../ui/format.js";
import { inspected } from "./datasets.js";
import { guessFile } from "./file_guess.js";
import { fileInput, onFiles } from "./file_input.js";
import { finder, MANY } from "./finder.js";
import { worded } from "./parameter_names.js";
import { fits, fitting, labelOf, roleTitle } from "./roles.js";
import { hintOf, isTyped, textOf, typedInput } from "./typed_input.js";

/** @import { Dataset, Job, Method, Model, Page, TreeSummary } from "../net/answers.js" */
/** @import { FieldRow, Option } from "../ui/controls.js" */
/** @import { Refusal } from "./fitted_rows.js" */

/**
 * @typedef {import("./typed_input.js").InputValue} InputValue
 * @typedef {import("./typed_input.js").InputReading} InputReading
 * @typedef {{ required: boolean, many: boolean, description: string, images?: boolean }} Role
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
 *   takesImages: boolean,
 *   initial: InputValue | undefined,
 *   datasets: Dataset[],
 *   method: string | undefined,
 *   refusal?: Refusal,
 *   onchange: () => unknown,
 * }} InputOptions
 *
 * @typedef {{
 *   signal: AbortSignal,
 *   columns?: (dataset: Dataset, role: string) => string[] | null,
 * }} Files where files are taken in place; `columns`: those that a table is read anew with
 *
 * @typedef {ReturnType<typeof inputsForm>} InputsForm
 */

/**
 * A form for the roles, of which exactly one of `oneOf`, and at least one of `someOf`, is needed.
 * `method` is whose earlier jobs are offered. `files`: each role also takes a file in place. `refusal` is
 * why a dataset cannot serve; what is refused is not offered. `titles`: what parameters are called that
 * descriptions name. With `isFolding`, inputs that nothing fits and nothing needs are folded.
 *
 * @param {Record<string, Role>} roles
 * @param {{
 *   oneOf?: string[],
 *   someOf?: string[],
 *   values?: Record<string, InputValue | undefined>,
 *   datasets: Dataset[],
 *   method?: string,
 *   files?: Files,
 *   refusal?: Refusal,
 *   titles?: Record<string, string>,
 *   isFolding?: boolean,
 *   onchange?: () => unknown,
 * }} options
 */
export function inputsForm(
  roles,
  {
    oneOf = [],
    someOf = [],
    values = {},
    datasets,
    method,
    files,
    refusal = () => null,
    titles = {},
    isFolding = false,
    onchange = () => {},
  },
) {
  const own = Object.fromEntries(Object.keys(roles).map((role) => [role, roleTitle(role)]));
  const words = { ...titles, ...own };
  /**
   * @param {string} role
   * @param {boolean} isRequired
   */
  const needOf = (role, isRequired) => {
    if (isRequired) return "required";
    if (oneOf.includes(role)) return "one of these";
    return someOf.includes(role) ? "at least one of these" : "optional";
  };
  const entries = Object.entries(roles).map(([role, wanted]) => {
    const isChoice = oneOf.includes(role);
    const isOptional = isChoice || !wanted.required;
    const takesImages = Boolean(wanted.images);
    const initial = values[role];
    const input = inputOf(wanted.many, { role, isOptional, takesImages, initial, datasets, method, refusal, onchange }); // prettier-ignore
    const row = field(roleTitle(role), input.control, {
      help: codeText(worded(wanted.description, words)),
      hint: needOf(role, wanted.required),
      group: input.group,
    });
    row.dataset.role = role;
    const file =
      files && role !== "base"
        ? fileInput({
            role,
            label: roleTitle(role),
            signal: files.signal,
            onready: (dataset, sent) => use(dataset, sent, role),
          })
        : null;
    if (file) input.control.after(file.element);
    const note = el("p", { class: "quiet", role: "status" });
    input.control.after(note);
    row.addEventListener("change", () => replace(note));
    return { role, row, input, isRequired: wanted.required, file, note };
  });
  /**
   * Choose the dataset of a file that came for `role`, and for labels besides where it has a column of them.
   *
   * @param {Dataset} sent
   * @param {File} file
   * @param {string} role
   * @returns {Promise<string | null>} why it is not used
   */
  const use = async (sent, file, role) => {
    let dataset = sent;
    const columns = files?.columns?.(sent, role);
    if (files && columns) {
      const again = await upload(file, {
        from: sent.id,
        choice: { columns },
        signal: files.signal,
      });
      dataset = await inspected(/** @type {Dataset} */ (again), files.signal);
      if (dataset.problem) return dataset.problem.detail ?? dataset.problem.title ?? "";
    }
    const wrong = refusal(dataset, role) ?? (fits(dataset, role, roles[role].images) ? null : `It cannot be ${roleTitle(role).toLowerCase()}.`); // prettier-ignore
    if (wrong) return wrong;
    known = [dataset, ...known];
    const isLabelledToo = "labels" in roles && role !== "labels" && fits(dataset, "labels");
    for (const entry of entries) {
      const isFree = entry.role === "labels" && entry.input.read().value === undefined;
      const isChosen = entry.role === role || (isLabelledToo && isFree);
      entry.input.refresh(known, isChosen ? dataset.id : undefined);
      if (!isChosen) continue;
      entry.row.setError(null);
      replace(entry.note);
    }
    onchange();
    return null;
  };
  let known = datasets;
  const grid = el("div", { class: "grid inputs" });
  const spare = el("div", { class: "grid inputs" });
  const summary = el("summary");
  const fold = el("details", { class: "more", hidden: true }, summary, spare);
  /** @param {string[]} group */
  const isChosenOf = (group) =>
    entries.some(({ role, input }) => group.includes(role) && input.read().value !== undefined);
  /** @param {typeof entries[number]} entry */
  const isSpare = ({ role, input, isRequired }) => {
    if (!isFolding || isRequired || input.read().value !== undefined) return false;
    if ([oneOf, someOf].some((group) => group.includes(role) && !isChosenOf(group))) return false;
    return role === "base" || !fitting(known, role, roles[role].images).length;
  };
  /** Fold the inputs that nothing fits. */
  const arrange = () => {
    const folded = entries.filter(isSpare);
    replace(grid, ...entries.filter((entry) => !folded.includes(entry)).map(({ row }) => row));
    replace(spare, ...folded.map(({ row }) => row));
    replace(summary, `${plural(folded.length, "more input")}, not needed`);
    fold.hidden = !folded.length;
  };
  arrange();
  /** @param {Dataset[] | null} found */
  const offer = (found) => {
    const usable = (found ?? []).filter(({ status }) => status !== "invalid");
    const ids = new Set(usable.map(({ id }) => id));
    known = [...usable, ...known.filter(({ id }) => !ids.has(id))];
    for (const { input } of entries) input.refresh(known);
    arrange();
  };
  const search = finder({
    path: "/v1/datasets",
    label: "Find among all data",
    noun: "dataset",
    onfound: offer,
  });
  search.hidden = datasets.length <= MANY || !entries.length;
  const element = el("div", { class: "stack tight" }, search, grid, fold);
  if (files) {
    onFiles(element, async (dropped, at) => {
      const row = at?.closest("[data-role]");
      for (const file of dropped) {
        const aim = entries.find((entry) => entry.row === row) ?? (await entryOf(file));
        await aim?.file?.take(file);
      }
    });
  }
  /**
   * The input that a file seems to be for, when it was dropped beside them all.
   *
   * @param {File} file
   */
  const entryOf = async (file) => {
    const { use: guess } = await guessFile(file);
    return entries.find(({ role }) => role === guess) ?? entries.find(({ isRequired }) => isRequired) ?? entries[0]; // prettier-ignore
  };
  return {
    element,
    /** The datasets that are offered, with what came as files. */
    datasets: () => known,
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
      if (someOf.length && !someOf.some((role) => role in inputs)) {
        const names = someOf.map((role) => roleTitle(role).toLowerCase()).join(", ");
        errors[someOf[0]] ??= `At least one of ${names} is needed.`;
      }
      const chosen = oneOf.filter((role) => role in inputs);
      if (oneOf.length && chosen.length !== 1) {
        const names = oneOf.map((role) => roleTitle(role).toLowerCase()).join(", ");
        errors[chosen.at(-1) ?? oneOf[0]] ??= `Exactly one of ${names} is needed.`;
      }
      for (const { role, row } of entries) {
        row.setError(errors[role] ?? null);
        if (errors[role] && spare.contains(row)) fold.open = true;
      }
      return { inputs, errors };
    },
    /** The inputs that are chosen so far, right or wrong. */
    chosen: () => Object.fromEntries(entries.map(({ role, input }) => [role, input.read().value])),
    /**
     * Choose a dataset for the user, and say why.
     *
     * @param {string} role
     * @param {string} id
     * @param {string} why
     */
    suggest(role, id, why) {
      const entry = entries.find((candidate) => candidate.role === role);
      entry?.input.refresh(known, id);
      arrange();
      if (entry) replace(entry.note, why);
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
      if (entry && spare.contains(entry.row)) fold.open = true;
      return entry?.row;
    },
    /**
     * Offer other datasets, and choose some of them by role.
     *
     * @param {Dataset[]} next
     * @param {Record<string, string>} chosen
     */
    refresh(next, chosen) {
      known = next;
      for (const { role, input } of entries) input.refresh(next, chosen[role]);
      arrange();
    },
  };
}

/**
 * The inputs that predictions need; the time of a row is optional.
 *
 * @param {Method} method
 * @param {Model} model
 * @returns {Record<string, Role>}
 */
export function rolesOf(method, model) {
  const roles = new Set(model.inputs);
  if ("timestamps" in method.inputs) roles.add("timestamps");
  return Object.fromEntries(
    [...roles].map((role) => [
      role,
      { ...method.inputs[role], required: model.inputs.includes(role), many: false },
    ]),
  );
}

/**
 * @param {boolean} many
 * @param {InputOptions} options
 */
function inputOf(many, options) {
  if (options.role === "base") return earlierJob(options);
  if (many) return severalDatasets(options);
  return isTyped(options.role) ? datasetOrTyped(options) : oneDataset(options);
}

/**
 * The options of a select for the datasets that fit.
 *
 * @param {InputOptions} options
 * @param {Dataset[]} datasets
 * @param {Option[]} [others]
 * @returns {Option[]}
 */
function datasetOptions({ role, isOptional, takesImages, refusal }, datasets, others = []) {
  const fit = fitting(datasets, role, takesImages).filter((dataset) => !refusal?.(dataset, role));
  return [
    ["", fit.length || isOptional ? "–" : "No uploaded dataset fits yet"],
    ...others,
    ...labelled(fit),
  ];
}

/**
 * Options that tell datasets apart: of the same name and shape, by when they were uploaded.
 *
 * @param {Dataset[]} datasets
 * @returns {Option[]}
 */
const labelled = (datasets) =>
  distinct(
    datasets.map((dataset) => ({
      value: dataset.id,
      label: labelOf(dataset),
      detail: moment(dataset.created_at),
    })),
  );

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
 * A dataset, or a typed text; for a hierarchy also a tree.
 *
 * @param {InputOptions} options
 * @returns {Input}
 */
function datasetOrTyped(options) {
  const { role, initial, datasets, onchange } = options;
  const typed = Array.isArray(initial) ? textOf(initial, role) : null;
  const list = select([], { name: role, "aria-label": roleTitle(role) });
  const area = el("textarea", {
    rows: 4,
    spellcheck: "false",
    placeholder: hintOf(role),
    "aria-label": `${roleTitle(role)}, typed in`,
    value: typed ?? "",
    hidden: typed === null,
    oninput: onchange,
  });
  list.addEventListener("change", () => {
    area.hidden = list.value !== TYPED;
    if (!area.hidden) area.focus();
    onchange();
  });
  let known = datasets;
  /** @type {Option[]} */
  let trees = [];
  /** @type {Input["refresh"]} */
  const refresh = (next, chosen = list.value) => {
    known = next;
    const others = [/** @type {Option} */ ([TYPED, "Type it in…"]), ...trees];
    replace(list, optionElements(datasetOptions(options, next, others), chosen));
  };
  const wanted = typed === null && typeof initial === "string" ? initial : "";
  refresh(datasets, typed === null ? wanted : TYPED);
  if (role === "hierarchy") {
    const offer = async () => {
      trees = await treeOptions(wanted);
      refresh(known, list.value || wanted);
    };
    offer().catch(() => {}); // Then no tree is offered.
  }
  return {
    control: el("div", { class: "stack tight" }, list, area),
    group: true,
    read: () =>
      list.value === TYPED ? typedInput(area.value, role) : { value: list.value || undefined },
    refresh,
  };
}

/**
 * The newest trees, and the one of `wanted` besides.
 *
 * @param {string} wanted an id, or ""
 * @returns {Promise<Option[]>}
 */
async function treeOptions(wanted) {
  /** @type {Page<TreeSummary>} */
  const { items } = await get("/v1/trees?limit=100", { quiet: true });
  /** @type {Option[]} */
  const trees = distinct(
    items.map(({ id, name, method, n_leaves: n, created_at: created }) => ({
      value: id,
      label: `Tree: ${name ?? method} · ${plural(n, "leaf", "leaves")}`,
      detail: moment(created),
    })),
  );
  const isListed = !wanted.startsWith("tr_") || items.some(({ id }) => id === wanted);
  return isListed ? trees : [[wanted, `Tree ${wanted}`], ...trees];
}

/**
 * Several datasets, one below the other.
 *
 * @param {InputOptions} options
 * @returns {Input}
 */
function severalDatasets({ role, takesImages, initial, datasets, onchange }) {
  let known = datasets;
  let chosen = initial === undefined ? [""] : [initial].flat().map(String);
  const place = el("div", { class: "stack tight", role: "group", id: unique("several") });
  const draw = () => {
    /** @type {Option[]} */
    const options = [["", "–"], ...labelled(fitting(known, role, takesImages))];
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
