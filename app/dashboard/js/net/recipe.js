// The requests of the page as a script that repeats them: curl or Python. Ids that an earlier step of the
// script creates are taken from its answer; the key is never in it. Pure.

/** @import { Call } from "./log.js" */

/**
 * @typedef {{ base: string, keyed: boolean }} ScriptOptions `base`: the service's address; `keyed`: whether
 *   it needs a key
 * @typedef {{ kind: string, name: string, id: string }} Variable for the answer that created `id`
 */

/** @type {Record<string, string>} */
const KINDS = { ds: "dataset", job: "job", tr: "tree", md: "model", cmp: "comparison" };
const ID = /\b(ds|job|tr|md|cmp)_[0-9a-hjkmnp-tv-z]{26}\b/g;

/** @param {string} id */
const suffixOf = (id) => id.slice(id.indexOf("_") + 1);

/** @param {string} id */
const prefixOf = (id) => id.split("_")[0];

/**
 * The ids in a value, at any depth.
 *
 * @param {unknown} value
 * @returns {string[]}
 */
const idsIn = (value) => (value === undefined ? [] : (JSON.stringify(value).match(ID) ?? []));

/**
 * The calls behind an address of the page, oldest first: those about the ids in it, and before them
 * those that created these and their inputs. For an address without ids: the calls from `since` on.
 *
 * @param {readonly Call[]} log
 * @param {string} address
 * @param {number} since ms since 1970
 */
export function callsBehind(log, address, since) {
  const wanted = new Set(idsIn(address).map(suffixOf));
  const isByTime = wanted.size === 0;
  /** @type {Call[]} */
  const kept = [];
  for (const call of [...log].reverse()) {
    if (!call.status || call.status < 200 || call.status >= 300) continue;
    const touched = [...idsIn(call.path), ...idsIn(call.answer?.id)].map(suffixOf);
    const isWanted = isByTime ? call.at >= since : touched.some((id) => wanted.has(id));
    if (!isWanted) continue;
    if (!isByTime) for (const id of idsIn(call.body)) wanted.add(suffixOf(id));
    const isRepeat = kept.some((other) => other.path === call.path && other.method === call.method);
    if (!(isRepeat && call.method === "GET")) kept.push(call);
  }
  return kept.reverse();
}

/**
 * The id that a call has created, or undefined.
 *
 * @param {Call} call
 */
const createdId = (call) => (call.method === "POST" ? call.answer?.id : undefined);

/**
 * Variables for the answers of the steps, by the suffix of the id that each has created.
 *
 * @param {readonly Call[]} steps
 */
function variablesOf(steps) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  /** @type {Map<string, Variable>} */
  const variables = new Map();
  for (const step of steps) {
    const id = createdId(step);
    if (!id || variables.has(suffixOf(id))) continue;
    const kind = KINDS[prefixOf(id)] ?? "created";
    const n = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, n);
    variables.set(suffixOf(id), { kind, name: n > 1 ? `${kind}_${n}` : kind, id });
  }
  return variables;
}

