"""The words on the page's pictures as boxes, from what is written on each canvas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.app.pictures.words_kit import Word

if TYPE_CHECKING:
    from playwright.sync_api import Page

LEAST = 8.0
"""The least size of a word that counts as readable, px."""

RECORDER = """() => {
  const pen = CanvasRenderingContext2D.prototype;
  const own = {};
  const written = new Map();
  const replaced = {
    fillText(text, x, y) {
      const {canvas} = this;
      if (canvas.isConnected) {
        const {a, b, c, d, e, f} = this.getTransform();
        const px = parseFloat(/([\\d.]+)px/.exec(this.font)[1]);
        const wide = this.measureText(text).width;
        const from = {right: 1, center: 0.5}[this.textAlign] ?? 0;
        const left = x - from * wide;
        const middle = this.textBaseline === "middle" ? y : y - 0.35 * px;
        const ratio = canvas.width / canvas.clientWidth;
        const at = (u, v) => [(a * u + c * v + e) / ratio, (b * u + d * v + f) / ratio];
        const [top, bottom, right] = [middle - 0.4 * px, middle + 0.4 * px, left + wide];
        if (!written.has(canvas)) written.set(canvas, []);
        written.get(canvas).push({
          text,
          size: (px * Math.hypot(a, b)) / ratio,
          corners: [at(left, top), at(right, top), at(right, bottom), at(left, bottom)],
        });
      }
      return own.fillText.call(this, text, x, y);
    },
    clearRect(...box) {
      written.delete(this.canvas);
      return own.clearRect.call(this, ...box);
    },
    fillRect(x, y, width, height) {
      // The whole is painted over.
      if (width * this.getTransform().a >= this.canvas.width - 2) written.delete(this.canvas);
      return own.fillRect.call(this, x, y, width, height);
    },
  };
  for (const [name, action] of Object.entries(replaced)) {
    own[name] = pen[name];
    pen[name] = action;
  }
  window.wordsOf = (selector) => {
    const place = document.querySelector(selector);
    return [...written]
      .filter(([canvas]) => place?.contains(canvas))
      .map(([canvas, words]) => ({words, size: [canvas.clientWidth, canvas.clientHeight]}));
  };
}"""


def record(page: Page) -> None:
    """Record from now on what is written; the page must be one that no other test gets."""
    page.evaluate(RECORDER)


def words(page: Page, selector: str) -> list[Word]:
    """The words on the canvases in an element, after checking that each is large enough, inside its
    canvas, and over no other. Texts alike that are written twice at one place count once."""
    found: list[Word] = []
    for canvas in page.evaluate("s => wordsOf(s)", selector):
        wide, high = canvas["size"]
        for word in canvas["words"]:
            corners = tuple((x, y) for x, y in word["corners"])
            own = Word(word["text"], word["size"], corners)  # type: ignore[arg-type]
            for x, y in corners:
                assert -1 <= x <= wide + 1, (own, wide, high)
                assert -1 <= y <= high + 1, (own, wide, high)
            assert own.size >= LEAST - 0.01, own
            for other in found:
                assert not own.overlaps(other), (own, other)
            found.append(own)
    return found
