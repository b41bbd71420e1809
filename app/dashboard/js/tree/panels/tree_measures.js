// Two trees measured against the same labels, in one table.

import { button, el, field, problemBox, replace, said, table, waiting } from "../../ui/dom.js";
import { number } from "../../ui/format.js";

/** Both trees measured against labels, and against each other. */
export function measuring({ api, state, byId, signal, onlabels }) {
  const body = el("div", { class: "stack" });
  const labels = el("select", {});
  const run = button("Measure both", { onclick: () => measure() });
  const element = el(
    "section",
    { class: "card tree-panel", "aria-labelledby": "measures-title" },
    el("h2", { id: "measures-title" }, "Evaluations"),
    el(
      "div",
      { class: "stack" },
      field("Against the labels", labels),
      el("div", { class: "row" }, run),
      body,
    ),
  );
  const draw = async () => {
    const points = byId.get(state.left)?.n_points;
    try {
      const { items } = await api.get("/v1/datasets?limit=200", { signal, quiet: true });
      const fits = items.filter(
        (one) =>
          one.status === "ready" &&
          one.shape?.length === 1 &&
          (one.shape[0] === points || points === 1) &&
          one.role !== "names",
      );
      replace(
        labels,
        fits.map((one) =>
          el("option", { value: one.id, selected: one.id === state.labels }, one.name ?? one.id),
        ),
      );
      run.disabled = fits.length === 0;
      if (!fits.length)
        replace(
          body,
          el("p", { class: "quiet" }, "There is no dataset with one label for each of the points."),
        );
    } catch (error) {
      if (error?.name !== "AbortError") replace(body, problemBox(error, { level: "h3" }));
    }
  };
  const measure = async () => {
    const chosen = labels.value;
    onlabels(chosen);
    replace(body, waiting("Measuring…"));
    try {
      const answers = await Promise.all(
        [state.left, state.right].map((id) => evaluate(api, id, chosen, signal)),
      );
      const names = [...new Set(answers.flatMap((one) => Object.keys(one.metrics)))];
      replace(
        body,
        table({
          caption: "Metrics of both trees",
          columns: [
            { label: "Metric", head: true, cell: (name) => name.replaceAll("_", " ") },
            ...answers.map((one, at) => ({
              label: at ? "Right" : "Left",
              numeric: true,
              cell: (name) => number(one.metrics[name]),
            })),
          ],
          rows: names,
        }),
        [...new Set(answers.flatMap((one) => one.warnings ?? []))]
          .slice(0, 4)
          .map((text) => el("p", { class: "quiet" }, said(text))),
      );
    } catch (error) {
      if (error?.name !== "AbortError")
        replace(body, problemBox(error, { level: "h3", retry: measure }));
    }
  };
  return { element, draw };
}

async function evaluate(api, id, labels, signal) {
  let found = await api.send(
    "POST",
    `/v1/trees/${id}/evaluations`,
    { labels },
    { signal, headers: { Prefer: "wait=20" } },
  );
  while (found.status && !found.metrics) {
    if (found.status === "failed" || found.status === "cancelled")
      throw new api.Problem(found.error ?? { title: "The evaluation failed" });
    if (found.status === "succeeded") return { metrics: {}, warnings: [], ...found.result };
    await api.sleep(400, signal);
    found = await api.get(`/v1/jobs/${found.id}`, { signal, quiet: true });
  }
  return found;
}
