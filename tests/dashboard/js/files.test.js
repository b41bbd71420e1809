// The guess at what a file is, and which datasets can serve as which input.

import assert from "node:assert/strict";
import { File } from "node:buffer";
import { test } from "node:test";

import { guessFile } from "../../../app/dashboard/js/forms/file_guess.js";
import { isAbout, shortDescription } from "../../../app/dashboard/js/forms/method_picker.js";
import { worded } from "../../../app/dashboard/js/forms/parameter_names.js";
import {
  labelColumn,
  fits,
  firstMethod,
  fitting,
  isNeededBy,
  labelOf,
  namesClassesOf,
  refusalOf,
  roleTitle,
} from "../../../app/dashboard/js/forms/roles.js";
import { textOf, typedInput } from "../../../app/dashboard/js/forms/typed_input.js";

const useOf = async (name, ...content) => (await guessFile(new File(content, name))).use;

/** An array of 64-bit numbers as numpy writes it. */
function npy(rows, { descr = "<f8", columns = rows[0].length } = {}) {
  const shape = `(${rows.length}, ${columns})`;
  const head = `{'descr': '${descr}', 'fortran_order': False, 'shape': ${shape}, }\n`;
  const start = new Uint8Array(10 + head.length);
  start.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, head.length & 255, head.length >> 8]);
  start.set(new TextEncoder().encode(head), 10);
  return [start, new Float64Array(rows.flat())];
}

test("a run begins with a method for its data", () => {
  assert.equal(firstMethod({ shape: [50, 85] }, "features"), "hac");
  // Pairs are too many for many points.
  assert.equal(firstMethod({ shape: [1_000_000, 8] }, "features"), "scc");
  assert.equal(firstMethod({ shape: [50, 4] }, "logits"), "l2h");
  assert.equal(firstMethod({ shape: [50, 28, 28] }, "features"), "");
  assert.equal(firstMethod({ shape: [50] }, "labels"), "");
  const inputs = { features: { required: false }, graph: { required: false } };
  const method = { inputs, one_of: ["features"], some_of: [] };
  assert.ok(isNeededBy(method, "features"));
  assert.ok(!isNeededBy(method, "graph"));
  assert.ok(!isNeededBy(method, "logits"));
});

test("texts as many as the columns of scores are the names of classes", () => {
  const scores = { role: "logits", shape: [5000, 3] };
  const texts = { role: "labels", shape: [3], dtype: "str" };
  assert.ok(namesClassesOf(texts, scores));
  assert.ok(!namesClassesOf({ ...texts, shape: [4] }, scores));
  assert.ok(!namesClassesOf({ ...texts, dtype: "int64" }, scores));
  // As many as rows: the label of each.
  assert.ok(!namesClassesOf(texts, { ...scores, shape: [3, 3] }));
  assert.ok(!namesClassesOf(texts, { role: "features", shape: [5000, 3] }));
});

test("matrices are offered where their width is that of the role", () => {
  const table = { role: "features", shape: [50, 85], format: "csv" };
  assert.ok(fits(table, "features"));
  assert.ok(!fits(table, "distances"));
  assert.ok(!fits(table, "must_link"));
  assert.ok(fits({ ...table, shape: [50, 50] }, "similarity"));
  assert.ok(fits({ ...table, shape: [9, 2] }, "cannot_link"));
});

test("descriptions call inputs and parameters as the form does", () => {
  const titles = { top_classes: "Best classes", growable: "New rows may be added later" };
  assert.equal(
    worded("With 'top_classes' and `growable`; 'ward' and `code` stay.", titles),
    "With “Best classes” and “New rows may be added later”; 'ward' and `code` stay.",
  );
  assert.equal(worded(undefined, titles), undefined);
});

test("trees by their names and beginnings, each with its type", async () => {
  const typeOf = async (name, content) => (await guessFile(new File([content], name))).media;
  const nexus = "#NEXUS\nBEGIN TREES; TREE a = (a,b); END;";
  for (const ending of ["nwk", "newick", "nh", "nhx", "tre", "tree", "treefile", "dnd"]) {
    assert.equal(await typeOf(`a.${ending}`, "(a,b);"), "text/x-nh");
  }
  for (const ending of ["nex", "nexus", "nxs", "txt"]) {
    assert.equal(await typeOf(`a.${ending}`, nexus), "text/x-nexus");
    assert.equal(await useOf(`a.${ending}`, nexus), "tree");
  }
  assert.equal(await typeOf("a.txt", "[&R] (a,b);"), "text/x-nh");
  assert.equal(await typeOf("a.jplace", '{"tree": "(a{0},b{1});"}'), "application/json");
  assert.equal(await typeOf("a.hclust.json", '{"merge": []}'), "application/json");
});

