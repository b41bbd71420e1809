// Editions of a tree, and links that show it.

import { get, raw, send, whole } from "./requests.js";

/** @import { Edited, Edition, EditionChange, EditionOperation, NewShare, Page, Share, Shared } from "./answers.js" */

/**
 * An edition with the ETag that a change of it needs.
 *
 * @typedef {{ edition: Edition, etag: string }} Held
 */

/**
 * @param {Response} answer
 * @returns {Promise<Held>}
 */
const held = async (answer) => ({
  edition: await answer.json(),
  etag: answer.headers.get("ETag") ?? "",
});

export const editions = {
  /**
   * The editions of a tree, the newest first.
   *
   * @param {string} tree id
   * @param {AbortSignal} signal
   * @returns {Promise<Page<Edition>>}
   */
  of: (tree, signal) => whole(`/v1/trees/${tree}/editions`, { signal }),
  /**
   * @param {string} tree id
   * @param {{ name?: string | null, from?: string }} body
   * @returns {Promise<Edition>}
   */
  begin: (tree, body) => send("POST", `/v1/trees/${tree}/editions`, body),
  /**
   * @param {string} id
   * @param {AbortSignal} signal
   */
  read: async (id, signal) => held(await raw(`/v1/editions/${id}`, { signal, quiet: true })),
  /**
   * Change nodes of an edition as it was when it was read; throws a Problem of 412 if it has changed since.
   *
   * @param {Held} before
   * @param {(EditionOperation | { op: "undo" } | { op: "redo" })[]} operations
   * @returns {Promise<{ edition: Edited, etag: string }>}
   */
  change: async ({ edition: { id }, etag }, operations) => {
    const body = { operations };
    const answer = await raw(`/v1/editions/${id}/changes`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "If-Match": etag },
      body: JSON.stringify(body),
      call: { body },
    });
    return { edition: await answer.json(), etag: answer.headers.get("ETag") ?? "" };
  },
  /**
   * @param {string} id
   * @param {string} name
   */
  rename: async (id, name) => {
    const body = { name: name || null };
    return held(
      await raw(`/v1/editions/${id}`, {
        method: "PATCH",
        headers: { "Content-Type": "application/merge-patch+json" },
        body: JSON.stringify(body),
        call: { body },
      }),
    );
  },
  /** @param {string} id */
  remove: (id) => send("DELETE", `/v1/editions/${id}`),
  /**
   * Its changes, the newest first.
   *
   * @param {string} id
   * @param {string | null} cursor
   * @param {AbortSignal} signal
   * @returns {Promise<Page<EditionChange>>}
   */
  history: (id, cursor, signal) =>
    get(`/v1/editions/${id}/history${cursor ? `?cursor=${cursor}` : ""}`, { signal, quiet: true }),
};

export const shares = {
  /**
   * The links that show a tree, the newest first.
   *
   * @param {string} tree id
   * @param {AbortSignal} signal
   * @returns {Promise<Page<Share>>}
   */
  of: (tree, signal) => whole(`/v1/trees/${tree}/shares`, { signal }),
  /**
   * Make a link. The call is not written down: its answer holds the token.
   *
   * @param {string} tree id
   * @param {Record<string, unknown>} body
   * @returns {Promise<NewShare>}
   */
  make: async (tree, body) => {
    const answer = await raw(`/v1/trees/${tree}/shares`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
      quiet: true,
    });
    return answer.json();
  },
  /** @param {string} id */
  revoke: (id) => send("DELETE", `/v1/shares/${id}`),
  /**
   * What the link of this page shows.
   *
   * @param {AbortSignal} signal
   * @returns {Promise<Shared>}
   */
  own: (signal) => get("/v1/shared", { signal, quiet: true }),
};
