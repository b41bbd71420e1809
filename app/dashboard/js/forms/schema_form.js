// A form made from a JSON Schema: what the catalogue says of a method's parameters.

import { el, field, select } from "../ui/dom.js";
import { number } from "../ui/format.js";

const NAMES = {
  n_clusters: "Number of clusters",
  n_init: "Restarts",
  n_neighbors: "Neighbours",
  k_neighbors: "Neighbours",
  n_heads: "Heads",
  n_folds: "Folds",
  n_rounds: "Rounds",
  n_classes: "Number of classes",
  n_references: "Reference sets",
  max_iter: "Most iterations",
  max_leaves: "Most leaves",
  max_clusters: "Most clusters",
  min_clusters: "Fewest clusters",
  min_cluster_size: "Smallest cluster",
  max_cluster_size: "Largest cluster",
  tol: "Tolerance",
  reg_covar: "Covariance floor",
  choose: "Choose the number by",
  n: "Components",
  n_periods: "Periods",
  n_samples: "Sweeps kept",
  burn_in: "Sweeps thrown away",
  kappa: "Concentration κ",
  max_kappa: "Largest concentration",
  kappa_median: "Median of the concentrations",
  kappa_sigma: "Spread of log concentrations",
  empirical_bayes: "Estimate the priors",
  held_out: "Share held out",
  level: "Level of in-sample",
  first_c0: "C0 of the first period",
  weight_sd: "Step of log weights",
};

/** What is seldom changed: it is folded away where a method has many parameters. */
const FINE = new Set([
  ...["seed", "max_iter", "tol", "device", "processes", "level"],
  ...["batch_size", "delay", "forgetting", "burn_in", "n_samples"],
  ...["empirical_bayes", "max_kappa", "kappa_median", "kappa_sigma", "first_c0", "weight_sd"],
]);
const MANY = 12;

/** "learning_rate" -> "Learning rate". */
export const readable = (name) =>
  NAMES[name] ??
  name
    .replace(/^n_/, "")
    .replaceAll("_", " ")
    .replace(/^./, (letter) => letter.toUpperCase());

/**
 * A form for the properties of `schema`. `values` are those that differ from the defaults.
 * -> {element, read(), wrong(name, text), clear(), rows}; read() gives {values, errors}: values that
 * differ from the defaults, and what is wrong by name.
 */
export function schemaForm(schema, { values = {}, onchange, skip = [] } = {}) {
  const parts = Object.entries(schema.properties ?? {})
    .filter(([name]) => !skip.includes(name))
    .map(([name, property]) =>
      part(name, simplified(property, schema.$defs), values[name], onchange),
    );
  const needed = new Set(schema.required ?? []);
  const fine = parts.length > MANY ? parts.filter((one) => FINE.has(one.name)) : [];
  const grid = (some) =>
    el(
      "div",
      { class: "grid params" },
      some.map((one) => one.row),
    );
  const fold =
    fine.length > 0 &&
    el(
      "details",
      { class: "more", open: fine.some((one) => values[one.name] !== undefined) },
      el("summary", {}, `Fine tuning: ${fine.length} that seldom need a change`),
      grid(fine),
    );
  const element = fold
    ? el("div", { class: "stack" }, grid(parts.filter((one) => !fine.includes(one))), fold)
    : grid(parts);
  // What is wrong is seen.
  const unfold = (one) => {
    if (fold && fine.includes(one)) fold.open = true;
  };
  const byName = new Map(parts.map((one) => [one.name, one]));
  return {
    element,
    isEmpty: parts.length === 0,
    read() {
      const found = {};
      const errors = {};
      for (const one of parts) {
        const { value, error } = one.read();
        const missing = value === undefined && needed.has(one.name);
        const wrong = error ?? (missing ? "This is required." : null);
        one.row.wrong(wrong);
        if (wrong) {
          errors[one.name] = wrong;
          unfold(one);
        } else if (value !== undefined && !same(value, one.initial)) found[one.name] = value;
      }
      return { values: found, errors };
    },
    wrong(name, text) {
      const one = byName.get(name);
      one?.row.wrong(text);
      if (text) unfold(one);
      return one?.row;
    },
    clear() {
      for (const one of parts) one.row.wrong(null);
    },
  };
}

const same = (a, b) => a === b || JSON.stringify(a) === JSON.stringify(b);

