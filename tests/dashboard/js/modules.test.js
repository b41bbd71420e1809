// What holds for all modules of the page: no circle of imports, types included; none that nobody uses.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../../app/dashboard/js", import.meta.url));
// import ... from "x", import("x"), and the same in JSDoc.
const IMPORT = /(?:from|import)\s*\(?\s*"(\.[^"]+)"/g;

function modulesIn(folder) {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? modulesIn(join(folder, entry.name)) : [join(folder, entry.name)],
  );
}

const importsOf = (text, module) =>
  [...text.matchAll(IMPORT)].map(([, path]) => normalize(join(dirname(module), path)));

const graph = new Map(
  modulesIn("").map((module) => [
    module,
    importsOf(readFileSync(join(ROOT, module), "utf8"), module),
  ]),
);

/** The first circle in a graph, as a list of nodes; null where there is none. */
function circleIn(edges) {
  const done = new Set();
  const way = [];
  const visit = (node) => {
    if (done.has(node)) return null;
    if (way.includes(node)) return [...way.slice(way.indexOf(node)), node];
    way.push(node);
    for (const next of edges.get(node) ?? []) {
      const circle = visit(next);
      if (circle) return circle;
    }
    way.pop();
    done.add(node);
    return null;
  };
  for (const node of edges.keys()) {
    const circle = visit(node);
    if (circle) return circle;
  }
  return null;
}

test("a circle is found", () => {
  assert.deepEqual(circleIn(new Map([["a", ["b"]], ["b", ["c"]], ["c", ["b"]]])), ["b", "c", "b"]); // prettier-ignore
  assert.equal(circleIn(new Map([["a", ["b", "c"]], ["b", ["c"]], ["c", []]])), null); // prettier-ignore
});

test("imports of every kind are read", () => {
  const text = `import { a } from "./a.js"; await import("../b.js");
    /** @import { C } from "./c.js" */ /** @type {import("./d.js").D} */`;
  assert.deepEqual(importsOf(text, "ui/x.js"), ["ui/a.js", "b.js", "ui/c.js", "ui/d.js"]);
});

test("no circle of imports", () => {
  assert.equal(circleIn(graph), null);
});

test("every import leads to a module", () => {
  for (const [module, imports] of graph) {
    for (const path of imports) assert.ok(graph.has(path), `${module}: ${path}`);
  }
});

test("every module is used", () => {
  const used = new Set([...graph.values()].flat());
  const loose = [...graph.keys()].filter((module) => !used.has(module));
  // index.html and docs.html load these.
  assert.deepEqual(loose.sort(), [
    "main.js",
    "reference/page.js",
    "reference/trusted_types.js",
    "theme.js",
  ]);
});
