"""The names that inner nodes were given, beside their nodes and clear of branches; which of them a
picture leaves out."""

from __future__ import annotations

import numpy as np

from app.pictures.labels import MOST_WORDS, Ground
from app.pictures.lettering import FEWEST_LETTERS, readable, shortened, width
from app.pictures.marks import Marks, points
from app.pictures.pictured_tree import PicturedTree
from models.arrays import Float

_TRIED = 200
"""The most names that are tried for a place."""
_FIRST, _QUOTED = 3, 40
"""How many names a warning has, and their most letters."""
_LONGEST, _SHORTER = 15.0, 8.0
"""The most room for a name, in its size, and where the whole has none."""


def given(pictured: PicturedTree) -> list[int]:
    """The inner nodes below the root that have names, the largest first."""
    rows = [row for row in np.flatnonzero(~pictured.tip).tolist() if row and pictured.label[row]]
    return sorted(rows, key=lambda row: -int(pictured.n_leaves[row]))


def left_out(pictured: PicturedTree, marks: Marks) -> str | None:
    """The names of inner nodes that are not among the drawn marks, and what makes room for them, in
    ASCII; None: all are there."""
    named = np.flatnonzero(pictured.named).tolist()
    names = [
        pictured.called[row]
        for row in sorted(named, key=lambda row: -int(pictured.n_leaves[row]))
        if marks.written.isdisjoint((pictured.label[row], pictured.called[row]))
    ]
    n_left_out = len(names) + len(pictured.unseen)
    if not n_left_out:
        return None
    names += map(readable, pictured.unseen[:_FIRST])
    first = ", ".join(
        ascii(name if len(name) <= _QUOTED else name[: _QUOTED - 3] + "...")
        for name in names[:_FIRST]
    ).replace('"', "'")
    more = f" and {n_left_out - _FIRST:,} more" if n_left_out > _FIRST else ""
    return (
        f"no room for the names of nodes {first}{more}; a larger width, a smaller size of labels, "
        "or a part of the tree by root has room for more, and the form csv lists all"
    )


def write(
    marks: Marks,
    pictured: PicturedTree,
    ground: Ground,
    x: Float,
    y: Float,
    font: float,
    *,
    radius: float | None = None,
) -> None:
    """Write the names that have room on `ground`, some led out by a line; others are left out.

    x, y : (n_shown,) of the nodes. radius : of a circle that has its names within. A crowded one
    has branches everywhere: there a name without another place lies over them.
    """
    left_out, written = given(pictured)[:_TRIED], 0
    for clear in (True, False) if radius is not None else (True,):
        rows, left_out = left_out, []
        for row in rows:
            if written == MOST_WORDS:
                return
            whole = pictured.label[row]
            at = float(x[row]), float(y[row])
            for text in dict.fromkeys(
                shortened(whole, font, most * font) for most in (_LONGEST, _SHORTER)
            ):
                if text != whole and len(text) < FEWEST_LETTERS:
                    continue
                spot = ground.name(
                    at,
                    width(text, font),
                    font,
                    is_round=radius is not None,
                    radius=radius,
                    clear=clear,
                )
                if spot is None:
                    continue
                left, middle, led = spot
                colour = pictured.text_colour(row)
                if led is not None:
                    marks.stroke(f"M{points(*at)}L{points(*led)}", colour, 0.06 * font)
                marks.text(left, middle, text, font, colour=colour, whole=whole, halo=True)
                written += 1
                break
            else:
                left_out.append(row)
