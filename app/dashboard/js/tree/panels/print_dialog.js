// The dialog of a figure for print: its form, its size on paper, its colours.

import { aborted, messageOf } from "../../net/problem.js";
import { waitsFor } from "../../net/waiting.js";
import { field, select } from "../../ui/controls.js";
import { dialog } from "../../ui/dialogs.js";
import { el, replace } from "../../ui/dom.js";
import { fileDpi, PAPERS, previewDpi, tooNarrow, wrongLength } from "../model/paper_sizes.js";

/** @import { Option } from "../../ui/controls.js" */
/** @import { PaperSize } from "../model/paper_sizes.js" */

/**
 * @typedef {{
 *   form: "pdf" | "svg" | "png",
 *   paper: PaperSize,
 *   pt: number,
 *   dpi: number,
 *   theme: "light" | "dark",
 *   title: string,
 *   legend: boolean,
 * }} PrintOptions
 */

/**
 * @typedef {(options: PrintOptions, signal: AbortSignal) => Promise<Blob | { blob: Blob, note: string }>} Drawing
 *   `note`: what a reader of the picture misses
 */

const OWN = "own";
/** @type {Option[]} */
const SIZES = [
  ...PAPERS.map(({ name, label }) => /** @type {const} */ ([name, label])),
  [OWN, "Own size"],
];

const DPIS = [150, 300, 600];
const POINTS = [5, 6, 7, 8, 9, 10, 12, 16, 20, 24, 32];
const WAIT_MS = 350;

/**
 * Ask how a figure is to be printed, and save it.
 *
 * @param {{
 *   title: string,
 *   hasLegend?: boolean,
 *   hasHeight?: boolean,
 *   save: (options: PrintOptions) => Promise<unknown>,
 *   picture?: Drawing,
 * }} options `hasLegend`: whether a legend can be left out; `hasHeight`: whether the height is free; `picture`: what is
 *   to be saved, for the preview
 */
export function printDialog({ title, hasLegend = false, hasHeight = true, save, picture }) {
  const waits = waitsFor("form", "pdf");
  const form = select(
    [
      ["pdf", "PDF", waits],
      ["svg", "SVG, for editing"],
      ["png", "PNG"],
    ],
    { value: waits ? "svg" : "pdf", onchange: () => draw() },
  );
  const size = select(SIZES, {
    value: "single",
    onchange: () => {
      const known = PAPERS.find(({ name }) => name === size.value);
      if (known) points.value = `${known.pt}`;
      draw();
    },
  });
  const [width, height] = [85, ""].map((value) =>
    el("input", { type: "number", min: 10, max: 2000, step: "any", value: `${value}` }),
  );
  const points = select(
    POINTS.map((pt) => [pt, `${pt} pt`]),
    { value: 7 },
  );
  const dpi = select(
    DPIS.map((dots) => [dots, `${dots} dots an inch`]),
    { value: 300 },
  );
  const theme = select(
    [
      ["light", "On white, for print"],
      ["dark", "On black, for slides"],
    ],
    { value: "light" },
  );
  const heading = el("input", { type: "text", value: "", maxlength: 200 });
  const key = el("input", { type: "checkbox", checked: true });
  const across = field("Width, mm", width);
  const down = field("Height, mm", height, { help: "Empty: it follows from what is drawn." });
  const dots = field("Resolution", dpi);
  const draw = () => {
    const isOwn = size.value === OWN;
    across.hidden = !isOwn;
    down.hidden = !isOwn || !hasHeight;
    dots.hidden = form.value !== "png";
  };
  draw();
  /** @returns {PaperSize | null} null: a length is wrong, with a message beside it */
  const paper = () => {
    const known = PAPERS.find(({ name }) => name === size.value)?.size;
    if (known) return hasHeight ? known : { ...known, height: null };
    const wrong =
      wrongLength(Number(width.value)) ?? tooNarrow(Number(width.value), Number(points.value));
    const isFree = !hasHeight || height.value === "";
    const wrongDown = isFree ? null : wrongLength(Number(height.value));
    across.setError(wrong);
    down.setError(wrongDown);
    if (wrong || wrongDown) return null;
    return { width: Number(width.value), height: isFree ? null : Number(height.value) };
  };
  /**
   * @param {PaperSize} chosen
   * @returns {PrintOptions}
   */
  const options = (chosen) => ({
    form: /** @type {PrintOptions["form"]} */ (form.value),
    paper: chosen,
    pt: Number(points.value),
    dpi: Number(dpi.value),
    theme: theme.value === "dark" ? "dark" : "light",
    title: heading.value.trim(),
    legend: key.checked,
  });
  const seen = picture && preview(picture);
  const follow = () => {
    const chosen = paper();
    if (chosen) seen?.show(options(chosen));
  };
  const fields = el(
    "div",
    { class: "stack" },
    field("Form", form),
    field("Size", size),
    across,
    down,
    field("Text", points, { help: "The size of labels; where they are many, they are smaller." }),
    dots,
    field("Colours", theme),
    field("Title", heading, { help: "Stands above the figure; leave it empty for none." }),
    hasLegend && el("label", { class: "check" }, key, "With the legend"),
  );
  const { close, closed, element } = dialog({
    title,
    wide: Boolean(seen),
    body: el("div", { class: "print-split" }, fields, seen?.element),
    actions: [
      { label: "Cancel" },
      {
        label: "Save",
        kind: "primary",
        onclick: () => {
          const chosen = paper();
          if (!chosen) return false;
          close();
          return save(options(chosen));
        },
      },
    ],
  });
  if (!seen) return;
  element.addEventListener("input", follow);
  closed.then(seen.stop);
  follow();
}

