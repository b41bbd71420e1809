// The frame of the page: navigation, routes to pages, theme, key, and whether the service answers.

import * as api from "./net/requests.js";
import * as router from "./router.js";
import { button, el, icon, problemBox, replace, waiting } from "./ui/dom.js";
import { askForKey, keyTools } from "./ui/key_dialog.js";
import { newPage, showRecipe } from "./ui/recipe_dialog.js";

// Path -> module of the page. The first that fits is taken; `:id` is an id of that kind.
const ROUTES = [
  ["/", "./pages/start.js", "New run"],
  ["/jobs", "./pages/jobs.js", "Jobs"],
  ["/jobs/:id", "./pages/job.js", "Job"],
  ["/datasets", "./pages/datasets.js", "Data"],
  ["/datasets/:id", "./pages/dataset.js", "Dataset"],
  ["/trees", "./pages/trees.js", "Trees"],
  ["/trees/:id", "./tree/page.js", "Tree"],
  ["/compare", "./tree/tangle_page.js", "Two trees"],
  ["/comparisons", "./pages/comparisons.js", "Comparisons"],
  ["/comparisons/new", "./pages/new_comparison.js", "New comparison"],
  ["/comparisons/:id", "./pages/comparison.js", "Comparison"],
  ["/evaluations", "./pages/evaluations.js", "Evaluate"],
];
const NAVIGATION = [
  ["/", "New run"],
  ["/jobs", "Jobs"],
  ["/datasets", "Data"],
  ["/trees", "Trees"],
  ["/comparisons", "Compare"],
  ["/evaluations", "Evaluate"],
];

const main = document.getElementById("main");
let open = null; // {path, unmount, update, stop}

function find(path) {
  for (const [pattern, module, title] of ROUTES) {
    const wanted = pattern.split("/");
    const given = path.split("/");
    if (wanted.length !== given.length) continue;
    if (wanted.every((part, at) => (part.startsWith(":") ? given[at] : part === given[at]))) {
      return { module, title, id: pattern.includes(":id") ? given.at(-1) : null };
    }
  }
  return null;
}

/** Close the page that is open and open the one that the address names. */
async function show({ focus = true } = {}) {
  close();
  const path = router.path();
  const found = find(path);
  const turn = { path, unmount: null, update: null };
  open = turn;
  newPage();
  markNavigation(path);
  document.title = found ? `${found.title} · Umbel` : "Umbel";
  const root = el("div", { class: "page" });
  replace(main, root);
  scrollTo(0, 0);
  if (focus) main.focus({ preventScroll: true });
  if (!found) {
    replace(root, nothingHere(path));
    return;
  }
  const late = setTimeout(() => root.childNodes.length || replace(root, waiting()), 250);
  try {
    const module = await import(found.module);
    if (open !== turn) return;
    clearTimeout(late);
    replace(root);
    const context = { api, router, params: router.params(), id: found.id };
    const mounted = await module.mount(root, context);
    const parts = typeof mounted === "function" ? { unmount: mounted } : (mounted ?? {});
    if (open !== turn) parts.unmount?.();
    else Object.assign(turn, parts);
  } catch (error) {
    if (open !== turn || api.aborted(error)) return;
    clearTimeout(late);
    const known = error instanceof api.Problem;
    // A module that cannot be fetched says no more than that; whether the service is there does.
    const away = !known && !(await api.connection.look());
    if (open !== turn) return;
    if (!known && !away) console.error(error);
    const problem = known
      ? error
      : away
        ? new api.Problem(api.AWAY)
        : { title: "This page could not be shown", detail: error.message };
    const retry = problem.status === 404 ? undefined : () => show();
    replace(root, problemBox(problem, { retry, level: "h1" }));
  }
}

function close() {
  const closing = open;
  open = null;
  try {
    closing?.unmount?.();
  } catch (error) {
    console.error(error);
  }
  for (const dialog of document.querySelectorAll("dialog[open]:not([data-stays])")) dialog.close();
}

