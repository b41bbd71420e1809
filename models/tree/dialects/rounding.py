"""Values that are negative by rounding alone: a subtraction of heights leaves -1e-16 for 0."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from models.arrays import Float, Mask
from models.tree.parents import under
from models.tree.tree import Tree

RELATIVE = 1e-9
"""How far below 0 rounding may lead, relative to the largest absolute value."""


def negligible(values: Float, scale: float) -> Mask:
    """Which values are below 0 by no more than `RELATIVE` of the scale."""
    below: Mask = (values < 0) & (values >= -RELATIVE * scale)
    return below


def forgiven(values: Float) -> tuple[Float, int]:
    """The values with 0 for those that are negligibly negative, and how many these are.

    The scale is the largest absolute value. Others stay as they are. O(n).
    """
    if not values.size or not (values < 0).any():
        return values, 0
    some = negligible(values, float(np.abs(values).max()))
    return np.where(some, 0.0, values), int(some.sum())


def counted(number: int, what: str) -> tuple[str, ...]:
    """The warning of values set to 0; none for none. what : `branch length`, `height`."""
    if not number:
        return ()
    noun = f"{what} was" if number == 1 else f"{what}s were"
    return (f"{number} {noun} below 0 by rounding alone and became 0.",)


def risen(tree: Tree) -> tuple[Tree, int]:
    """The tree with each node as high as the highest below it, if none needs more than rounding,
    and how many nodes rose; else the tree unchanged, and 0. O(n_nodes log depth)."""
    above = tree.parent[1:]
    lengths = tree.height[above] - tree.height[1:]
    falls = lengths < 0
    if not falls.any():
        return tree, 0
    if not negligible(lengths, float(np.abs(tree.height).max()))[falls].all():
        return tree, 0
    height = under(tree.parent, tree.height, np.maximum.at)
    return replace(tree, height=height, monotone=True), int((height != tree.height).sum())
