"""Trees as SVG: one self-contained picture without scripts, links or other files.

Three shapes. `circular`: leaves on a circle. `rectangular`: leaves one below the other. `icicle`:
nested bars. Small trees are drawn whole with every label; the font shrinks as leaves grow in
number, then labels are dropped, and beyond about 2,000 leaves only the largest subtrees are open
and the rest is folded to wedges with their number of leaves (the width of a wedge grows with the
logarithm of that number).

Heights are drawn as they are if that is readable (merge orders 1 .. K-1 always are), else by square
root, else by rank, which the picture states. Circles with a crowded middle spread it (radius to the
power 3/4). If all heights are equal the picture shows levels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from app.pictures import circular, icicle, inner_names, legend, rectangular
from app.pictures.lettering import require_room, smallest_font, unit_of, wrapped
from app.pictures.marks import LEADING, Marks, number, page
from app.pictures.palette import Palette, Theme, style
from app.pictures.pictured_tree import PicturedTree, take
from app.pictures.sheet import Picture
from app.pictures.strips import Column
from models.arrays import Int
from models.errors import UsageError, shown
from models.tree.labels import Categories
from models.tree.tree import Tree
from models.tree.walk import leaf_counts, require_node

Shape = Literal["circular", "rectangular", "icicle"]
MIN_PX, MAX_PX = 30, 10_000

_SCALES = {
    "sqrt": "square root of height",
    "rank": "rank of height",
    "level": "levels, no heights",
}
_ROOMS = {"circular": circular, "rectangular": rectangular, "icicle": icicle}


def svg(
    tree: Tree,
    *,
    root: int = 0,
    shape: Shape = "circular",
    px: float = 1000,
    height: float | None = None,
    font: float | None = None,
    depth: int | None = None,
    categories: Categories | None = None,
    palette: Palette = "okabe-ito",
    theme: Theme = "light",
    title: str | None = None,
    labels: Literal["name", "id"] = "name",
    ids: Int | None = None,
    closed: Int | None = None,
    painted: Mapping[int, str] | None = None,
    strips: Sequence[Column] = (),
) -> Picture:
    """A picture of the part of `tree` under `root`.

    Parameters
    ----------
    px : width in pixels.
    height : in pixels; None: it follows from the shape and the legend. What does not fit is folded,
        and overlapping labels are left out.
    font : the largest size of labels in pixels; None: it grows with the width.
    depth : nodes this many edges below `root` are folded.
    categories : of the leaves; they colour leaves, and branches above leaves of one category.
        None: a single colour.
    labels : leaves' names, or node ids. ids : of rows; None: the rows.
    closed : rows that are folded. painted : colours of rows, `#rrggbb`, which hold for all below.
    strips : columns of items beside the tips, from the inside out, by node id.

    Raises UsageError for an unknown node, shape, palette or theme, sizes outside 30 to 10,000, and
    a side of fewer than ten times `font`.
    O(n_nodes) once per tree, then O(shown).
    """
    _require_one_of("shape", shape, get_args(Shape))
    _require_one_of("palette", palette, get_args(Palette))
    _require_one_of("theme", theme, get_args(Theme))
    for name, size in (("px", px), ("height", height)):
        if size is not None and not MIN_PX <= size <= MAX_PX:
            raise UsageError(
                f"Parameter {name!r} is {size}; it is {MIN_PX} to {MAX_PX}.",
                code="wrong-parameter",
                parameter=name,
            )
    require_room(px, height, font)
    require_node(tree, root)
    shapes = _ROOMS[shape]
    most, after_folding = shapes.capacity(px, height and 0.85 * height)
    pictured = take(
        tree,
        root,
        max_tips=most if leaf_counts(tree)[root] <= most else after_folding,
        max_depth=_depth(shape, depth),
        categories=categories,
        style=style(theme, palette),
        labels=labels,
        proportional=shape == "icicle",
        ids=ids,
        closed=closed,
        painted=painted,
        strips=strips,
    )
    return _page(pictured, (px, height, font), title, shape)


def _require_one_of(name: str, value: Any, known: tuple[str, ...]) -> None:
    if value not in known:
        raise UsageError(
            f"Parameter {name!r} is {shown(str(value), 40)}; it is one of {', '.join(known)}.",
            code="wrong-parameter",
            parameter=name,
        )


def _depth(shape: Shape, depth: int | None) -> int | None:
    if shape != "icicle":
        return depth
    return icicle.MOST_LEVELS if depth is None else min(depth, icicle.MOST_LEVELS)


Sizes = tuple[float, float | None, float | None]
"""Width, height and size of labels, in pixels."""


def _page(pictured: PicturedTree, sizes: Sizes, title: str | None, shape: Shape) -> Picture:
    """Title above, legend and note below."""
    px, height, font = sizes
    unit, small = unit_of(px, font), smallest_font(font)
    small = max(10.5 * unit, small)
    frame = Marks(pictured.style)
    head = 46 * unit if title else 0.0
    if height is not None:
        head = min(head, 0.2 * height)
    if title:
        frame.heading(title, px, head, unit)
    rows = [row for each in _legends(pictured) for row in legend.rows(each, px, unit)]
    if height is not None:
        rows = rows[: int(0.4 * height / (21 * unit))]
    note = wrapped(_note(pictured, shape), small, 0.96 * px)
    noted = LEADING * small * len(note)
    foot = (21 * len(rows) + 8 * bool(rows) + (15 if note else 8)) * unit + noted
    if height is not None and foot > 0.5 * height:
        rows, note, foot = [], [], 8 * unit
    room = None if height is None else height - head - foot
    marks, tall = _ROOMS[shape].draw(pictured, px, room, font)
    legend.write(frame, rows, px, unit, head + tall + (4 * unit if rows else 0.0))
    for place, line in enumerate(note):
        at = head + tall + foot - 9 * unit - noted + LEADING * small * (place + 0.5)
        frame.text(px / 2, at, line, small, colour=pictured.style.faint, anchor="middle")
    described = (title or "Tree")[:200] + f", {int(pictured.n_leaves[0]):,} leaves"
    moved = (f'<g transform="translate(0 {number(head)})">', *marks.write(), "</g>")
    drawn = page(px, head + tall + foot, described, pictured.style, (*moved, *frame.write()))
    picture = Picture(drawn)
    picture.warning = inner_names.left_out(pictured, marks)
    return picture


def _legends(pictured: PicturedTree) -> list[list[tuple[str, str]]]:
    """The legend of the colours, and that of each strip with its number where there are several."""
    legends = [pictured.legend]
    for place, strip in enumerate(pictured.strips):
        (paper, name), *rest = strip.legend
        numbered = f"{place + 1} {name}" if len(pictured.strips) > 1 else name
        legends.append([(paper, numbered), *rest])
    return legends


def _note(pictured: PicturedTree, shape: Shape) -> str:
    """The note that a reader needs to interpret the picture."""
    notes = []
    if shape != "icicle" and pictured.scale in _SCALES and pictured.n_tips > 1:
        notes.append(f"{'radius' if shape == 'circular' else 'length'}: {_SCALES[pictured.scale]}")
    if not pictured.plain:
        mark = "torn bars" if shape == "icicle" else "wedges"
        notes.append(
            f"{mark}: folded subtrees, {pictured.n_tips:,} shown for "
            f"{int(pictured.n_leaves[0]):,} leaves"
        )
    return "; ".join(notes)
