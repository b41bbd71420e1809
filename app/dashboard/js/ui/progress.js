// The status and the progress of a job.

import { ENDED } from "../net/jobs.js";
import { aborted, messageOf } from "../net/problem.js";
import { send } from "../net/requests.js";
import { button } from "./controls.js";
import { bdi, el, replace } from "./dom.js";
import { timeLeft } from "./format.js";

/** @import { Job, JobStatus, Progress } from "../net/answers.js" */

/** @type {Record<string, [kind: string, text: string]>} */
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

/**
 * A status as a coloured word.
 *
 * @param {string} status
 */
export function statusChip(status) {
  const [kind, text] = CHIPS[status] ?? ["", status];
  return el("span", { class: `chip ${kind}`.trim() }, text);
}

/**
 * A panel with the progress of a job, which `show` changes, and a button that cancels it.
 *
 * @param {string} jobId
 * @param {{ oncancelled: (job: Job) => unknown }} handlers
 */
export function progressPanel(jobId, { oncancelled }) {
  const filled = el("div", { class: "bar-filled" });
  const bar = el(
    "div",
    {
      class: "bar",
      role: "progressbar",
      "aria-label": "Progress",
      "aria-valuemin": 0,
      "aria-valuemax": 100,
    },
    filled,
  );
  const stage = el("strong", {});
  const message = el("span", { class: "quiet" });
  const left = el("span", { class: "quiet" });
  const percent = el("span", { class: "percent" });
  // Read out by stage, not at every step.
  const spoken = el("p", { class: "visually-hidden", role: "status" });
  const failure = el("div", {});
  let lastStage = "";
  const cancel = button("Cancel", {
    kind: "danger",
    onclick: async () => {
      cancel.disabled = true;
      replace(failure);
      try {
        /** @type {Job} */
        const job = await send("POST", `/v1/jobs/${jobId}/cancel`);
        if (ENDED.has(job.status)) oncancelled(job);
        else show(job);
      } catch (error) {
        cancel.disabled = false;
        if (aborted(error)) return;
        const text = bdi(messageOf(error));
        replace(failure, el("p", { class: "field-wrong", role: "alert" }, text));
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
    failure,
  );
  /** @param {{ status: JobStatus, progress: Progress, waitsFor?: string }} job `waitsFor`: why it is queued */
  const show = ({ status, progress, waitsFor = "" }) => {
    const whole = Math.round(100 * Math.min(1, Math.max(0, progress.fraction)));
    const isQueued = status === "queued";
    const word = isQueued
      ? waitsFor
        ? "Paused"
        : "Waiting for a worker"
      : status === "cancelling"
        ? "Being cancelled"
        : progress.stage || "Starting";
    filled.style.setProperty("width", `${whole}%`);
    bar.classList.toggle("is-waiting", isQueued || (status === "running" && whole === 0));
    bar.setAttribute("aria-valuenow", String(whole));
    bar.setAttribute("aria-valuetext", `${whole} %, ${word}`);
    replace(stage, bdi(word));
    replace(message, bdi((isQueued && waitsFor) || progress.message));
    replace(percent, isQueued ? "" : `${whole} %`);
    replace(left, status === "running" ? timeLeft(progress.eta_s) : "");
    cancel.disabled = status === "cancelling";
    if (word !== lastStage) {
      lastStage = word;
      replace(spoken, bdi(isQueued && waitsFor ? waitsFor : word));
    }
  };
  return Object.assign(element, { show });
}
