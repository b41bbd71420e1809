// A job as it goes: its events, and polling where the stream cannot be had.

import { aborted, events, get, send } from "../net/requests.js";
import { button, el, replace, said } from "./dom.js";
import { timeLeft } from "./format.js";

export const ENDED = new Set(["succeeded", "failed", "cancelled"]);

const CHIPS = {
  queued: ["", "Queued"],
  running: ["calm", "Running"],
  cancelling: ["warn", "Cancelling"],
  succeeded: ["good", "Succeeded"],
  failed: ["bad", "Failed"],
  cancelled: ["warn", "Cancelled"],
  ready: ["good", "Ready"],
  inspecting: ["calm", "Being opened"],
  invalid: ["bad", "Invalid"],
};

/** A status as a word on a ground of its colour. */
export function statusChip(status) {
  const [kind, text] = CHIPS[status] ?? ["", status];
  return el("span", { class: `chip ${kind}`.trim() }, text);
}

/**
 * Follow a job until it ends: `onchange({status, progress})` for each event, `onlog(line)`; resolves
 * to the whole job. Throws the Problem of a job that is gone.
 */
export async function follow(jobId, { signal, onchange, onlog } = {}) {
  for await (const { event, data } of events(`/v1/jobs/${jobId}/events`, { signal })) {
    if (event === "progress") onchange?.({ status: data.status, progress: data });
    else if (event === "log") onlog?.(data.line);
    else if (event === "away") onchange?.({ away: true });
    else if (event === "back") onchange?.({ away: false });
    else if (event === "done") return data;
  }
  return get(`/v1/jobs/${jobId}`, { signal });
}

/** A panel with the progress of a job and a button to cancel it. `.show({status, progress})`. */
export function progressPanel(jobId, { oncancelled } = {}) {
  const bar = el("div", {
    class: "bar",
    role: "progressbar",
    "aria-label": "Progress",
    "aria-valuemin": 0,
    "aria-valuemax": 100,
  });
  const filled = el("div", { class: "bar-filled" });
  bar.append(filled);
  const stage = el("strong", {});
  const message = el("span", { class: "quiet" });
  const left = el("span", { class: "quiet" });
  const percent = el("span", { class: "percent" });
  // Read out by stage, not at every step.
  const spoken = el("p", { class: "visually-hidden", role: "status" });
  const wrong = el("div", {});
  let lastStage = null;
  const cancel = button("Cancel", {
    kind: "danger",
    onclick: async () => {
      cancel.disabled = true;
      replace(wrong);
      try {
        const job = await send("POST", `/v1/jobs/${jobId}/cancel`);
        if (ENDED.has(job.status)) oncancelled?.(job);
        else show(job);
      } catch (error) {
        cancel.disabled = false;
        if (!aborted(error))
          replace(
            wrong,
            el("p", { class: "field-wrong", role: "alert" }, said(error.detail || error.message)),
          );
      }
    },
  });
  const element = el(
    "section",
    { class: "card progress-card", "aria-label": "Progress" },
    el("div", { class: "row apart" }, el("div", { class: "row" }, stage, message), percent),
    bar,
    el("div", { class: "row apart" }, left, cancel),
    spoken,
    wrong,
  );
  const show = ({ status, progress }) => {
    const { fraction = 0, stage: name, message: text, eta_s } = progress ?? {};
    const whole = Math.round(100 * Math.min(1, Math.max(0, fraction)));
    const word =
      status === "queued"
        ? "Waiting for a worker"
        : status === "cancelling"
          ? "Being cancelled"
          : name || "Starting";
    filled.style.setProperty("width", `${whole}%`);
    bar.classList.toggle(
      "is-waiting",
      status === "queued" || (status === "running" && whole === 0),
    );
    bar.setAttribute("aria-valuenow", String(whole));
    bar.setAttribute("aria-valuetext", `${whole} %, ${word}`);
    replace(stage, said(word));
    replace(message, said(text ?? ""));
    replace(percent, status === "queued" ? "" : `${whole} %`);
    replace(left, status === "running" ? timeLeft(eta_s) : "");
    cancel.disabled = status === "cancelling";
    if (word !== lastStage) {
      lastStage = word;
      replace(spoken, said(word));
    }
  };
  return Object.assign(element, { show });
}
