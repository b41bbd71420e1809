// A comparison: its progress, then its table.

import { methods, metrics } from "../forms/catalogue.js";
import { readable } from "../forms/parameter_names.js";
import { shownParams, tellingParams } from "../forms/schema.js";
import { ENDED, follow } from "../net/jobs.js";
import { aborted, hasStatus, problemOf } from "../net/problem.js";
import { get } from "../net/requests.js";
import * as router from "../router.js";
import { button } from "../ui/controls.js";
import { bdi, el, replace } from "../ui/dom.js";
import { fetchedImage } from "../ui/images.js";
import { download, fileName } from "../ui/downloads.js";
import { ago, moment, number, seconds } from "../ui/format.js";
import { problemBox, warningCount } from "../ui/notices.js";
import { progressPanel, statusChip } from "../ui/progress.js";
import { comparisonDifferences } from "./comparison_differences.js";
import { comparisonPictures } from "./comparison_pictures.js";
import { confirmDeletion } from "./deletion.js";

/** @import { Comparison, ComparisonRow, Method, Metric } from "../net/answers.js" */
/** @import { Mounted, PageContext } from "../router.js" */

/** The width of a small tree in the table, px. */
const SMALL_PX = 128;

/**
 * @typedef {{ methods: Map<string, Method>, metrics: Map<string, Metric> }} Catalogue by id
 */

/**
 * @param {HTMLElement} root
 * @param {PageContext} context
 * @returns {Promise<Mounted>}
 */
export async function mount(root, { id }) {
  const ends = new AbortController();
  const { signal } = ends;
  /** @type {Comparison} */
  let comparison = await get(`/v1/comparisons/${id}`, { signal });
  const [allMethods, allMetrics] = await Promise.all([methods(), metrics()]);
  const catalogue = {
    methods: new Map(allMethods.map((method) => [method.id, method])),
    metrics: new Map(allMetrics.map((metric) => [metric.id, metric])),
  };
  const head = el("header", { class: "page-head" });
  const body = el("div", { class: "stack loose" });
  replace(root, head, body);

  const remove = () =>
    confirmDeletion({
      what: "comparison",
      consequence: "Its table is deleted with it.",
      path: `/v1/comparisons/${id}`,
      next: "/comparisons",
    });
  /** @type {Promise<string>} What the small trees are coloured by: the labels, where there are any. */
  const colour = get(`/v1/jobs/${comparison.job}`, { signal, quiet: true }).then(
    ({ inputs }) => (inputs?.labels ? `&color_by=${inputs.labels}` : ""),
    () => "",
  );
  /**
   * A tree as a small picture, once it has come; without one where it cannot be drawn.
   *
   * @param {string} tree
   * @param {string} title
   */
  const small = (tree, title) => {
    const place = el("div", { class: "table-tree" });
    const theme = document.documentElement.dataset.theme === "dark" ? "&theme=dark" : "";
    const attributes = { alt: `The tree of ${title}`, width: `${SMALL_PX}`, loading: "lazy" };
    colour
      .then((by) => `/v1/trees/${tree}.svg?px=${SMALL_PX}${theme}${by}`)
      .then((path) => fetchedImage(path, attributes, signal))
      .then(
        (image) => replace(place, image),
        () => {},
      );
    return place;
  };
  const save = () =>
    download(`/v1/comparisons/${id}.csv`, `${fileName(comparison.name ?? "comparison")}.csv`, {
      accept: "text/csv",
    });
  const draw = () => {
    const { name, status, created_at: created, table, error, best, differences } = comparison;
    document.title = `${name ?? "Comparison"} · Umbel`;
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
        el("h1", {}, bdi(name ?? "Comparison"), " ", statusChip(status)),
        el(
          "p",
          { class: "lead" },
          el("span", { title: moment(created) }, `Submitted ${ago(created)}.`),
        ),
      ),
      el(
        "div",
        { class: "row" },
        table && button("Download CSV", { iconName: "download", onclick: save }),
        button("Delete", { kind: "danger", iconName: "trash", onclick: remove }),
      ),
    );
    if (!ENDED.has(status)) return;
    replace(
      body,
      status === "failed" && problemBox(error ?? {}),
      status === "cancelled" &&
        el(
          "section",
          { class: "notice", role: "status" },
          el("h2", { class: "notice-title" }, "Cancelled"),
        ),
      table && comparisonTable(table, best ?? {}, catalogue, small),
      table && comparisonDifferences(differences, (run) => nameOf(table[run], table, catalogue)),
      table && picturesOf(table, catalogue),
    );
  };
  const watch = async () => {
    const panel = progressPanel(comparison.job, { oncancelled: () => refresh() });
    panel.show(comparison);
    replace(body, panel);
    try {
      await follow(comparison.job, {
        signal,
        onprogress: (status, progress) => panel.show({ status, progress }),
      });
      await refresh();
    } catch (error) {
      if (aborted(error) || signal.aborted) return;
      const retry = hasStatus(error, 404) ? undefined : watch;
      replace(body, problemBox(problemOf(error), { retry }));
    }
  };
  const refresh = async () => {
    comparison = await get(`/v1/comparisons/${id}`, { signal });
    draw();
  };
  draw();
  if (!ENDED.has(comparison.status)) watch();
  return { unmount: () => ends.abort() };
}

