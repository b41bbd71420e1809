// A comparison: its progress, then its table.

import { methods } from "../forms/method_picker.js";
import { metrics } from "../forms/metrics_form.js";
import { changedParams, readable, shownParams } from "../forms/schema_form.js";
import { aborted, download, get, send } from "../net/requests.js";
import { button, confirm, el, problemBox, replace, said, toast } from "../ui/dom.js";
import { ago, moment, number, seconds } from "../ui/format.js";
import { ENDED, follow, progressPanel, statusChip } from "../ui/progress.js";

export async function mount(root, { router, id }) {
  const ends = new AbortController();
  const { signal } = ends;
  let found = await get(`/v1/comparisons/${id}`, { signal });
  const [list, catalogue] = await Promise.all([methods(), metrics()]);
  const known = {
    methods: new Map(list.map((one) => [one.id, one])),
    metrics: new Map(catalogue.map((one) => [one.id, one])),
  };
  const head = el("header", { class: "page-head" });
  const body = el("div", { class: "stack loose" });
  replace(root, head, body);

  async function remove() {
    const sure = await confirm({
      title: "Delete this comparison?",
      text: "Its table goes with it. This cannot be undone.",
      yes: "Delete",
      danger: true,
    });
    if (!sure) return;
    try {
      await send("DELETE", `/v1/comparisons/${id}`);
      toast("The comparison is deleted.", { kind: "good" });
      router.navigate("/comparisons");
    } catch (error) {
      toast(error.detail || error.message, { kind: "bad" });
    }
  }
  const save = async () => {
    try {
      await download(
        `/v1/comparisons/${id}.csv`,
        `${(found.name ?? "comparison").replaceAll(/[^\p{L}\p{N}._-]+/gu, "-")}.csv`,
        { accept: "text/csv" },
      );
    } catch (error) {
      if (!aborted(error)) toast(error.detail || error.message, { kind: "bad" });
    }
  };
  const draw = () => {
    document.title = `${found.name ?? "Comparison"} · Umbel`;
    replace(
      head,
      el(
        "div",
        {},
        el(
          "p",
          { class: "eyebrow" },
          el("a", { href: router.href("/comparisons") }, "Comparisons"),
          " / Comparison",
        ),
        el("h1", {}, said(found.name ?? "Comparison"), " ", statusChip(found.status)),
        el(
          "p",
          { class: "lead" },
          el("span", { title: moment(found.created_at) }, `Submitted ${ago(found.created_at)}.`),
        ),
      ),
      el(
        "div",
        { class: "row" },
        found.table && button("Download CSV", { iconName: "download", onclick: save }),
        button("Delete", { kind: "danger", iconName: "trash", onclick: remove }),
      ),
    );
    if (!ENDED.has(found.status)) return;
    replace(
      body,
      found.status === "failed" && problemBox(found.error ?? {}),
      found.status === "cancelled" &&
        el(
          "section",
          { class: "notice", role: "status" },
          el("h2", { class: "notice-title" }, "Cancelled"),
        ),
      found.table && comparisonTable(found, known),
    );
  };
  const watch = async () => {
    const panel = progressPanel(found.job, { oncancelled: () => refresh() });
    panel.show(found);
    replace(body, panel);
    try {
      await follow(found.job, {
        signal,
        onchange: ({ status, progress, away }) =>
          away === undefined && panel.show({ status, progress }),
      });
      await refresh();
    } catch (error) {
      if (aborted(error) || signal.aborted) return;
      replace(body, problemBox(error, { retry: error.status === 404 ? undefined : watch }));
    }
  };
  const refresh = async () => {
    found = await get(`/v1/comparisons/${id}`, { signal });
    draw();
  };
  draw();
  if (!ENDED.has(found.status)) watch();
  return () => ends.abort();
}

/** Rows are runs, columns metrics; the best mean of each metric is marked. */
function comparisonTable(found, known) {
  const ids = [...new Set(found.table.flatMap((row) => Object.keys(row.metrics)))];
  const heads = ids.map((id) => {
    const metric = known.metrics.get(id);
    return el(
      "th",
      { scope: "col", class: "numeric", title: metric?.definition },
      metric?.title ?? readable(id),
      metric?.better === "lower" && el("span", { class: "field-hint" }, " ↓"),
    );
  });
  return el(
    "div",
    { class: "table-place", tabindex: "0", role: "region", "aria-label": "Comparison" },
    el(
      "table",
      { class: "results comparison" },
      el(
        "caption",
        { class: "visually-hidden" },
        "Mean and standard deviation of every metric; the best mean is marked",
      ),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          el("th", { scope: "col" }, "Run"),
          el("th", { scope: "col", class: "numeric" }, "Seeds"),
          heads,
          el("th", { scope: "col", class: "numeric" }, "Seconds"),
        ),
      ),
      el(
        "tbody",
        {},
        found.table.map((row, at) => runRow(row, at, found.best ?? {}, ids, known)),
      ),
    ),
  );
}

function runRow(row, at, best, ids, known) {
  const method = known.methods.get(row.method);
  const around = [
    ...row.preprocess.map((one) => one.step),
    shownParams(changedParams(method?.params, without(row.params, "seed"))),
    ...(row.then ? [`then ${row.then.method}`] : []),
  ].join(" · ");
  const head = el(
    "th",
    { scope: "row" },
    method?.title ?? row.method,
    el("span", { class: "field-hint block" }, said(around)),
    row.warnings.length > 0 &&
      el(
        "details",
        { class: "numbers" },
        el("summary", {}, row.warnings.length === 1 ? "A note" : `${row.warnings.length} notes`),
        el(
          "ul",
          {},
          row.warnings.map((text) => el("li", {}, said(text))),
        ),
      ),
  );
  if (row.error) {
    return el(
      "tr",
      {},
      head,
      el("td", { class: "numeric" }, row.seeds),
      el(
        "td",
        { colspan: ids.length + 1, class: "failed" },
        el("strong", {}, said(row.error.title ?? "Failed")),
        " ",
        said(row.error.detail ?? ""),
      ),
    );
  }
  return el(
    "tr",
    {},
    head,
    el("td", { class: "numeric" }, row.seeds),
    ids.map((id) => {
      const spread = row.metrics[id];
      const isBest = best[id] === at;
      return el(
        "td",
        {
          class: `numeric${isBest ? " best" : ""}`,
          title: spread ? (row.values[id] ?? []).map(String).join(", ") : "",
        },
        spread ? number(spread.mean) : "–",
        spread && row.seeds > 1 && el("span", { class: "quiet" }, ` ± ${number(spread.std)}`),
        isBest && el("span", { class: "visually-hidden" }, " (best)"),
      );
    }),
    el(
      "td",
      { class: "numeric" },
      row.seconds ? seconds(row.seconds.mean) : "–",
      row.seconds &&
        row.seeds > 1 &&
        el("span", { class: "quiet" }, ` ± ${seconds(row.seconds.std)}`),
    ),
  );
}

const without = (params, name) =>
  Object.fromEntries(Object.entries(params).filter(([other]) => other !== name));
