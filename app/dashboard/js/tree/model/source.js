// The service's responses about one tree.

import { tablesOf } from "../../net/classifier_evaluations.js";
import { Problem } from "../../net/problem.js";
import { readNpy } from "../../net/npy.js";
import { get, raw, send, whole } from "../../net/requests.js";
import { errorsIn } from "./errors.js";
import { supportIn } from "./support.js";

/** @import { Agreement, Clusters, Confusions, Dataset, Hits, Job, Layers, Levels, Members, Merges, NodeDetails, Page, Place, PointMap, Selection, Tangle, Tree, View, LeafAssignments } from "../../net/answers.js" */
/** @import { Cut } from "./cut.js" */
/** @import { MapBy } from "./look.js" */
/** @import { Corner, Points } from "./point_map.js" */

/** @typedef {Record<string, string | number | null | undefined>} QueryValues */

/**
 * How long the making of a map is waited for, in s; then it is followed.
 *
 * @type {Record<MapBy, number>}
 */
const WAITS = { pca: 5, disc: 5, umap: 0, tsne: 0 };

/** The number of nodes in the first view: as many as a window has room for. */
export const FIRST = 3000;

/**
 * "?name=value&…" of the values that are given.
 *
 * @param {QueryValues} values
 */
function query(values) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== null && value !== undefined && value !== "") parameters.set(name, String(value));
  }
  const text = parameters.toString().replaceAll("%3A", ":");
  return text ? `?${text}` : "";
}

/** @typedef {ReturnType<typeof treeSource>} TreeSource */

/**
 * The ids of the naming and the edition that a tree is shown with; null: of none.
 *
 * @typedef {{ names: string | null, edition: string | null }} Shown
 */

/**
 * All requests about the tree, and the paths of its files. Requests end with
 * `signal` and throw the Problem of a failure.
 *
 * @param {string} tree id
 * @param {AbortSignal} signal
 * @param {() => Shown} [shown] what the tree is shown with
 */
