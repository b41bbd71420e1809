// What the end of a path through a tree is called. Pure.

/**
 * What the end of a path is called: its name; else that of the nearest node above it which has one, with
 * the end's number.
 *
 * @param {Map<number, string>} names
 * @param {number[]} path nodes from the root on
 */
export function endName(names, path) {
  const end = path[path.length - 1] ?? 0;
  const own = names.get(end);
  if (own && !/^\d+$/.test(own)) return own;
  const above = path.slice(1, -1).findLast((node) => names.has(node));
  const number = own ? `leaf ${own}` : end === 0 ? "root" : `node ${end}`;
  return above === undefined ? number : `${names.get(above)} › ${number}`;
}
