// The view as files: SVG and PNG of what is seen, with a title and a legend under it, and the tree
// itself in the forms of the service.

import { saveBlob } from "../../net/requests.js";
import { dialog, el, field, menu, select, toast } from "../../ui/dom.js";
import { entries } from "../panels/legend.js";
import { pictureColor } from "./colouring.js";
import { onWhite } from "./palettes.js";
import { LAYERS, paint, Path, Picture } from "./picture.js";
import { line, width } from "./text.js";

const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const INVALID = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;
const escaped = (text) =>
  String(text)
    .replace(INVALID, "\ufffd")
    .replace(/[&<>"]/g, (one) => ESCAPES[one]);
const n = (value) => String(Math.round(value * 100) / 100);

/** A picture as an SVG document. */
export function svgOf(picture, { family, paper, title }) {
  const { width: w, height: h } = picture;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${n(w)}" height="${n(h)}" viewBox="0 0 ${n(w)} ${n(h)}" font-family="${escaped(family)}">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${n(w)}" height="${n(h)}" fill="${paper}"/>`,
  ];
  for (const name of LAYERS) {
    const items = picture.layers.get(name);
    if (!items.length) continue;
    parts.push(`<g class="${name}" stroke-linejoin="round">`, ...items.map(element), "</g>");
  }
  parts.push("</svg>");
  return `${parts.join("\n")}\n`;
}

function element(item) {
  if (item.kind === "text") return textElement(item);
  const alpha = item.alpha === 1 ? "" : ` opacity="${n(item.alpha)}"`;
  if (item.kind === "fill")
    return `<path fill="${item.colour}"${alpha} d="${item.path.written()}"/>`;
  const dash = item.dash ? ` stroke-dasharray="${item.dash.join(" ")}"` : "";
  return `<path fill="none" stroke="${item.colour}" stroke-width="${n(item.width)}"${dash}${alpha} d="${item.path.written()}"/>`;
}

function textElement({ x, y, text, size, colour, align, turn, weight, halo, whole }) {
  const base = 0.35 * size;
  const anchor = align === "left" ? "" : ` text-anchor="${align === "right" ? "end" : "middle"}"`;
  const heavy = weight === 400 ? "" : ` font-weight="${weight}"`;
  const around = halo
    ? ` stroke="${halo}" stroke-width="3" stroke-linejoin="round" paint-order="stroke"`
    : "";
  const hint = whole && whole !== text ? `<title>${escaped(whole)}</title>` : "";
  const place = turn
    ? `transform="translate(${n(x)} ${n(y)}) rotate(${n((turn * 180) / Math.PI)})" y="${n(base)}"`
    : `x="${n(x)}" y="${n(y + base)}"`;
  return `<text ${place} font-size="${n(size)}" fill="${colour}"${anchor}${heavy}${around}>${escaped(text)}${hint}</text>`;
}

/** The view with a title above and the legend below it. */
export function figure(view, { title, legend, theme = view.theme }) {
  const inside = view.picture(theme);
  const above = title ? 40 : 0;
  const found = legend ? entries(view, theme) : { list: [], others: 0 };
  const rows = legendRows(found, inside.width, theme);
  const below = rows.length ? rows.length * 22 + 18 : 0;
  const whole = new Picture(inside.width, inside.height + above + below);
  for (const [name, items] of inside.layers)
    whole.layers.set(
      name,
      items.map((item) => lowered(item, above)),
    );
  if (title) {
    whole.text("texts", inside.width / 2, 22, line(title), {
      size: 17,
      colour: theme.text,
      align: "center",
      weight: 600,
    });
  }
  rows.forEach((row, at) => {
    const y = inside.height + above + 14 + at * 22;
    let x = (inside.width - row.wide) / 2;
    for (const one of row.entries) {
      whole.fill("front", one.colour).box(x, y - 6, 12, 12);
      whole.text("texts", x + 18, y, one.text, { size: 12, colour: theme.text });
      x += one.wide;
    }
  });
  return whole;
}

function legendRows({ list, others, cycles }, room, theme) {
  const all = list.map(({ text, colour }) => ({ text: line(text).slice(0, 60), colour }));
  if (others > 0)
    all.push({
      text: cycles ? `and ${others} smaller` : `${others} others`,
      colour: cycles ? theme.paper : theme.other,
    });
  const rows = [];
  for (const one of all) {
    const wide = 18 + width(one.text, 12, theme.family) + 22;
    const last = rows.at(-1);
    if (last && last.wide + wide <= room - 24) {
      last.entries.push({ ...one, wide });
      last.wide += wide;
    } else rows.push({ wide, entries: [{ ...one, wide }] });
  }
  return rows;
}

function lowered(item, by) {
  if (!by) return item;
  if (item.kind === "text") return { ...item, y: item.y + by };
  const path = new Path();
  path.data = item.path.data.slice(0, item.path.length);
  path.length = item.path.length;
  path.lower(by);
  return { ...item, path };
}

/** The figure as a PNG, `times` as fine as the screen's unit. */
export async function pngOf(picture, { family, paper, times }) {
  const canvas = new OffscreenCanvas(
    Math.round(picture.width * times),
    Math.round(picture.height * times),
  );
  const context = canvas.getContext("2d");
  context.fillStyle = paper;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.setTransform(times, 0, 0, times, 0, 0);
  paint(context, picture, family);
  return canvas.convertToBlob({ type: "image/png" });
}

/** The menu of files. */
export function fileMenu(view, { api }) {
  const { source, signal } = view;
  const save = async (suffix, values, label) => {
    try {
      await api.download(source.formPath(suffix, values), `${view.fileName()}.${suffix}`, {
        signal,
      });
    } catch (error) {
      if (error?.name === "AbortError") return;
      // The tree cannot be written in this form: a fact, not a fault.
      if (error.status === 406) toast(`Not as ${label}: ${error.detail || error.message}`);
      else toast(error.message, { kind: "bad" });
    }
  };
  const part = () => (view.looked.root ? { root: view.looked.root } : {});
  const shape = () => ({
    shape: view.looked.shape,
    palette: view.looked.palette,
    color_by: pictureColor(view),
  });
  return menu(
    "Save",
    () => [
      { label: "Picture of the view…", onselect: () => ask(view, view.title ?? "") },
      { label: "Newick", onselect: () => save("nwk", part(), "Newick") },
      { label: "JSON", onselect: () => save("json", part(), "JSON") },
      { label: "Nexus", onselect: () => save("nex", part(), "Nexus") },
      { label: "Linkage (SciPy, npy)", onselect: () => save("linkage.npy", {}, "a linkage") },
      { label: "hclust (R, JSON)", onselect: () => save("hclust.json", {}, "hclust") },
      { label: "Columns (Arrow)", onselect: () => save("arrow", part(), "Arrow") },
      { label: "Leaves of all rows (CSV)", onselect: () => leaves(api, view) },
      {
        label: "Whole picture by the service (SVG)",
        onselect: () => save("svg", { ...part(), ...shape() }, "SVG"),
      },
    ],
    { iconName: "download" },
  );
}

async function leaves(api, view) {
  try {
    await api.download(`${view.source.base}/assignments.csv`, `${view.fileName()}-leaves.csv`, {
      signal: view.signal,
    });
  } catch (error) {
    if (error?.name !== "AbortError") toast(error.message, { kind: "bad" });
  }
}

function ask(view, title) {
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
  const heading = el("input", { type: "text", value: title, maxlength: 200 });
  const key = el("input", { type: "checkbox", checked: true });
  const white = el("input", { type: "checkbox", checked: false });
  const isDark = view.theme.theme === "dark";
  dialog({
    title: "Picture of the view",
    body: [
      field("Form", form),
      field("Title", heading, { help: "Stands above the picture; leave it empty for none." }),
      el("label", { class: "check" }, key, "With the legend"),
      isDark && el("label", { class: "check" }, white, "On white, for print"),
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

/** Save the view; `form`: "svg" or how fine a PNG is. */
export async function savePicture(view, { form, title, legend, white = false }) {
  const theme = white ? onWhite(view.looked.palette, view.theme.family) : view.theme;
  const picture = figure(view, { title, legend, theme });
  const own = { family: theme.family, paper: theme.paper, title: title || "Tree" };
  if (form === "svg") {
    saveBlob(new Blob([svgOf(picture, own)], { type: "image/svg+xml" }), `${view.fileName()}.svg`);
    return;
  }
  try {
    saveBlob(await pngOf(picture, { ...own, times: Number(form) }), `${view.fileName()}.png`);
  } catch {
    toast("The browser could not make so large a PNG; a smaller one or the SVG will do.", {
      kind: "bad",
    });
  }
}
