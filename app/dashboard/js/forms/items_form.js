// The form of an attachment: a file of items, or a dataset of them that is there already.

import { attachments } from "../net/attachments.js";
import { get } from "../net/requests.js";
import { aborted, problemOf } from "../net/problem.js";
import { upload } from "../net/uploads.js";
import { field, select } from "../ui/controls.js";
import { el, replace } from "../ui/dom.js";
import { count, plural } from "../ui/format.js";
import { problemBox, waiting } from "../ui/notices.js";
import { inspected } from "./datasets.js";
import { mediaOf } from "./file_guess.js";

/** @import { Attachment, Dataset, Page } from "../net/answers.js" */
/** @import { Option } from "../ui/controls.js" */

/**
 * The form; `run` resolves to an attachment that has succeeded, or to null after it has shown what is
 * wrong.
 *
 * @param {{ tree: string, rows: number, leaves: number, signal: AbortSignal }} options
 */
export async function itemsForm({ tree, rows, leaves, signal }) {
  /** @type {Page<Dataset>} */
  const { items } = await get("/v1/datasets?role=items&limit=200", { signal, quiet: true });
  const fitting = items.filter(
    ({ status, shape }) =>
      status !== "invalid" && (!shape || shape[0] === rows || shape[0] === leaves),
  );
  /** @type {Option[]} */
  const known = fitting.map(({ id, name }) => [id, name ?? id]);
  const stored = select([["", "A new file"], ...known], { onchange: () => draw() });
  const file = el("input", { type: "file", accept: ACCEPT });
  const fileRow = field("File", file, { help: HELP });
  const results = el("div", { class: "stack", "aria-live": "polite" });
  const draw = () => {
    fileRow.hidden = stored.value !== "";
    fileRow.setError(null);
    replace(results);
  };
  /** @returns {Promise<Attachment | null>} */
  const run = async () => {
    const [chosen] = file.files ?? [];
    fileRow.setError(null);
    if (!stored.value && !chosen) {
      fileRow.setError("Choose a file.");
      file.focus();
      return null;
    }
    replace(results, waiting("Attaching…"));
    try {
      const id = stored.value || (await uploaded(chosen, signal)).id;
      const attachment = await attachments.make(
        tree,
        { items: id, name: chosen?.name ?? null },
        { signal },
      );
      replace(results);
      return attachment;
    } catch (error) {
      replace(results, !aborted(error) && problemBox(problemOf(error), { level: "h3" }));
      return null;
    }
  };
  const element = el(
    "div",
    { class: "stack" },
    el(
      "p",
      { class: "quiet" },
      rows === leaves
        ? `A row for each of the ${plural(rows, "point")}, in their order.`
        : `A row for each of the ${plural(rows, "point")}, in their order, or for each of the ${count(leaves)} leaves.`,
    ),
    known.length > 0 && field("Items", stored),
    fileRow,
    results,
  );
  return { element, run };
}

const ACCEPT =
  ".csv,.tsv,.tab,.json,.jsonl,.ndjson,.parquet,.pq,.arrow,.arrows,.feather,.ipc,.xlsx,.xlsb,.xls,.ods,.zip";
const HELP =
  "CSV with a header, JSON or JSON lines of objects, Arrow, Parquet, a workbook, or a zip of images (PNG, JPEG, GIF, WebP) in the order of their names.";

/**
 * @param {File} file
 * @param {AbortSignal} signal
 */
async function uploaded(file, signal) {
  const answer = await upload(file, { role: "items", type: mediaOf(file.name), signal });
  const dataset = await inspected(/** @type {Dataset} */ (answer), signal);
  if (dataset.problem) throw dataset.problem;
  return dataset;
}
