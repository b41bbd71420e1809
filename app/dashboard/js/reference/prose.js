// Descriptions of the document as paragraphs with code. Pure.

/**
 * @typedef {{ kind: "text" | "code" | "emphasis", text: string }} Piece
 */

const CODE_OR_EMPHASIS = /`([^`]+)`|<i>([^<]*)<\/i>/g;

/**
 * The paragraphs of a description, each in pieces. Only Markdown that the document uses is read: an empty line
 * between paragraphs, backticks, and the `<i>` that Swagger UI itself puts around words.
 *
 * @param {string} source
 * @returns {Piece[][]}
 */
export function paragraphsOf(source) {
  return source
    .split(/\n\s*\n/)
    .map((paragraph) => piecesOf(paragraph.trim()))
    .filter((pieces) => pieces.length);
}

/**
 * @param {string} text
 * @returns {Piece[]}
 */
function piecesOf(text) {
  /** @type {Piece[]} */
  const pieces = [];
  let end = 0;
  for (const match of text.matchAll(CODE_OR_EMPHASIS)) {
    pieces.push({ kind: "text", text: text.slice(end, match.index) });
    const [whole, code, emphasis] = match;
    pieces.push(code ? { kind: "code", text: code } : { kind: "emphasis", text: emphasis ?? "" });
    end = match.index + whole.length;
  }
  pieces.push({ kind: "text", text: text.slice(end) });
  return pieces.filter((piece) => piece.text);
}
