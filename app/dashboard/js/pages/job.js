// A job: its progress, its result, or its problem.

import * as router from "../router.js";
import { methodOf } from "../forms/catalogue.js";
import { roleTitle } from "../forms/roles.js";
import { changedParams, shownParams } from "../forms/schema.js";
import { ENDED, follow, started } from "../net/jobs.js";
import { log, note } from "../net/log.js";
import { aborted, hasStatus, problemOf } from "../net/problem.js";
import { get, send } from "../net/requests.js";
import { sleep } from "../net/timers.js";
import { button } from "../ui/controls.js";
import { toast, toastError } from "../ui/dialogs.js";
import { bdi, el, replace } from "../ui/dom.js";
import { ago, between, capitalized, moment, seconds } from "../ui/format.js";
import { problemBox, warningCount } from "../ui/notices.js";
import { progressPanel, statusChip } from "../ui/progress.js";
import { STEPS } from "../ui/step_titles.js";
import { confirmDeletion } from "./deletion.js";
import { jobResult } from "./job_result.js";
import { isPassing, KINDS, pausedText, triesText } from "./job_words.js";
import { addressParams } from "./run_address.js";

/** @import { Job, Method } from "../net/answers.js" */
/** @import { Mounted, PageContext } from "../router.js" */
/** @import { Child } from "../ui/dom.js" */

