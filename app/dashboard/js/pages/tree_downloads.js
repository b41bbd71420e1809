// The forms that a tree can be downloaded in.

import { download, fileName } from "../ui/downloads.js";
import { saveEntries } from "../ui/menus.js";

/** @import { MenuItem } from "../ui/menus.js" */

/** @type {[suffix: string, label: string][]} */
const FORMS = [
  ["nwk", "Newick"],
  ["json", "JSON"],
  ["nex", "Nexus"],
  ["linkage.npy", "SciPy linkage"],
  ["hclust.json", "R hclust"],
  ["arrow", "Arrow"],
  ["csv", "Nodes (CSV)"],
  ["parquet", "Nodes (Parquet)"],
  ["graphml", "GraphML"],
  ["svg", "SVG"],
  ["png", "PNG"],
  ["pdf", "PDF"],
];

/**
 * Entries of a menu that download a tree in every form.
 *
 * @param {string} treeId
 * @param {string | null} name
 * @returns {MenuItem[]}
 */
export function treeDownloads(treeId, name) {
  const file = fileName(name ?? treeId);
  return saveEntries(FORMS, (suffix) =>
    download(`/v1/trees/${treeId}.${suffix}`, `${file}.${suffix}`),
  );
}
