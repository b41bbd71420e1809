// A guess at the kind of a file, from its name and its first bytes; the user decides.

import { npyHeader } from "../net/npy.js";

const HEAD = 256 * 1024;

/** @type {Record<string, string>} */
const MEDIA = {
  npy: "application/x-npy",
  npz: "application/x-npz",
  safetensors: "application/safetensors",
  parquet: "application/vnd.apache.parquet",
  pq: "application/vnd.apache.parquet",
  h5ad: "application/x-hdf5",
  csv: "text/csv",
  tsv: "text/tab-separated-values",
  tab: "text/tab-separated-values",
  libsvm: "text/x-libsvm",
  svm: "text/x-libsvm",
  svmlight: "text/x-libsvm",
  arff: "text/x-arff",
  json: "application/json",
  jsonl: "application/x-ndjson",
  ndjson: "application/x-ndjson",
  zip: "application/zip",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  xlsb: "application/vnd.ms-excel.sheet.binary.macroEnabled.12",
  xls: "application/vnd.ms-excel",
  ods: "application/vnd.oasis.opendocument.spreadsheet",
};
const WORKBOOKS = new Set(["xlsx", "xlsb", "xls", "ods"]);
const NEWICK = new Set("nwk newick nh nhx tree tre trees treefile contree dnd".split(" "));
const NEXUS = new Set(["nex", "nexus", "nxs"]);
const PACKED = new Set(["gz", "zst", "bz2", "xz"]);

/**
 * The ending of a file's name; of a packed file that of what is inside.
 *
 * @param {string} name
 */
function endingOf(name) {
  const parts = name.toLowerCase().split(".").slice(1);
  if (PACKED.has(parts.at(-1) ?? "")) parts.pop();
  return parts.at(-1) ?? "";
}

/** @param {string} name */
const isPacked = (name) => PACKED.has(name.toLowerCase().split(".").at(-1) ?? "");

/** The formats that can be uploaded, for people. */
export const ACCEPTED =
  "npy, npz, safetensors, Arrow, Feather, Parquet, CSV, TSV, Excel, ODS, AnnData, libsvm, ARFF, JSON, JSON lines, a zip of images; Newick, Nexus, JSON and class paths for trees";

/**
 * The possible uses of a file; "" leaves it open, "tree" is an import.
 *
 * @type {[role: string, label: string][]}
 */
export const USES = [
  ["features", "Features: a row of numbers per point"],
  ["logits", "Logits: a row of class scores per point"],
  ["labels", "Labels: the true class of each point, or several"],
  ["names", "Names: one per class, point or column"],
  ["targets", "Targets: numbers or classes to predict"],
  ["tasks", "Tasks: which task each row belongs to"],
  ["timestamps", "Timestamps: the time of each row"],
  ["graph", "Graph: which points are joined"],
  ["documents", "Documents: one text each"],
  ["items", "Items: what the points of a tree are"],
  ["tree", "A tree: to explore or to compare with"],
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
  "items",
  "graph",
]);

/**
 * @typedef {{ use: string, why: string, square?: string, media?: string }} Guess `use`: a role, "tree" or "";
 *   `square`: the role of a square array; `why`: a sentence for people
 * @typedef {{ descr: string, shape: number[], rows: number[][] }} NpyFacts the type, the lengths and the
 *   first rows of an array
 * @typedef {(view: DataView, at: number, little: boolean) => number} Reader
 */

/**
 * The media type of a file, by the ending of its name.
 *
 * @param {string} name
 */
export function mediaOf(name) {
  const ending = endingOf(name);
  return Object.hasOwn(MEDIA, ending) ? MEDIA[ending] : "application/octet-stream";
}

/**
 * How to upload a file, and its apparent content.
 *
 * @param {File} file
 * @returns {Promise<Guess & { media: string }>}
 */