/** How often a queued job is looked at again, to see whether it is paused. */
const LOOK_MS = 10_000;

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
    replace(
      body,
      jobResult(job, params, signal),
      nextSteps(job, method),
      requestCard(job, method, signal),
    );
  };
  const drawGone = () => replace(body, goneNotice(), requestCard(job, method, signal));

  const watch = async () => {
    const panel = progressPanel(id, {
      oncancelled: (ended) => {
        job = ended;
        drawEnd();
      },
    });
    const lines = el("ol", { class: "log" });
    const logged = el("details", { class: "more", hidden: true }, el("summary", {}, "Log"), lines);
    const show = () => panel.show({ ...job, waitsFor: pausedText(job) });
    const lookAgain = async () => {
      while (body.contains(panel)) {
        await sleep(LOOK_MS, signal);
        // It is queued again where an attempt is given up.
        if (job.status !== "queued") continue;
        /** @type {Job} */
        const newer = await get(`/v1/jobs/${id}`, { signal, quiet: true });
        if (job.status !== "queued" || newer.status !== "queued") continue;
        job = newer;
        show();
      }
    };
    show();
    replace(body, panel, logged, requestCard(job, method, signal));
    lookAgain().catch(() => {}); // The events say what the service does.
    try {
      job = await follow(id, {
        signal,
        onprogress: (status, progress) => {
          if (!body.contains(panel)) return;
          const isOther = status !== job.status;
          // Whether a job is paused that is queued again is seen when it is looked at.
          const paused = status === "queued" ? job.paused : null;
          job = { ...job, status, progress, paused };
          show();
          if (isOther) drawHead();
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
        replace(body, box, requestCard(job, method, signal));
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
      ` / ${capitalized(KINDS[job.kind] ?? job.kind)}`,
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
    job.retry && el("p", { class: "quiet", title: moment(job.retry.at) }, bdi(triesText(job))),
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
    // Beside the reason where there is one.
    job.kind === "fit" &&
      !hasNoResult(job) &&
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
 * The inputs that this page sent with the job's request.
 *
 * @param {Job} job
 * @returns {Record<string, any>}
 */
function sentInputs({ id }) {
  const call = log.find(({ answer, path }) => path === "/v1/jobs" && answer?.id === id);
  return /** @type {{ inputs?: object } | undefined} */ (call?.body)?.inputs ?? {};
}

/**
 * The roles whose values came within a request that this page does not know.
 *
 * @param {Job} job
 */
const lostInputs = (job) => {
  const sent = sentInputs(job);
  return Object.keys(job.inputs).filter((role) => job.inputs[role] === "inline" && !sent[role]);
};

/**
 * The start page's parameters for another run with these settings.
 *
 * @param {Job} job
 * @param {Method | undefined} method
 */
function againParams(job, method) {
  const sent = sentInputs(job);
  const inputs = Object.fromEntries(
    Object.entries({ ...job.inputs, ...sent }).filter(([, value]) => value !== "inline"),
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

/** @param {Job} job */
const hasNoResult = ({ status }) => status === "failed" || status === "cancelled";

/**
 * What can be done about a job that left no result; the likeliest first.
 *
 * @param {Job} job
 * @param {Method | undefined} method
 */
function nextSteps(job, method) {
  const { status, kind, error } = job;
  if (!hasNoResult(job)) return null;
  const isFit = kind === "fit";
  const isNotUnit = isFit && error?.type?.endsWith("/not-unit");
  const isSameFirst = status === "failed" && isPassing(job);
  const trees = Object.values(job.inputs).flat().filter((value) => value.startsWith("tr_")); // prettier-ignore
  const changed = (/** @type {string} */ label, /** @type {Job} */ own, isFirst = false) =>
    el(
      "a",
      { class: `button ${isFirst ? "primary" : ""}`.trim(), href: router.href("/", againParams(own, method)) }, // prettier-ignore
      label,
    );
  const steps = [
    isNotUnit &&
      changed(
        "Bring the rows to length 1 and run again",
        { ...job, preprocess: [...job.preprocess, { step: "l2" }] },
        true,
      ),
    isSameFirst && tryAgain(job),
    isFit && !isNotUnit && changed("Change and run again", job, !isSameFirst),
    [...new Set(trees)].map((tree) => el("a", { class: "button", href: router.href(`/trees/${tree}`) }, "Back to the tree")), // prettier-ignore
  ].flat();
  const lost = isFit ? lostInputs(job) : [];
  return el(
    "section",
    { class: "stack", "aria-label": "What to do next" },
    el("div", { class: "row" }, steps),
    lost.length > 0 && el("p", { class: "quiet" }, lostText(lost, isSameFirst)),
  );
}

/**
 * A button that submits the same request once more and opens the new job.
 *
 * @param {Job} job
 */
const tryAgain = (job) => {
  const go = button("Run the same again", {
    kind: "primary",
    onclick: async () => {
      go.disabled = true;
      try {
        /** @type {Job} */
        const next = await send("POST", `/v1/jobs/${job.id}/retry`);
        if (job.kind === "fit") started.add(next.id);
        // Who has left the page meanwhile stays where they are.
        if (go.isConnected) router.navigate(`/jobs/${next.id}`);
      } catch (error) {
        go.disabled = false;
        if (!aborted(error)) toastError(error);
      }
    },
  });
  return go;
};

/**
 * @param {string[]} roles
 * @param {boolean} isRepeatable
 */
const lostText = (roles, isRepeatable) =>
  `${capitalized(roles.map((role) => roleTitle(role).toLowerCase()).join(", "))} came within the request ` +
  `and must be given again where the run is changed${
    isRepeatable ? "; the same run again has them." : "."
  }`;

// --- the request ---------------------------------------------------------------------------------

/** @type {[prefix: string, path: string][]} */
const PLACES = [
  ["ds_", "/datasets"],
  ["tr_", "/trees"],
  ["job_", "/jobs"],
];

/**
 * An input of a job, as a link where it is a thing of the service, by its name once that has come.
 *
 * @param {string} value
 * @param {AbortSignal} signal
 */
function reference(value, signal) {
  const place = PLACES.find(([prefix]) => value.startsWith(prefix));
  if (!place) return bdi(value === "inline" ? "given in the request" : value);
  const link = el("a", { href: router.href(`${place[1]}/${value}`), title: value }, value);
  get(`/v1${place[1]}/${value}`, { signal, quiet: true }).then(
    ({ name }) => name && replace(link, bdi(name)),
    (error) => hasStatus(error, 404) && link.replaceWith(bdi(`${value}, which is gone`)),
  );
  return link;
}

/**
 * @param {string} name
 * @param {Child} value
 */
const fact = (name, value) => [el("dt", {}, name), el("dd", {}, value)];

/**
 * @param {Job} job
 * @param {Method | undefined} method
 * @param {AbortSignal} signal
 */
function requestCard(job, method, signal) {
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
          [value].flat().map((item, at) => [at > 0 && ", ", reference(item, signal)]),
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
      job.retry_of && fact("Repeats", reference(job.retry_of, signal)),
      job.given_up.length > 0 && fact("Given up", triesList(job)),
      fact("Id", el("span", { class: "mono" }, job.id)),
    ),
  );
}

/** @param {Job} job */
const triesList = ({ given_up: tries }) =>
  el(
    "ol",
    {},
    tries.map(({ attempt, at, error }) =>
      el("li", {}, `Attempt ${attempt}, ${moment(at)}: `, bdi(error?.detail ?? "")),
    ),
  );

/** @param {Job} job */
const preprocessText = ({ preprocess }) =>
  preprocess
    .map(({ step, ...params }) =>
      [STEPS[step] ?? step, Object.keys(params).length > 0 && `(${shownParams(params)})`]
        .filter(Boolean)
        .join(" "),
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
