// `<umbel-tree>`: a tree, or what a link shows, as a picture in any page.

import { Umbel } from "./index.js";
import { UmbelError } from "./errors.js";

const PICTURE = [
  "shape",
  "theme",
  "palette",
  "labels",
  "depth",
  "root",
  "edition",
  "names",
  "title",
];

/**
 * Attributes: `url`, the service; `share`, the token of a link, or `tree`, an id (a page has no secrets,
 * so a key is set by the property `key` alone); `shape`, `theme`, `palette`, `labels`, `depth`, `root`,
 * `edition`, `names` and `title` as of the service's pictures. Events: `load`, and `error` with the
 * reason as `detail`.
 */
export class UmbelTree extends HTMLElement {
  static observedAttributes = ["url", "share", "tree", ...PICTURE];

  /** @type {string | null} */
  #key = null;
  #image = document.createElement("img");
  #words = document.createElement("p");
  #drawing = 0;
  #isPlanned = false;

  constructor() {
    super();
    const style = document.createElement("style");
    style.textContent =
      ":host { display: block } img { width: 100%; height: auto } p { margin: 0; font: inherit }";
    this.#image.hidden = true;
    this.#words.setAttribute("role", "status");
    this.attachShadow({ mode: "open" }).append(style, this.#image, this.#words);
  }

  /** The key for a tree that is not shared. */
  get key() {
    return this.#key;
  }

  set key(key) {
    this.#key = key;
    this.#plan();
  }

  connectedCallback() {
    this.#plan();
  }

  attributeChangedCallback() {
    this.#plan();
  }

  disconnectedCallback() {
    this.#drawing += 1;
    this.#release();
  }

  /** Several changes at once are drawn once. */
  #plan() {
    if (this.#isPlanned || !this.isConnected) return;
    this.#isPlanned = true;
    queueMicrotask(() => {
      this.#isPlanned = false;
      if (this.isConnected) this.#draw();
    });
  }

  #release() {
    if (this.#image.src) URL.revokeObjectURL(this.#image.src);
    this.#image.removeAttribute("src");
    this.#image.hidden = true;
  }

  async #draw() {
    this.#drawing += 1;
    const drawing = this.#drawing;
    const share = this.getAttribute("share");
    const umbel = new Umbel(this.getAttribute("url") ?? location.origin, {
      key: share ?? this.#key,
    });
    this.#words.textContent = "The tree is being drawn.";
    try {
      /** @type {Record<string, string | null>} */
      const query = Object.fromEntries(PICTURE.map((name) => [name, this.getAttribute(name)]));
      let tree = this.getAttribute("tree");
      if (share !== null) {
        const shown = await umbel.shared();
        tree = shown.tree;
        for (const name of /** @type {const} */ (["edition", "names", "title"])) {
          query[name] ??= shown[name];
        }
      }
      if (!tree) throw new UmbelError("<umbel-tree> needs `share` or `tree`.");
      const of = umbel.tree(tree);
      const [picture, { n_leaves, name }] = await Promise.all([
        of.save("svg", /** @type {any} */ (query)),
        of.describe(),
      ]);
      if (drawing !== this.#drawing) return;
      this.#release();
      // As an image, whatever is in the picture cannot run.
      this.#image.src = URL.createObjectURL(new Blob([picture], { type: "image/svg+xml" }));
      this.#image.alt = `${query.title ?? name ?? "A tree"} of ${n_leaves} leaves`;
      await this.#image.decode();
      if (drawing !== this.#drawing) return;
      this.#image.hidden = false;
      this.#words.textContent = "";
      this.dispatchEvent(new Event("load"));
    } catch (error) {
      if (drawing !== this.#drawing) return;
      this.#release();
      this.#words.textContent =
        error instanceof UmbelError ? error.message : "The tree cannot be drawn.";
      this.dispatchEvent(new CustomEvent("error", { detail: error }));
    }
  }
}

if (!customElements.get("umbel-tree")) customElements.define("umbel-tree", UmbelTree);
