// The sample that the service ships: scores of a language identifier for pieces of text.

import { raw } from "../net/requests.js";

/** @typedef {{ file: string, use: string, media: string, name: string, source: string }} SampleFile */

/** @type {SampleFile[]} */
export const SAMPLE = [
  sampleFile("logits.npy", "logits", "application/x-npy", "sample logits"),
  sampleFile("names.json", "names", "application/json", "sample names of languages"),
  sampleFile("labels.npy", "labels", "application/x-npy", "sample languages of the pieces"),
  sampleFile("families.json", "labels", "application/json", "sample families of languages"),
];

/**
 * @param {string} file
 * @param {string} use
 * @param {string} media
 * @param {string} name
 * @returns {SampleFile}
 */
function sampleFile(file, use, media, name) {
  return { file, use, media, name, source: `dashboard/sample/${file}` };
}

/**
 * A file of the sample, from the service.
 *
 * @param {SampleFile} sample
 * @param {AbortSignal} [signal]
 */
export async function fetched({ file, media, source }, signal) {
  const content = await (await raw(source, { quiet: true, signal })).blob();
  return new File([content], file, { type: media });
}
