"""The words on the picture of a tree: enough of them, large enough, inside."""

from __future__ import annotations

import pytest

from models.tree import newick
from tests.app.pictures.tree_kit import random_tree
from tests.dashboard.conftest import Open
from tests.dashboard.planted import imported, until
from tests.e2e.client import Api

RECORDED = """
() => {
  const own = CanvasRenderingContext2D.prototype.fillText;
  window.words = [];
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    const { a, b, c, d, e, f } = this.getTransform();
    const ratio = this.canvas.width / this.canvas.clientWidth;
    const scale = Math.hypot(a, b) / ratio;
    window.words.push({
      text,
      size: parseFloat(/([\\d.]+)px/.exec(this.font)[1]) * scale,
      x: (a * x + c * y + e) / ratio,
      y: (b * x + d * y + f) / ratio,
      width: this.canvas.clientWidth,
      height: this.canvas.clientHeight,
    });
    own.call(this, text, x, y);
  };
}
"""


@pytest.fixture(scope="module")
def crowded(api: Api) -> str:
    """A tree of 4,000 named leaves."""
    tree = random_tree(4_000, names=[f"king_penguin {i}" for i in range(4_000)])
    return imported(api, "".join(newick.write(tree)), "Crowded")


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_words_are_readable_and_inside(
    open_page: Open, crowded: str, width: int, height: int
) -> None:
    page = open_page(f"/trees/{crowded}", width=width, height=height)
    page.get_by_text("nodes loaded").wait_for()
    page.evaluate(RECORDED)
    for shape in ("Rectangle", "Circle"):
        page.evaluate("window.words = []")
        page.get_by_role("button", name=shape).click()
        until(
            page, lambda: page.evaluate("new Set(window.words.map(({ text }) => text)).size") >= 15
        )
        for word in page.evaluate("window.words"):
            assert word["size"] >= 6, word
            assert -1 <= word["x"] <= word["width"] + 1, word
            assert -1 <= word["y"] <= word["height"] + 1, word
            assert "_" not in word["text"]
