// The frame of the page: navigation, routes to pages, theme, key, and whether the service answers.

import { connection } from "./net/connection.js";
import { aborted, AWAY, Problem, problemOf } from "./net/problem.js";
import { get } from "./net/requests.js";
import { key } from "./net/session.js";
import { keepWaiting } from "./net/waiting.js";
import * as router from "./router.js";
import { button } from "./ui/controls.js";
import { el, replace } from "./ui/dom.js";
import { icon } from "./ui/icons.js";
import { askForKey, keyTools } from "./ui/key_dialog.js";
import { problemBox, waiting } from "./ui/notices.js";
import { newPage, showRecipe } from "./ui/recipe_dialog.js";

/** @import { Change, Mounted, PageModule } from "./router.js" */
/** @import { IconName } from "./ui/icons.js" */

/**
 * Path, title and module of each page; `:id` stands for an id.
 *
 * @type {[path: string, title: string, load: () => Promise<PageModule>][]}
 */
const ROUTES = [
  ["/", "New run", () => import("./pages/start.js")],
  ["/jobs", "Jobs", () => import("./pages/jobs.js")],
  ["/jobs/:id", "Job", () => import("./pages/job.js")],
  ["/datasets", "Data", () => import("./pages/datasets.js")],
  ["/datasets/:id", "Dataset", () => import("./pages/dataset.js")],
  ["/trees", "Trees", () => import("./pages/trees.js")],
  ["/trees/:id", "Tree", () => import("./tree/page.js")],
  ["/compare", "Two trees", () => import("./tree/tangle_page.js")],
  ["/comparisons", "Comparisons", () => import("./pages/comparisons.js")],
  ["/comparisons/new", "New comparison", () => import("./pages/new_comparison.js")],
  ["/comparisons/:id", "Comparison", () => import("./pages/comparison.js")],
  ["/evaluations", "Evaluate", () => import("./pages/evaluations.js")],
];
/** @type {[path: string, label: string][]} */
const NAVIGATION = [
  ["/", "New run"],
  ["/jobs", "Jobs"],
  ["/datasets", "Data"],
  ["/trees", "Trees"],
  ["/comparisons", "Compare"],
  ["/evaluations", "Evaluate"],
];

/** Pages that the palette offers. @type {[path: string, label: string][]} */
const PLACES = [...NAVIGATION, ["/comparisons/new", "New comparison"], ["/compare", "Two trees"]];

/** @param {string} id */
function part(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no #${id}`);
  return element;
}

const main = part("main");

/** @type {{ path: string, mounted: Mounted | null } | null} */
let open = null;

/**
 * The first route that matches a path.
 *
 * @param {string} path
 */
function routeOf(path) {
  const actual = path.split("/");
  for (const [pattern, title, load] of ROUTES) {
    const wanted = pattern.split("/");
    if (
      wanted.length === actual.length &&
      wanted.every((step, at) => (step.startsWith(":") ? actual[at] : step === actual[at]))
    ) {
      return { title, load, id: pattern.includes(":id") ? (actual.at(-1) ?? "") : "" };
    }
  }
  return null;
}

/** @type {Promise<void> | null} */
let learning = null;

/** Read, once, which maps and forms of pictures wait for a package. Throws the Problem of a failure. */
function learnWaiting() {
  learning ??= get("/v1/version", { quiet: true }).then(
    (version) => keepWaiting(version.waiting ?? []),
    (error) => {
      learning = null;
      throw error;
    },
  );
  return learning;
}

/** Close the open page and open the one named by the address. */
async function show({ focus = true } = {}) {
  close();
  const path = router.path();
  const route = routeOf(path);
  /** @type {{ path: string, mounted: Mounted | null }} */
  const page = { path, mounted: null };
  open = page;
  newPage();
  markNavigation(path);
  document.title = route ? `${route.title} · Umbel` : "Umbel";
  const root = el("div", { class: "page" });
  replace(main, root);
  scrollTo(0, 0);
  if (focus) main.focus({ preventScroll: true });
  if (!route) {
    replace(root, notFound(path));
    return;
  }
  const late = setTimeout(() => root.childNodes.length || replace(root, waiting()), 250);
  try {
    const [{ mount }] = await Promise.all([route.load(), learnWaiting()]);
    if (open !== page) return;
    const mounted = await mount(root, { params: router.params(), id: route.id });
    clearTimeout(late);
    if (open === page) page.mounted = mounted;
    else mounted.unmount();
  } catch (error) {
    if (open !== page || aborted(error)) return;
    clearTimeout(late);
    await showFailure(root, error, () => open === page);
  }
}

/**
 * @param {HTMLElement} root
 * @param {unknown} error
 * @param {() => boolean} isOpen whether the page is still the one that is open
 */
async function showFailure(root, error, isOpen) {
  let problem = problemOf(error);
  if (!(error instanceof Problem)) {
    // The error of a module that cannot be fetched does not show whether the service is
    // unreachable.
    const isAway = !(await connection.check());
    if (!isOpen()) return;
    if (!isAway) console.error(error);
    problem = isAway
      ? new Problem(AWAY)
      : { title: "This page could not be shown", detail: problem.detail };
  }
  const retry = problem.status === 404 ? undefined : () => show();
  replace(root, problemBox(problem, { retry, level: "h1" }));
}

function close() {
  const closing = open;
  open = null;
  try {
    closing?.mounted?.unmount();
  } catch (error) {
    console.error(error);
  }
  for (const dialog of document.querySelectorAll("dialog")) {
    if (dialog.open && !("stays" in dialog.dataset)) dialog.close();
  }
}

