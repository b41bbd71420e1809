// What nodes can be named by, and what that needs. Pure.

/** @import { Role } from "./inputs_form.js" */

/** @typedef {"features" | "labels" | "terms" | "items"} By */

/** @type {readonly [value: By, label: string][]} */
export const BY = [
  ["features", "Features that tell siblings apart"],
  ["labels", "Labels of the rows"],
  ["terms", "Terms of documents"],
  ["items", "Names of central rows"],
];

/** @type {Record<By, string[]>} */
const ROLES = {
  features: ["features", "feature_names"],
  labels: ["labels"],
  terms: ["documents", "features", "feature_names"],
  items: ["features", "names"],
};

/** @type {Record<string, string>} */
const DESCRIPTIONS = {
  features: "The rows of the tree.",
  feature_names: "A name for each feature.",
  labels: "A label for each row.",
  documents: "A text for each row; or features that are counts, with their names.",
  names: "A name for each row.",
};

/**
 * The inputs that names are made of; the inputs of the tree's fit stand for what is not given.
 *
 * @param {By} by
 * @returns {Record<string, Role>}
 */
export const rolesOf = (by) =>
  Object.fromEntries(
    ROLES[by].map((role) => [
      role,
      { required: false, many: false, description: DESCRIPTIONS[role] },
    ]),
  );
