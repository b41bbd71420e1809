// The choice of a method: all methods by family, searched by their names and descriptions. The list is
// folded until there is data, a word to search by, or a wish to see it.

import { button, field } from "../ui/controls.js";
import { el, focusFirst, replace } from "../ui/dom.js";
import { capitalized, plural } from "../ui/format.js";

/** @import { Method } from "../net/answers.js" */

/** @type {Record<string, [title: string, explanation: string]>} */
const FAMILIES = {
  logits: ["From logits", "Class scores of a classifier become a hierarchy of its classes."],
  features: ["Hierarchies from features", "Points become a tree."],
  clusterings: ["From clusterings", "Labels at several resolutions become a tree of clusters."],
  partitions: [
    "Flat clusters",
    "A partition, as a tree of depth one; most give logits, so that a hierarchy can follow.",
  ],
  sphere: [
    "Clusters of directions",
    "Embeddings and texts whose rows have length 1: mixtures on the sphere, with likelihoods of new rows.",
  ],
  hyperbolic: ["Hyperbolic space", "Trees by gradient steps in the Poincaré ball."],
  margins: ["Large margins", "Clusters that linear classifiers separate well."],
  tasks: [
    "Tasks that learn from each other",
    "Regressors or classifiers of several tasks, and a tree of the tasks.",
  ],
  online: ["Streams", "Points that come one after the other."],
  metric: ["Metric learning", "Representations with a hierarchy in them."],
  labelled: [
    "From some labelled rows",
    "What you know of some rows shapes the groups of the others.",
  ],
  classifiers: ["Classifiers", "Rows of known classes, and a hierarchy of the classes."],
  deep: ["Deep", "Networks that learn the representation together with its tree."],
};
const ORDER = Object.keys(FAMILIES);

/**
 * The picker. Once a method is chosen, the list folds into it and "Change" opens it again; `choose` sets
 * the method, `unfold` shows the list, `redraw` what fits the data now. `refusal` is why a method does not
 * take the data at hand, or "": such methods stand at the end, with the reason. Families with a method that
 * `suits` stand first.
 *
 * @param {Method[]} list
 * @param {{
 *   onchoose: (method: Method) => unknown,
 *   refusal?: (method: Method) => string,
 *   suits?: (method: Method) => boolean,
 * }} handlers
 */
