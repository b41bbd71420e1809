// Dialogs (the browser's own: focus stays inside, Escape closes) and short messages.

import { append, button, el, icon, unique } from "./dom.js";

/**
 * Open a dialog. `actions`: [{label, kind, onclick(close), submit}]; an `onclick` that returns false
 * keeps it open. `.closed` resolves to what `.close(value)` was given (undefined for Escape).
 */
export function dialog({ title, body, actions = [], wide = false, onsubmit } = {}) {
  const id = unique("dialog");
  const before = document.activeElement;
  let settle;
  const closed = new Promise((resolve) => {
    settle = resolve;
  });
  let result;
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
  const element = el(
    "dialog",
    { class: wide ? "wide" : "", "aria-labelledby": id, onclose: () => gone() },
    form,
  );
  element.addEventListener("click", (event) => {
    if (event.target === element) close();
  });
  const gone = () => {
    element.remove();
    if (before?.isConnected) before.focus();
    settle(result);
  };
  document.body.append(element);
  element.showModal();
  return { element, close, closed };
}

/** Ask; resolves to true for yes. */
export async function confirm({ title, text, yes = "Yes", danger = false }) {
  const asked = dialog({
    title,
    body: el("p", {}, text),
    actions: [
      { label: "Cancel", onclick: (close) => (close(false), false) },
      { label: yes, kind: danger ? "danger" : "primary", onclick: (close) => (close(true), false) },
    ],
  });
  return (await asked.closed) === true;
}

/** A short message at the edge, read out politely; goes by itself unless it says what is wrong. */
export function toast(text, { kind = "", action, lasts = 6000 } = {}) {
  const place = document.getElementById("toasts");
  const gone = () => element.remove();
  const element = el(
    "div",
    { class: `toast ${kind}`.trim() },
    el("span", {}, text),
    action &&
      button(action.label, {
        kind: "ghost",
        onclick: () => {
          gone();
          action.onclick();
        },
      }),
    el(
      "button",
      { type: "button", class: "button ghost icon-only", "aria-label": "Dismiss", onclick: gone },
      icon("close"),
    ),
  );
  append(place, element);
  if (kind !== "bad") setTimeout(gone, lasts);
  return gone;
}