/** One kind and whether null is allowed, of a property that may be either; `kinds` if several. */
export function simplified(property, defs = {}) {
  const resolved = (one) => (one.$ref ? { ...defs[one.$ref.split("/").at(-1)], ...one } : one);
  const whole = resolved(property);
  const choices = (whole.anyOf ?? whole.oneOf)?.map(resolved);
  if (!choices) return { ...whole, nullable: whole.type === "null" };
  const rest = choices.filter((one) => one.type !== "null");
  const nullable = rest.length < choices.length;
  return rest.length === 1
    ? { ...whole, ...rest[0], nullable }
    : { ...whole, kinds: rest, nullable };
}

function part(name, property, given, onchange) {
  const initial = property.default;
  const value = given === undefined ? initial : given;
  const make = kindOf(property);
  const made = make(name, property, value);
  made.control.addEventListener("change", () => {
    row.wrong(made.read().error ?? null);
    onchange?.();
  });
  const hint = el("code", {}, name);
  const help = [explained(property.description), made.range && ` ${made.range}`].filter(Boolean);
  const row =
    made.row?.(readable(name), help, hint) ??
    field(readable(name), made.control, { help: help.length ? help : null, hint });
  row.dataset.param = name;
  return { name, initial, row, read: made.read };
}

/** A description with what stands in backquotes as code. */
export function explained(text) {
  if (!text) return null;
  return text.split("`").map((piece, at) => (at % 2 ? el("code", {}, piece) : piece));
}

function kindOf(property) {
  if (property.kinds) return either;
  if (property.type === "array") return listed;
  if (property.enum || property.const !== undefined) return choice;
  if (property.type === "boolean") return tick;
  if (property.type === "integer" || property.type === "number") return amount;
  return words;
}

function choice(name, property, value) {
  const values = property.enum ?? [property.const];
  const options = values.map((one) => [JSON.stringify(one), String(one)]);
  if (property.nullable) options.unshift(["null", "none"]);
  const control = select(options, { value: JSON.stringify(value ?? null), name });
  return { control, read: () => ({ value: JSON.parse(control.value) }) };
}

function tick(name, property, value) {
  const control = el("input", { type: "checkbox", name, checked: Boolean(value) });
  const row = (label, help, hint) => {
    const made = field(label, control, { help, hint });
    const title = made.querySelector("label");
    title.className = "check";
    title.prepend(control);
    return made;
  };
  return { control, row, read: () => ({ value: control.checked }) };
}

function amount(name, property, value) {
  const whole = property.type === "integer";
  const low = property.minimum ?? property.exclusiveMinimum;
  const high = property.maximum ?? property.exclusiveMaximum;
  const control = textInput(name, property, value ?? "");
  control.inputMode = whole ? "numeric" : "decimal";
  const open = property.exclusiveMinimum !== undefined;
  const openAbove = property.exclusiveMaximum !== undefined;
  const range = describeRange(low, high, open, openAbove, whole);
  const kind = whole ? "a whole number" : "a number";
  const wanted = range ? `${kind} ${range}` : kind;
  const read = () => {
    if (!control.value.trim()) {
      if (property.nullable) return { value: null };
      return property.default === undefined
        ? { value: undefined }
        : { error: `Give ${wanted}; the default is ${property.default}.` };
    }
    const found = numberOf(control.value);
    const below = low !== undefined && (open ? found <= low : found < low);
    const above = high !== undefined && (openAbove ? found >= high : found > high);
    if (!Number.isFinite(found) || (whole && !Number.isInteger(found)) || below || above) {
      return { error: `Give ${wanted}${property.nullable ? ", or nothing" : ""}.` };
    }
    return { value: found };
  };
  return { control, read, range: range && `${kind[0].toUpperCase()}${kind.slice(1)} ${range}.` };
}

function describeRange(low, high, open, openAbove, whole) {
  const far = (value) => value === undefined || Math.abs(value) >= (whole ? 1e15 : 1e12);
  if (low !== undefined && !far(high)) {
    if (!open && !openAbove) return `from ${number(low)} to ${number(high)}`;
    return `${open ? "above" : "from"} ${number(low)}, ${openAbove ? "below" : "up to"} ${number(high)}`;
  }
  if (low !== undefined) return open ? `above ${number(low)}` : `of ${number(low)} or more`;
  return far(high) ? "" : `up to ${number(high)}`;
}