export async function guessFile(file) {
  const ending = endingOf(file.name);
  const media = mediaOf(file.name);
  let head;
  try {
    head = new Uint8Array(await file.slice(0, HEAD).arrayBuffer());
  } catch {
    return { media, use: "", why: "The file cannot be read." };
  }
  const named = byName(file.name);
  if (NEWICK.has(ending)) {
    return { media: "text/x-nh", use: "tree", why: "A Newick tree by its name." };
  }
  if (NEXUS.has(ending)) {
    return { media: "text/x-nexus", use: "tree", why: "A Nexus tree by its name." };
  }
  if (ending === "jplace") {
    return { media: MEDIA.json, use: "tree", why: "A tree with placements by its name." };
  }
  if (isPacked(file.name)) {
    return { media, use: byName(file.name) ?? "features", why: "Packed: by its name." };
  }
  if (starts(head, [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59])) {
    return { media: MEDIA.npy, ...ofArray(npyFacts(head), named) };
  }
  if (ending === "json") return { media, ...ofJson(decode(head), named) };
  if (ending === "csv" || ending === "tsv") {
    return { media, ...ofTable(decode(head), ending === "tsv" ? "\t" : null, named) };
  }
  if (ending === "txt") return ofText(decode(head), named);
  if (WORKBOOKS.has(ending)) {
    return { media, use: named ?? "features", why: "The first sheet of a workbook." };
  }
  if (media === MEDIA.zip) {
    return { media, use: "items", why: "An archive of images, one for each point." };
  }
  if (media === MEDIA.libsvm) {
    return { media, use: named ?? "features", why: "Rows in libsvm's format." };
  }
  if (media === MEDIA.arff) {
    return { media, use: named ?? "features", why: "Rows of attributes, with their class." };
  }
  return {
    media,
    use: named ?? "features",
    why: named ? "By its name." : "A guess: its content is inspected once it is uploaded.",
  };
}

/** @param {string} name */
function byName(name) {
  const text = name.toLowerCase();
  if (/logit|prob|score|softmax/.test(text)) return "logits";
  if (/label|class(?!path)|target_names|families|groups?\b|y_?(train|test)?\./.test(text)) {
    return "labels";
  }
  if (/name|vocab|terms|columns/.test(text)) return "names";
  if (/feat|emb|points|x_?(train|test)?\./.test(text)) return "features";
  return null;
}

/**
 * @param {Uint8Array} head
 * @param {number[]} bytes
 */
const starts = (head, bytes) => bytes.every((byte, at) => head[at] === byte);
/** @param {Uint8Array} head */
const decode = (head) => new TextDecoder("utf-8").decode(head);

// --- npy -----------------------------------------------------------------------------------------

/** @param {Uint8Array} head * @returns {NpyFacts}
 */
function npyFacts(head) {
  const { start, descr, shape, isFortran } = npyHeader(head);
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  return { descr, shape, rows: isFortran ? [] : firstRows(view, start, descr, shape) };
}

/** @type {Record<string, [size: number, read: Reader]>} */
const READERS = {
  f4: [4, (view, at, little) => view.getFloat32(at, little)],
  f8: [8, (view, at, little) => view.getFloat64(at, little)],
  f2: [2, half],
};

/**
 * Up to 32 rows of floating point numbers.
 *
 * @param {DataView} view
 * @param {number} start
 * @param {string} descr
 * @param {number[]} shape
 * @returns {number[][]}
 */
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

/**
 * @param {DataView} view
 * @param {number} at
 * @param {boolean} little
 */
