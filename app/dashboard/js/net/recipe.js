// What the page asked of the service, as a script that does the same: curl or Python. Ids that an
// earlier step of the script makes are taken from its answer; the key is never in it.

const PREFIX = { ds: "dataset", job: "job", tr: "tree", md: "model", cmp: "comparison" };
const ID = /\b(ds|job|tr|md|cmp)_[0-9a-hjkmnp-tv-z]{26}\b/g;

const suffix = (id) => id.slice(id.indexOf("_") + 1);
const idsIn = (value) => (value === undefined ? [] : (JSON.stringify(value).match(ID) ?? []));

/**
 * The calls that made what stands in `address` (the page's own), oldest first: those that ask for
 * it, and before them those that made it and what went into it. Without ids in the address: what
 * was asked since `since`.
 */
export function story(log, address, since) {
  const good = log.filter((one) => one.status >= 200 && one.status < 300);
  const wanted = new Set(idsIn(address).map(suffix));
  const here = (one) => one.at >= since && one.method === "GET";
  const kept = [];
  for (const one of [...good].reverse()) {
    const touched = [...idsIn(one.path), ...idsIn(one.answer?.id)].map(suffix);
    const about = wanted.size ? touched.some((id) => wanted.has(id)) : here(one) || one.at >= since;
    if (!about) continue;
    for (const id of idsIn(one.body)) wanted.add(suffix(id));
    const again = kept.some((other) => other.path === one.path && other.method === one.method);
    if (!(again && one.method === "GET")) kept.push(one);
  }
  return kept.reverse();
}

/** Names for what the steps make: {suffix: name}, in order of the steps. */
function named(steps) {
  const counts = {};
  const names = new Map();
  for (const step of steps) {
    const id = step.method === "POST" && step.answer?.id;
    if (!id || names.has(suffix(id))) continue;
    const base = PREFIX[id.split("_")[0]] ?? "made";
    counts[base] = (counts[base] ?? 0) + 1;
    names.set(suffix(id), { base, name: counts[base] > 1 ? `${base}_${counts[base]}` : base, id });
  }
  return names;
}

