// The catalogue: all methods by family, searched by what they are called and do.

import { get } from "../net/requests.js";
import { button, el, field, replace } from "../ui/dom.js";
import { plural } from "../ui/format.js";

let asked = null;

/** The catalogue as a list; asked for once. */
export function methods() {
  asked ??= get("/v1/methods", { quiet: true }).then(
    (page) => page.items,
    (error) => {
      asked = null;
      throw error;
    },
  );
  return asked;
}

/** One method, or undefined. */
export const methodOf = async (id) => (await methods()).find((one) => one.id === id);

const FAMILIES = {
  logits: ["From logits", "Class scores of a classifier become a hierarchy of its classes."],
  features: ["Hierarchies from features", "Points become a tree."],
  partitions: [
    "Flat clusters",
    "A partition, as a tree of depth one; most give logits, so that a hierarchy can follow.",
  ],
  sphere: [
    "Clusters of directions",
    "Embeddings and texts whose rows have length 1: mixtures on the sphere, with likelihoods of new rows.",
  ],
  hyperbolic: ["Hyperbolic space", "Trees by gradient steps in the Poincaré ball."],
  margins: ["Large margins", "Clusters that linear classifiers tell apart well."],
  tasks: [
    "Tasks that learn from each other",
    "Regressors or classifiers of several tasks, and a tree of the tasks.",
  ],
  online: ["Streams", "Points that come one after the other."],
  metric: ["Metric learning", "Representations with a hierarchy in them."],
};
const ORDER = Object.keys(FAMILIES);

/**
 * The choice of a method. `onchoose(method)`; `.choose(id)` sets it. Once there is one, the list
 * folds into it and "Change" opens it again.
 */
export function methodPicker(list, { value, onchoose }) {
  const search = el("input", {
    type: "search",
    placeholder: "k-means, spectral, streams…",
    autocomplete: "off",
    spellcheck: "false",
  });
  const found = el("p", { class: "visually-hidden", role: "status" });
  const shelf = el("div", { class: "stack" });
  const finder = field("Search the methods", search);
  const whole = el("div", { class: "stack" }, finder, found, shelf);
  const chosen = el("div", { class: "chosen-method" });
  const element = el("div", { class: "method-picker" }, chosen, whole);

  const draw = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = list.filter((one) => {
      const text = [
        one.id,
        one.title,
        one.description,
        one.family,
        one.paper.title,
        ...Object.keys(one.inputs),
      ]
        .join(" ")
        .toLowerCase();
      return words.every((word) => text.includes(word));
    });
    replace(found, `${plural(fits.length, "method")} found.`);
    const families = [...new Set(fits.map((one) => one.family))].sort(
      (a, b) => rank(a) - rank(b) || a.localeCompare(b),
    );
    replace(
      shelf,
      fits.length === 0 && el("p", { class: "quiet" }, "No method fits. Try another word."),
      families.map((family) => {
        const [title, explained] = FAMILIES[family] ?? [
          family[0].toUpperCase() + family.slice(1),
          "",
        ];
        return el(
          "section",
          { class: "family" },
          el("h3", {}, title, explained && el("span", { class: "field-hint" }, ` ${explained}`)),
          el(
            "ul",
            { class: "method-cards" },
            fits.filter((one) => one.family === family).map(card),
          ),
        );
      }),
    );
  };
  const card = (one) =>
    el(
      "li",
      {},
      el(
        "button",
        { type: "button", class: "method-card", onclick: () => choose(one.id) },
        about(one),
      ),
    );
  const choose = (id, focus = true) => {
    const one = list.find((other) => other.id === id);
    if (!one) return show();
    const change = button("Change", { kind: "small", onclick: () => show(true) });
    change.setAttribute("aria-label", `Change the method, now ${one.title}`);
    replace(chosen, el("div", { class: "method-card is-chosen" }, about(one)), change);
    chosen.hidden = false;
    whole.hidden = true;
    onchoose(one);
    if (focus) change.focus();
  };
  const show = (focus = false) => {
    chosen.hidden = true;
    whole.hidden = false;
    draw();
    if (focus) search.focus();
  };
  search.addEventListener("input", draw);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      shelf.querySelector("button")?.focus();
    }
  });
  if (value) choose(value, false);
  else show();
  element.choose = (id) => choose(id, false);
  element.focusSearch = () => search.focus();
  return element;
}

const rank = (family) => (ORDER.indexOf(family) + ORDER.length + 1) % (ORDER.length + 1);

/** The description without the name that stands above it, and without where the code is. */
function aboutText(one) {
  const plain = one.description.replaceAll(/ \(`[^`]*`\)/g, "").replaceAll("`", "");
  const cut = plain.indexOf(": ");
  const most = Math.max(50, one.title.length + 1);
  const named =
    cut > 0 && cut < most && plain.toLowerCase().startsWith(one.title.toLowerCase().slice(0, 4));
  return named ? plain[cut + 2].toUpperCase() + plain.slice(cut + 3) : plain;
}

function about(one) {
  const takes = one.one_of.length
    ? one.one_of
    : Object.keys(one.inputs).filter((role) => one.inputs[role].required);
  return el(
    "span",
    { class: "method-about" },
    el("span", { class: "method-title" }, one.title, " ", el("code", {}, one.id)),
    el("span", { class: "method-text" }, aboutText(one)),
    el(
      "span",
      { class: "method-tags" },
      el("span", { class: "chip plain" }, takes.join(one.one_of.length ? " or " : ", ")),
      one.predicts && el("span", { class: "chip plain" }, "places new points"),
      one.queue === "gpu" && el("span", { class: "chip plain" }, "GPU"),
      el("span", { class: "quiet" }, `${one.paper.title}, ${one.paper.year}`),
    ),
  );
}
