// The page's building blocks. Everything is made of elements and text nodes: nothing that a user
// or the service says is ever read as markup.

import { dialog } from "./dialogs.js";

export { confirm, dialog, toast } from "./dialogs.js";
export { menu, tabs } from "./menus.js";
export { table } from "./tables.js";

const SVG = "http://www.w3.org/2000/svg";
const AS_PROPERTY = new Set(["value", "checked", "selected", "indeterminate", "textContent"]);
const SAFE_ADDRESS = /^(#|\.|\/(?!\/)|blob:|data:image\/|[a-z0-9_-]+(\/|$|\?|\.))/i;

/**
 * An element. `attrs`: `class`, `dataset` {}, `style` {} (properties, custom ones too), `onclick`
 * and the like as functions, any attribute; true writes it empty, false and null leave it out.
 * `children`: nodes, texts, numbers, lists of those; null and false are left out.
 */
export function el(tag, attrs = {}, ...children) {
  return fill(document.createElement(tag), attrs, children);
}

/** The same of SVG. */
export function svg(tag, attrs = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attrs, children);
}

function fill(element, attrs, children) {
  for (const [name, value] of Object.entries(attrs ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "dataset") Object.assign(element.dataset, value);
    else if (name === "style") styled(element, value);
    else if (AS_PROPERTY.has(name)) element[name] = value;
    else if (name === "href" || name === "src") setAddress(element, name, String(value));
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, ...children);
  return element;
}

function styled(element, properties) {
  for (const [name, value] of Object.entries(properties)) {
    element.style.setProperty(name, String(value));
  }
}

function setAddress(element, name, value) {
  if (!SAFE_ADDRESS.test(value)) throw new Error(`not an address of this page: ${value}`);
  element.setAttribute(name, value);
}