const query = (path) => path.replace(/^\//, "");
const isJob = (step) => step.method === "POST" && /^\/v1\/(jobs|comparisons)$/.test(step.path);
const isEvents = (step) => step.headers.Accept === "text/event-stream";

// --- curl ----------------------------------------------------------------------------------------

const quoted = (text) => `'${String(text).replaceAll("'", `'\\''`)}'`;

/** A shell script of curl and jq. `base`: the service's address; `keyed`: whether it has keys. */
export function curl(steps, { base, keyed }) {
  const names = named(steps);
  const lines = [`UMBEL=${base.replace(/\/$/, "")}`];
  if (keyed) lines.push(`: "\${UMBEL_API_KEY:?set it to your key}"`);
  const made = new Set();
  const replaced = (text) => {
    // Outside of the single quotes, so that the shell fills it in.
    const escaped = quoted(text).replaceAll(ID, (id) => {
      const known = names.get(suffix(id));
      return known && made.has(suffix(id)) ? `'"$${shellName(known, id)}"'` : id;
    });
    return escaped.replace(/^''(?=.)|(?<=.)''$/g, "");
  };
  for (const [at, step] of steps.entries()) {
    const id = step.method === "POST" && step.answer?.id;
    const url = `"$UMBEL"${replaced(`/${query(step.path)}`)}`;
    const parts = [`curl -fsS ${url}`];
    if (!["GET", "POST"].includes(step.method)) parts.push(`-X ${step.method}`);
    if (keyed) parts.push(`-H "Authorization: Bearer $UMBEL_API_KEY"`);
    for (const [name, value] of Object.entries(step.headers)) {
      if (name === "Accept" && value === "application/json") continue;
      if (name !== "Last-Event-ID") parts.push(`-H ${quoted(`${name}: ${value}`)}`);
    }
    if (isEvents(step)) parts.push("-N");
    if (step.file)
      parts.push(`--data-binary ${step.file.source ? "@-" : quoted(`@${step.file.name}`)}`);
    else if (step.body !== undefined) parts.push(`-d ${replaced(JSON.stringify(step.body))}`);
    else if (step.method === "POST") parts.push("-X POST");
    if (step.file?.source) parts[0] = `curl -fsS "$UMBEL"/${step.file.source} | ${parts[0]}`;
    const call = parts.join(" \\\n  ");
    const entry = id && names.get(suffix(id));
    if (entry?.id === id && !made.has(suffix(id))) {
      const variable = shellName(entry, id);
      lines.push("", `${variable}=$(${call} | jq -r .id)`);
      made.add(suffix(id));
      if (isJob(step)) lines.push(shellWait(`${step.path}/$${variable}`, keyed));
      for (const other of siblings(steps.slice(at + 1), id)) {
        lines.push(`${shellName(entry, other)}="${other.split("_")[0]}_\${${variable}#*_}"`);
      }
    } else {
      lines.push("", call);
    }
  }
  return `${lines.join("\n")}\n`;
}

/** Other ids with the same suffix, one of each kind, in `steps`: what a job has made. */
function siblings(steps, id) {
  const all = steps.flatMap((step) => [...idsIn(step.path), ...idsIn(step.body)]);
  return [...new Set(all)].filter((other) => other !== id && suffix(other) === suffix(id));
}

function shellWait(path, keyed) {
  const header = keyed ? ` -H "Authorization: Bearer $UMBEL_API_KEY"` : "";
  return `until curl -fsS "$UMBEL${path}"${header} | jq -e .finished_at >/dev/null; do sleep 1; done`;
}

function shellName(entry, id) {
  const base = PREFIX[id.split("_")[0]];
  return (base === entry.base ? entry.name : `${base}_of_${entry.name}`).toUpperCase();
}

// --- Python --------------------------------------------------------------------------------------

/** A Python script with httpx. */
export function python(steps, { base, keyed }) {
  const names = named(steps);
  const made = new Set();
  const known = (id) => names.has(suffix(id)) && made.has(suffix(id));
  const expression = (id) => {
    const { base: kind, name } = names.get(suffix(id));
    const prefix = id.split("_")[0];
    if (PREFIX[prefix] === kind) return `${name}["id"]`;
    if (kind === "job" && (prefix === "tr" || prefix === "md"))
      return `${name}["result"]["${PREFIX[prefix]}"]`;
    if (kind === "comparison" && prefix === "job") return `${name}["job"]`;
    return null;
  };
  const literal = (value, depth) =>
    pythonLiteral(value, depth, (id) => (known(id) ? expression(id) : null));
  const text = (value) => {
    let filled = false;
    const inside = value
      .replaceAll("{", "{{")
      .replaceAll("}", "}}")
      .replaceAll(ID, (id) => {
        const found = known(id) ? expression(id) : null;
        if (!found) return id;
        filled = true;
        return `{${found.replaceAll('"', "'")}}`;
      });
    return filled ? `f${JSON.stringify(inside)}` : JSON.stringify(value);
  };
  const lines = ["import time", "", "import httpx", ""];
  if (keyed) lines.unshift("import os");
  const key = keyed ? `, headers={"Authorization": "Bearer " + os.environ["UMBEL_API_KEY"]}` : "";
  lines.push(
    `client = httpx.Client(base_url=${JSON.stringify(base.replace(/\/$/, ""))}, timeout=120${key})`,
  );
  const waits = steps.some((step) => isJob(step) && step.answer?.id);
  if (!waits) lines.shift();
  if (!waits && keyed) lines[0] = "import os";
  lines.push(
    "",
    "",
    "def checked(answer):",
    "    if answer.is_error:",
    "        raise SystemExit(answer.text)",
    "    return answer",
  );
  if (waits) {
    lines.push(
      "",
      "",
      "def ended(path):",
      "    while True:",
      "        found = checked(client.get(path)).json()",
      '        if found["status"] in ("succeeded", "failed", "cancelled"):',
      '            print(path, found["status"], found["error"] or "")',
      "            return found",
      "        time.sleep(0.2)",
    );
  }
  lines.push("", "");
  for (const step of steps) {
    if (isEvents(step)) continue;
    const id = step.method === "POST" && step.answer?.id;
    const entry = id && names.get(suffix(id));
    const first = entry && entry.id === id && !made.has(suffix(id));
    const given = [text(`/${query(step.path)}`)];
    const headers = Object.entries(step.headers).filter(
      ([name, value]) => name !== "Last-Event-ID" && (step.file || value !== "application/json"),
    );
    if (step.file?.source)
      given.push(`content=checked(client.get("/${step.file.source}")).content`);
    else if (step.file) given.push(`content=open(${JSON.stringify(step.file.name)}, "rb")`);
    else if (step.body !== undefined) given.push(`json=${literal(step.body, 1)}`);
    if (headers.length) {
      given.push(
        `headers={${headers.map(([n, v]) => `${JSON.stringify(n)}: ${JSON.stringify(v)}`).join(", ")}}`,
      );
    }
    const short = `client.${step.method.toLowerCase()}(${given.join(", ")})`;
    const call =
      short.length <= 84 && !short.includes("\n")
        ? `checked(${short})`
        : `checked(\n    client.${step.method.toLowerCase()}(\n${given.map((one) => `        ${one.replaceAll("\n", "\n        ")},`).join("\n")}\n    )\n)`;
    if (first) {
      lines.push(`${entry.name} = ${call}.json()`);
      made.add(suffix(id));
      if (isJob(step)) lines.push(`${entry.name} = ended(f"${step.path}/{${entry.name}['id']}")`);
    } else if (step.method === "GET") {
      lines.push(`print(${call}.text[:2000])`);
    } else {
      lines.push(call);
    }
  }
  return `${lines.join("\n")}\n`;
}

function pythonLiteral(value, depth, expression) {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value === "string")
    return (value.match(/^(ds|job|tr|md|cmp)_/) && expression(value)) || JSON.stringify(value);
  if (typeof value !== "object") return String(value);
  const inside = Array.isArray(value)
    ? value.map((one) => pythonLiteral(one, depth + 1, expression))
    : Object.entries(value).map(
        ([k, v]) => `${JSON.stringify(k)}: ${pythonLiteral(v, depth + 1, expression)}`,
      );
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  const line = `${open}${inside.join(", ")}${close}`;
  if (line.length <= 72 && !line.includes("\n")) return line;
  return `${open}\n${inside.map((one) => `    ${one.replaceAll("\n", "\n    ")},`).join("\n")}\n${close}`;
}
