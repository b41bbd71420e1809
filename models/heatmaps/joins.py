"""The trees on the sides of a heatmap: which rows, or columns, are joined at which height."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from models.arrays import Float, Int
from models.tree.tree import Tree


@dataclass(frozen=True, slots=True)
class Join:
    """An inner node. feet : of each child the place of its middle along the side, counted in rows
    or columns from the first edge, and its height.
    """

    height: float
    feet: tuple[tuple[float, float], ...]

    @property
    def middle(self) -> float:
        places = [at for at, _ in self.feet]
        return (min(places) + max(places)) / 2


def joins_of_tree(tree: Tree, nodes: Int) -> list[Join]:
    """The nodes above the rows `nodes`, which are disjoint and from left to right; children before
    parents. O(n log n) for n rows and nodes above."""
    rows: list[int] = nodes.tolist()
    place = {node: row + 0.5 for row, node in enumerate(rows)}
    above: set[int] = set()
    for row in rows:
        node = int(tree.parent[row])
        while node >= 0 and node not in above:
            above.add(node)
            node = int(tree.parent[node])
    feet: dict[int, list[tuple[float, float]]] = {node: [] for node in above}
    joins = []
    # A parent has a lower number than its children.
    for node in sorted(above.union(rows), reverse=True):
        if node in above:
            join = Join(float(tree.height[node]), tuple(sorted(feet[node])))
            joins.append(join)
            place[node] = join.middle
        if node:
            feet[int(tree.parent[node])].append((place[node], float(tree.height[node])))
    return joins


def joins_of_merges(n: int, merges: Sequence[Sequence[float]] | Float) -> list[Join]:
    """The same of `n` columns and their `models.heatmaps.drawing.column_tree`."""
    ends = [(column + 0.5, 0.0) for column in range(n)]
    joins = []
    for one, other, height in merges:
        join = Join(float(height), tuple(sorted((ends[int(one)], ends[int(other)]))))
        joins.append(join)
        ends.append((join.middle, join.height))
    return joins
