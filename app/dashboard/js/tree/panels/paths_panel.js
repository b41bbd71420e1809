// Clusters that move with time: their shares and turns as a picture, drawn by the service.

import { saveBlob } from "../../net/requests.js";
import { el, menu, problemBox, replace, toast, unique, waiting } from "../../ui/dom.js";

/** Methods whose models hold a path of each cluster. */
const METHODS = new Set(["tvmf"]);
const FORMS = [
  ["svg", "Picture (SVG)"],
  ["png", "Picture (PNG)"],
  ["csv", "Numbers (CSV)"],
  ["json", "Numbers (JSON)"],
];
const PNG_PX = 2000;

/** The panel of a tree that `method` has made, or null where its clusters do not move. */
export function pathsPanel(view, { api, method }) {
  if (!METHODS.has(method)) return null;
  const { source, signal } = view;
  const heading = unique("paths");
  // Where the page is narrow it is scrolled, with the keys as well.
  const place = el("div", { class: "tree-paths-picture", tabindex: "0" }, waiting());
  let drawn = null;

  const style = () => ({
    theme: document.documentElement.dataset.theme,
    palette: view.looked.palette,
  });

  const draw = async () => {
    const wanted = JSON.stringify(style());
    if (wanted === drawn) return;
    drawn = wanted;
    try {
      const response = await api.raw(source.pathsPath("svg", style()), { signal, quiet: true });
      const address = URL.createObjectURL(await response.blob());
      const picture = el("img", { src: address, alt: ALT });
      picture.addEventListener("load", () => URL.revokeObjectURL(address), { once: true });
      if (wanted === drawn) replace(place, picture);
    } catch (error) {
      if (error?.name === "AbortError" || wanted !== drawn) return;
      drawn = null;
      if (error.status === 404) replace(place, el("p", { class: "quiet" }, GONE));
      else replace(place, problemBox(error, { level: "h3", retry: draw }));
    }
  };

  const save = async (suffix) => {
    const name = `${view.fileName()}-paths.${suffix}`;
    const title = view.title?.slice(0, 300);
    const values = {
      svg: { title, palette: view.looked.palette },
      png: { title, palette: view.looked.palette, px: PNG_PX },
    }[suffix];
    try {
      if (suffix === "json") saveBlob(await numbers(api, source, signal), name);
      else await api.download(source.pathsPath(suffix, values ?? {}), name, { signal });
    } catch (error) {
      if (error?.name !== "AbortError") toast(error.detail || error.message, { kind: "bad" });
    }
  };

  addEventListener("themechange", draw);
  view.addEventListener("looked", draw);
  signal.addEventListener("abort", () => removeEventListener("themechange", draw));
  draw();
  return el(
    "section",
    { class: "card tree-paths", "aria-labelledby": heading },
    el(
      "header",
      { class: "row" },
      el("h2", { id: heading }, "Clusters over time"),
      menu(
        "Save",
        FORMS.map(([suffix, label]) => ({ label, onselect: () => save(suffix) })),
        { iconName: "download", kind: "small", "aria-label": "Save clusters over time" },
      ),
    ),
    place,
  );
}

/** All pages as one. */
async function numbers(api, source, signal) {
  const get = (cursor) => api.get(source.pathsPath("json", { limit: 2000, cursor }), { signal });
  const whole = await get();
  while (whole.next_cursor) {
    const page = await get(whole.next_cursor);
    whole.items.push(...page.items);
    whole.next_cursor = page.next_cursor;
  }
  return new Blob([JSON.stringify(whole)], { type: "application/json" });
}

const ALT =
  "Bands: the share that each cluster has of every period. Below them a row for each cluster: " +
  "how far its mean turns from one period to the next. Save the numbers to read them.";
const GONE = "The model was deleted, and with it how its clusters moved.";
