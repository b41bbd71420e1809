// The service's methods, metrics and API schemas. Each is requested once.

import { get, raw, whole } from "../net/requests.js";

/** @import { Method, Metric, Page, Schema } from "../net/answers.js" */

/**
 * `load` called at the first use and its result kept; a failure is not kept.
 *
 * @template T
 * @param {() => Promise<T>} load
 * @returns {() => Promise<T>}
 */
function once(load) {
  /** @type {Promise<T> | null} */
  let result = null;
  return () => {
    result ??= load().catch((error) => {
      result = null;
      throw error;
    });
    return result;
  };
}

/** All methods. */
export const methods = once(async () => {
  /** @type {Page<Method>} */
  const page = await whole("/v1/methods");
  return page.items;
});

/**
 * One method, or undefined.
 *
 * @param {string} id
 */
export const methodOf = async (id) => (await methods()).find((method) => method.id === id);

/** The titles of all methods by id. */
export const methodTitles = async () =>
  new Map((await methods()).map((method) => [method.id, method.title]));

/**
 * All metrics, from the page's own file.
 *
 * @type {() => Promise<Metric[]>}
 */
const everyMetric = once(async () => (await raw("dashboard/metrics.json", { quiet: true })).json());

/** @param {Metric} metric */
const isOfClassifiers = (metric) => metric.looks_at === "classifier";

/** The metrics of trees. */
export const metrics = async () => (await everyMetric()).filter((one) => !isOfClassifiers(one));

/** The metrics of classifiers. */
export const classifierMetrics = async () => (await everyMetric()).filter(isOfClassifiers);

/** The schemas of the API's document, by name, each with its members in place. */
export const schemas = once(async () => {
  /** @type {{ components: { schemas: Record<string, Schema> } }} */
  const document = await get("/openapi.json", { quiet: true });
  return withMembers(document.components.schemas);
});

/**
 * The schemas with the members that the document shares among them (`$ref`, `allOf`) in place.
 *
 * @param {Record<string, Schema>} all
 * @returns {Record<string, Schema>}
 */
export const withMembers = (all) =>
  mapped(all, (schema) =>
    schema.properties || schema.allOf
      ? {
          ...schema,
          properties: mapped(inheritedBy(schema, all), ({ $ref: reference, ...own }) =>
            reference ? { ...all[reference.split("/").at(-1) ?? ""], ...own } : own,
          ),
        }
      : schema,
  );

/**
 * The members of a schema and of those that it extends.
 *
 * @param {Schema} schema
 * @param {Record<string, Schema>} all
 * @returns {Record<string, Schema>}
 */
const inheritedBy = (schema, all) =>
  Object.assign(
    {},
    ...(schema.allOf ?? []).map((base) =>
      inheritedBy(all[base.$ref?.split("/").at(-1) ?? ""] ?? base, all),
    ),
    schema.properties,
  );

/**
 * @param {Record<string, Schema>} all
 * @param {(schema: Schema) => Schema} change
 */
const mapped = (all, change) =>
  Object.fromEntries(Object.entries(all).map(([name, schema]) => [name, change(schema)]));
