// A job: its progress, its result, or its problem.

import * as router from "../router.js";
import { methodOf } from "../forms/catalogue.js";
import { roleTitle } from "../forms/roles.js";
import { changedParams, shownParams } from "../forms/schema.js";
import { ENDED, follow, started } from "../net/jobs.js";
import { log, note } from "../net/log.js";
import { aborted, hasStatus, problemOf } from "../net/problem.js";
import { get } from "../net/requests.js";
import { sleep } from "../net/timers.js";
import { button } from "../ui/controls.js";
import { toast } from "../ui/dialogs.js";
import { bdi, el, replace } from "../ui/dom.js";
import { ago, between, moment, seconds } from "../ui/format.js";
import { problemBox, warningCount } from "../ui/notices.js";
import { progressPanel, statusChip } from "../ui/progress.js";
import { confirmDeletion } from "./deletion.js";
import { jobResult } from "./job_result.js";
import { addressParams } from "./run_address.js";

/** @import { Job, Method } from "../net/answers.js" */
/** @import { Mounted, PageContext } from "../router.js" */
/** @import { Child } from "../ui/dom.js" */

/** @type {Record<string, string>} */
const KINDS = {
  fit: "Run",
  predict: "Prediction",
  evaluate: "Evaluation",
  compare: "Comparison",
  heatmap: "Heatmap",
  map: "Map",
  import: "Import",
};

/**
 * @param {HTMLElement} root
 * @param {PageContext} context
 * @returns {Promise<Mounted>}
 */
export async function mount(root, { id, params }) {
  const ends = new AbortController();
  const { signal } = ends;
  /** @type {Job} */
  let job = await get(`/v1/jobs/${id}`, { signal });
  const method = await methodOf(job.method).catch(() => undefined);
  const head = el("header", { class: "page-head" });
  const body = el("div", { class: "stack loose" });
  replace(root, head, body);

  const drawHead = () => {
    document.title = `${job.name ?? method?.title ?? job.method} · Umbel`;
    replace(head, title(job, method), tools(job, method));
  };
  const drawEnd = () => {
    drawHead();
    replace(body, jobResult(job, params, signal), remedy(job, method), requestCard(job, method));
  };
  const drawGone = () => replace(body, goneNotice(), requestCard(job, method));

  const watch = async () => {
    const panel = progressPanel(id, {
      oncancelled: (ended) => {
        job = ended;
        drawEnd();
      },
    });
    const lines = el("ol", { class: "log" });
    const logged = el("details", { class: "more", hidden: true }, el("summary", {}, "Log"), lines);
    panel.show(job);
    replace(body, panel, logged, requestCard(job, method));
    try {
      job = await follow(id, {
        signal,
        onprogress: (status, progress) => {
          if (!body.contains(panel)) return;
          panel.show({ status, progress });
          if (status !== job.status) {
            job = { ...job, status };
            drawHead();
          }
        },
        onlog: (line) => {
          logged.hidden = false;
          lines.append(el("li", {}, bdi(line)));
        },
      });
    } catch (error) {
      if (aborted(error) || signal.aborted) return;
      if (hasStatus(error, 404)) drawGone();
      else {
        const box = problemBox(problemOf(error), { retry: watch });
        replace(body, box, requestCard(job, method));
      }
      return;
    }
    if (signal.aborted) return;
    if (openTree(job)) return;
    drawEnd();
    if (job.status === "cancelled") checkDeletion();
  };

  /** A running job that is deleted is cancelled first, and gone a moment later. */
  const checkDeletion = async () => {
    for (const pause of [0, 500, 2000]) {
      try {
        await sleep(pause, signal);
        await get(`/v1/jobs/${id}`, { signal, quiet: true });
      } catch (error) {
        if (hasStatus(error, 404)) drawGone();
        return;
      }
    }
  };

  noteRequest(job, method);
  drawHead();
  if (!ENDED.has(job.status)) watch();
  else if (!openTree(job)) drawEnd();
  return { unmount: () => ends.abort() };
}

