// What a program has, as the service takes it.

import { InputError } from "./errors.js";

/** @import { Dataset } from "./dataset.js" */

/**
 * @typedef {Float32Array | Float64Array | Int8Array | Int16Array | Int32Array | Uint8Array
 *   | Uint16Array | Uint32Array | BigInt64Array | BigUint64Array} Values
 * @typedef {{ values: Values, shape: number[] }} NumberArray rows by columns, in C order
 * @typedef {number[] | number[][] | string[] | (string | null)[]} List
 * @typedef {string | Dataset | Blob | NumberArray | Values | List} Input the id of a dataset, a
 *   dataset, a file (`fs.openAsBlob` makes one of a path), an array, or a list
 */

/** A longer list of numbers is sent as a file. */
const LONGEST_INLINE = 10_000;

/** @type {Map<string, string>} */
const DTYPES = new Map([
  ["Float32Array", "<f4"],
  ["Float64Array", "<f8"],
  ["Int8Array", "|i1"],
  ["Int16Array", "<i2"],
  ["Int32Array", "<i4"],
  ["Uint8Array", "|u1"],
  ["Uint16Array", "<u2"],
  ["Uint32Array", "<u4"],
  ["BigInt64Array", "<i8"],
  ["BigUint64Array", "<u8"],
]);

/** @type {Record<string, string>} */
const MEDIA_TYPES = {
  npy: "application/x-npy",
  npz: "application/x-npz",
  safetensors: "application/safetensors",
  arrow: "application/vnd.apache.arrow.file",
  parquet: "application/vnd.apache.parquet",
  csv: "text/csv",
  tsv: "text/tab-separated-values",
  jsonl: "application/x-ndjson",
  ndjson: "application/x-ndjson",
};

/** @param {unknown} value @returns {value is Values} */
function isValues(value) {
  return ArrayBuffer.isView(value) && DTYPES.has(value.constructor.name);
}

/** @param {string} name @returns {string | null} the media type by the ending; null: unknown */
export function mediaTypeOf(name) {
  return MEDIA_TYPES[name.toLowerCase().split(".").pop() ?? ""] ?? null;
}

/**
 * An array as a .npy file.
 *
 * @param {Values} values
 * @param {number[]} shape
 * @returns {Blob}
 * @throws {InputError} unless the shape has as many numbers
 */
export function npy(values, shape) {
  const descr = DTYPES.get(values.constructor.name);
  const length = shape.reduce((product, n) => product * n, 1);
  if (descr === undefined || length !== values.length) {
    throw new InputError(
      `An array of the shape ${shape.join(" x ")} has ${length} values; ${values.length} were given.`,
    );
  }
  const lengths = shape.join(", ") + (shape.length === 1 ? "," : "");
  const text = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${lengths}), }`;
  const head = new Uint8Array(64 * Math.ceil((10 + text.length + 1) / 64)).fill(0x20);
  head.set([0x93, ...new TextEncoder().encode("NUMPY"), 1, 0]);
  new DataView(head.buffer).setUint16(8, head.length - 10, true);
  head.set(new TextEncoder().encode(text), 10);
  head[head.length - 1] = 0x0a;
  const content = /** @type {Uint8Array<ArrayBuffer>} */ (
    new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
  );
  return new Blob([head, content], { type: "application/x-npy" });
}

/**
 * How an input goes into a request: `inline` in its body (ids and short lists), or as a `file` that is
 * uploaded before.
 *
 * @param {string} role
 * @param {Input} value
 * @returns {{ inline: unknown } | { file: Blob }}
 * @throws {InputError}
 */
export function given(role, value) {
  if (typeof value === "string") return { inline: value };
  if (value instanceof Blob) return { file: value };
  if (isValues(value)) return { file: npy(value, [value.length]) };
  if (Array.isArray(value)) return list(role, value);
  if (value !== null && typeof value === "object") {
    if ("values" in value && isValues(value.values)) {
      return { file: npy(value.values, value.shape) };
    }
    if ("id" in value && typeof value.id === "string") return { inline: value.id };
  }
  throw new InputError(
    `Input '${role}': accepted are the id of a dataset, a dataset, a Blob or File, a typed array, ` +
      "{ values, shape }, and a list of numbers, rows or names.",
  );
}

/**
 * @param {string} role
 * @param {unknown[]} rows
 * @returns {{ inline: unknown } | { file: Blob }}
 */
function list(role, rows) {
  if (!rows.length) throw new InputError(`Input '${role}' is an empty list.`);
  if (!Array.isArray(rows[0])) {
    const wrong = rows.findIndex((value) => typeof value === "number" && !Number.isFinite(value));
    if (wrong >= 0) throw new InputError(`Input '${role}' is not a finite number at ${wrong}.`);
    if (rows.length <= LONGEST_INLINE || rows.some((value) => typeof value !== "number")) {
      return { inline: rows };
    }
    return { file: npy(Float64Array.from(/** @type {number[]} */ (rows)), [rows.length]) };
  }
  const width = rows[0].length;
  const values = new Float64Array(rows.length * width);
  for (const [index, row] of rows.entries()) {
    if (!Array.isArray(row) || row.length !== width) {
      const found = Array.isArray(row)
        ? `has ${row.length} values, the first has ${width}`
        : "is no row";
      throw new InputError(`Input '${role}': row ${index} ${found}.`);
    }
    for (const [column, value] of row.entries()) {
      if (typeof value !== "number" || !Number.isFinite(value)) {
        throw new InputError(
          `Input '${role}': row ${index}, column ${column} is ${String(value)}, which is no finite number.`,
        );
      }
      values[index * width + column] = value;
    }
  }
  if (values.length <= LONGEST_INLINE) return { inline: rows };
  return { file: npy(values, [rows.length, width]) };
}