test("an array of images is features, for methods that take images", async () => {
  const shape = "(5, 28, 28)";
  const [head] = npy([[0]]);
  const text = new TextDecoder("latin1").decode(head).replace("(1, 1)", shape);
  const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  bytes[8] = bytes.length - 10;
  assert.equal(await useOf("digits.npy", bytes), "features");
  const images = { role: "features", format: "npy", shape: [5, 28, 28] };
  const matrix = { role: "features", format: "npy", shape: [5, 784] };
  assert.ok(!fits(images, "features") && fits(images, "features", true));
  assert.ok(!fits(images, "labels", true) && fits(matrix, "features", true));
  const role = { required: true, many: false, sparse: false, images: false, description: "" };
  const plain = { inputs: { features: role, labels: role } };
  const deep = { inputs: { features: { ...role, images: true } } };
  assert.equal(refusalOf(plain, [images]), "takes rows of numbers, not images of 28 × 28");
  assert.equal(refusalOf(deep, [images]), "");
  // What else is at hand may serve.
  assert.equal(refusalOf(plain, [images, matrix]), "");
  assert.equal(refusalOf(plain, []), "");
  assert.equal(refusalOf(plain, [images, { role: null, format: "csv", shape: null }]), "");
  const labels = { role: "labels", format: "npy", shape: [5] };
  const byLogits = { inputs: { logits: role } };
  assert.equal(refusalOf(byLogits, [images, labels]), "takes logits, not images of 28 × 28");
});

test("arrays by their numbers", async () => {
  const probabilities = Array.from({ length: 5 }, () => [0.25, 0.75]);
  const features = Array.from({ length: 5 }, (_, at) => [at, -3, 2]);
  const distances = [[0, 1, 2], [1, 0, 3], [2, 3, 0]]; // prettier-ignore
  assert.equal(await useOf("a.npy", ...npy(probabilities)), "logits");
  assert.equal(await useOf("a.npy", ...npy(features)), "features");
  assert.equal(await useOf("scores.npy", ...npy(features)), "logits");
  assert.equal((await guessFile(new File(npy(distances), "a.npy"))).square, "distances");
  assert.equal(await useOf("a.npy", ...npy([[1], [2]])), "labels");
});

test("texts by their beginnings", async () => {
  assert.equal(await useOf("a.json", '["x", "y"]'), "names");
  assert.equal(await useOf("labels.json", '["x", "y"]'), "labels");
  assert.equal(await useOf("a.json", "[[1, 2]]"), "features");
  assert.equal(await useOf("a.json", ' {"nodes": []}'), "tree");
  assert.equal(await useOf("a.nwk", "(a,b);"), "tree");
  assert.equal(await useOf("a.txt", "(a,b);"), "tree");
  assert.equal(await useOf("a.txt", "animals/cat\nplants/rose\n"), "tree");
  assert.equal(await useOf("a.txt", "animals > cat\nplants > rose\n"), "tree");
  assert.equal(await useOf("a.txt", "a > b is true\nno\n"), "names");
  assert.equal(await useOf("a.json", '[{"id": 1}, {"id": 2, "parent": 1}]'), "tree");
  assert.equal(await useOf("a.json", '{"merge": [[-1, -2]], "height": [1]}'), "tree");
  assert.equal(await useOf("a.txt", "1 1:0.5 3:2\n0 2:1\n"), "features");
  assert.equal(await useOf("a.csv", "x;y\n1;2\n"), "features");
  assert.equal(await useOf("a.csv", "label\n1\n2\n"), "labels");
  assert.equal(await useOf("a.csv", "name\nx\ny\n"), "names");
});

test("odd files get a guess as well", async () => {
  assert.equal(await useOf("empty.csv", ""), "features");
  assert.equal(await useOf("empty.txt", ""), "features");
  assert.equal(await useOf("noending", "abc"), "features");
  assert.equal(
    (await guessFile(new File([""], "a.parquet"))).media,
    "application/vnd.apache.parquet",
  );
  assert.equal(
    (await guessFile(new File([""], "a.constructor"))).media,
    "application/octet-stream",
  );
});

test("which datasets fit which role", () => {
  const matrix = { id: "a", role: "features", shape: [10, 3] };
  const column = { id: "b", role: "labels", shape: [10, 1] };
  const unknown = { id: "c", role: null, shape: null };
  const bare = { id: "d", role: null, shape: [10, 3] };
  assert.equal(fits(matrix, "logits"), true);
  assert.equal(fits(matrix, "labels"), false);
  assert.equal(fits(column, "timestamps"), true);
  assert.equal(fits(unknown, "labels"), true);
  assert.equal(fits(bare, "names"), false);
  assert.deepEqual(fitting([bare, unknown, column, matrix], "features").map(({ id }) => id), ["a", "d", "c"]); // prettier-ignore
  assert.equal(roleTitle("top_classes"), "Best classes");
  assert.equal(roleTitle("edge_weights"), "Edge weights");
  assert.equal(labelOf({ ...matrix, name: null, dtype: "f4", status: "ready" }), "a · 10 × 3 f4");
  assert.equal(
    labelOf({ ...unknown, name: "n", dtype: null, status: "inspecting" }),
    "n · inspecting",
  );
});

