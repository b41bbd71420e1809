// A job: how far it is, what came of it, or why not.

import { roleTitle } from "../forms/inputs_form.js";
import { methodOf } from "../forms/method_picker.js";
import { changedParams, shownParams } from "../forms/schema_form.js";
import { aborted, get, log, note, send, sleep } from "../net/requests.js";
import { button, confirm, el, problemBox, replace, said, toast } from "../ui/dom.js";
import { ago, between, moment, seconds } from "../ui/format.js";
import { ENDED, follow, progressPanel, statusChip } from "../ui/progress.js";
import { outcome } from "./job_result.js";
import { toAddress } from "./start.js";

const KINDS = {
  fit: "Run",
  predict: "Prediction",
  evaluate: "Evaluation",
  compare: "Comparison",
  import: "Import",
};

export async function mount(root, { router, id }) {
  const ends = new AbortController();
  const { signal } = ends;
  let job = await get(`/v1/jobs/${id}`, { signal });
  const method = await methodOf(job.method).catch(() => undefined);
  const head = el("header", { class: "page-head" });
  const body = el("div", { class: "stack loose" });
  replace(root, head, body);

  const drawHead = () => {
    document.title = `${job.name ?? method?.title ?? job.method} · Umbel`;
    replace(
      head,
      el(
        "div",
        {},
        el(
          "p",
          { class: "eyebrow" },
          el("a", { href: router.href("/jobs") }, "Jobs"),
          ` / ${KINDS[job.kind] ?? job.kind}`,
        ),
        el("h1", {}, said(job.name ?? method?.title ?? job.method), " ", statusChip(job.status)),
        el(
          "p",
          { class: "lead" },
          job.name && `${method?.title ?? job.method}, `,
          el(
            "span",
            { title: moment(job.created_at) },
            `${job.name ? "submitted" : "Submitted"} ${ago(job.created_at)}`,
          ),
          ENDED.has(job.status) &&
            job.started_at &&
            `, took ${seconds(between(job.started_at, job.finished_at))}`,
          job.attempt > 1 && `, attempt ${job.attempt}`,
          ".",
        ),
      ),
      el(
        "div",
        { class: "row" },
        job.kind === "fit" &&
          el(
            "a",
            { class: "button", href: router.href("/", again(job, method)) },
            "Change and run again",
          ),
        button("Delete", { kind: "danger", iconName: "trash", onclick: remove }),
      ),
    );
  };

  async function remove() {
    const sure = await confirm({
      title: "Delete this job?",
      text: "Its tree, its model and their files go with it. This cannot be undone.",
      yes: "Delete",
      danger: true,
    });
    if (!sure) return;
    try {
      await send("DELETE", `/v1/jobs/${id}`);
      toast("The job is deleted.", { kind: "good" });
      router.navigate("/jobs");
    } catch (error) {
      toast(error.detail || error.message, { kind: "bad" });
    }
  }

  const drawEnd = () => {
    drawHead();
    replace(
      body,
      outcome(job, router, signal),
      mended(job, method, router),
      asked(job, method, router),
    );
  };

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
    replace(body, panel, logged, asked(job, method, router));
    try {
      job = await follow(id, {
        signal,
        onchange: ({ status, progress, away }) => {
          if (away !== undefined || !body.contains(panel)) return;
          panel.show({ status, progress });
          if (status !== job.status) {
            job = { ...job, status };
            drawHead();
          }
        },
        onlog: (line) => {
          logged.hidden = false;
          lines.append(el("li", {}, said(line)));
        },
      });
    } catch (error) {
      if (aborted(error) || signal.aborted) return;
      replace(
        body,
        error.status === 404 ? gone(router) : problemBox(error, { retry: watch }),
        asked(job, method, router),
      );
      return;
    }
    if (signal.aborted) return;
    drawEnd();
    if (job.status === "cancelled") lookForIt();
  };

  /** A running job that is deleted is cancelled first, and gone a moment later. */
  const lookForIt = async () => {
    for (const pause of [0, 500, 2000]) {
      try {
        await sleep(pause, signal);
        await get(`/v1/jobs/${id}`, { signal, quiet: true });
      } catch (error) {
        if (error.status === 404) replace(body, gone(router), asked(job, method, router));
        return;
      }
    }
  };

  noteRequest(job, method);
  drawHead();
  if (ENDED.has(job.status)) drawEnd();
  else watch();
  return () => ends.abort();
}

const gone = (router) =>
  el(
    "section",
    { class: "notice", role: "alert" },
    el("h2", { class: "notice-title" }, "This job is not there any more"),
    el("p", {}, "It was deleted while this page was open."),
    el("a", { href: router.href("/jobs") }, "All jobs"),
  );