/**
 * Go to the tree of a job that was started here, once: the way back leads to the job. A message leads
 * to its warnings. Returns whether there is one.
 *
 * @param {Job} job
 */
function openTree({ id, result, warnings }) {
  if (!started.delete(id) || !result?.tree) return false;
  router.navigate(`/trees/${result.tree}`);
  if (!warnings.length) return true;
  toast(`The run has ${warningCount(warnings)}.`, {
    kind: "bad",
    action: { label: "Read", onclick: () => router.navigate(`/jobs/${id}`) },
  });
  return true;
}

/**
 * @param {Job} job
 * @param {Method | undefined} method
 */
function title(job, method) {
  const methodTitle = method?.title ?? job.method;
  const hasRun = ENDED.has(job.status) && job.started_at;
  return el(
    "div",
    {},
    el(
      "p",
      { class: "eyebrow" },
      el("a", { href: router.href("/jobs") }, "Jobs"),
      ` / ${KINDS[job.kind] ?? job.kind}`,
    ),
    el("h1", {}, bdi(job.name ?? methodTitle), " ", statusChip(job.status)),
    el(
      "p",
      { class: "lead" },
      job.name && `${methodTitle}, `,
      el(
        "span",
        { title: moment(job.created_at) },
        `${job.name ? "submitted" : "Submitted"} ${ago(job.created_at)}`,
      ),
      hasRun && `, took ${seconds(between(job.started_at, job.finished_at))}`,
      job.attempt > 1 && `, attempt ${job.attempt}`,
      ".",
    ),
    job.retry &&
      el(
        "p",
        { class: "quiet", title: moment(job.retry.at) },
        `Attempt ${job.retry.attempt} was given up: ${job.retry.error?.detail}`,
      ),
  );
}

/**
 * @param {Job} job
 * @param {Method | undefined} method
 */
function tools(job, method) {
  const remove = () =>
    confirmDeletion({
      what: "job",
      consequence: "Its tree, its model and their files are deleted with it.",
      path: `/v1/jobs/${job.id}`,
      next: "/jobs",
    });
  return el(
    "div",
    { class: "row" },
    job.kind === "fit" &&
      el(
        "a",
        { class: "button", href: router.href("/", againParams(job, method)) },
        "Change and run again",
      ),
    button("Delete", { kind: "danger", iconName: "trash", onclick: remove }),
  );
}

const goneNotice = () =>
  el(
    "section",
    { class: "notice", role: "alert" },
    el("h2", { class: "notice-title" }, "This job no longer exists"),
    el("p", {}, "It was deleted while this page was open."),
    el("a", { href: router.href("/jobs") }, "All jobs"),
  );

/**
 * The optional parts of a job's request.
 *
 * @param {Job} job
 */
const extrasOf = ({ preprocess, then, support, name_by: nameBy }) => ({
  ...(preprocess.length ? { preprocess } : {}),
  ...(then ? { then } : {}),
  ...(support ? { support } : {}),
  ...(nameBy ? { name_by: nameBy } : {}),
});

/**
 * For "Copy as code": the request that created the job, if another session sent it.
 *
 * @param {Job} job
 * @param {Method | undefined} method
 */
function noteRequest(job, method) {
  const isInline = Object.values(job.inputs).includes("inline");
  if (job.kind !== "fit" || isInline || log.some((call) => call.answer?.id === job.id)) return;
  const params = changedParams(method?.params, job.params);
  const body = {
    method: job.method,
    inputs: job.inputs,
    ...(Object.keys(params).length ? { params } : {}),
    ...extrasOf(job),
    ...(job.name ? { name: job.name } : {}),
  };
  note({
    method: "POST",
    path: "/v1/jobs",
    headers: { "Content-Type": "application/json" },
    body,
    answer: { id: job.id },
    status: 202,
    at: 0,
  });
  // Before the calls about the job.
  log.unshift(...log.splice(-1));
}