/** Append nodes, texts, numbers and lists of those. */
export function append(element, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

/** Take everything out, then append. */
export function replace(element, ...children) {
  element.replaceChildren();
  return append(element, ...children);
}

/** A text from a user, kept from turning the direction of what stands around it. */
export const said = (text, attrs = {}) => el("bdi", { dir: "auto", ...attrs }, text);

/** An icon drawn from a path of 24 x 24; it says nothing to a screen reader. */
export function icon(name) {
  return svg(
    "svg",
    { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true", focusable: "false" },
    svg("path", { d: ICONS[name] }),
  );
}

const ICONS = {
  sun: "M12 7a5 5 0 100 10 5 5 0 000-10M12 1v2M12 21v2M4.2 4.2l1.4 1.4M18.4 18.4l1.4 1.4M1 12h2M21 12h2M4.2 19.8l1.4-1.4M18.4 5.6l1.4-1.4",
  moon: "M20.5 14.5A8.5 8.5 0 119.5 3.5a7 7 0 0011 11z",
  auto: "M12 3a9 9 0 100 18 9 9 0 000-18M12 3v18M12 7h6M12 12h9M12 17h6",
  key: "M14.5 9.5a4.5 4.5 0 11-4.4-4.5 4.5 4.5 0 014.4 4.5zM13.3 12.7L21 20.5M17 16.5l2.5-2.5",
  code: "M8 7l-5 5 5 5M16 7l5 5-5 5",
  file: "M6 2h8l5 5v15H6zM14 2v5h5",
  upload: "M12 16V4M7 8.5L12 3.5l5 5M4 16v4h16v-4",
  download: "M12 4v12M7 11.5l5 5 5-5M4 20h16",
  trash: "M4 7h16M9 7V4h6v3M6 7l1 14h10l1-14M10 11v6M14 11v6",
  close: "M5 5l14 14M19 5L5 19",
  plus: "M12 5v14M5 12h14",
  check: "M4 12.5l5.5 5.5L20 6.5",
  tree: "M4 12h5M9 6v12M9 6h6M9 18h6M15 3v6M15 15v6M15 3h5M15 9h5M15 15h5M15 21h5",
  search: "M10.5 4a6.5 6.5 0 100 13 6.5 6.5 0 000-13M15.5 15.5L21 21",
  warning: "M12 3L2 20.5h20zM12 9.5v5M12 17.2v.6",
  more: "M12 5.5v.01M12 12v.01M12 18.5v.01",
  back: "M15 5l-7 7 7 7",
  next: "M9 5l7 7-7 7",
};

/** A button. */
export function button(label, { kind = "", iconName, onclick, ...attrs } = {}) {
  return el(
    "button",
    { type: "button", class: `button ${kind}`.trim(), onclick, ...attrs },
    iconName && icon(iconName),
    label && el("span", {}, label),
  );
}

let serial = 0;

/** An id that nothing else on the page has. */
export const unique = (prefix = "id") => `${prefix}-${(serial += 1)}`;

/**
 * A labelled control with help and a place for what is wrong with it. The control is anything with
 * an id to be; `row.wrong(text)` shows an error at it (null takes it away).
 */
export function field(label, control, { help, hint, wide = false, group = false } = {}) {
  const id = control.id || unique("f");
  control.id = id;
  const wrong = el("p", { class: "field-wrong", id: `${id}-wrong`, hidden: true });
  const text = help && el("p", { class: "field-help", id: `${id}-help` }, help);
  const title = el(
    group ? "span" : "label",
    group ? { class: "field-label", id: `${id}-label` } : { class: "field-label", for: id },
    label,
    hint && el("span", { class: "field-hint" }, hint),
  );
  if (group) control.setAttribute("aria-labelledby", `${id}-label`);
  const row = el("div", { class: `field${wide ? " wide" : ""}` }, title, control, text, wrong);
  const described = [help && `${id}-help`].filter(Boolean);
  if (described.length) control.setAttribute("aria-describedby", described.join(" "));
  row.control = control;
  row.wrong = (message) => {
    wrong.hidden = !message;
    replace(wrong, message ?? "");
    row.classList.toggle("is-wrong", Boolean(message));
    const target = control.matches("input, select, textarea") ? control : control;
    if (message) target.setAttribute("aria-invalid", "true");
    else target.removeAttribute("aria-invalid");
    const ids = [...described, ...(message ? [`${id}-wrong`] : [])];
    if (ids.length) target.setAttribute("aria-describedby", ids.join(" "));
    else target.removeAttribute("aria-describedby");
  };
  return row;
}

/** A select of [value, label] pairs (or plain values). */
export function select(options, { value, ...attrs } = {}) {
  const found = el(
    "select",
    attrs,
    options.map((option) => {
      const [code, label] = Array.isArray(option) ? option : [option, option];
      return el("option", { value: code, selected: String(code) === String(value ?? "") }, label);
    }),
  );
  return found;
}

/** What the service says went wrong, word for word. `retry` adds a button that tries again. */
export function problemBox(problem, { retry, level = "h2" } = {}) {
  const calm = problem.away;
  const details = (problem.errors ?? []).filter(
    (one) => one.detail && one.detail !== problem.detail,
  );
  return el(
    "section",
    { class: `notice ${calm ? "calm" : "bad"}`, role: "alert" },
    el(level, { class: "notice-title" }, said(problem.title ?? "Something went wrong")),
    problem.detail && el("p", {}, said(problem.detail)),
    details.length > 0 &&
      el(
        "ul",
        {},
        details.map((one) =>
          el("li", {}, el("code", {}, (one.pointer ?? []).join(".")), " ", said(one.detail)),
        ),
      ),
    (problem.requestId ?? problem.request_id) &&
      el(
        "p",
        { class: "quiet" },
        "Request ",
        el("code", {}, problem.requestId ?? problem.request_id),
      ),
    retry && button("Try again", { onclick: retry }),
  );
}

/** A row of notes: the service's warnings. */
export const notes = (texts) =>
  texts.length > 0 &&
  el(
    "section",
    { class: "notice warn", "aria-label": "Warnings" },
    el("h3", { class: "notice-title" }, texts.length === 1 ? "A note" : `${texts.length} notes`),
    el(
      "ul",
      {},
      texts.map((text) => el("li", {}, said(text))),
    ),
  );

/** Something to look at while waiting; read out politely. */
export const waiting = (text = "Loading…") =>
  el(
    "p",
    { class: "waiting", role: "status" },
    el("span", { class: "spinner", "aria-hidden": "true" }),
    text,
  );

/** Copy text; resolves to whether it worked. Where it does not, a dialog shows it to be copied. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    dialog({
      title: "Copy this",
      body: el("textarea", {
        class: "code",
        readonly: true,
        rows: 12,
        value: text,
        "aria-label": "Text to copy",
      }),
    });
    return false;
  }
}