export function methodPicker(list, { onchoose, refusal = () => "", suits = () => false }) {
  const search = el("input", {
    type: "search",
    placeholder: "k-means, spectral, streams…",
    autocomplete: "off",
    spellcheck: "false",
  });
  const status = el("p", { class: "visually-hidden", role: "status" });
  const shelf = el("div", { class: "stack" });
  const finder = field("Search the methods", search);
  const all = button(`All ${plural(list.length, "method")}`, { onclick: () => unfold() });
  const head = el("div", { class: "method-finder" }, finder, all);
  const whole = el("div", { class: "stack" }, head, status, shelf);
  const chosen = el("div", { class: "chosen-method", hidden: true });
  const element = el("div", { class: "method-picker" }, chosen, whole);

  let isFolded = true;
  const unfold = () => {
    isFolded = false;
    draw();
  };
  const draw = () => {
    const isShown = !isFolded || search.value.trim() !== "";
    all.hidden = isShown;
    if (!isShown) {
      replace(status);
      replace(shelf);
      return;
    }
    const found = list.filter((method) => isAbout(method, search.value));
    const fits = found.filter((method) => !refusal(method));
    const others = found.filter((method) => refusal(method));
    const suiting = new Set(fits.filter(suits).map((method) => method.family));
    const families = [...new Set(fits.map((method) => method.family))].sort(
      (a, b) =>
        Number(suiting.has(b)) - Number(suiting.has(a)) || rank(a) - rank(b) || a.localeCompare(b),
    );
    replace(status, `${plural(found.length, "method")} found.`);
    replace(
      shelf,
      found.length === 0 && el("p", { class: "quiet" }, "No method fits. Try another word."),
      families.map((family) => {
        const [title, explanation] = FAMILIES[family] ?? [capitalized(family), ""];
        return el(
          "section",
          { class: "family" },
          el(
            "h3",
            {},
            title,
            explanation && el("span", { class: "field-hint" }, ` ${explanation}`),
          ),
          el(
            "ul",
            { class: "method-cards" },
            fits.filter((method) => method.family === family).map((method) => card(method)),
          ),
        );
      }),
      others.length > 0 &&
        el(
          "details",
          { class: "family other-methods", open: search.value.trim() !== "" },
          el("summary", {}, `${plural(others.length, "method")} for other data`),
          el(
            "ul",
            { class: "method-cards" },
            others.map((method) => card(method, refusal(method))),
          ),
        ),
    );
  };
  /**
   * @param {Method} method
   * @param {string} [reason] why it does not take the data, if it does not
   */
  const card = (method, reason = "") =>
    el(
      "li",
      {},
      el(
        "button",
        {
          type: "button",
          class: "method-card",
          disabled: !method.available || reason !== "",
          onclick: () => choose(method, { focus: true }),
        },
        summary(method, reason),
      ),
    );
  /**
   * @param {Method} method
   * @param {{ focus?: boolean }} [options]
   */
  const choose = (method, { focus = false } = {}) => {
    const change = button("Change", {
      kind: "small",
      "aria-label": `Change the method, now ${method.title}`,
      onclick: () => {
        chosen.hidden = true;
        whole.hidden = false;
        unfold();
        search.focus();
      },
    });
    replace(chosen, el("div", { class: "method-card is-chosen" }, summary(method)), change);
    chosen.hidden = false;
    whole.hidden = true;
    onchoose(method);
    if (focus) change.focus();
  };
  search.addEventListener("input", draw);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      focusFirst(shelf, "button");
    }
  });
  draw();
  return Object.assign(element, { choose, unfold, redraw: draw });
}

/**
 * Whether all words of a query occur in the texts about a method.
 *
 * @param {Method} method
 * @param {string} query
 */
export function isAbout(method, query) {
  const { id, title, description, family, paper, inputs } = method;
  const text = [id, title, description, family, paper.title, ...Object.keys(inputs)]
    .join(" ")
    .toLowerCase();
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

/** @param {string} family */
const rank = (family) => (ORDER.includes(family) ? ORDER.indexOf(family) : ORDER.length);

/**
 * The description without the method's name, which is shown above it, and without code locations.
 *
 * @param {Pick<Method, "title" | "description">} method
 */
export function shortDescription({ title, description }) {
  const plain = description.replaceAll(/ \(`[^`]*`\)/g, "").replaceAll("`", "");
  const colon = plain.indexOf(": ");
  const beginsWithName =
    colon > 0 &&
    colon < Math.max(50, title.length + 1) &&
    plain.toLowerCase().startsWith(title.toLowerCase().slice(0, 4));
  return beginsWithName ? capitalized(plain.slice(colon + 2)) : plain;
}

/**
 * @param {Method} method
 * @param {string} [reason] why it does not take the data
 */
function summary(method, reason = "") {
  const { title, id, one_of: oneOf, some_of: someOf, inputs, predicts, queue, paper } = method;
  const { needs, available } = method;
  const takes = oneOf.length
    ? oneOf.join(" or ")
    : [...Object.keys(inputs).filter((role) => inputs[role].required), ...someOf.slice(0, 1)].join(
        ", ",
      );
  return el(
    "span",
    { class: "method-about" },
    el("span", { class: "method-title" }, title, " ", el("code", {}, id)),
    reason
      ? el("span", { class: "method-text" }, `It ${reason}.`)
      : el("span", { class: "method-text" }, shortDescription(method)),
    el(
      "span",
      { class: "method-tags" },
      el("span", { class: "chip plain" }, takes),
      predicts && el("span", { class: "chip plain" }, "places new points"),
      queue === "gpu" && el("span", { class: "chip plain" }, "GPU"),
      !available && el("span", { class: "chip plain" }, `${needs.join(", ")} is not installed`),
      el("span", { class: "quiet" }, `${paper.title}, ${paper.year}`),
    ),
  );
}
