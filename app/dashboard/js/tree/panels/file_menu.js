// The menu that saves the view as a picture, and the tree in the forms of the service.

import { aborted, hasStatus } from "../../net/problem.js";
import { field, select } from "../../ui/controls.js";
import { dialog, toast, toastError } from "../../ui/dialogs.js";
import { el } from "../../ui/dom.js";
import { download, fetchFile, saveBlob } from "../../ui/downloads.js";
import { menu } from "../../ui/menus.js";
import { pictureColor } from "../draw/colouring.js";
import { figure, pngOf, svgOf } from "../draw/figures.js";
import { leftOutText } from "../draw/left_out.js";
import { pictureStrips } from "../model/items.js";
import { onWhite } from "../draw/palettes.js";
import { printView } from "./print_view.js";

/** @import { TreeView } from "../draw/view.js" */
/** @import { QueryValues } from "../model/source.js" */

/**
 * @param {TreeView} view
 * @param {{ rows?: boolean }} [options] `rows`: whether the rows of its leaves can be read
 */
export function fileMenu(view, { rows = true } = {}) {
  const { source, signal } = view;
  /**
   * @param {string} suffix
   * @param {QueryValues} values
   * @param {string} label
   */
  const save = async (suffix, values, label) => {
    try {
      const name = `${view.fileName()}.${suffix}`;
      await fetchFile(source.formPath(suffix, values), name, { signal });
    } catch (error) {
      if (aborted(error)) return;
      // The tree cannot be written in this form; this is not an error.
      if (hasStatus(error, 406) && error instanceof Error) {
        toast(`Not as ${label}: ${error.message}`);
      } else toastError(error);
    }
  };
  const leaves = {
    label: "Leaves of all rows (CSV)",
    onselect: () =>
      download(source.assignmentsPath(null, "csv"), `${view.fileName()}-leaves.csv`, { signal }),
  };
  const part = () => (view.look.root ? { root: view.look.root } : {});
  const drawing = () => ({
    shape: view.look.shape,
    palette: view.look.palette,
    color_by: pictureColor(view),
    strips: pictureStrips(view.items),
  });
  return menu(
    "Save",
    () => [
      { label: "Picture of the view…", onselect: () => pictureDialog(view) },
      { label: "Figure for print…", onselect: () => printView(view) },
      { label: "Newick", onselect: () => save("nwk", part(), "Newick") },
      { label: "JSON", onselect: () => save("json", part(), "JSON") },
      { label: "Nexus", onselect: () => save("nex", part(), "Nexus") },
      { label: "Linkage (SciPy, npy)", onselect: () => save("linkage.npy", {}, "a linkage") },
      { label: "hclust (R, JSON)", onselect: () => save("hclust.json", {}, "hclust") },
      { label: "GraphML", onselect: () => save("graphml", part(), "GraphML") },
      { label: "Nodes (CSV)", onselect: () => save("csv", part(), "CSV") },
      { label: "Nodes (Parquet)", onselect: () => save("parquet", part(), "Parquet") },
      { label: "Columns (Arrow)", onselect: () => save("arrow", part(), "Arrow") },
      ...(rows ? [leaves] : []),
      {
        label: "Whole picture by the service (SVG)",
        onselect: () => save("svg", { ...part(), ...drawing() }, "SVG"),
      },
    ],
    { iconName: "download" },
  );
}

/** @param {TreeView} view */
function pictureDialog(view) {
  const form = select(
    [
      ["svg", "SVG, for print and editing"],
      ["1", "PNG, as on the screen"],
      ["2", "PNG, twice as fine"],
      ["3", "PNG, three times as fine"],
      ["4", "PNG, four times as fine"],
    ],
    { value: "svg" },
  );
  const heading = el("input", { type: "text", value: view.title, maxlength: 200 });
  const key = el("input", { type: "checkbox", checked: true });
  const white = el("input", { type: "checkbox", checked: false });
  dialog({
    title: "Picture of the view",
    body: [
      field("Form", form),
      field("Title", heading, { help: "Stands above the picture; leave it empty for none." }),
      el("label", { class: "check" }, key, "With the legend"),
      view.theme.theme === "dark" && el("label", { class: "check" }, white, "On white, for print"),
    ],
    actions: [
      { label: "Cancel" },
      {
        label: "Save",
        kind: "primary",
        onclick: () =>
          savePicture(view, {
            form: form.value,
            title: heading.value.trim(),
            legend: key.checked,
            white: white.checked,
          }),
      },
    ],
  });
}

/**
 * Save the view.
 *
 * @param {TreeView} view
 * @param {{ form: string, title: string, legend: boolean, white: boolean }} options `form`: "svg",
 * or the resolution of a PNG relative to the screen
 */
async function savePicture(view, { form, title, legend, white }) {
  await view.whenShown();
  const theme = white ? onWhite(view.look.palette, view.theme.family) : view.theme;
  const { picture, missing } = figure(view, { title, legend, theme });
  const { family, paper } = theme;
  const name = view.fileName();
  if (form === "svg") {
    const text = svgOf(picture, { family, paper, title: title || "Tree" });
    saveBlob(new Blob([text], { type: "image/svg+xml" }), `${name}.svg`);
    if (missing.length) toast(leftOutText(missing));
    return;
  }
  try {
    saveBlob(await pngOf(picture, { family, paper, times: Number(form) }), `${name}.png`);
    if (missing.length) toast(leftOutText(missing));
  } catch {
    toast("The browser could not make so large a PNG; try a smaller one or the SVG.", {
      kind: "bad",
    });
  }
}
