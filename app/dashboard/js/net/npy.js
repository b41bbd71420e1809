// Arrays in NumPy's file format.

/** @type {Record<string, new (content: ArrayBuffer) => Float32Array | Float64Array | Int32Array>} */
const KINDS = { "<f4": Float32Array, "<f8": Float64Array, "<i4": Int32Array };

/**
 * The header of a .npy file, and where its values begin.
 *
 * @param {Uint8Array} head the beginning of the file, with all of the header
 */
export function npyHeader(head) {
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  const isWide = head[6] >= 2;
  const length = isWide ? view.getUint32(8, true) : view.getUint16(8, true);
  const start = (isWide ? 12 : 10) + length;
  const text = new TextDecoder("latin1").decode(head.subarray(isWide ? 12 : 10, start));
  const lengths = /'shape':\s*\(([^)]*)\)/.exec(text)?.[1] ?? "";
  const parts = lengths.split(",").map((part) => part.trim());
  return {
    start,
    descr: /'descr':\s*'([^']+)'/.exec(text)?.[1] ?? "",
    shape: parts.filter(Boolean).map(Number),
    isFortran: /'fortran_order':\s*True/.test(text),
  };
}

/**
 * The array of a .npy file in C order, of the types that the page reads. Throws an Error for any other
 * file.
 *
 * @param {ArrayBuffer} content
 */
export function readNpy(content) {
  const bytes = new Uint8Array(content);
  if (bytes[0] !== 0x93 || String.fromCharCode(...bytes.subarray(1, 6)) !== "NUMPY") {
    throw new Error("this is no .npy file");
  }
  const { start, descr, shape, isFortran } = npyHeader(bytes);
  const kind = KINDS[descr];
  if (!kind || isFortran) throw new Error(`an array of ${descr} is not read here`);
  const values = new kind(content.slice(start));
  if (values.length !== shape.reduce((product, n) => product * n, 1)) {
    throw new Error("the .npy file is not whole");
  }
  return { shape, values };
}
