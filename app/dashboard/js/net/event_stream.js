// The format of server-sent events: an event is the text between two blank lines. Pure.

/**
 * @typedef {{ event: string, id: string | null, data: unknown }} ServerEvent `data` is parsed JSON
 */

/**
 * The event in a block of lines; null if it has no data, e.g. a comment that keeps the connection
 * open.
 *
 * @param {string} block
 * @returns {ServerEvent | null}
 */
export function parseEvent(block) {
  let event = "message";
  /** @type {string | null} */
  let id = null;
  const data = [];
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon === 0) continue;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") data.push(value);
    else if (field === "event") event = value;
    else if (field === "id") id = value;
  }
  return data.length ? { event, id, data: JSON.parse(data.join("\n")) } : null;
}

/**
 * The events in a stream of text, split into any pieces.
 *
 * @param {AsyncIterable<string>} pieces
 * @returns {AsyncGenerator<ServerEvent>}
 */
export async function* parseEvents(pieces) {
  let rest = "";
  for await (const piece of pieces) {
    const blocks = (rest + piece).replaceAll("\r\n", "\n").split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const event = parseEvent(block);
      if (event) yield event;
    }
  }
}
