// What a file the user gives may be, from its name and its first bytes; the user has the last word.

const HEAD = 256 * 1024;

const MEDIA = {
  npy: "application/x-npy",
  npz: "application/x-npz",
  safetensors: "application/safetensors",
  parquet: "application/vnd.apache.parquet",
  csv: "text/csv",
  tsv: "text/tab-separated-values",
  libsvm: "text/x-libsvm",
  svm: "text/x-libsvm",
  svmlight: "text/x-libsvm",
  json: "application/json",
  jsonl: "application/x-ndjson",
  ndjson: "application/x-ndjson",
};
const NEWICK = new Set(["nwk", "newick", "nh", "tree", "tre", "dnd"]);

/** What can be uploaded, for the file picker and for people. */
export const ACCEPTED =
  "npy, npz, safetensors, Arrow, Feather, Parquet, CSV, TSV, libsvm, JSON, JSON lines; Newick, JSON and class paths for trees";

/** What a file can be used as: [role, label]; "" is not said, "tree" is an import. */
export const USES = [
  ["features", "Features: a row of numbers per point"],
  ["logits", "Logits: a row of class scores per point"],
  ["labels", "Labels: the true class of each point"],
  ["names", "Names: a text per class, point or column"],
  ["targets", "Targets: numbers or classes to predict"],
  ["tasks", "Tasks: which task each row belongs to"],
  ["timestamps", "Timestamps: when each row came"],
  ["graph", "Graph: which points are joined"],
  ["documents", "Documents: a text each"],
  ["tree", "A tree: to be looked at or compared with"],
  ["", "Something else (distances, similarity, …)"],
];

/** The roles that the API takes as a hint. */
export const HINTS = new Set([
  "features",
  "logits",
  "labels",
  "names",
  "targets",
  "tasks",
  "timestamps",
  "documents",
  "graph",
]);

/** {media, use, why, square}: how to upload it, and what it looks like. */
export async function peek(file) {
  const ending = file.name.toLowerCase().split(".").pop();
  const media = MEDIA[ending] ?? "application/octet-stream";
  let head;
  try {
    head = new Uint8Array(await file.slice(0, HEAD).arrayBuffer());
  } catch {
    return { media, use: "", why: "The file cannot be read." };
  }
  const named = byName(file.name);
  if (NEWICK.has(ending))
    return { media: "text/x-nh", use: "tree", why: "A Newick tree by its name." };
  if (starts(head, [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59]))
    return { media: MEDIA.npy, ...ofArray(npyFacts(head), named) };
  if (ending === "json") return { media, ...ofJson(decode(head), named) };
  if (ending === "csv" || ending === "tsv")
    return { media, ...ofTable(decode(head), ending === "tsv" ? "\t" : null, named) };
  if (ending === "txt") return ofText(decode(head), named);
  if (media === MEDIA.libsvm)
    return { media, use: named ?? "features", why: "Rows in libsvm's form." };
  return {
    media,
    use: named ?? "features",
    why: named ? "By its name." : "A guess: what it holds is seen once it is uploaded.",
  };
}

function byName(name) {
  const text = name.toLowerCase();
  if (/logit|prob|score|softmax/.test(text)) return "logits";
  if (/label|class(?!path)|target_names|families|groups?\b|y_?(train|test)?\./.test(text))
    return "labels";
  if (/name|vocab|terms|columns/.test(text)) return "names";
  if (/feat|emb|points|x_?(train|test)?\./.test(text)) return "features";
  return null;
}

const starts = (head, bytes) => bytes.every((byte, at) => head[at] === byte);
const decode = (head) => new TextDecoder("utf-8").decode(head);

// --- npy -----------------------------------------------------------------------------------------

function npyFacts(head) {
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  const wide = head[6] >= 2;
  const length = wide ? view.getUint32(8, true) : view.getUint16(8, true);
  const start = (wide ? 12 : 10) + length;
  const text = new TextDecoder("latin1").decode(head.subarray(wide ? 12 : 10, start));
  const descr = /'descr':\s*'([^']+)'/.exec(text)?.[1] ?? "";
  const lengths = /'shape':\s*\(([^)]*)\)/.exec(text)?.[1];
  const shape = (lengths ?? "")
    .split(",")
    .map((part) => part.trim())
    .filter(Boolean)
    .map(Number);
  const fortran = /'fortran_order':\s*True/.test(text);
  return { descr, shape, rows: fortran ? [] : firstRows(view, start, descr, shape) };
}

const READERS = {
  f4: [4, (view, at, little) => view.getFloat32(at, little)],
  f8: [8, (view, at, little) => view.getFloat64(at, little)],
  f2: [2, half],
};