/**
 * A row for each run, a column for each metric; the best mean of each metric is marked.
 *
 * @param {ComparisonRow[]} rows
 * @param {Record<string, number>} best row of each metric
 * @param {Catalogue} catalogue
 * @param {(tree: string, title: string) => HTMLElement} small a tree as a small picture
 */
function comparisonTable(rows, best, catalogue, small) {
  const ids = [...new Set(rows.flatMap((row) => Object.keys(row.metrics ?? {})))];
  const heads = ids.map((id) => {
    const metric = catalogue.metrics.get(id);
    return el(
      "th",
      { scope: "col", class: "numeric", title: metric?.definition },
      metric?.title ?? readable(id),
      metric?.better === "lower" && el("span", { class: "field-hint" }, " ↓"),
    );
  });
  const place = el(
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
        rows.map((row, at) => {
          const bestIds = new Set(ids.filter((id) => best[id] === at));
          return tableRow(row, ids, bestIds, {
            method: catalogue.methods.get(row.method),
            settings: settingsOf(row, rows, catalogue),
            small,
          });
        }),
      ),
    ),
  );
  return el("div", { class: "stack tight" }, scrollHint(place), place);
}

/**
 * The pictures of the runs that have metrics.
 *
 * @param {ComparisonRow[]} rows
 * @param {Catalogue} catalogue
 */
function picturesOf(rows, catalogue) {
  const ids = [...new Set(rows.flatMap((row) => Object.keys(row.metrics ?? {})))];
  return comparisonPictures(
    rows
      .filter((row) => !row.error)
      .map((row) => ({
        name: nameOf(row, rows, catalogue),
        means: Object.fromEntries(Object.entries(row.metrics).map(([id, { mean }]) => [id, mean])),
      })),
    ids.map((id) => ({
      id,
      title: catalogue.metrics.get(id)?.title ?? readable(id),
      isLowerBetter: catalogue.metrics.get(id)?.better === "lower",
    })),
  );
}

/**
 * The name of a run beside the others; the settings of the only run of a method say nothing more.
 *
 * @param {ComparisonRow} row
 * @param {ComparisonRow[]} rows
 * @param {Catalogue} catalogue
 */
const nameOf = (row, rows, catalogue) => {
  const title = catalogue.methods.get(row.method)?.title ?? row.method;
  const isOnly = rows.filter(({ method }) => method === row.method).length === 1;
  return isOnly ? title : [title, settingsOf(row, rows, catalogue)].filter(Boolean).join(", ");
};