/**
 * The start page's parameters for another run with these settings.
 *
 * @param {Job} job
 * @param {Method | undefined} method
 */
function againParams(job, method) {
  const inputs = Object.fromEntries(
    Object.entries(job.inputs).filter(([, value]) => value !== "inline"),
  );
  const params = changedParams(method?.params, job.params);
  return addressParams({
    method: job.method,
    name: job.name,
    inputs,
    params,
    extras: extrasOf(job),
  });
}

/**
 * A link to the same run with rows scaled to length 1, if it failed because they are not.
 *
 * @param {Job} job
 * @param {Method | undefined} method
 */
function remedy(job, method) {
  if (job.kind !== "fit" || !job.error?.type?.endsWith("/not-unit")) return null;
  const preprocess = [...job.preprocess, { step: "l2" }];
  return el(
    "p",
    {},
    el(
      "a",
      {
        class: "button primary",
        href: router.href("/", againParams({ ...job, preprocess }, method)),
      },
      "Bring the rows to length 1 and run again",
    ),
  );
}

// --- the request ---------------------------------------------------------------------------------

/** @type {[prefix: string, path: string][]} */
const PLACES = [
  ["ds_", "/datasets"],
  ["tr_", "/trees"],
  ["job_", "/jobs"],
];

/**
 * An input of a job, as a link where it is a thing of the service.
 *
 * @param {string} value
 */
function reference(value) {
  const place = PLACES.find(([prefix]) => value.startsWith(prefix));
  if (!place) return bdi(value === "inline" ? "given in the request" : value);
  return el("a", { href: router.href(`${place[1]}/${value}`), class: "mono" }, value);
}

/**
 * @param {string} name
 * @param {Child} value
 */
const fact = (name, value) => [el("dt", {}, name), el("dd", {}, value)];

/**
 * @param {Job} job
 * @param {Method | undefined} method
 */
function requestCard(job, method) {
  return el(
    "section",
    { class: "card", "aria-labelledby": "request-title" },
    el("h2", { id: "request-title" }, "Request"),
    el(
      "dl",
      { class: "facts" },
      fact("Method", [
        method?.title ?? job.method,
        " ",
        el("code", { class: "quiet" }, job.method),
      ]),
      Object.entries(job.inputs).map(([role, value]) =>
        fact(
          roleTitle(role),
          [value].flat().map((item, at) => [at > 0 && ", ", reference(item)]),
        ),
      ),
      fact("Parameters", bdi(shownParams(job.params))),
      job.preprocess.length > 0 && fact("Prepared by", preprocessText(job)),
      job.then && fact("Then", `${job.then.method} (${shownParams(job.then.params)})`),
      job.webhook &&
        fact("Webhook", [
          bdi(job.webhook.url),
          el("div", { class: "quiet" }, webhookText(job.webhook)),
        ]),
      fact(
        "Times",
        `submitted ${moment(job.created_at)}, started ${moment(job.started_at)}, ended ${moment(job.finished_at)}`,
      ),
      fact("Id", el("span", { class: "mono" }, job.id)),
    ),
  );
}

/** @param {Job} job */
const preprocessText = ({ preprocess }) =>
  preprocess
    .map(({ step, ...params }) =>
      Object.keys(params).length ? `${step} (${shownParams(params)})` : step,
    )
    .join(", then ");

const WEBHOOK = {
  waiting: "sent when the job has ended",
  pending: "not delivered yet",
  delivered: "delivered",
  failed: "given up",
};

/**
 * The state of a webhook, in a sentence.
 *
 * @param {NonNullable<Job["webhook"]>} webhook
 */
function webhookText({ status, attempts, next_at: next, reason }) {
  const parts = [WEBHOOK[status]];
  if (attempts > 0) parts.push(`sent ${attempts === 1 ? "once" : `${attempts} times`}`);
  if (next && attempts > 0) parts.push(`again ${moment(next)}`);
  return [parts.join(", "), status === "delivered" ? null : reason].filter(Boolean).join(". ");
}