function half(view, at, little) {
  const bits = view.getUint16(at, little);
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  const sign = bits >> 15 ? -1 : 1;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/**
 * @param {NpyFacts} options
 * @param {string | null} named
 * @returns {Guess}
 */
function ofArray({ descr, shape, rows }, named) {
  const what = `${shape.join(" × ")} ${descr.slice(1)}`;
  const column = shape.length === 1 || (shape.length === 2 && shape[1] === 1);
  if (column) {
    const text = /[US]/.test(descr);
    const use = named === "names" || named === "labels" ? named : "labels";
    return { use, why: `One ${text ? "text" : "value"} per row: ${what}.` };
  }
  if (shape.length === 3 || shape.length === 4) {
    const image = shape.slice(1).join(" × ");
    return { use: "features", why: `An image of ${image} per point: ${what}.` };
  }
  if (shape.length !== 2) return { use: named ?? "", why: `An array of ${what}.` };
  if (shape[0] === shape[1] && rows.length > 1 && zeroDiagonal(rows)) {
    return {
      use: "",
      square: "distances",
      why: `Square with a diagonal of zeros: distances, ${what}.`,
    };
  }
  if (named === "features" || named === "logits") {
    return { use: named, why: `${what}, by its name.` };
  }
  if (likeScores(rows)) {
    return { use: "logits", why: `${what}; the rows look like scores of classes.` };
  }
  return { use: "features", why: `A row of ${shape[1]} numbers per point: ${what}.` };
}

/** @param {number[][]} rows */
const zeroDiagonal = (rows) => rows.every((row, at) => row[at] === 0);

/**
 * Rows of probabilities, of their logarithms, or whose largest value is always 0.
 *
 * @param {number[][]} rows
 */
function likeScores(rows) {
  if (rows.length < 4 || rows[0].length < 2) return false;
  /**
   * @param {number} a
   * @param {number} b
   */
  const close = (a, b) => Math.abs(a - b) < 2e-2;
  /**
   * @param {number[]} row
   * @param {(value: number) => number} of
   */
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

/**
 * @param {string} text
 * @param {string | null} named
 * @returns {Guess}
 */
function ofJson(text, named) {
  const lead = text.trimStart();
  if (lead.startsWith("{")) {
    return { use: "tree", why: "An object: a tree, flat or nested." };
  }
  if (/^\[\s*\{/.test(lead) && /"(parent|parentId|children|_children)"\s*:/.test(lead)) {
    return { use: "tree", why: "A list of the nodes of a tree." };
  }
  if (/^\[\s*\[\s*"/.test(lead)) {
    return { use: "labels", why: "A list of several texts a row." };
  }
  if (/^\[\s*\[/.test(lead)) return { use: named ?? "features", why: "A list of rows." };
  if (/^\[\s*"/.test(lead)) {
    return { use: named === "labels" ? "labels" : "names", why: "A list of texts." };
  }
  return { use: named === "names" ? "names" : "labels", why: "A list of values." };
}

/**
 * @param {string} text
 * @param {string | null} separator
 * @param {string | null} named
 * @returns {Guess}
 */
function ofTable(text, separator, named) {
  const lines = text.split(/\r?\n/).filter(Boolean).slice(0, 20);
  const [first = ""] = lines;
  const by =
    separator ?? [",", ";", "\t"].sort((a, b) => first.split(b).length - first.split(a).length)[0];
  const columns = lines.length ? first.split(by).length : 0;
  if (columns === 1) {
    const numbers = lines
      .slice(1)
      .every((line) => line.trim() !== "" && Number.isFinite(Number(line)));
    return { use: named ?? (numbers ? "labels" : "names"), why: "One column." };
  }
  return { use: named === "logits" ? "logits" : "features", why: `A table of ${columns} columns.` };
}

/**
 * @param {string} text
 * @param {string | null} named
 * @returns {Guess & { media: string }}
 */
function ofText(text, named) {
  const lead = text.trimStart();
  if (/^#nexus/i.test(lead)) {
    return { media: "text/x-nexus", use: "tree", why: "It begins with #NEXUS." };
  }
  if (/^(\[[^\]]*\]\s*)*\(/.test(lead)) {
    return { media: "text/x-nh", use: "tree", why: "Brackets: a Newick tree." };
  }
  const lines = lead.split(/\r?\n/).filter(Boolean).slice(0, 20);
  if (
    lines.length &&
    ["/", " > ", "|", "\\"].some((mark) => lines.every((line) => line.includes(mark)))
  ) {
    return { media: "text/plain", use: "tree", why: "A class path per line." };
  }
  if (lines.length && lines.every((line) => /^\S+(\s+\d+:\S+)+\s*$/.test(line))) {
    return { media: MEDIA.libsvm, use: "features", why: "Rows in libsvm's format." };
  }
  return { media: MEDIA.csv, ...ofTable(text, null, named) };
}