/**
 * The figure as it will be, at its true size; `show` it with other options, a moment later.
 *
 * @param {Drawing} picture
 */
function preview(picture) {
  const status = el("p", { class: "quiet", role: "status" });
  const missed = el("p", { class: "print-missed", role: "status" });
  const sheet = el("div", { class: "print-sheet", tabindex: "0", role: "region", "aria-label": "Preview" }); // prettier-ignore
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  let current = new AbortController();
  /** @param {PrintOptions} options */
  const draw = async (options) => {
    const { signal } = (current = new AbortController());
    const { width } = options.paper;
    replace(missed);
    replace(status, "Drawing the preview…");
    try {
      const made = await picture({ ...options, form: "png", dpi: previewDpi(options.paper) }, signal); // prettier-ignore
      if (signal.aborted) return;
      const { blob, note } = made instanceof Blob ? { blob: made, note: "" } : made;
      const address = URL.createObjectURL(blob);
      const image = el("img", { src: address, alt: "The figure", style: { width: `${width}mm` } });
      image.addEventListener("load", () => URL.revokeObjectURL(address), { once: true });
      replace(sheet, image);
      replace(status, `Preview at true size, ${width} mm wide, letters of ${options.pt} pt.`);
      replace(missed, note);
    } catch (error) {
      if (aborted(error)) return;
      replace(sheet);
      replace(status, messageOf(error));
    }
  };
  const stop = () => {
    clearTimeout(timer);
    current.abort();
  };
  return {
    element: el("div", { class: "stack tight" }, status, missed, sheet),
    stop,
    /** @param {PrintOptions} options */
    show: (options) => {
      stop();
      timer = setTimeout(() => draw(options), WAIT_MS);
    },
  };
}

/**
 * The query of a picture that the service draws itself.
 *
 * @param {PrintOptions} options
 */
export const printQuery = ({ form, paper, pt, dpi, theme, title }) => ({
  width_mm: paper.width,
  height_mm: paper.height,
  font_pt: pt,
  dpi: form === "png" ? fileDpi(paper, dpi, 1) : null,
  theme,
  title,
});
