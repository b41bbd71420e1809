// Pictures that the service draws. They are fetched, so that the key goes along as a header.

import { raw } from "../net/requests.js";
import { el } from "./dom.js";

/**
 * The image at a path of the service. Rejects as `raw`.
 *
 * @param {string} path
 * @param {Record<string, string>} attributes of the element
 * @param {AbortSignal} signal
 */
export async function fetchedImage(path, attributes, signal) {
  const response = await raw(path, { signal, quiet: true });
  const address = URL.createObjectURL(await response.blob());
  const image = el("img", { ...attributes, src: address });
  const release = () => URL.revokeObjectURL(address);
  image.addEventListener("load", release, { once: true });
  image.addEventListener("error", release, { once: true });
  return image;
}
