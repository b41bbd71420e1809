// A choice of metrics, by what they need.

import { el, replace, unique } from "../ui/dom.js";

/** @import { Metric } from "../net/answers.js" */

/** @type {Record<string, string>} */
const NEEDS = {
  labels: "Against labels",
  hierarchy: "Against a true hierarchy",
  similarity: "Against similarities",
  distances: "Against distances",
  features: "The clusters alone",
  measured: "Measured by the method",
};

/**
 * Boxes for the metrics that the inputs of `available()` allow; none ticked means all of them.
 * `draw` updates them, `read` returns the ticked ids, or undefined.
 *
 * @param {Metric[]} list
 * @param {{ chosen?: string[], available: () => string[], onchange?: () => unknown }} options
 */
export function metricsForm(list, { chosen = [], available, onchange = () => {} }) {
  const ticked = new Set(chosen);
  const place = el("div", { class: "stack" });
  const element = el(
    "details",
    { class: "more", open: ticked.size > 0 },
    el("summary", {}, "Metrics: all that the inputs allow, or only some"),
    place,
  );
  const possible = () => {
    const roles = available();
    return list.filter((metric) => metric.needs.some((role) => roles.includes(role)));
  };
  const draw = () => {
    /** @type {Map<string, Metric[]>} */
    const groups = new Map();
    for (const metric of possible()) {
      const group = groups.get(metric.needs[0]);
      if (group) group.push(metric);
      else groups.set(metric.needs[0], [metric]);
    }
    replace(
      place,
      groups.size === 0 && el("p", { class: "quiet" }, "Choose what to measure against first."),
      [...groups].map(([role, members]) =>
        el(
          "fieldset",
          {},
          el("legend", {}, NEEDS[role] ?? role),
          el("div", { class: "ticks" }, members.map(box)),
        ),
      ),
    );
  };
  /** @param {Metric} metric */
  const box = (metric) => {
    const id = unique("metric");
    return el(
      "div",
      { class: "tick" },
      el(
        "label",
        { class: "check" },
        el("input", {
          type: "checkbox",
          checked: ticked.has(metric.id),
          "aria-describedby": id,
          onchange: (event) => {
            if (event.currentTarget.checked) ticked.add(metric.id);
            else ticked.delete(metric.id);
            onchange();
          },
        }),
        metric.title,
      ),
      el("p", { class: "field-help", id }, metric.definition),
    );
  };
  draw();
  return {
    element,
    draw,
    read() {
      const ids = possible()
        .map((metric) => metric.id)
        .filter((id) => ticked.has(id));
      return ids.length ? ids : undefined;
    },
  };
}
