// The first step of who has run nothing yet: the shipped sample, made into a tree by one click.

import { fetched, SAMPLE } from "../forms/sample.js";
import { follow } from "../net/jobs.js";
import { aborted, Problem, problemOf } from "../net/problem.js";
import { get, send } from "../net/requests.js";
import { upload } from "../net/uploads.js";
import * as router from "../router.js";
import { button } from "../ui/controls.js";
import { el, replace } from "../ui/dom.js";
import { problemBox, waiting } from "../ui/notices.js";

/** @import { Job, Page } from "../net/answers.js" */

/**
 * A card that offers the sample, hidden where there are jobs already unless a link wants it.
 *
 * @param {AbortSignal} signal
 * @param {{ isWanted: boolean }} options
 */
export function welcome(signal, { isWanted }) {
  const state = el("div", { role: "status" });
  const run = async () => {
    go.disabled = true;
    try {
      const tree = await sampleTree(signal, (text) => replace(state, waiting(text)));
      router.navigate(`/trees/${tree}`, { tour: "1" });
    } catch (error) {
      if (!aborted(error)) {
        replace(state, problemBox(problemOf(error), { level: "h3", retry: run }));
      }
    } finally {
      go.disabled = false;
    }
  };
  const go = button("Try it on the languages", { kind: "primary", onclick: run });
  const card = el(
    "section",
    { class: "card welcome", "aria-labelledby": "welcome-title", hidden: !isWanted },
    el("h2", { id: "welcome-title" }, "New here?"),
    el(
      "p",
      {},
      "One click makes a tree of 119 languages, from the scores of a language identifier.",
    ),
    el("div", { class: "row" }, go),
    state,
  );
  const look = async () => {
    /** @type {Page<Job>} */
    const { items } = await get("/v1/jobs?limit=1", { signal, quiet: true });
    card.hidden = items.length > 0;
  };
  if (!isWanted) look().catch(() => {}); // Without an answer the sample is offered beside the data as always.
  return card;
}

/**
 * Upload the sample and run `l2h` on it; the id of the tree. Labels are uploaded too, so that the tree
 * can be coloured by them.
 *
 * @param {AbortSignal} signal
 * @param {(text: string) => unknown} say
 */
async function sampleTree(signal, say) {
  /** @type {Record<string, string>} */
  const inputs = {};
  for (const sample of SAMPLE) {
    say(`Uploading ${sample.name}…`);
    const { use: role, name, media: type, source } = sample;
    const file = await fetched(sample, signal);
    const dataset = await upload(file, { role, name, type, source, signal });
    if (role !== "labels") inputs[role] = dataset.id;
  }
  say("Finding the hierarchy…");
  const body = { method: "l2h", inputs, name: "Languages" };
  /** @type {Job} */
  const job = await send("POST", "/v1/jobs", body, { headers: { Prefer: "wait=20" }, signal });
  const ended = job.status === "succeeded" ? job : await follow(job.id, { signal });
  const tree = ended.result?.tree;
  if (!tree) throw new Problem(ended.error ?? { title: `The job was ${ended.status}.`, status: 409 }); // prettier-ignore
  return tree;
}
