// The metrics there are, and a choice of them by what they need.

import { raw } from "../net/requests.js";
import { el, replace, unique } from "../ui/dom.js";

let asked = null;

/** [{id, title, needs, looks_at, better, definition}]; asked for once. */
export function metrics() {
  asked ??= raw("dashboard/metrics.json", { quiet: true }).then(
    (response) => response.json(),
    (error) => {
      asked = null;
      throw error;
    },
  );
  return asked;
}

const NEEDS = {
  labels: "Against labels",
  hierarchy: "Against a true hierarchy",
  similarity: "Against similarities",
  distances: "Against distances",
  features: "Of the clusters alone",
  measured: "Measured by the method",
};

/**
 * Boxes for the metrics that the inputs in `given()` allow; none ticked means all of them.
 * -> {element, draw(), read() -> [ids] or undefined}
 */
export function metricsForm(list, { chosen = [], given, onchange }) {
  const ticked = new Set(chosen);
  const place = el("div", { class: "stack" });
  const element = el(
    "details",
    { class: "more", open: ticked.size > 0 },
    el("summary", {}, "Metrics: all that the inputs allow, or only some"),
    place,
  );
  const possible = () => list.filter((one) => one.needs.some((role) => given().includes(role)));
  const draw = () => {
    const fits = possible();
    const groups = Map.groupBy
      ? Map.groupBy(fits, (one) => one.needs[0])
      : new Map(
          fits.map((one) => [
            one.needs[0],
            fits.filter((other) => other.needs[0] === one.needs[0]),
          ]),
        );
    replace(
      place,
      fits.length === 0 && el("p", { class: "quiet" }, "Choose what to measure against first."),
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
            if (event.target.checked) ticked.add(metric.id);
            else ticked.delete(metric.id);
            onchange?.();
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
      const found = possible()
        .filter((one) => ticked.has(one.id))
        .map((one) => one.id);
      return found.length ? found : undefined;
    },
  };
}
