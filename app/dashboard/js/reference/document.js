// The OpenAPI document as the reference shows it. Pure.
//
// Swagger UI resolves the whole document for each operation that is opened, which takes it minutes where a
// request is one of a schema for each method, each with a step that is so again. So a request that runs a
// method is shown as one schema here, the params of all methods beside the operations, and only the operation
// that is opened is resolved.

/** @typedef {any} Json */

/** The method whose example is shown first. */
const FIRST = "l2h";
const SCHEMAS = "#/components/schemas/";
const SHARED = /^#\/components\/(\w+)\/([\w.-]+)$/;

/**
 * The document with one schema for each request, and with short descriptions of problems.
 *
 * @param {Json} document as served
 * @returns {Json} a copy
 */
export function condensed(document) {
  const copy = structuredClone(document);
  copy.paths = followed(document, copy.paths);
  const { schemas } = copy.components;
  for (const [name, schema] of Object.entries(schemas)) {
    const forms = (schema.oneOf ?? []).map((/** @type {Json} */ form) => whole(form, schemas));
    if (forms[0]?.properties?.method?.const) schemas[name] = single(schema, forms);
  }
  for (const path of Object.values(copy.paths)) {
    for (const operation of Object.values(path)) {
      operation.parameters?.forEach(liftExample);
      operation.parameters?.forEach(describeExample);
      Object.values(operation.requestBody?.content ?? {}).forEach(putFirst);
      Object.entries(operation.responses).forEach(([status, response]) => {
        if (/^([45]|default)/.test(status)) describeProblems(response);
      });
    }
  }
  return copy;
}

/**
 * The first example of a request is what is shown unless another is chosen.
 *
 * @param {Json} content
 */
function putFirst(content) {
  const { [FIRST]: first, ...others } = content.examples ?? {};
  if (first) content.examples = { [FIRST]: first, ...others };
}

/**
 * A part with a copy of what its references refer to, but to schemas, which operations share.
 *
 * @param {Json} document
 * @param {Json} part
 * @returns {Json}
 */
function followed(document, part) {
  if (Array.isArray(part)) return part.map((item) => followed(document, item));
  if (part === null || typeof part !== "object") return part;
  const [, section, name] = SHARED.exec(part.$ref ?? "") ?? [];
  if (name && section !== "schemas") return followed(document, document.components[section][name]);
  return Object.fromEntries(
    Object.entries(part).map(([key, value]) => [key, followed(document, value)]),
  );
}

/**
 * What Swagger UI lists: the operations, and of the schemas the params of methods. Its list of webhooks
 * cannot be read by everyone, and the operations describe them.
 *
 * @param {Json} document condensed
 * @returns {Json}
 */
export function listed(document) {
  const params = Object.entries(document.components.schemas)
    .filter(([name]) => name.endsWith("Params"))
    .map(([name, schema]) => [name, resolved(document, schema)]);
  return {
    ...document,
    webhooks: {},
    components: { ...document.components, schemas: Object.fromEntries(params) },
  };
}

/**
 * The part of a document at a path, with what it refers to in the place of the references. A schema within
 * itself is not repeated.
 *
 * @param {Json} document
 * @param {string[]} path
 * @returns {Json} undefined where there is nothing
 */
export function subtree(document, path) {
  return resolved(
    document,
    path.reduce((part, key) => part?.[key], document),
  );
}

/**
 * @param {Json} document
 * @param {Json} part
 * @param {string[]} within the references that led here
 * @returns {Json}
 */
function resolved(document, part, within = []) {
  if (Array.isArray(part)) return part.map((item) => resolved(document, item, within));
  if (part === null || typeof part !== "object") return part;
  const { $ref: reference } = part;
  if (typeof reference === "string" && reference.startsWith(SCHEMAS)) {
    const name = reference.slice(SCHEMAS.length);
    if (within.includes(name)) return { title: name, description: `${name}, as above.` };
    return resolved(document, document.components.schemas[name], [...within, name]);
  }
  return Object.fromEntries(
    Object.entries(part).map(([key, value]) => [key, resolved(document, value, within)]),
  );
}

/**
 * A schema with the members of its parts (`allOf`) in it.
 *
 * @param {Json} schema
 * @param {Json} schemas
 * @returns {Json}
 */
function whole({ $ref: reference, ...schema }, schemas) {
  if (reference) return whole(schemas[reference.slice(SCHEMAS.length)], schemas);
  const { allOf, unevaluatedProperties: _closed, ...own } = schema;
  if (!allOf) return own;
  const parts = [...allOf, { properties: own.properties, required: own.required }].map(
    (/** @type {Json} */ part) => whole(part, schemas),
  );
  return {
    type: "object",
    ...own,
    properties: Object.assign({}, ...parts.map((/** @type {Json} */ part) => part.properties)),
    required: parts.flatMap((/** @type {Json} */ part) => part.required ?? []),
  };
}

/**
 * One schema for a request of any method.
 *
 * @param {Json} schema one of a schema for each method
 * @param {Json[]} forms these, with all their members
 */
function single(schema, forms) {
  const [form] = forms;
  const { oneOf: _forms, discriminator: _discriminator, ...rest } = schema;
  return {
    ...form,
    ...rest,
    properties: {
      ...form.properties,
      method: { type: "string", enum: forms.map(({ properties }) => properties.method.const) },
      params: {
        type: "object",
        description: "The parameters of the method, listed at the end of this page.",
      },
    },
  };
}

/**
 * Swagger UI shows the example of a parameter, not of its schema.
 *
 * @param {Json} parameter
 */
function liftExample(parameter) {
  const { examples: [example] = [], ...schema } = parameter.schema;
  if (example !== undefined) Object.assign(parameter, { schema, example });
}

/**
 * An example is not filled in where nothing need be: parameters that exclude each other would be sent together.
 *
 * @param {Json} parameter
 */
function describeExample(parameter) {
  if (parameter.required || parameter.example === undefined) return;
  const text = `For example \`${parameter.example}\`.`;
  parameter.description = [parameter.description, text].filter(Boolean).join(" ");
  delete parameter.example;
}

/**
 * A sentence for each problem instead of its example.
 *
 * @param {Json} response
 */
function describeProblems(response) {
  const examples = Object.values(response.content?.["application/problem+json"]?.examples ?? {});
  if (!examples.length) return;
  response.description = examples
    .map(({ value }) => `\`${value.type}\` ${value.title}: ${value.detail}`)
    .join("\n\n");
  delete response.content;
}