/**
 * What a run was made with: its parameters that differ from the defaults or from another run
 * of its method.
 *
 * @param {ComparisonRow} row
 * @param {ComparisonRow[]} rows
 * @param {Catalogue} catalogue
 */
const settingsOf = ({ method, params, preprocess, then }, rows, catalogue) =>
  [
    ...preprocess.map(({ step }) => step),
    shownParams(
      tellingParams(
        catalogue.methods.get(method)?.params,
        withoutSeed(params),
        rows.filter((other) => other.method === method).map((other) => other.params),
      ),
    ),
    ...(then ? [`then ${then.method}`] : []),
  ].join(" · ");

/**
 * A line that says that a table is wider than its place, while it is.
 *
 * @param {HTMLElement} place
 */
function scrollHint(place) {
  const hint = el("p", { class: "quiet scroll-hint", hidden: true }, "More columns to the right: scroll the table sideways."); // prettier-ignore
  new ResizeObserver(() => {
    hint.hidden = place.scrollWidth <= place.clientWidth + 1;
  }).observe(place);
  return hint;
}

/**
 * The tree of a run, where the service keeps it.
 *
 * @param {ComparisonRow} row
 */
const treeOf = (row) => ("tree" in row && typeof row.tree === "string" ? row.tree : null);

/**
 * @param {ComparisonRow} row
 * @param {string[]} ids of the metrics
 * @param {Set<string>} bestIds the metrics that this row is the best of
 * @param {{
 *   method: Method | undefined,
 *   settings: string,
 *   small: (tree: string, title: string) => HTMLElement,
 * }} options `small`: a tree as a small picture
 */
function tableRow(row, ids, bestIds, { method, settings, small }) {
  const tree = treeOf(row);
  const head = el(
    "th",
    { scope: "row" },
    tree
      ? el("a", { href: router.href(`/trees/${tree}`) }, method?.title ?? row.method)
      : (method?.title ?? row.method),
    el("span", { class: "field-hint block" }, bdi(settings)),
    tree && small(tree, `${method?.title ?? row.method}, ${settings}`),
    row.warnings.length > 0 &&
      el(
        "details",
        { class: "numbers" },
        el("summary", {}, warningCount(row.warnings)),
        el(
          "ul",
          {},
          row.warnings.map((text) => el("li", {}, bdi(text))),
        ),
      ),
  );
  const seeds = el("td", { class: "numeric" }, row.seeds);
  if (row.error) {
    return el(
      "tr",
      {},
      head,
      seeds,
      el(
        "td",
        { colspan: ids.length + 1, class: "failed" },
        el("strong", {}, bdi(row.error.title ?? "Failed")),
        " ",
        bdi(row.error.detail ?? ""),
      ),
    );
  }
  const isRepeated = row.seeds > 1;
  return el(
    "tr",
    {},
    head,
    seeds,
    ids.map((id) => {
      const spread = row.metrics[id];
      const isBest = bestIds.has(id);
      return el(
        "td",
        {
          class: `numeric${isBest ? " best" : ""}`,
          title: spread ? (row.values[id] ?? []).map(String).join(", ") : "",
        },
        spread ? number(spread.mean) : "–",
        spread && isRepeated && el("span", { class: "quiet" }, ` ± ${number(spreadOf(spread))}`),
        isBest && el("span", { class: "visually-hidden" }, " (best)"),
      );
    }),
    el(
      "td",
      { class: "numeric" },
      row.seconds ? seconds(row.seconds.mean) : "–",
      row.seconds && isRepeated && el("span", { class: "quiet" }, ` ± ${seconds(row.seconds.std)}`),
    ),
  );
}

/**
 * The spread of values; 0 where it is only what rounding leaves.
 *
 * @param {{ mean: number, std: number }} spread
 */
const spreadOf = ({ mean, std }) => (std < 1e-12 * Math.abs(mean) ? 0 : std);

/** @param {Record<string, unknown>} params */
const withoutSeed = (params) =>
  Object.fromEntries(Object.entries(params).filter(([name]) => name !== "seed"));
