// The OpenAPI document as the reference at /docs shows it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { condensed, listed, subtree } from "../../../app/dashboard/js/reference/document.js";
import { paragraphsOf } from "../../../app/dashboard/js/reference/prose.js";

const DOCUMENT = JSON.parse(
  readFileSync(new URL("../../../openapi/openapi.json", import.meta.url), "utf8"),
);
const short = condensed(DOCUMENT);

const reference = (name) => ({ $ref: `#/components/schemas/${name}` });

test("a request of any method is one schema, and the served document is left alone", () => {
  const job = short.components.schemas.NewJob;
  assert.equal(job.oneOf, undefined);
  assert.ok(job.properties.method.enum.includes("l2h"));
  assert.deepEqual(job.required.toSorted(), ["inputs", "method"]);
  assert.ok(job.properties.webhook && job.properties.inputs && job.properties.params);
  assert.ok(short.components.schemas.NewStep.properties.method.enum.includes("hac"));
  assert.ok(DOCUMENT.components.schemas.NewJob.oneOf);
});

test("the params of every method are listed, without references", () => {
  const { schemas } = listed(short).components;
  assert.deepEqual(listed({ ...short, webhooks: { moved: {} } }).webhooks, {});
  const { mapping } = DOCUMENT.components.schemas.NewJob.discriminator;
  for (const method of Object.keys(mapping)) {
    assert.ok(
      Object.values(schemas).some((schema) => schema.description?.includes(`\`${method}\``)),
      method,
    );
  }
  assert.doesNotMatch(JSON.stringify(schemas), /"\$ref"/);
});

test("every operation resolves, and stays small", () => {
  for (const [path, operations] of Object.entries(short.paths)) {
    for (const method of Object.keys(operations)) {
      const text = JSON.stringify(subtree(short, ["paths", path, method]));
      assert.doesNotMatch(text, /"\$ref":"#/, `${method} ${path}`);
      assert.ok(text.length < 200_000, `${method} ${path}: ${text.length}`);
    }
  }
});

test("a schema within itself ends", () => {
  const document = {
    components: {
      schemas: {
        Node: { type: "object", properties: { child: reference("Node"), leaf: reference("Leaf") } },
        Leaf: { type: "string" },
      },
    },
  };
  assert.deepEqual(subtree(document, ["components", "schemas", "Node"]).properties, {
    child: {
      type: "object",
      properties: {
        child: { title: "Node", description: "Node, as above." },
        leaf: { type: "string" },
      },
    },
    leaf: { type: "string" },
  });
  assert.equal(subtree(document, ["paths", "/none"]), undefined);
});

test("examples of optional parameters are described, not filled in; problems are sentences", () => {
  const operation = short.paths["/v1/jobs"].post;
  const idempotency = operation.parameters.find(({ name }) => name === "Idempotency-Key");
  assert.equal(idempotency.example, undefined);
  assert.match(idempotency.description, /For example `\w+`\.$/);
  assert.match(operation.responses["422"].description, /`\/problems\/unknown-method`/);
  assert.equal(operation.responses["422"].content, undefined);
  assert.ok(operation.responses["202"].content);
});

test("paragraphs, code and emphasis", () => {
  assert.deepEqual(paragraphsOf("Takes `k`.\n\n<i>Example</i>: <b>12</b>"), [
    [
      { kind: "text", text: "Takes " },
      { kind: "code", text: "k" },
      { kind: "text", text: "." },
    ],
    [
      { kind: "emphasis", text: "Example" },
      { kind: "text", text: ": <b>12</b>" },
    ],
  ]);
  assert.deepEqual(paragraphsOf(""), []);
});
