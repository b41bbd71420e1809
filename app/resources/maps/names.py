"""The names on a map, each on its points: the largest nodes are divided until there are as many
names as have room. As on the page (`map_names.js`)."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from app.pictures.labels import MOST_WORDS, Ground
from app.pictures.lettering import FEWEST_LETTERS, readable, shortened, width
from app.pictures.marks import Marks
from models.arrays import Float, Int, Single
from models.tree.cluster_names import called
from models.tree.noise import noise_of
from models.tree.tree import Tree
from models.tree.walk import leaf_counts, points_before

_SAMPLE = 48
"""Points of a node that are looked at."""
_WIDE = 1.5
"""A node is divided if half of its points lie farther than this from their middle, in letters."""
_MOST_VISITS = 500
_WANTED = 90
"""The nodes that are enough for names: not all have room."""
_MOST_BELOW = 100
_ROOM, _PART = 15.0, 0.3
"""The longest name, in letters and as a part of the width."""


@dataclass(frozen=True, slots=True)
class Named:
    """A tree and the positions of its points from left to right. xy : (n_points, 2)."""

    tree: Tree
    xy: Float | Single


@dataclass(frozen=True, slots=True)
class _Spot:
    """The middle of a node's points, which is one of them, and how far half of them are from it."""

    node: int
    x: float
    y: float
    spread: float


def write(
    marks: Marks,
    named: Named,
    scale: float,
    at: Callable[[float, float], tuple[float, float]],
    box: tuple[float, float, float, float],
    font: float,
) -> None:
    """Write the names that have room, the largest nodes first, at most `MOST_WORDS`.

    scale : pixels of a unit of the map. at : the pixels of a place. box : left, top, width and
    height of the plot. Looks at 500 nodes and 48 points of each.
    """
    tree = named.tree
    left, top, wide, high = box

    def is_seen(spot: _Spot) -> bool:
        x, y = at(spot.x, spot.y)
        return left <= x <= left + wide and top <= y <= top + high

    spots = _divided(named, scale, font, is_seen)
    spots.sort(key=lambda spot: (-tree.size[spot.node], spot.node))
    nodes = np.array([spot.node for spot in spots], dtype=np.int64)
    derived = called(tree, nodes, leaf_counts(tree)[nodes]) if spots else []
    ground, written, seen = Ground(wide, high), set[str](), set[str]()
    for spot, name in zip(spots, derived, strict=True):
        text = readable(tree.name[spot.node] or name or "")
        short = shortened(text, font, min(_ROOM * font, _PART * wide))
        is_cut = short != text and len(short) < FEWEST_LETTERS
        # What is left without its share may be written already.
        is_twice = text in written or (short in seen and not short.endswith("…"))
        if not text or is_cut or is_twice or len(written) == MOST_WORDS:
            continue
        x, y = at(spot.x, spot.y)
        is_leaf = not tree.n_children[spot.node]
        long, tall = width(short, font), 1.25 * font
        # A leaf's name stands beside its point, that of others on their points or a line off.
        right, on = x + 0.5 * font, x - long / 2
        tries = [(right, y), (x - 0.5 * font - long, y), (on, y - tall), (on, y + tall)]
        for begin, middle in tries if is_leaf else [(on, y), *tries[2:]]:
            if ground.take(begin - left - 2, middle - top - tall / 2, long + 4, tall):
                written.add(text)
                seen.add(short)
                marks.text(begin, middle, short, font, whole=text, halo=True)
                break


def _divided(
    named: Named, scale: float, font: float, is_seen: Callable[[_Spot], bool]
) -> list[_Spot]:
    """The nodes in view that stand for all below them: the largest are divided first, until there
    are `_WANTED`."""
    tree = named.tree
    first, child = tree.children
    noise, found, n_seen = noise_of(tree), list[_Spot](), 0
    queue = [(0, 0, _spot(named, 0))]
    for _ in range(_MOST_VISITS):
        if not queue or len(found) + n_seen >= _WANTED:
            break
        _, node, spot = heapq.heappop(queue)
        n_seen -= is_seen(spot)
        if tree.n_children[node] and (node == 0 or spot.spread * scale >= _WIDE * font):
            for kid in child[first[node] : first[node + 1]][:_MOST_BELOW].tolist():
                if tree.size[kid] and not noise[kid]:
                    below = _spot(named, kid)
                    n_seen += is_seen(below)
                    heapq.heappush(queue, (-int(tree.size[kid]), kid, below))
        elif is_seen(spot):
            found.append(spot)
    return [*found, *(spot for *_, spot in queue if is_seen(spot))]


def _spot(named: Named, node: int) -> _Spot:
    """The spot of a node: the point of a sample that is nearest to the median of both axes."""
    begin, n = int(points_before(named.tree)[node]), int(named.tree.size[node])
    count = min(n, _SAMPLE)
    place: Int = begin + np.floor((np.arange(count) + 0.5) * n / count).astype(np.int64)
    xy = np.asarray(named.xy[place], dtype=np.float64)
    far = np.hypot(*(xy - np.median(xy, axis=0)).T)
    best = int(far.argmin())
    return _Spot(node, float(xy[best, 0]), float(xy[best, 1]), float(np.median(far)))
