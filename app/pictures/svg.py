"""Trees as SVG: one self-contained picture without scripts, links or other files.

Three shapes. `circular`: leaves on a circle. `rectangular`: leaves one below the other.
`icicle`: nested bars. Small trees are drawn whole with every label; the font shrinks as leaves
grow in number, then labels go, and past about 2,000 leaves the largest subtrees are opened and
the rest stands folded as wedges with their number of leaves (a wedge's width grows with the
logarithm of that number).

Heights are drawn as they are where that can be read (merge orders 1 .. K-1 always can), else by
square root, else by rank; the picture then says so. Circles whose middle would be crowded spread it
(radius to the power 3/4). Where all heights are equal it shows levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from app.pictures import circular, icicle, rectangular
from app.pictures.lettering import FAMILY, clip, markup, width
from app.pictures.marks import Marks, number
from app.pictures.palette import FAINT, PAPER, TEXT
from app.pictures.part import Part, take
from models.errors import UsageError
from models.tree.tree import Tree
from models.tree.view import leaf_counts
from models.tree.walk import require_node

Shape = Literal["circular", "rectangular", "icicle"]
MIN_PX, MAX_PX = 100, 10_000

_SCALES = {
    "sqrt": "square root of height",
    "rank": "rank of height",
    "level": "levels, no heights",
}


def svg(
    tree: Tree,
    *,
    root: int = 0,
    shape: Shape = "circular",
    px: int = 1000,
    depth: int | None = None,
    color_by: str | Sequence[str | None] | None = None,
    title: str | None = None,
    labels: Literal["name", "id"] = "name",
) -> str:
    """A picture of the part of `tree` under `root`.

    Parameters
    ----------
    px : width in pixels; the height follows from the shape and the legend.
    depth : nodes so many edges below `root` are folded.
    color_by : None for one colour; "cluster:k" for the k subtrees that a cut by height leaves; or
        one label per leaf of the whole tree, in the order of the leaves' node ids (None: no label).
        A branch takes the label's colour where all leaves below share it.
    labels : leaves' names, or node ids.

    Raises UsageError for an unknown node, shape or colouring and px outside 100 to 10,000.
    O(n_nodes) once per tree, then O(shown).
    """
    if shape not in get_args(Shape):
        raise UsageError(
            f"Parameter 'shape' is {str(shape)[:40]!r}; it is one of {', '.join(get_args(Shape))}.",
            code="wrong-parameter",
            parameter="shape",
        )
    if not MIN_PX <= px <= MAX_PX:
        raise UsageError(
            f"Parameter 'px' is {px}; it is {MIN_PX} to {MAX_PX}.",
            code="wrong-parameter",
            parameter="px",
        )
    require_node(tree, root)
    room = {"circular": circular, "rectangular": rectangular, "icicle": icicle}[shape]
    most, after_folding = room.capacity(px)
    part = take(
        tree,
        root,
        max_tips=most if leaf_counts(tree)[root] <= most else after_folding,
        max_depth=_depth(shape, depth),
        color_by=color_by,
        labels=labels,
        proportional=shape == "icicle",
    )
    marks, tall = room.draw(part, px)
    return _page(part, marks, px, tall, title, shape)


def _depth(shape: Shape, depth: int | None) -> int | None:
    if shape != "icicle":
        return depth
    return icicle.MOST_LEVELS if depth is None else min(depth, icicle.MOST_LEVELS)


def _page(part: Part, marks: Marks, px: int, tall: float, title: str | None, shape: Shape) -> str:
    """Title above, legend and note below, all on white."""
    unit = px / 1000
    head = 46 * unit if title else 0.0
    frame = Marks()
    if title:
        size = 19 * unit
        short = clip(title, size, 0.92 * px)
        frame.text(px / 2, 27 * unit, short, size, anchor="middle", whole=title)
    foot = _legend(frame, part, px, head + tall)
    foot = _note(frame, part, px, foot, shape)
    page = number(px), number(foot)
    described = markup((title or "Tree")[:200]) + f", {int(part.n_leaves[0]):,} leaves"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{page[0]}" height="{page[1]}" '
            f'viewBox="0 0 {page[0]} {page[1]}" role="img" aria-label="{described}" '
            f'font-family="{FAMILY}">',
            f'<rect width="{page[0]}" height="{page[1]}" fill="{PAPER}"/>',
            f'<g transform="translate(0 {number(head)})">',
            *marks.write(),
            "</g>",
            *frame.write(),
            "</svg>",
            "",
        ]
    )


def _legend(frame: Marks, part: Part, px: int, top: float) -> float:
    """Categories in centred rows; returns where they end."""
    if not part.legend:
        return top
    unit = px / 1000
    size, box, space = 12.5 * unit, 11 * unit, 20 * unit
    rows: list[list[tuple[str, str, float]]] = [[]]
    used = 0.0
    for colour, text in part.legend:
        short = clip(text, size, 0.28 * px)
        wide = box + 6 * unit + width(short, size) + space
        if rows[-1] and used + wide > 0.94 * px:
            rows.append([])
            used = 0.0
        rows[-1].append((colour, short, wide))
        used += wide
    y = top + 14 * unit
    for row in rows:
        x = (px - sum(wide for _, _, wide in row) + space) / 2
        for colour, text, wide in row:
            frame.areas.append(
                f'<rect x="{number(x)}" y="{number(y - box / 2)}" width="{number(box)}" '
                f'height="{number(box)}" rx="{number(2 * unit)}" fill="{colour}"/>'
            )
            frame.text(x + box + 6 * unit, y, text, size, colour=TEXT)
            x += wide
        y += 21 * unit
    return y


def _note(frame: Marks, part: Part, px: int, top: float, shape: Shape) -> float:
    """What the reader must know to read it right; returns where the picture ends."""
    notes = []
    if shape != "icicle" and part.scale in _SCALES and part.n_tips > 1:
        notes.append(f"{'radius' if shape == 'circular' else 'length'}: {_SCALES[part.scale]}")
    if not part.plain:
        mark = "torn bars" if shape == "icicle" else "wedges"
        notes.append(
            f"{mark}: folded subtrees, {part.n_tips:,} shown for {int(part.n_leaves[0]):,} leaves"
        )
    if not notes:
        return top + 0.008 * px
    size = 0.0105 * px
    frame.text(px / 2, top + 0.01 * px, "; ".join(notes), size, colour=FAINT, anchor="middle")
    return top + 0.03 * px