/** @param {string} path */
const notFound = (path) =>
  el(
    "section",
    { class: "notice" },
    el("h1", { class: "notice-title" }, "There is nothing at this address"),
    el("p", {}, "There is no page ", el("code", {}, path), "."),
    el("p", {}, el("a", { href: router.href("/") }, "Start a new run")),
  );

/** @param {Change} change */
function follow({ path, params, cause }) {
  if (cause === "own") return;
  if (open?.path === path && open.mounted?.update) open.mounted.update(params);
  else show();
}

// --- the frame -----------------------------------------------------------------------------------

/** @param {string} path */
function markNavigation(path) {
  const first = `/${path.split("/")[1]}`;
  const here = first === "/compare" ? "/trees" : first;
  for (const link of document.querySelectorAll(".nav a")) {
    if (link.getAttribute("data-path") === here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

/** @type {[theme: string, icon: IconName, label: string][]} */
const THEMES = [
  ["auto", "auto", "as the system"],
  ["light", "sun", "light"],
  ["dark", "moon", "dark"],
];

function themeButton() {
  const current = () => {
    try {
      const stored = localStorage.getItem("umbel.theme");
      return Math.max(
        0,
        THEMES.findIndex(([theme]) => theme === stored),
      );
    } catch {
      return 0;
    }
  };
  const element = button("", { kind: "ghost icon-only", id: "theme" });
  const draw = () => {
    const [, name, label] = THEMES[current()];
    replace(element, icon(name));
    element.setAttribute("aria-label", `Colours: ${label}. Change`);
    element.title = `Colours: ${label}`;
  };
  element.addEventListener("click", () => {
    const [theme] = THEMES[(current() + 1) % THEMES.length];
    dispatchEvent(new CustomEvent("themewish", { detail: theme === "auto" ? null : theme }));
    draw();
  });
  draw();
  return element;
}

const brand = (href = "./") =>
  el("a", { class: "brand", href }, el("span", { class: "brand-mark" }), el("span", {}, "Umbel"));

/** @param {HTMLElement[]} controls */
const tools = (...controls) => el("div", { class: "tools" }, controls);

function buildFrame() {
  const links = NAVIGATION.map(([path, label]) =>
    el("li", {}, el("a", { href: router.href(path), dataset: { path } }, label)),
  );
  const copyAs = button("Copy as code", {
    kind: "ghost",
    iconName: "code",
    id: "copy-as",
    title: "The requests of this page, as curl or Python",
    onclick: () => showRecipe(),
  });
  const goTo = button("Go to", {
    kind: "ghost",
    iconName: "search",
    id: "go-to",
    title: "Pages, trees, data, jobs, panels and nodes by name (Ctrl+K)",
    "aria-keyshortcuts": "Control+K Meta+K",
    onclick: () => showPalette(),
  });
  addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.key.toLowerCase() !== "k") {
      return;
    }
    event.preventDefault();
    if (!document.querySelector("dialog[open]")) showPalette();
  });
  part("top").append(
    el(
      "div",
      { class: "top-inside" },
      brand(router.href("/")),
      el("nav", { class: "nav", "aria-label": "Main" }, el("ul", {}, links)),
      tools(keyTools(), goTo, copyAs, themeButton()),
    ),
  );
  part("bottom").append(
    el(
      "p",
      {},
      el("span", { class: "bottom-claim" }, "Umbel turns data into hierarchies. "),
      el("a", { href: "docs" }, "API documentation"),
      " · ",
      el("a", { href: "openapi.json" }, "openapi.json"),
    ),
  );
}

/** The palette is loaded when it is first wanted. */
async function showPalette() {
  const { openPalette } = await import("./pages/palette.js");
  openPalette(main, part("top"), PLACES);
}

/** @param {boolean} away */
function showConnection(away) {
  const banner = part("banner");
  replace(
    banner,
    away && [
      el("span", { class: "spinner", "aria-hidden": "true" }),
      el(
        "p",
        {},
        "The service does not answer just now. What is on the page stays, and it continues by " +
          "itself as soon as the service is back.",
      ),
      button("Try now", { kind: "ghost small", onclick: () => connection.check() }),
    ],
  );
  banner.classList.toggle("is-shown", away);
}

/** The page of a link: one tree, without navigation and without a key. */
async function showLink({ isFramed = false }) {
  if (isFramed) document.body.classList.add("framed");
  else part("top").append(el("div", { class: "top-inside" }, brand(), tools(themeButton())));
  // Another link in the same window differs in the fragment alone.
  addEventListener("hashchange", () => location.reload());
  const { showShared } = await import("./tree/shared_page.js");
  await showShared(main, { isFramed });
}

async function showPages() {
  key.setPrompt(askForKey);
  router.onchange(follow);
  addEventListener("keychange", () => {
    if (!key.get()) show();
  });
  buildFrame();
  await show({ focus: false });
  whenUsed(() => {
    for (const [, , load] of ROUTES) load().catch(() => {});
    import("./pages/palette.js").catch(() => {});
  });
}

/**
 * Load the other pages some time after the first click or key, so that they open even while the service
 * is unreachable: to look at one page takes that page alone.
 *
 * @param {() => void} load
 */
function whenUsed(load) {
  const used = new AbortController();
  const begin = () => {
    used.abort();
    setTimeout(load, 2000);
  };
  for (const act of ["pointerdown", "keydown"]) {
    addEventListener(act, begin, { signal: used.signal, passive: true });
  }
}

connection.watch((away) => {
  showConnection(away);
  // Retry a page that could not be shown while the service was unreachable.
  if (!away && main.querySelector(".notice.calm")) show({ focus: false });
});
part("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
  main.scrollIntoView();
});

const [, linked] = /\/(shared|embed)$/.exec(location.pathname) ?? [];
if (linked) await showLink({ isFramed: linked === "embed" });
else await showPages();
