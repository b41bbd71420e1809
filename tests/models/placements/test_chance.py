"""p-values are uniform under the null hypothesis that they state, and a hierarchy in which they
are not is warned of."""

from __future__ import annotations

import numpy as np
import pytest

from models.arrays import Float
from models.placements.chance import chance_warning, share_by_chance
from models.placements.placements import Groups, groups, p_values
from models.tree import class_paths

RNG = np.random.default_rng(4)


@pytest.mark.parametrize("n", [50, 51, 200])
def test_p_values_of_normal_margins_are_about_uniform(n: int) -> None:
    found = np.concatenate([p_values(RNG.normal(size=n)) for _ in range(20_000 // n)])
    for level, room in ((0.5, 0.02), (0.2, 0.02), (0.05, 0.012), (0.01, 0.01)):
        assert abs(float((found <= level).mean()) - level) < room


def hierarchy(sizes: list[int]) -> tuple[Groups, Float]:
    """Families of these sizes, two in each branch, and classes that all hang well in them.

    root -- b0 -- f0 -- c0, c1, ...
               -- f1 -- ...
         -- b1 -- ...
    """
    lines = [
        f"b{family // 2}/f{family}/c{family}.{number}"
        for family, size in enumerate(sizes)
        for number in range(size)
    ]
    tree = class_paths.read("\n".join(lines))
    found = groups(tree, np.asarray(tree.leaves, dtype=np.int64))
    near = found.nearness()[found.own]
    noise = RNG.normal(size=near.shape)
    likeness = near + near.T + 0.1 * (noise + noise.T)
    np.fill_diagonal(likeness, 0.0)
    return found, likeness


def test_families_of_one_size_have_no_warning_and_unlike_ones_have() -> None:
    even = share_by_chance(*hierarchy([8] * 8), 0.05)
    assert even is not None
    assert chance_warning(even, 0.05) is None
    unlike = share_by_chance(*hierarchy([30, 25, 2, 2, 2, 2, 2, 2]), 0.05)
    assert unlike is not None
    assert unlike > 0.1
    warning = chance_warning(unlike, 0.05)
    assert warning is not None
    assert f"{unlike:.0%} of them have one of at most 0.05" in warning


def test_the_share_is_that_of_margins_by_themselves() -> None:
    """A likeness without noise beside the line leaves all margins as they are: no draw differs."""
    found, likeness = hierarchy([8] * 4)
    near = found.nearness()[found.own]
    line = near + near.T
    assert share_by_chance(found, line, 0.05) in (0.0, None)
    first = share_by_chance(found, likeness, 1.0)
    assert first == 1.0
