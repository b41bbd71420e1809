// One tree from several that are chosen in the list.

import { aborted } from "../net/problem.js";
import { send } from "../net/requests.js";
import * as router from "../router.js";
import { button, field, select } from "../ui/controls.js";
import { toastError } from "../ui/dialogs.js";
import { el } from "../ui/dom.js";

/** @import { Consensus, Job, TreeSummary } from "../net/answers.js" */
/** @import { Option } from "../ui/controls.js" */

/** @type {Option[]} */
const RULES = [
  ["majority", "that most have"],
  ["extended", "that most have, then as fit"],
  ["strict", "that all have"],
  ["median", "of the tree nearest to all"],
];

/**
 * The rule and the button; the tree that comes of it, or the job that makes it, is shown.
 *
 * @param {TreeSummary[]} trees
 */
export function consensusForm(trees) {
  const rule = select(RULES);
  const make = button("Consensus", {
    onclick: async () => {
      make.disabled = true;
      try {
        /** @type {Consensus | Job} */
        const answer = await send("POST", "/v1/consensus", {
          trees: trees.map(({ id }) => id),
          rule: rule.value,
        });
        router.navigate("tree" in answer ? `/trees/${answer.tree}` : `/jobs/${answer.id}`);
      } catch (error) {
        if (!aborted(error)) toastError(error);
      } finally {
        make.disabled = false;
      }
    },
  });
  return el("div", { class: "row consensus-form" }, make, field("Clusters", rule));
}
