// The reference at /docs: Swagger UI on the service's own document, with the key of this tab.

import { key } from "../net/session.js";
import { condensed, listed, subtree } from "./document.js";
import { paragraphsOf } from "./prose.js";

const TAGS = { text: "span", code: "code", emphasis: "i" };

/**
 * Descriptions as text: Swagger UI would set them as markup, which the content security policy refuses.
 *
 * @param {any} system
 */
const plainText = ({ React }) => ({
  components: {
    /** @param {{ source?: string, className?: string }} properties */
    Markdown: ({ source, className = "" }) =>
      React.createElement(
        "div",
        { className: `markdown ${className}` },
        ...paragraphsOf(source ?? "").map((pieces) =>
          React.createElement(
            "p",
            null,
            ...pieces.map(({ kind, text }) => React.createElement(TAGS[kind], null, text)),
          ),
        ),
      ),
  },
});

/**
 * What readers of screens miss in Swagger UI: landmarks, a heading above the tags' headings, and a name of the
 * servers.
 *
 * @param {any} system
 */
const named = ({ React }) => {
  /**
   * A wrapper that puts something around a component.
   *
   * @param {(component: any) => any} around
   */
  const wrapped =
    (around) =>
    /** @param {any} Component */
    (Component) =>
    /** @param {object} properties */
    (properties) =>
      around(React.createElement(Component, properties));
  /** @param {string} label */
  const region = (label) =>
    wrapped((content) => React.createElement("section", { "aria-label": label }, content));
  /** @param {HTMLElement | null} element */
  const nameSelect = (element) =>
    element?.querySelector("select")?.setAttribute("aria-label", "Server");
  const heading = React.createElement("h2", { className: "visually-hidden" }, "Operations");
  return {
    wrapComponents: {
      InfoContainer: region("About this service"),
      ServersContainer: region("Servers"),
      FilterContainer: region("Search"),
      Servers: wrapped((content) => React.createElement("div", { ref: nameSelect }, content)),
      operations: wrapped((content) => React.createElement(React.Fragment, null, heading, content)),
    },
  };
};

/** @param {any} document */
const resolver = (document) => () => ({
  fn: {
    /**
     * @param {any} _listed
     * @param {string[]} path
     */
    resolveSubtree: async (_listed, path) => ({ spec: subtree(document, path), errors: [] }),
  },
});

async function show() {
  const response = await fetch("openapi.json");
  if (!response.ok) throw new Error(`openapi.json: ${response.status} ${response.statusText}`);
  const document = condensed(await response.json());
  const { SwaggerUIBundle } = /** @type {any} */ (window);
  leadTo(() => reference);
  const reference = SwaggerUIBundle({
    dom_id: "#reference",
    spec: listed(document),
    presets: [SwaggerUIBundle.presets.apis],
    plugins: [plainText, named, resolver(document)],
    layout: "BaseLayout",
    deepLinking: true,
    displayRequestDuration: true,
    docExpansion: "none",
    filter: true,
    defaultModelsExpandDepth: 0,
    validatorUrl: null,
    onComplete: () => {
      const current = key.get();
      if (current) reference.preauthorizeApiKey("key", current);
    },
  });
}

/** The requests above the reference name this service. */
function nameService() {
  const here = new URL(".", location.href).href.replace(/\/$/, "");
  for (const id of ["curl-steps", "client-steps"]) {
    const code = window.document.getElementById(id);
    if (code) code.textContent = (code.textContent ?? "").replaceAll("HERE", here);
  }
}

/**
 * The link to the main operation opens it.
 *
 * @param {() => any} reference
 */
function leadTo(reference) {
  window.document.getElementById("main-operation")?.addEventListener("click", (event) => {
    event.preventDefault();
    const { layoutActions } = reference();
    layoutActions.show(["operations-tag", "jobs"], true);
    layoutActions.show(["operations", "jobs", "create_job"], true);
    setTimeout(() => {
      const block = window.document.getElementById("operations-jobs-create_job");
      block?.scrollIntoView();
      block?.querySelector("button")?.focus({ preventScroll: true });
    });
  });
}

nameService();

function followTheme() {
  const { dataset, classList } = window.document.documentElement;
  classList.toggle("dark-mode", dataset.theme === "dark");
}

followTheme();
addEventListener("themechange", followTheme);
show().catch((error) => {
  const main = window.document.getElementById("reference");
  main?.replaceChildren(`The document cannot be shown: ${error.message}`);
});