export function treeSource(tree, signal, shown = () => ({ names: null, edition: null })) {
  const base = `/v1/trees/${tree}`;
  return {
    tree,
    /**
     * Name, method, job; the counts are its root's alone.
     *
     * @returns {Promise<Tree>}
     */
    head: () => get(`${base}.json${query({ depth: 0, ...shown() })}`, { signal, quiet: true }),
    /**
     * The part below `root`, as many nodes of it as fit.
     *
     * @param {number} root
     * @param {number} maxNodes
     * @param {string | null} colorBy
     * @returns {Promise<View>}
     */
    view: (root, maxNodes, colorBy, { quiet = true } = {}) =>
      get(
        `${base}/view${query({ root: root || null, max_nodes: maxNodes, color_by: colorBy, ...shown() })}`,
        { signal, quiet },
      ),
    /**
     * @param {number} node
     * @param {string | null} labels id of a dataset
     * @returns {Promise<NodeDetails>}
     */
    node: (node, labels) =>
      get(`${base}/nodes/${node}${query({ labels, ...shown() })}`, { signal }),
    /**
     * Which of the trees that a consensus was made from have a node.
     *
     * @param {number} node
     * @returns {Promise<Agreement>}
     */
    agreement: (node) => get(`${base}/nodes/${node}/agreement`, { signal, quiet: true }),
    /**
     * The points under a node, page by page.
     *
     * @param {number} node
     * @param {{ labels: string | null, cursor: string | null }} options
     * @returns {Promise<Members>}
     */
    members: (node, { labels, cursor }) =>
      get(
        `${base}/nodes/${node}/members${query({ limit: 50, cursor, labels, edition: shown().edition })}`,
        {
          signal,
          quiet: Boolean(cursor),
        },
      ),
    /**
     * @param {string} text
     * @param {{
     *   cursor: string | null,
     *   by?: "meaning" | null,
     *   items?: string | null,
     *   signal: AbortSignal,
     * }} options `items`: an attachment whose texts are searched by meaning
     * @returns {Promise<Hits>}
     */
    search: (text, { cursor, by = null, items = null, signal: own }) =>
      get(`${base}/search${query({ q: text, by, items, limit: 20, cursor, ...shown() })}`, {
        signal: own,
        quiet: true,
      }),
    /** @returns {Promise<Levels>} */
    levels: () => get(`${base}/levels${query({ ...shown() })}`, { signal }),
    /** @returns {Promise<Layers>} */
    layers: () => get(`${base}/layers${query({ ...shown() })}`, { signal, quiet: true }),
    /**
     * @param {Cut} cut
     * @param {AbortSignal} own
     * @returns {Promise<Clusters>}
     */
    cut: (cut, own) =>
      get(`${base}/cut${query({ ...cutQuery(cut), limit: 10_000, ...shown() })}`, {
        signal: own,
        quiet: true,
      }),
    /**
     * The cluster of each leaf.
     *
     * @param {Cut} cut
     * @param {AbortSignal} own
     * @returns {Promise<LeafAssignments>}
     */
    leafClusters: (cut, own) =>
      get(`${base}/assignments.json${query({ ...cutQuery(cut), of: "leaves", ...shown() })}`, {
        signal: own,
        quiet: true,
      }),
    /**
     * The size of the largest of k clusters.
     *
     * @param {number} k
     */
    largest: async (k) => {
      /** @type {Clusters} */
      const { largest } = await get(
        `${base}/cut${query({ k, limit: 1, edition: shown().edition })}`,
        {
          signal,
          quiet: true,
        },
      );
      return largest;
    },
    /**
     * Which classes are taken for which.
     *
     * @param {string | null} labels id of a dataset
     * @returns {Promise<Confusions>}
     */
    confusions: (labels) =>
      get(`${base}/confusions.json${query({ labels, limit: 10_000 })}`, { signal, quiet: true }),
    /**
     * What merging classes gains and loses, by what the method knows of confusions.
     *
     * @returns {Promise<Merges>}
     */
    merges: () => get(`${base}/merges.json`, { signal, quiet: true }),
    /**
     * The errors of a classifier on this tree.
     *
     * @param {string} job of its evaluation
     */
    errors: async (job) => {
      /** @type {Job} */
      const { result } = await get(`/v1/jobs/${job}`, { signal, quiet: true });
      if (result?.tree !== tree) {
        throw new Problem({ title: "These are not the errors of a classifier on this tree.", status: 422 }); // prettier-ignore
      }
      return errorsIn(job, await tablesOf(job, signal));
    },
    /** The support of all nodes. */
    support: async () => {
      /** @type {Tree} */
      const { nodes } = await get(`${base}.json`, { signal, quiet: true });
      return supportIn(nodes);
    },
    /** @returns {Promise<Page<PointMap>>} the newest first */
    maps: () => whole(`${base}/maps`, { signal }),
    /**
     * @param {MapBy} by
     * @returns {Promise<PointMap>}
     */
    makeMap: (by) =>
      send("POST", `${base}/maps`, { by }, { headers: { Prefer: `wait=${WAITS[by]}` }, signal }),
    /**
     * @param {string} map id
     * @returns {Promise<PointMap>}
     */
    map: (map) => get(`/v1/maps/${map}`, { signal, quiet: true }),
    /**
     * The positions of a map in the order of the leaves.
     *
     * @param {string} map id
     * @returns {Promise<Points>}
     */
    positions: async (map) => {
      const { edition } = shown();
      const path = `${positionsPath(map, "npy")}${query({ order: "leaves", edition })}`;
      const answer = await raw(path, { signal, accept: "application/x-npy", quiet: true });
      const { values, shape } = readNpy(await answer.arrayBuffer());
      return { xy: /** @type {Float32Array} */ (values), n: shape[0] };
    },
    /**
     * The nodes that fit an outline best.
     *
     * @param {string} map id
     * @param {Corner[]} outline
     * @returns {Promise<Selection>}
     */
    selection: (map, outline) =>
      get(`/v1/maps/${map}/selection${query({ outline: outline.flat().join(","), limit: 3 })}`, {
        signal,
      }),
    /**
     * The point at a place from left to right.
     *
     * @param {number} place
     * @param {AbortSignal} own
     * @returns {Promise<Place>}
     */
    place: (place, own) =>
      get(`${base}/places/${place}${query({ edition: shown().edition })}`, {
        signal: own,
        quiet: true,
      }),
    positionsPath,
    /**
     * @param {string} heatmap id
     * @param {string} suffix
     * @param {QueryValues} values
     */
    heatmapPath: (heatmap, suffix, values) => `/v1/heatmaps/${heatmap}.${suffix}${query(values)}`,
    /**
     * @param {string} other id of a tree
     * @param {string} suffix
     * @param {QueryValues} values
     */
    tanglePath: (other, suffix, values) => `${base}/tangle.${suffix}${query({ other, ...values })}`,
    /** @returns {Promise<Page<Dataset>>} */
    datasets: () => get("/v1/datasets?limit=200", { signal, quiet: true }),
    /**
     * @param {string} other id of a tree
     * @param {QueryValues} values
     * @returns {Promise<Tangle>}
     */
    tangle: (other, values) => get(`${base}/tangle${query({ other, ...values })}`, { signal }),

    featuresPath: `${base}/features.csv`,
    mergesPath: `${base}/merges.csv`,
    /**
     * @param {string} suffix
     * @param {QueryValues} values
     */
    pathsPath: (suffix, values) =>
      `/v1/models/${tree.replace(/^tr_/, "md_")}/paths.${suffix}${query(values)}`,
    /**
     * @param {string} suffix
     * @param {string | null} labels id of a dataset
     * @param {QueryValues} [values]
     */
    confusionsPath: (suffix, labels, values = {}) =>
      `${base}/confusions.${suffix}${query({ labels, ...values })}`,
    /**
     * @param {number} node
     * @param {string | null} labels id of a dataset
     */
    membersPath: (node, labels) =>
      `${base}/nodes/${node}/members.csv${query({ labels, edition: shown().edition })}`,
    /**
     * @param {Cut | null} cut null: the leaves
     * @param {string} suffix
     * @param {"leaves"} [of] a line for each leaf
     */
    assignmentsPath: (cut, suffix, of) =>
      `${base}/assignments.${suffix}${query({ ...(cut ? cutQuery(cut) : {}), of: of ?? null, ...shown() })}`,
    /**
     * @param {string} suffix
     * @param {QueryValues} values
     */
    formPath: (suffix, values) => `${base}.${suffix}${query({ ...shown(), ...values })}`,
  };
}

/**
 * @param {string} map id
 * @param {string} suffix
 * @param {QueryValues} [values]
 */
const positionsPath = (map, suffix, values = {}) =>
  `/v1/maps/${map}/positions.${suffix}${query(values)}`;

/** @param {Cut} cut */
const cutQuery = (cut) => (cut.k === undefined ? { height: cut.height } : { k: cut.k });
