// The form of a naming: what nodes are named by, and a value for each row.

import { namings, phrases } from "../net/namings.js";
import { field, select } from "../ui/controls.js";
import { el, replace } from "../ui/dom.js";
import { waiting } from "../ui/notices.js";
import { usableDatasets } from "./datasets.js";
import { focusWrong, showProblem } from "./form_problem.js";
import { inputsForm } from "./inputs_form.js";
import { BY, rolesOf } from "./naming_terms.js";

/** @import { Naming } from "../net/answers.js" */

/**
 * The form; `run` resolves to a naming that has succeeded, or to null after it has shown what is wrong.
 *
 * @param {{ tree: string, signal: AbortSignal, k?: number }} options `k`: the clusters to be named
 */
export async function namingForm({ tree, signal, k }) {
  const [datasets, hasModel] = await Promise.all([usableDatasets([], { signal }), phrases(signal)]);
  const place = el("div");
  const results = el("div", { class: "stack", "aria-live": "polite" });
  let inputs = inputsForm({}, { datasets });
  const by = select(BY, { onchange: () => fill() });
  const phrased = el("input", { type: "checkbox" });
  const chosen = () => BY.find(([value]) => value === by.value)?.[0] ?? BY[0][0];
  const fill = () => {
    inputs = inputsForm(rolesOf(chosen()), { datasets, files: { signal } });
    replace(place, inputs.element);
    replace(results);
  };
  fill();
  /** @returns {Promise<Naming | null>} */
  const run = async () => {
    const { inputs: given, errors } = inputs.read();
    replace(results);
    if (Object.keys(errors).length) {
      focusWrong(inputs.element);
      return null;
    }
    const terms = phrased.checked ? { by: "model", evidence: chosen() } : { by: chosen() };
    replace(results, waiting("Naming…"));
    try {
      const few = k && k > 1 ? { n_clusters: Math.min(k, MOST) } : {};
      return await namings.make(tree, { ...terms, ...few, inputs: given }, { signal });
    } catch (error) {
      replace(results);
      showProblem(error, results, { inputs });
      return null;
    }
  };
  const element = el(
    "div",
    { class: "stack" },
    field("By", by),
    hasModel && el("label", { class: "check" }, phrased, "Phrased by a language model"),
    hasModel && el("p", { class: "quiet" }, SENT),
    el("p", { class: "quiet" }, OF_FIT),
    place,
    results,
  );
  return { element, run };
}

/** The most clusters that one naming names. */
const MOST = 4096;
const OF_FIT =
  "What you do not choose is taken from what the tree was made of, where that is there.";
const SENT =
  "It gets what the names of each node and its siblings would be made of; rows are not sent.";
