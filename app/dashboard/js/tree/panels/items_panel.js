// What is attached to the tree: its columns as strips and colours, and a condition on them.

import { attachments, itemsSource } from "../../net/attachments.js";
import { aborted, isAway, problemOf } from "../../net/problem.js";
import { get } from "../../net/requests.js";
import { button, optionElements } from "../../ui/controls.js";
import { dialog, toast, toastError } from "../../ui/dialogs.js";
import { bdi, el, replace } from "../../ui/dom.js";
import { count, distinct, moment, plural } from "../../ui/format.js";
import { problemBox, warningBox } from "../../ui/notices.js";
import { byItems, columnEntries } from "../draw/item_tints.js";
import { hasNodes, isCategory, MOST_STRIPS } from "../model/items.js";
import { conditionForm } from "./condition_form.js";

/** @import { Attachment, Dataset, ItemColumn, Job } from "../../net/answers.js" */
/** @import { TreeSource } from "../model/source.js" */
/** @import { Option } from "../../ui/controls.js" */
/** @import { TreeView } from "../draw/view.js" */

/** @typedef {{ element: HTMLElement, run: () => Promise<Attachment | null> }} ItemsForm */

const NEW = "new";
const MOST_KEYS = 8;

/**
 * The panel: `start` once the tree is shown, `follow` a look that was changed elsewhere, `draw` other
 * colours.
 *
 * @param {TreeView} view
 * @param {{
 *   form: () => Promise<ItemsForm>,
 *   oncolumns: (options: Option[]) => unknown,
 *   oncolour: (color: string) => unknown,
 *   onchange: () => unknown,
 * }} handlers `form` makes that of a new attachment; `oncolumns` offers columns as colours; `oncolour`
 *   colours by one; `onchange`: other items are shown
 */
