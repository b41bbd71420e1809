"""Two trees that face each other: every end, every link, colours of the left side."""

from __future__ import annotations

import re
from typing import Any

from app.pictures.palette import style
from app.resources.tangles.picture import Facing, svg
from models.tree.build import from_parents
from models.tree.window import scene
from tests.app.pictures.tree_kit import texts

#      0
#     / \
#    1   4
#   / \
#  2   3
TREE = from_parents([-1, 0, 1, 1, 0], [2, 1, 0, 0, 0], [None, None, "rose", "</svg>", "oak" * 99])
NODES: list[dict[str, Any]] = scene(TREE).nodes
LINKS = [(2, 4, 9), (3, 3, 1), (4, 2, 1)]


def test_every_end_and_every_link() -> None:
    own = style()
    for height in (None, 400.0):
        picture = svg(Facing(NODES, NODES, LINKS, "note"), own, px=600, height=height, title="T")
        written = texts(picture)
        assert written.count("rose") == written.count("</svg>") == 2
        assert sum(text.startswith("oak") and text.endswith("…") for text in written) == 2
        links = re.findall(
            r'<path fill="none" stroke="(#\w+)"[^>]*stroke-width="([\d.]+)"', picture
        )
        assert len(links) == 3
        # The thickest is first, in the colour of the left end.
        widths = [float(wide) for _, wide in links]
        assert widths == sorted(widths, reverse=True)
        assert {colour for colour, _ in links} <= set(own.colours)
        assert len({colour for colour, _ in links}) == 3
    assert 'height="400"' in picture


def test_one_node_and_no_links() -> None:
    one = scene(from_parents([-1], [0], ["only"])).nodes
    picture = svg(Facing(one, one, [], ""), style())
    assert texts(picture).count("only") == 2
    assert "nan" not in picture
