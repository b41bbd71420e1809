// Parameters in the words of a form. Pure.

import { sentence } from "../ui/format.js";

/** @type {Record<string, string>} */
const NAMES = {
  n_clusters: "Number of clusters",
  n_init: "Restarts",
  n_neighbors: "Neighbours",
  k_neighbors: "Neighbours",
  n_heads: "Heads",
  n_folds: "Folds",
  n_rounds: "Rounds",
  n_classes: "Number of classes",
  n_references: "Reference sets",
  n_internal: "Nodes that are moved",
  n_kept: "Draws kept",
  n_passes: "Passes before the tree",
  n_periods: "Periods",
  n_samples: "Sweeps kept",
  n_searches: "Searches in a round",
  n_swaps: "Swaps from the best start",
  n: "Components",
  max_iter: "Most iterations",
  inner_iter: "Inner iterations",
  inner_learning_rate: "Inner learning rate",
  max_balance: "Largest share of a part",
  min_balance: "Smallest share of a part",
  max_clusters: "Most clusters",
  max_cluster_size: "Largest cluster",
  max_depth: "Greatest depth",
  max_kappa: "Largest concentration",
  max_leaves: "Most leaves",
  max_norm: "Largest norm",
  max_words: "Most words",
  min_clusters: "Fewest clusters",
  min_cluster_size: "Smallest cluster",
  min_count: "Fewest uses of a word",
  min_samples: "Neighbours that make a point dense",
  min_size: "Smallest node that is split",
  allow_single_cluster: "One cluster is allowed",
  below: "Below a node of several rows",
  block_size: "Classes trained at a time",
  branching: "Children of a node",
  burn_in: "Sweeps thrown away",
  C: "Weight of the loss C",
  c0: "Concentration of the means",
  calibrate: "Calibrate probabilities",
  choose: "Choose the number by",
  clusterer: "Cluster by a mixture of",
  cluster_selection_epsilon: "No splits at distances below",
  cluster_selection_method: "Clusters that are chosen",
  contract: "Skip nodes with one child",
  decay: "Steps become shorter",
  delay: "Delay of the first batches",
  doc_topic_prior: "Prior of topics in a document",
  empirical_bayes: "Estimate the priors",
  empty_classes: "Classes without examples",
  first_c0: "Concentration of the first period",
  floor: "Least stretch of the metric",
  gaps: "Also start in the widest gaps",
  grow: "Split next",
  growable: "New rows may be added later",
  held_out: "Share held out",
  kappa: "Concentration",
  kappa_median: "Median of the concentrations",
  kappa_sigma: "Spread of log concentrations",
  kl_growth: "Weight of divergences while growing",
  kl_warm_up: "Share of passes with a rising weight",
  largest_p: "Largest p-value of a layer",
  least_share: "Smallest share of a leaf",
  level: "Share of rows that are in-sample",
  may_join: "Rows may join known clusters",
  mu: "Weight of near rows of other clusters",
  noise_within: "Farthest from a cluster",
  penalty: "Penalty of large weights",
  reg_covar: "Covariance floor",
  rate: "Rate of the precisions' prior",
  shape: "Shape of the precisions' prior",
  tie: "Hold of a node to its parent",
  tol: "Tolerance",
  top_k: "Best classes",
  topic_word_prior: "Prior of words in a topic",
  warm_start: "Go on from the last round",
  weight_sd: "Step of log weights",
  x_max: "Count of full weight",
};

/**
 * "learning_rate" -> "Learning rate".
 *
 * @param {string} name
 */
export const readable = (name) => NAMES[name] ?? sentence(name.replace(/^n_/, ""));

/**
 * A description in which inputs and parameters have the names of the form.
 *
 * @param {string | undefined} text
 * @param {Record<string, string>} titles by the names in requests
 */
export const worded = (text, titles) =>
  text?.replace(/(['`])(\w+)\1/g, (whole, _, name) =>
    Object.hasOwn(titles, name) ? `“${titles[name]}”` : whole,
  );
