// Clusters that move over time: their shares and turns as a picture, drawn by the service.

import { aborted, hasStatus, problemOf } from "../../net/problem.js";
import { get } from "../../net/requests.js";
import { toastError } from "../../ui/dialogs.js";
import { el, replace, unique } from "../../ui/dom.js";
import { download, saveBlob } from "../../ui/downloads.js";
import { fetchedImage } from "../../ui/images.js";
import { menu, saveEntries } from "../../ui/menus.js";
import { problemBox, waiting } from "../../ui/notices.js";

/** @import { Page } from "../../net/answers.js" */
/** @import { TreeView } from "../draw/view.js" */
/** @import { TreeSource } from "../model/source.js" */

/** Methods whose models hold a path of each cluster. */
const METHODS = new Set(["tvmf"]);
/** @type {[suffix: string, label: string][]} */
const FORMS = [
  ["svg", "Picture (SVG)"],
  ["png", "Picture (PNG)"],
  ["pdf", "Picture (PDF)"],
  ["csv", "Numbers (CSV)"],
  ["json", "Numbers (JSON)"],
];
const PNG_PX = 2000;

/**
 * The panel for a tree made by `method`, or null if its clusters do not move.
 *
 * @param {TreeView} view
 * @param {string} method
 */
export function pathsPanel(view, method) {
  if (!METHODS.has(method)) return null;
  const { source, signal } = view;
  const heading = unique("paths");
  // Scrollable on narrow pages, also by keyboard.
  const place = el("div", { class: "tree-paths-picture", tabindex: "0" }, waiting());
  let drawn = "";

  const style = () => ({
    theme: document.documentElement.dataset.theme,
    palette: view.look.palette,
  });

  const draw = async () => {
    const wanted = JSON.stringify(style());
    if (wanted === drawn) return;
    drawn = wanted;
    try {
      const picture = await fetchedImage(source.pathsPath("svg", style()), { alt: ALT }, signal);
      if (wanted === drawn) replace(place, picture);
    } catch (error) {
      if (aborted(error) || wanted !== drawn) return;
      drawn = "";
      if (hasStatus(error, 404)) replace(place, el("p", { class: "quiet" }, DELETED));
      else replace(place, problemBox(problemOf(error), { level: "h3", retry: draw }));
    }
  };

  /** @param {string} suffix */
  const save = async (suffix) => {
    const name = `${view.fileName()}-paths.${suffix}`;
    if (suffix === "json") {
      try {
        saveBlob(await allPages(source, signal), name);
      } catch (error) {
        if (!aborted(error)) toastError(error);
      }
      return;
    }
    const look = { title: view.title.slice(0, 300), palette: view.look.palette };
    const values = suffix === "csv" ? {} : suffix === "png" ? { ...look, px: PNG_PX } : look;
    await download(source.pathsPath(suffix, values), name, { signal });
  };

  addEventListener("themechange", draw, { signal });
  view.on("look", draw);
  draw();
  return el(
    "section",
    { class: "card tree-paths", "aria-labelledby": heading },
    el(
      "header",
      { class: "row" },
      el("h2", { id: heading }, "Clusters over time"),
      menu("Save", () => saveEntries(FORMS, save), {
        iconName: "download",
        kind: "small",
        "aria-label": "Save clusters over time",
      }),
    ),
    place,
  );
}

/**
 * The numbers of all pages as one file.
 *
 * @param {TreeSource} source
 * @param {AbortSignal} signal
 */
async function allPages(source, signal) {
  /**
   * @param {string | null} cursor
   * @returns {Promise<Page<unknown>>}
   */
  const pageAt = (cursor) => get(source.pathsPath("json", { limit: 2000, cursor }), { signal });
  const whole = await pageAt(null);
  while (whole.next_cursor) {
    const page = await pageAt(whole.next_cursor);
    whole.items.push(...page.items);
    whole.next_cursor = page.next_cursor;
  }
  return new Blob([JSON.stringify(whole)], { type: "application/json" });
}

const ALT =
  "Bands: the share that each cluster has of every period. Below them a row for each cluster: " +
  "how far its mean turns from one period to the next. Save the numbers to read them.";
const DELETED = "The model was deleted, and with it the paths of its clusters.";