/** For "copy as": the request that made the job, where this session did not send it itself. */
function noteRequest(job, method) {
  const inline = Object.values(job.inputs).includes("inline");
  if (job.kind !== "fit" || inline || log.some((one) => one.answer?.id === job.id)) return;
  const params = changedParams(method?.params, job.params);
  const body = { method: job.method, inputs: job.inputs };
  if (Object.keys(params).length) body.params = params;
  if (job.preprocess.length) body.preprocess = job.preprocess;
  if (job.then) body.then = job.then;
  if (job.support) body.support = job.support;
  if (job.name_by) body.name_by = job.name_by;
  if (job.name) body.name = job.name;
  const headers = { "Content-Type": "application/json" };
  note({
    method: "POST",
    path: "/v1/jobs",
    headers,
    body,
    answer: { id: job.id },
    status: 202,
    at: 0,
  });
  log.unshift(log.pop());
}

/** What "Change and run again" puts into the start page's address. */
function again(job, method) {
  const extras = {};
  if (job.preprocess.length) extras.preprocess = job.preprocess;
  if (job.then) extras.then = job.then;
  if (job.support) extras.support = job.support;
  if (job.name_by) extras.name_by = job.name_by;
  const inputs = Object.fromEntries(
    Object.entries(job.inputs).filter(([, value]) => value !== "inline"),
  );
  const params = method ? changedParams(method.params, job.params) : job.params;
  return toAddress({ method: job.method, name: job.name, inputs, params, extras });
}

/** Rows that should have length 1 can be brought to it: the same run with that step before it. */
function mended(job, method, router) {
  if (job.kind !== "fit" || !job.error?.type?.endsWith("/not-unit")) return null;
  const preprocess = [...job.preprocess, { step: "l2" }];
  return el(
    "p",
    {},
    el(
      "a",
      { class: "button primary", href: router.href("/", again({ ...job, preprocess }, method)) },
      "Bring the rows to length 1 and run again",
    ),
  );
}

// --- what was asked ------------------------------------------------------------------------------

function asked(job, method, router) {
  const inputs = Object.entries(job.inputs);
  const reference = (value) =>
    String(value).startsWith("ds_")
      ? el("a", { href: router.href(`/datasets/${value}`), class: "mono" }, value)
      : String(value).startsWith("tr_")
        ? el("a", { href: router.href(`/trees/${value}`), class: "mono" }, value)
        : String(value).startsWith("job_")
          ? el("a", { href: router.href(`/jobs/${value}`), class: "mono" }, value)
          : said(value === "inline" ? "given in the request" : value);
  return el(
    "section",
    { class: "card", "aria-labelledby": "asked-title" },
    el("h2", { id: "asked-title" }, "Request"),
    el(
      "dl",
      { class: "facts" },
      el("dt", {}, "Method"),
      el("dd", {}, method?.title ?? job.method, " ", el("code", { class: "quiet" }, job.method)),
      inputs.map(([role, value]) => [
        el("dt", {}, roleTitle(role)),
        el(
          "dd",
          {},
          [value].flat().map((one, at) => [at > 0 && ", ", reference(one)]),
        ),
      ]),
      el("dt", {}, "Parameters"),
      el("dd", {}, said(shownParams(job.params))),
      job.preprocess.length > 0 && [
        el("dt", {}, "Prepared by"),
        el(
          "dd",
          {},
          job.preprocess
            .map(
              ({ step, ...rest }) =>
                `${step}${Object.keys(rest).length ? ` (${shownParams(rest)})` : ""}`,
            )
            .join(", then "),
        ),
      ],
      job.then && [
        el("dt", {}, "Then"),
        el("dd", {}, `${job.then.method} (${shownParams(job.then.params)})`),
      ],
      job.webhook && [
        el("dt", {}, "Webhook"),
        el("dd", {}, said(job.webhook.url), el("div", { class: "quiet" }, hookSaid(job.webhook))),
      ],
      el("dt", {}, "Times"),
      el(
        "dd",
        {},
        `submitted ${moment(job.created_at)}, started ${moment(job.started_at)}, ended ${moment(job.finished_at)}`,
      ),
      el("dt", {}, "Id"),
      el("dd", { class: "mono" }, job.id),
    ),
  );
}

const HOOK = {
  waiting: "sent when the job has ended",
  pending: "not delivered yet",
  delivered: "delivered",
  failed: "given up",
};

/** Where a webhook stands, in a sentence. */
function hookSaid({ status, attempts, next_at: next, reason }) {
  const parts = [HOOK[status]];
  if (attempts > 0) parts.push(`sent ${attempts === 1 ? "once" : `${attempts} times`}`);
  if (next && attempts > 0) parts.push(`again ${moment(next)}`);
  return [parts.join(", "), status === "delivered" ? null : reason].filter(Boolean).join(". ");
}
