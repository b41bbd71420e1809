// What the page asks of the service about one tree.

const query = (values) => {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== null && value !== undefined && value !== "") found.set(name, String(value));
  }
  const text = found.toString().replaceAll("%3A", ":");
  return text ? `?${text}` : "";
};

/** Nodes of the first view: as many as a window has room for. */
export const FIRST = 3000;

export const cutQuery = (cut) => (cut?.k === undefined ? { height: cut?.height } : { k: cut.k });
export const cutColour = (cut) =>
  cut?.k === undefined ? `height:${cut.height}` : `cluster:${cut.k}`;

export function source(api, tree, signal) {
  const base = `/v1/trees/${tree}`;
  const get = (path, options) => api.get(path, { signal, ...options });
  return {
    tree,
    base,
    /** Name, method, job; the counts are those of its root alone. */
    head: () => get(`${base}.json?depth=0`, { quiet: true }),
    view: (root, maxNodes, colorBy, { quiet = true } = {}) =>
      get(`${base}/view${query({ root: root || null, max_nodes: maxNodes, color_by: colorBy })}`, {
        quiet,
      }),
    node: (node, labels) => get(`${base}/nodes/${node}${query({ labels })}`),
    members: (node, { labels, cursor, limit = 50 } = {}) =>
      get(`${base}/nodes/${node}/members${query({ limit, cursor, labels })}`, {
        quiet: Boolean(cursor),
      }),
    featuresPath: `${base}/features.csv`,
    pathsPath: (suffix, values) =>
      `/v1/models/${tree.replace(/^tr_/, "md_")}/paths.${suffix}${query(values)}`,
    membersPath: (node, labels) => `${base}/nodes/${node}/members.csv${query({ labels })}`,
    search: (text, { cursor, signal: own } = {}) =>
      get(`${base}/search${query({ q: text, limit: 20, cursor })}`, {
        signal: own ?? signal,
        quiet: true,
      }),
    levels: () => get(`${base}/levels`),
    cut: (cut, own) =>
      get(`${base}/cut${query({ ...cutQuery(cut), limit: 10_000 })}`, {
        signal: own ?? signal,
        quiet: true,
      }),
    assignmentsPath: (cut, suffix) => `${base}/assignments.${suffix}${query(cutQuery(cut))}`,
    formPath: (suffix, values = {}) => `${base}.${suffix}${query(values)}`,
    job: (id) => get(`/v1/jobs/${id}`, { quiet: true }),
    datasets: () => get("/v1/datasets?limit=200", { quiet: true }),
    tangle: (other, values) => get(`${base}/tangle${query({ other, ...values })}`),
  };
}