/** Up to 32 rows of floating point numbers. */
function firstRows(view, start, descr, shape) {
  const reader = READERS[descr.slice(1)];
  if (!reader || shape.length !== 2) return [];
  const [size, read] = reader;
  const little = descr[0] !== ">";
  const rows = [];
  for (let row = 0; row < Math.min(32, shape[0]); row += 1) {
    const from = start + row * shape[1] * size;
    if (from + shape[1] * size > view.byteLength) break;
    rows.push(Array.from({ length: shape[1] }, (_, at) => read(view, from + at * size, little)));
  }
  return rows;
}

function half(view, at, little) {
  const bits = view.getUint16(at, little);
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  const sign = bits >> 15 ? -1 : 1;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

function ofArray({ descr, shape, rows }, named) {
  const what = `${shape.join(" × ")} ${descr.slice(1)}`;
  const column = shape.length === 1 || (shape.length === 2 && shape[1] === 1);
  if (column) {
    const text = /[US]/.test(descr);
    const use = named === "names" || named === "labels" ? named : "labels";
    return { use, why: `One ${text ? "text" : "value"} per row: ${what}.`, shape };
  }
  if (shape.length !== 2) return { use: named ?? "", why: `An array of ${what}.`, shape };
  if (shape[0] === shape[1] && rows.length > 1 && zeroDiagonal(rows)) {
    return {
      use: "",
      square: "distances",
      why: `Square with a diagonal of zeros: distances, ${what}.`,
      shape,
    };
  }
  if (named === "features" || named === "logits")
    return { use: named, why: `${what}, by its name.`, shape };
  if (likeScores(rows))
    return { use: "logits", why: `${what}; the rows look like scores of classes.`, shape };
  return { use: "features", why: `A row of ${shape[1]} numbers per point: ${what}.`, shape };
}

const zeroDiagonal = (rows) => rows.every((row, at) => row[at] === 0);

/** Rows of probabilities, of their logarithms, or whose largest value is always 0. */
function likeScores(rows) {
  if (rows.length < 4 || rows[0].length < 2) return false;
  const close = (a, b) => Math.abs(a - b) < 2e-2;
  const sum = (row, of) => row.reduce((total, value) => total + of(value), 0);
  return (
    rows.every(
      (row) =>
        row.every((v) => v >= 0 && v <= 1) &&
        close(
          sum(row, (v) => v),
          1,
        ),
    ) ||
    rows.every((row) => row.every((v) => v <= 0) && close(sum(row, Math.exp), 1)) ||
    rows.every((row) => close(Math.max(...row), 0) && Math.min(...row) < -1)
  );
}

// --- text ----------------------------------------------------------------------------------------

function ofJson(text, named) {
  const lead = text.trimStart();
  if (lead.startsWith("{")) {
    return { use: "tree", why: "An object: a tree, flat or nested." };
  }
  if (/^\[\s*\[/.test(lead)) return { use: named ?? "features", why: "A list of rows." };
  if (/^\[\s*"/.test(lead)) {
    return { use: named === "labels" ? "labels" : "names", why: "A list of texts." };
  }
  return { use: named === "names" ? "names" : "labels", why: "A list of values." };
}

function ofTable(text, separator, named) {
  const lines = text.split(/\r?\n/).filter(Boolean).slice(0, 20);
  const by =
    separator ??
    [",", ";", "\t"].sort((a, b) => lines[0]?.split(b).length - lines[0]?.split(a).length)[0];
  const columns = lines[0]?.split(by).length ?? 0;
  if (columns === 1) {
    const numbers = lines
      .slice(1)
      .every((line) => line.trim() !== "" && Number.isFinite(Number(line)));
    return { use: named ?? (numbers ? "labels" : "names"), why: "One column." };
  }
  return { use: named === "logits" ? "logits" : "features", why: `A table of ${columns} columns.` };
}

function ofText(text, named) {
  const lead = text.trimStart();
  if (lead.startsWith("("))
    return { media: "text/x-nh", use: "tree", why: "Brackets: a Newick tree." };
  const lines = lead.split(/\r?\n/).filter(Boolean).slice(0, 20);
  if (lines.length && lines.every((line) => line.includes("/"))) {
    return { media: "text/plain", use: "tree", why: "A class path a line." };
  }
  if (lines.length && lines.every((line) => /^\S+(\s+\d+:\S+)+\s*$/.test(line))) {
    return { media: MEDIA.libsvm, use: "features", why: "Rows in libsvm's form." };
  }
  return { media: MEDIA.csv, ...ofTable(text, null, named) };
}