/** Several values with commas between them. */
function listed(name, property, value) {
  const control = textInput(name, property, (value ?? []).join(", "));
  const item = simplified(property.items ?? {});
  const read = () => {
    const pieces = control.value.split(/[,;\s]+/).filter(Boolean);
    if (!pieces.length && property.nullable) return { value: null };
    const values = pieces.map((piece) => ofKind(piece, item));
    if (values.includes(undefined))
      return { error: `Give ${nameOf(item)}s with commas between them.` };
    const { minItems = 0, maxItems = Infinity } = property;
    if (values.length < minItems || values.length > maxItems) {
      return {
        error: `Give ${describeRange(minItems, maxItems === Infinity ? undefined : maxItems)} values.`,
      };
    }
    return { value: values };
  };
  return { control, read, range: "Several, with commas between them." };
}

/** A number or a word, say: the first kind that the text is of. */
function either(name, property, value) {
  const control = textInput(name, property, value ?? "");
  const words_ = property.kinds.flatMap(
    (one) => one.enum ?? (one.const === undefined ? [] : [one.const]),
  );
  const wanted = property.kinds.map(nameOf).join(" or ");
  const read = () => {
    const text = control.value.trim();
    if (!text && property.nullable) return { value: null };
    const found = property.kinds.map((kind) => ofKind(text, kind)).find((one) => one !== undefined);
    return found === undefined ? { error: `Give ${wanted}.` } : { value: found };
  };
  return {
    control,
    read,
    range: words_.length ? `${wanted[0].toUpperCase()}${wanted.slice(1)}.` : null,
  };
}

/** The text as a value of a plain kind; undefined where it is none. */
function ofKind(text, kind) {
  const words_ = kind.enum ?? (kind.const === undefined ? null : [kind.const]);
  if (words_) return words_.find((one) => String(one) === text);
  if (kind.type === "string" || kind.type === undefined) return text;
  if (kind.type === "boolean") return { true: true, false: false }[text];
  const found = numberOf(text);
  const low = kind.minimum ?? kind.exclusiveMinimum ?? -Infinity;
  const high = kind.maximum ?? kind.exclusiveMaximum ?? Infinity;
  const open = found === kind.exclusiveMinimum || found === kind.exclusiveMaximum;
  const whole = kind.type !== "integer" || Number.isInteger(found);
  return Number.isFinite(found) && whole && found >= low && found <= high && !open
    ? found
    : undefined;
}

function nameOf(kind) {
  const words_ = kind.enum ?? (kind.const === undefined ? null : [kind.const]);
  if (words_) return words_.join(", ");
  return (
    { integer: "a whole number", number: "a number", boolean: "true or false" }[kind.type] ??
    "a text"
  );
}

const textInput = (name, property, value) =>
  el("input", {
    type: "text",
    name,
    value: String(value),
    autocomplete: "off",
    spellcheck: "false",
    placeholder: property.nullable ? "none" : "",
  });

/** The number in a text, "12,000" too; NaN where there is none. */
function numberOf(text) {
  const given = text.trim();
  const grouped = /^[+-]?[1-9]\d{0,2}([\s_,]\d{3})+(\.\d+)?$/.test(given);
  const plain = grouped ? given.replaceAll(/[\s_,]/g, "") : given;
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain) ? Number(plain) : NaN;
}

function words(name, property, value) {
  const control = textInput(name, property, value ?? "");
  const pattern = property.pattern && new RegExp(property.pattern, "u");
  const read = () => {
    const text = control.value;
    if (!text && property.nullable) return { value: null };
    if (pattern && !pattern.test(text)) return { error: `It must match ${property.pattern}.` };
    return { value: text };
  };
  return { control, read };
}

/** A short text of params: "linkage ward, metric cosine"; of none: "defaults". */
export function shownParams(params) {
  const entries = Object.entries(params ?? {});
  if (!entries.length) return "defaults";
  return entries.map(([name, value]) => `${name} ${value === null ? "none" : value}`).join(", ");
}

/** The params that differ from the defaults of a method's schema. */
export function changedParams(schema, params) {
  const found = {};
  for (const [name, value] of Object.entries(params ?? {})) {
    const property = schema?.properties?.[name];
    if (!property || !same(property.default, value)) found[name] = value;
  }
  return found;
}