export function itemsPanel(view, { form, oncolumns, oncolour, onchange }) {
  const { source, look, signal } = view;
  /** @type {Attachment[]} */
  let known = [];
  const list = el("select", { "aria-label": "Items" });
  const body = el("div", { class: "stack tight" });
  const filter = conditionForm(view);
  const element = el(
    "section",
    { class: "card tree-panel tree-items", "aria-labelledby": "items-title" },
    el("h2", { id: "items-title" }, "Items"),
    list,
    body,
    filter,
  );
  list.addEventListener("change", () => {
    const { value } = list;
    drawList();
    if (value === NEW) make();
    else choose(value || null);
  });
  const drawList = () => {
    const options = distinct(
      known.map(({ id, name, created_at: at }) => ({
        value: id,
        label: name ?? "Items",
        detail: moment(at),
      })),
    );
    replace(
      list,
      optionElements([["", "None"], ...options, [NEW, "Attach items…"]], view.items?.attachment.id),
    );
  };
  /**
   * Show the items of an attachment, or none.
   *
   * @param {string | null} id
   * @param {{ strips?: number[] }} [options]
   */
  const choose = async (id, { strips } = {}) => {
    const attachment = known.find((each) => each.id === id) ?? null;
    try {
      if (!attachment) view.items = null;
      else {
        const own = itemsSource(attachment.id, signal);
        const columns = await own.columns();
        const wanted = strips ?? (look.items === id ? look.strips : firstStrips(columns));
        view.items = {
          attachment,
          source: own,
          columns,
          values: new Map(),
          strips: wanted.filter((at) => columns[at] && hasNodes(columns[at])),
          matches: null,
        };
        await Promise.all(view.items.strips.map((at) => view.loadColumn(at)));
      }
    } catch (error) {
      tell(error);
      return;
    }
    if (look.items !== (attachment?.id ?? null)) look.where = null;
    look.items = attachment?.id ?? null;
    look.strips = view.items?.strips ?? [];
    oncolumns((view.items?.columns ?? []).flatMap((column) => colourOption(column)));
    if (byItems(look) && !look.color.startsWith(`${look.items}.`)) await oncolour("cut");
    await filter.start();
    redraw();
    onchange();
  };
  /**
   * @param {ItemColumn} column
   * @returns {Option[]}
   */
  const colourOption = (column) =>
    hasNodes(column) ? [[`${look.items}.${column.column}`, `Items: ${column.name}`]] : [];
  /** @param {unknown} error */
  const tell = (error) => {
    if (!aborted(error) && !isAway(error)) toastError(error);
    drawList();
  };
  const redraw = () => {
    if (view.scene.n) view.recolour();
    view.emit("look");
    draw();
  };
  /** Show what the points can be ranked by: the newest attachment that has it, else one of them alone. */
  const rank = async () => {
    let ranked = known.find(({ result }) => result?.basis);
    if (!ranked) {
      ranked = await attachments.make(source.tree, { name: "Points" }, { signal });
      known = [ranked, ...known];
    }
    await choose(ranked.id);
  };
  /** Points that are images are shown without being attached by hand. */
  const showImages = async () => {
    try {
      if (!(await areImages(source, signal)) || view.items) return;
      await (known.length ? choose(known[0].id) : rank());
    } catch {
      // A key that only reads, say: the tree is shown without them.
    }
  };
  const make = async () => {
    try {
      const { element: content, run } = await form();
      dialog({
        title: "Attach items",
        body: content,
        actions: [{ label: "Cancel" }, { label: "Attach", kind: "primary", submit: true }],
        onsubmit: async () => {
          const attachment = await run();
          if (!attachment) return false;
          known = [attachment, ...known];
          toast(`${plural(attachment.result?.n_items ?? 0, "item")} attached.`, { kind: "good" });
          await choose(attachment.id);
          return true;
        },
      });
    } catch (error) {
      tell(error);
    }
  };
  /**
   * @param {ItemColumn} column
   * @param {boolean} isShown
   */
  const setStrip = async ({ column: at }, isShown) => {
    const { items } = view;
    if (!items) return;
    if (isShown && items.strips.length >= MOST_STRIPS) {
      toast(`At most ${MOST_STRIPS} strips fit.`, { kind: "bad" });
      draw();
      return;
    }
    try {
      if (isShown) await view.loadColumn(at);
    } catch (error) {
      tell(error);
      return;
    }
    // Others may have changed meanwhile.
    const others = items.strips.filter((each) => each !== at);
    items.strips = isShown ? [...others, at] : others;
    look.strips = items.strips;
    redraw();
  };
  /** @param {ItemColumn} column */
  const row = (column) => {
    const { column: at, name, kind } = column;
    const isShown = view.items?.strips.includes(at) ?? false;
    const color = `${look.items}.${at}`;
    return el(
      "li",
      { class: "items-column" },
      hasNodes(column)
        ? el(
            "label",
            { class: "check" },
            el("input", {
              type: "checkbox",
              checked: isShown,
              onchange: (event) => setStrip(column, event.currentTarget.checked),
            }),
            bdi(name, { class: "items-name" }),
          )
        : el("span", { class: "items-name is-plain" }, bdi(name)),
      el("span", { class: "quiet" }, kindText(column)),
      hasNodes(column) &&
        button("Colour", {
          kind: "ghost small",
          "aria-label": `Colour the tree by ${name}`,
          "aria-pressed": String(look.color === color),
          onclick: () => oncolour(look.color === color ? "cut" : color),
        }),
      isShown && stripKey(column),
      kind === "image" && el("span", { class: "quiet" }, "shown at nodes"),
    );
  };
  /** @param {ItemColumn} column */
  const stripKey = (column) => {
    const { list: keys, others } = columnEntries(column, view.theme);
    if (!isCategory(column)) {
      const ends = [keys[0]?.text.split(" – ")[0], keys.at(-1)?.text.split(" – ")[1]];
      return el(
        "p",
        { class: "items-key" },
        bdi(ends[0] ?? ""),
        el(
          "span",
          { class: "items-scale", "aria-hidden": "true" },
          keys.map(({ colour }) => el("span", { style: { background: colour } })),
        ),
        bdi(ends[1] ?? ""),
      );
    }
    const hidden = keys.length - MOST_KEYS + others;
    return el(
      "ul",
      { class: "items-key" },
      keys
        .slice(0, MOST_KEYS)
        .map(({ text, colour }) =>
          el(
            "li",
            { title: text },
            el("span", { class: "tree-swatch", style: { background: colour } }),
            bdi(text),
          ),
        ),
      hidden > 0 && el("li", { class: "quiet" }, `and ${count(hidden)} more`),
    );
  };
  const draw = () => {
    drawList();
    const { items } = view;
    filter.hidden = !items;
    replace(
      body,
      items
        ? [
            el("p", { class: "quiet" }, itemsText(items.attachment)),
            el("ul", { class: "items-columns" }, items.columns.map(row)),
            warningBox(items.attachment.warnings),
          ]
        : el("p", { class: "quiet" }, NOTHING),
    );
  };
  /** Follow a look that was changed elsewhere: other items, strips or another condition. */
  const follow = async () => {
    const { items } = view;
    const isSame = (items?.attachment.id ?? null) === look.items;
    const sameStrips = String(items?.strips ?? []) === String(look.strips);
    if (isSame && sameStrips && filter.isShown(look.where)) draw();
    else await choose(look.items, { strips: look.strips });
  };
  const start = async () => {
    draw();
    try {
      known = await attachments.of(source.tree, signal);
    } catch (error) {
      if (!aborted(error)) replace(body, problemBox(problemOf(error), { level: "h3" }));
      return;
    }
    const wanted = look.items ?? (look.color.startsWith("at_") ? look.color.split(".")[0] : null);
    drawList();
    if (wanted) {
      const { color } = look;
      const { strips } = look;
      look.items = wanted;
      await choose(known.some(({ id }) => id === wanted) ? wanted : null, { strips });
      if (byItems(look)) await oncolour(color);
    } else await showImages();
  };
  view.on("painted", draw);
  return Object.assign(element, { start, follow, draw, rank });
}

/**
 * Whether the fit of the tree saw images.
 *
 * @param {TreeSource} source
 * @param {AbortSignal} signal
 */
async function areImages(source, signal) {
  const options = { signal, quiet: true };
  const { job: id } = await source.head();
  if (!id) return false;
  /** @type {Job} */
  const job = await get(`/v1/jobs/${id}`, options);
  const { features } = job.inputs;
  if (job.params.image_shape) return true;
  if (typeof features !== "string" || !features.startsWith("ds_")) return false;
  /** @type {Dataset} */
  const { shape } = await get(`/v1/datasets/${features}`, options);
  return (shape?.length ?? 0) > 2;
}

/**
 * The columns that are strips at first.
 *
 * @param {ItemColumn[]} columns
 */
const firstStrips = (columns) =>
  columns
    .filter(hasNodes)
    .slice(0, 2)
    .map(({ column }) => column);

/** @param {Attachment} attachment */
const itemsText = ({ result }) =>
  `${plural(result?.n_items ?? 0, "item")}, one for each ${result?.per === "leaf" ? "leaf" : "point"}. A ticked column is a strip beside the leaves.`;

/** @param {ItemColumn} column */
function kindText({ kind, n_categories: n, n_missing: missing }) {
  const own = kind === "category" ? plural(n ?? 0, "category", "categories") : kind;
  return missing ? `${own}, ${count(missing)} missing` : own;
}

const NOTHING =
  "What the points are: texts, numbers, dates, images. Attached items show as examples of nodes, strips and colours.";
