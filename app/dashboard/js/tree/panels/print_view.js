// The view of a tree as a figure for print: laid out anew for the paper, in the state seen, and made into a
// file by the service, which has the fonts.

import { aborted } from "../../net/problem.js";
import { raw } from "../../net/requests.js";
import { toast, toastError } from "../../ui/dialogs.js";
import { saveBlob } from "../../ui/downloads.js";
import { figure, itemsOf } from "../draw/figures.js";
import { leftOutText } from "../draw/left_out.js";
import { onBlack, onWhite } from "../draw/palettes.js";
import { fileDpi, layoutSize, LEAST_PX } from "../model/paper_sizes.js";
import { printDialog } from "./print_dialog.js";

/** @import { TreeView } from "../draw/view.js" */
/** @import { PrintOptions } from "./print_dialog.js" */

/** @param {TreeView} view */
export const printView = (view) =>
  printDialog({
    title: "Figure for print",
    hasLegend: true,
    save: (options) => savePrint(view, options),
    picture: async (options, signal) => {
      const { response, missing } = await printed(view, options, signal);
      return { blob: await response.blob(), note: leftOutText(missing) };
    },
  });

/**
 * @param {TreeView} view
 * @param {PrintOptions} options
 */
async function savePrint(view, options) {
  const { form } = options;
  try {
    const { response, missing } = await printed(view, options, view.signal);
    saveBlob(await response.blob(), `${view.fileName()}.${form}`);
    const lost = response.headers.get("warning");
    if (missing.length) toast(leftOutText(missing));
    else if (lost) toast(lost.replace(/^\d+ \S+ "|"$/g, ""));
  } catch (error) {
    if (!aborted(error)) toastError(error);
  }
}

/**
 * The file of the view, and the names that have no room in it. Throws the Problem of a failure.
 *
 * @param {TreeView} view
 * @param {PrintOptions} options
 * @param {AbortSignal} signal
 */
async function printed(view, { form, paper, pt, dpi, theme: wanted, title, legend }, signal) {
  await view.whenShown();
  const { palette } = view.look;
  const colours = (wanted === "dark" ? onBlack : onWhite)(palette, view.theme.family);
  const theme = { ...colours, least: LEAST_PX };
  // A whole circle has as much room above as beside it, and no more.
  const isRound = view.look.shape === "circular" && view.stage.camera.k < 1.01;
  const shape = isRound ? { width: 1, height: 1 } : view.stage;
  const size = { ...layoutSize(paper, pt, shape), grows: paper.height === null };
  const { picture: drawn, missing } = figure(view, { title, legend, theme, size });
  const body = {
    form,
    width: drawn.width,
    height: drawn.height,
    width_mm: paper.width,
    dpi: fileDpi(paper, dpi, drawn.height / drawn.width),
    title: title || "Tree",
    paper: theme.paper,
    items: itemsOf(drawn, theme.family),
  };
  const response = await raw("/v1/figures", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
    signal,
    quiet: true,
  });
  return { response, missing };
}