function nothingHere(path) {
  return el(
    "section",
    { class: "notice" },
    el("h1", { class: "notice-title" }, "There is nothing at this address"),
    el("p", {}, "The page knows no place ", el("code", {}, path), "."),
    el("p", {}, el("a", { href: router.href("/") }, "Start a new run")),
  );
}

router.onchange(({ path, params, cause }) => {
  if (cause === "own") return;
  if (open?.path === path && open.update) open.update(params);
  else show();
});

// --- the frame -----------------------------------------------------------------------------------

function markNavigation(path) {
  const first = `/${path.split("/")[1]}`;
  const here = first === "/compare" ? "/trees" : first;
  for (const link of document.querySelectorAll(".nav a")) {
    if (link.dataset.path === here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

const THEMES = {
  auto: ["auto", "As the system"],
  light: ["sun", "Light"],
  dark: ["moon", "Dark"],
};

function themeButton() {
  const kept = () => {
    try {
      return localStorage.getItem("umbel.theme") ?? "auto";
    } catch {
      return "auto";
    }
  };
  const element = button("", { kind: "ghost icon-only", id: "theme" });
  const draw = () => {
    const [name, label] = THEMES[kept()] ?? THEMES.auto;
    replace(element, icon(name));
    element.setAttribute("aria-label", `Colours: ${label.toLowerCase()}. Change`);
    element.title = `Colours: ${label.toLowerCase()}`;
  };
  element.addEventListener("click", () => {
    const order = Object.keys(THEMES);
    const next = order[(order.indexOf(kept()) + 1) % order.length];
    dispatchEvent(new CustomEvent("themewish", { detail: next === "auto" ? null : next }));
    draw();
  });
  draw();
  return element;
}

function buildFrame() {
  const brand = el(
    "a",
    { class: "brand", href: router.href("/") },
    el("span", { class: "brand-mark" }),
    el("span", {}, "Umbel"),
  );
  const links = NAVIGATION.map(([path, label]) =>
    el("li", {}, el("a", { href: router.href(path), dataset: { path } }, label)),
  );
  const copyAs = button("Copy as code", {
    kind: "ghost",
    iconName: "code",
    id: "copy-as",
    title: "What this page asked of the service, as curl or Python",
    onclick: () => showRecipe(),
  });
  document
    .getElementById("top")
    .append(
      el(
        "div",
        { class: "top-inside" },
        brand,
        el("nav", { class: "nav", "aria-label": "Main" }, el("ul", {}, links)),
        el("div", { class: "tools" }, keyTools(), copyAs, themeButton()),
      ),
    );
  document
    .getElementById("bottom")
    .append(
      el(
        "p",
        {},
        "Umbel turns data into hierarchies. ",
        el("a", { href: "docs" }, "API documentation"),
        " · ",
        el("a", { href: "openapi.json" }, "openapi.json"),
      ),
    );
  document.getElementById("skip").addEventListener("click", (event) => {
    event.preventDefault();
    main.focus();
    main.scrollIntoView();
  });
}

function showConnection(away) {
  const banner = document.getElementById("banner");
  replace(
    banner,
    away && [
      el("span", { class: "spinner", "aria-hidden": "true" }),
      el(
        "p",
        {},
        "The service does not answer just now. What is on the page stays; it goes on by itself " +
          "as soon as the service is back.",
      ),
      button("Try now", { kind: "ghost small", onclick: () => api.connection.look() }),
    ],
  );
  banner.classList.toggle("is-shown", away);
}

api.key.askedBy(askForKey);
api.connection.watch((away) => {
  showConnection(away);
  // What could not be shown while it was away is tried again.
  if (!away && main.querySelector(".notice.calm")) show({ focus: false });
});
addEventListener("keychange", () => {
  if (!api.key.get()) show();
});

buildFrame();
await show({ focus: false });
// The other pages, once there is time, so that they can be opened even while the service is away.
setTimeout(() => {
  for (const [, module] of ROUTES) import(module).catch(() => {});
}, 2000);