/** @param {string} path */
const withoutSlash = (path) => path.replace(/^\//, "");

/** @param {Call} step */
const isJob = (step) => step.method === "POST" && /^\/v1\/(jobs|comparisons)$/.test(step.path);

/** @param {Call} step */
const isEvents = (step) => step.headers.Accept === "text/event-stream";

// --- curl ----------------------------------------------------------------------------------------

/** @param {string} text */
const shellQuoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

/**
 * A shell script of curl and jq.
 *
 * @param {readonly Call[]} steps
 * @param {ScriptOptions} options
 */
export function curl(steps, { base, keyed }) {
  const variables = variablesOf(steps);
  const lines = [`UMBEL=${shellWord(base.replace(/\/$/, ""))}`];
  if (keyed) lines.push(`: "\${UMBEL_API_KEY:?set it to your key}"`);
  const defined = new Set();
  /** @param {string} text */
  const filled = (text) => {
    // Outside the single quotes, so that the shell expands it.
    const quoted = shellQuoted(text).replaceAll(ID, (id) => {
      const variable = variables.get(suffixOf(id));
      return variable && defined.has(suffixOf(id)) ? `'"$${shellName(variable, id)}"'` : id;
    });
    return quoted.replace(/^''(?=.)|(?<=.)''$/g, "");
  };
  for (const [at, step] of steps.entries()) {
    const call = curlCall(step, { keyed, filled });
    const id = createdId(step);
    const variable = id && variables.get(suffixOf(id));
    if (!id || !variable || variable.id !== id || defined.has(suffixOf(id))) {
      lines.push("", call);
      continue;
    }
    const name = shellName(variable, id);
    lines.push("", `${name}=$(${call} | jq -r .id)`);
    defined.add(suffixOf(id));
    if (isJob(step)) lines.push(shellWait(`${step.path}/$${name}`, keyed));
    for (const other of siblings(steps.slice(at + 1), id)) {
      lines.push(`${shellName(variable, other)}="${prefixOf(other)}_\${${name}#*_}"`);
    }
  }
  return `${lines.join("\n")}\n`;
}

/**
 * A text as a word of the shell, quoted if needed.
 *
 * @param {string} text
 */
const shellWord = (text) => (/^[\w:/.%@+-]+$/.test(text) ? text : shellQuoted(text));

/**
 * One call of curl, over several lines.
 *
 * @param {Call} step
 * @param {{ keyed: boolean, filled: (text: string) => string }} options `filled`: a text quoted, its ids as
 *   variables
 */
function curlCall(step, { keyed, filled }) {
  const parts = [`curl -fsS "$UMBEL"${filled(`/${withoutSlash(step.path)}`)}`];
  if (!["GET", "POST"].includes(step.method)) parts.push(`-X ${step.method}`);
  if (keyed) parts.push(`-H "Authorization: Bearer $UMBEL_API_KEY"`);
  for (const [name, value] of Object.entries(step.headers)) {
    if (name === "Accept" && value === "application/json") continue;
    if (name !== "Last-Event-ID") parts.push(`-H ${shellQuoted(`${name}: ${value}`)}`);
  }
  if (isEvents(step)) parts.push("-N");
  if (step.file) {
    parts.push(`--data-binary ${step.file.source ? "@-" : shellQuoted(`@${step.file.name}`)}`);
    if (step.file.source) parts[0] = `curl -fsS "$UMBEL"/${step.file.source} | ${parts[0]}`;
  } else if (step.body !== undefined) parts.push(`-d ${filled(JSON.stringify(step.body))}`);
  else if (step.method === "POST") parts.push("-X POST");
  return parts.join(" \\\n  ");
}

/**
 * Other ids with the same suffix, one of each kind, in `steps`: the results of a job.
 *
 * @param {readonly Call[]} steps
 * @param {string} id
 */
function siblings(steps, id) {
  const all = steps.flatMap((step) => [...idsIn(step.path), ...idsIn(step.body)]);
  return [...new Set(all)].filter((other) => other !== id && suffixOf(other) === suffixOf(id));
}

/**
 * @param {string} path
 * @param {boolean} keyed
 */
function shellWait(path, keyed) {
  const header = keyed ? ` -H "Authorization: Bearer $UMBEL_API_KEY"` : "";
  return `until curl -fsS "$UMBEL${path}"${header} | jq -e .finished_at >/dev/null; do sleep 1; done`;
}

/**
 * @param {Variable} variable
 * @param {string} id
 */
function shellName(variable, id) {
  const kind = KINDS[prefixOf(id)];
  return (kind === variable.kind ? variable.name : `${kind}_of_${variable.name}`).toUpperCase();
}

// --- Python --------------------------------------------------------------------------------------

const CHECKED = `def checked(answer):
    if answer.is_error:
        raise SystemExit(answer.text)
    return answer
`;
const ENDED = `def ended(path):
    while True:
        job = checked(client.get(path)).json()
        if job["status"] in ("succeeded", "failed", "cancelled"):
            print(path, job["status"], job["error"] or "")
            return job
        time.sleep(0.2)
`;

/**
 * A Python script with httpx.
 *
 * @param {readonly Call[]} steps
 * @param {ScriptOptions} options
 */
export function python(steps, { base, keyed }) {
  const variables = variablesOf(steps);
  /** @type {Set<string>} */
  const defined = new Set();
  /** @param {string} id */
  const expression = (id) => {
    const variable = variables.get(suffixOf(id));
    return variable && defined.has(suffixOf(id)) ? pythonExpression(variable, id) : null;
  };
  const waits = steps.some((step) => isJob(step) && createdId(step));
  const imports = [...(keyed ? ["import os"] : []), ...(waits ? ["import time"] : [])];
  const key = keyed ? `, headers={"Authorization": "Bearer " + os.environ["UMBEL_API_KEY"]}` : "";
  const address = JSON.stringify(base.replace(/\/$/, ""));
  const lines = [
    ...imports,
    ...(imports.length ? [""] : []),
    "import httpx",
    "",
    `client = httpx.Client(base_url=${address}, timeout=120${key})`,
    "",
    "",
    CHECKED,
    ...(waits ? ["", ENDED] : []),
    "",
  ];
  for (const step of steps) {
    if (isEvents(step)) continue;
    const call = pythonCall(step, expression);
    const id = createdId(step);
    const variable = id && variables.get(suffixOf(id));
    if (id && variable && variable.id === id && !defined.has(suffixOf(id))) {
      const { name } = variable;
      lines.push(`${name} = ${call}.json()`);
      defined.add(suffixOf(id));
      if (isJob(step)) lines.push(`${name} = ended(f"${step.path}/{${name}['id']}")`);
    } else if (step.method === "GET") {
      lines.push(`print(${call}.text[:2000])`);
    } else {
      lines.push(call);
    }
  }
  return `${lines.join("\n")}\n`;
}

/**
 * An id in terms of the variable of its suffix; null if that does not hold it.
 *
 * @param {Variable} variable
 * @param {string} id
 */
function pythonExpression({ kind, name }, id) {
  const wanted = KINDS[prefixOf(id)];
  if (wanted === kind) return `${name}["id"]`;
  if (kind === "job" && (wanted === "tree" || wanted === "model")) {
    return `${name}["result"]["${wanted}"]`;
  }
  if (kind === "comparison" && wanted === "job") return `${name}["job"]`;
  return null;
}

/**
 * One call of httpx, on one line if that is short.
 *
 * @param {Call} step
 * @param {(id: string) => string | null} expression
 */
function pythonCall(step, expression) {
  const parameters = [pythonText(`/${withoutSlash(step.path)}`, expression)];
  if (step.file?.source) {
    parameters.push(`content=checked(client.get("/${step.file.source}")).content`);
  } else if (step.file) parameters.push(`content=open(${JSON.stringify(step.file.name)}, "rb")`);
  else if (step.body !== undefined) parameters.push(`json=${pythonLiteral(step.body, expression)}`);
  const headers = Object.entries(step.headers).filter(
    ([name, value]) => name !== "Last-Event-ID" && (step.file || value !== "application/json"),
  );
  if (headers.length) {
    parameters.push(`headers=${pythonLiteral(Object.fromEntries(headers), () => null)}`);
  }
  const method = step.method.toLowerCase();
  const short = `client.${method}(${parameters.join(", ")})`;
  if (short.length <= 84 && !short.includes("\n")) return `checked(${short})`;
  const long = parameters.map((parameter) => `${indented(parameter, 8)},`).join("\n");
  return `checked(\n    client.${method}(\n${long}\n    )\n)`;
}

/**
 * @param {string} text
 * @param {number} spaces
 */
const indented = (text, spaces) => text.replace(/^/gm, " ".repeat(spaces));

/**
 * A text as a literal, an f-string if it contains ids of variables.
 *
 * @param {string} value
 * @param {(id: string) => string | null} expression
 */
function pythonText(value, expression) {
  let isFilled = false;
  const inside = value
    .replaceAll("{", "{{")
    .replaceAll("}", "}}")
    .replaceAll(ID, (id) => {
      const reference = expression(id);
      if (!reference) return id;
      isFilled = true;
      return `{${reference.replaceAll('"', "'")}}`;
    });
  return isFilled ? `f${JSON.stringify(inside)}` : JSON.stringify(value);
}

/**
 * A JSON value as a literal.
 *
 * @param {unknown} value
 * @param {(id: string) => string | null} expression
 * @returns {string}
 */
function pythonLiteral(value, expression) {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value === "string") {
    return (/^(ds|job|tr|md|cmp)_/.test(value) && expression(value)) || JSON.stringify(value);
  }
  if (typeof value !== "object") return String(value);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  const inside = Array.isArray(value)
    ? value.map((item) => pythonLiteral(item, expression))
    : Object.entries(value ?? {}).map(
        ([name, item]) => `${JSON.stringify(name)}: ${pythonLiteral(item, expression)}`,
      );
  const line = `${open}${inside.join(", ")}${close}`;
  if (line.length <= 72 && !line.includes("\n")) return line;
  return `${open}\n${inside.map((item) => `${indented(item, 4)},`).join("\n")}\n${close}`;
}