test("methods by words", () => {
  const method = {
    id: "kmeans",
    title: "k-means",
    description: "k-means (`models.kmeans`): centres that move to the mean of `features`.",
    family: "partitions",
    paper: { title: "Least squares quantization" },
    inputs: { features: {} },
  };
  assert.equal(isAbout(method, "  "), true);
  assert.equal(isAbout(method, "LEAST k-means"), true);
  assert.equal(isAbout(method, "spectral"), false);
  assert.equal(shortDescription(method), "Centres that move to the mean of features.");
  assert.equal(shortDescription({ title: "DBSCAN", description: "Dense parts: found." }), "Dense parts: found."); // prettier-ignore
});

test("files that hold features and labels at once", () => {
  const arff = { role: null, format: "arff", shape: [100, 80] };
  const libsvm = { role: "features", format: "libsvm", shape: [100, 80] };
  for (const dataset of [arff, libsvm]) {
    for (const role of ["features", "labels", "hierarchy"]) assert.ok(fits(dataset, role), role);
    assert.ok(!fits(dataset, "names"));
  }
  const several = { role: "labels", format: "npz", shape: [100, 12] };
  assert.ok(fits(several, "labels") && !fits(several, "features") && !fits(several, "names"));
  assert.ok(!fits({ role: "features", format: "npz", shape: [100, 12] }, "labels"));
  assert.ok(fits({ role: "names", format: "csv", shape: [7] }, "hierarchy"));
  const items = { role: "items", format: "csv", shape: [100, 2] };
  assert.ok(fits(items, "items") && !fits(items, "features") && !fits(items, "labels"));
  assert.ok(!fits({ role: "features", format: "npz", shape: [100, 2] }, "items"));
  assert.ok(!fits({ role: null, format: "csv", shape: [7, 2] }, "hierarchy"));
});

test("inputs that are typed in", () => {
  const value = (text, role) => typedInput(text, role).value;
  assert.deepEqual(value("a\nb c\n\n", "names"), ["a", "b c"]);
  assert.deepEqual(value("cat\n\n dog \n", "labels"), ["cat", null, "dog"]);
  assert.deepEqual(value('[["a", "b"], "c", null]', "labels"), [["a", "b"], "c", null]);
  assert.deepEqual(value("animal/cat\n\nanimal/dog\n", "hierarchy"), ["animal/cat", "animal/dog"]); // prettier-ignore
  assert.deepEqual(value("cat, dog\n\na b\tc, d\n", "graph"), [["cat", "dog"], ["a b", "c, d"]]); // prettier-ignore
  assert.deepEqual(value("3, 7\n10,2\n", "must_link"), [[3, 7], [10, 2]]); // prettier-ignore
  assert.deepEqual(value("3, b\n1, 2\n", "cannot_link"), [["3", "b"], ["1", "2"]]); // prettier-ignore
  assert.match(typedInput("3", "cannot_link").error, /two labels per line/);
  assert.deepEqual(value("[x]", "names"), ["[x]"]);
  assert.match(typedInput("cat", "graph").error, /two labels per line.*"cat"/);
  assert.match(typedInput("a, b, c", "graph").error, /two labels/);
  assert.match(typedInput("[1, ", "labels").error, /not a list as JSON/);
  assert.match(typedInput("[]", "labels").error, /empty/);
  assert.match(typedInput("\n\n", "labels").error, /Type one per line/);
});

test("what was typed in is shown again", () => {
  const cases = [
    ["labels", "cat\n\ndog"],
    ["labels", '[["a","b"],"c"]'],
    ["graph", "a, b\nb, c"],
    ["must_link", "3, 7\n10, 2"],
    ["graph", '[["a, b","c"]]'],
  ];
  for (const [role, text] of cases) {
    assert.equal(textOf(typedInput(text, role).value, role), text);
  }
});

test("the only texts of a table that repeat are proposed as its labels", () => {
  const column = (name, type, role, ...examples) => ({ name, type, role, examples });
  const number = column("ash", "number", "feature", "2.43", "2.14", "2.43");
  const kind = column("cultivar", "text", null, "Barolo", "Barolo", "Barbera");
  const name = column("town", "text", null, "Alba", "Asti", "Bra");
  assert.equal(labelColumn([number, kind]), kind);
  assert.equal(labelColumn([number, name]), null);
  assert.equal(labelColumn([kind, name]), null);
  assert.equal(labelColumn([kind, column("class", "text", "label", "a", "a", "b")]), null);
});
