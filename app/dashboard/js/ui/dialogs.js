// Dialogs (the browser's own: focus stays inside, Escape closes) and short messages.

import { messageOf } from "../net/problem.js";
import { button } from "./controls.js";
import { append, el, unique } from "./dom.js";
import { icon } from "./icons.js";

/** @import { Child } from "./dom.js" */

/**
 * @typedef {(value?: unknown) => void} Close
 * @typedef {{
 *   label: string,
 *   kind?: string,
 *   onclick?: (close: Close) => unknown,
 *   submit?: boolean,
 * }} Action an `onclick` that returns false keeps the dialog open
 */

/**
 * Open a dialog. `closed` resolves to the value that `close` was given (undefined for Escape).
 *
 * @param {{
 *   title: string,
 *   body: Child,
 *   actions?: Action[],
 *   wide?: boolean,
 *   onsubmit?: (close: Close) => unknown,
 * }} options
 */
export function dialog({ title, body, actions = [], wide = false, onsubmit }) {
  const id = unique("dialog");
  const focused = document.activeElement;
  /** @type {unknown} */
  let result;
  /** @type {Close} */
  const close = (value) => {
    result = value;
    element.close();
  };
  const buttons = actions.map(({ label, kind, onclick, submit }) =>
    button(label, {
      kind,
      type: submit ? "submit" : "button",
      onclick: submit ? undefined : async () => (await onclick?.(close)) !== false && close(label),
    }),
  );
  const form = el(
    "form",
    {
      class: "dialog-inside",
      method: "dialog",
      novalidate: true,
      onsubmit: async (event) => {
        event.preventDefault();
        if ((await onsubmit?.(close)) !== false && element.open) close("submit");
      },
    },
    el(
      "header",
      { class: "dialog-head" },
      el("h2", { id }, title),
      button("", {
        kind: "ghost icon-only",
        iconName: "close",
        "aria-label": "Close",
        onclick: () => close(),
      }),
    ),
    el("div", { class: "dialog-body" }, body),
    buttons.length > 0 && el("footer", { class: "dialog-foot" }, buttons),
  );
  const element = el("dialog", { class: wide ? "wide" : "", "aria-labelledby": id }, form);
  element.addEventListener("click", (event) => {
    if (event.target === element) close();
  });
  /** @type {Promise<unknown>} */
  const closed = new Promise((resolve) => {
    element.addEventListener("close", () => {
      element.remove();
      if (focused instanceof HTMLElement && focused.isConnected) focused.focus();
      resolve(result);
    });
  });
  document.body.append(element);
  element.showModal();
  return { element, close, closed };
}

/**
 * Ask the user; resolves to true for yes.
 *
 * @param {{ title: string, text: Child, yes?: string, danger?: boolean }} options
 */
export async function confirm({ title, text, yes = "Yes", danger = false }) {
  const { closed } = dialog({
    title,
    body: el("p", {}, text),
    actions: [
      { label: "Cancel", onclick: (close) => (close(false), false) },
      { label: yes, kind: danger ? "danger" : "primary", onclick: (close) => (close(true), false) },
    ],
  });
  return (await closed) === true;
}

/**
 * A short message at the edge, read out politely. It goes by itself after `lasts` ms unless it is an
 * error; the function returned takes it away.
 *
 * @param {string} text
 * @param {{
 *   kind?: "" | "good" | "bad",
 *   action?: { label: string, onclick: () => unknown },
 *   lasts?: number,
 * }} [options]
 */
export function toast(text, { kind = "", action, lasts = 6000 } = {}) {
  /** @returns {void} */
  const dismiss = () => element.remove();
  const element = el(
    "div",
    { class: `toast ${kind}`.trim() },
    el("span", {}, text),
    action &&
      button(action.label, {
        kind: "ghost",
        onclick: () => {
          dismiss();
          action.onclick();
        },
      }),
    el(
      "button",
      {
        type: "button",
        class: "button ghost icon-only",
        "aria-label": "Dismiss",
        onclick: dismiss,
      },
      icon("close"),
    ),
  );
  append(document.getElementById("toasts") ?? document.body, element);
  if (kind !== "bad") setTimeout(dismiss, lasts);
  return dismiss;
}

/**
 * Show an error as a short message.
 *
 * @param {unknown} error
 */
export const toastError = (error) => toast(messageOf(error), { kind: "bad" });

/**
 * Copy text; resolves to whether it worked. If not, a dialog shows the text.
 *
 * @param {string} text
 */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    dialog({
      title: "Copy this text",
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
