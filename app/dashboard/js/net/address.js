// The part of an address after `#`, as a path and parameters. Pure.

/**
 * @typedef {Record<string, string>} Params
 * @typedef {Record<string, string | number | boolean | string[] | null | undefined>} AddressValues true is
 *   written as 1; null, undefined, "" and false are left out
 */

/**
 * `addressOf("/trees/tr_x", {root: 5})` is "#/trees/tr_x?root=5".
 *
 * @param {string} path
 * @param {AddressValues} [values]
 */
export function addressOf(path, values = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== null && value !== undefined && value !== "" && value !== false) {
      query.set(name, value === true ? "1" : String(value));
    }
  }
  // A comma, a colon and a slash are readable as they are in a fragment.
  const text = query
    .toString()
    .replaceAll("%2C", ",")
    .replaceAll("%3A", ":")
    .replaceAll("%2F", "/");
  return `#${path}${text ? `?${text}` : ""}`;
}

/**
 * The path and the parameters of a fragment, with or without its `#`; the last of several of one name.
 *
 * @param {string} fragment
 */
export function parseAddress(fragment) {
  const text = fragment.replace(/^#/, "");
  const cut = text.indexOf("?");
  const path = (cut < 0 ? text : text.slice(0, cut)) || "/";
  /** @type {Params} */
  const params = Object.create(null);
  if (cut >= 0) {
    for (const [name, value] of new URLSearchParams(text.slice(cut + 1))) params[name] = value;
  }
  return { path: path.startsWith("/") ? path : `/${path}`, params };
}
