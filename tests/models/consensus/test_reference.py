"""Support of a tree by others, against the literal definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.consensus.items import matched_items
from models.consensus.rules import Clusters
from models.consensus.support import agreement_of_halves, support_by
from models.tree import newick
from tests.models.consensus.sets_kit import random_tree, sets


@given(st.integers(0, 10**6))
def test_support_is_as_defined(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_items = int(rng.integers(2, 12))
    trees = [random_tree(rng, n_items, seed % 5) for _ in range(4)]
    items = matched_items(trees)
    everything = frozenset(range(n_items))
    others = [sets(tree) for tree in items.trees[1:]]
    share, transfer = support_by(items), support_by(items, "transfer")
    for node, own in enumerate(sets(items.trees[0])):
        smaller = min(len(own), n_items - len(own))
        if 1 < len(own) < n_items:
            assert share[node] == pytest.approx(np.mean([own in theirs for theirs in others]))
        else:
            assert np.isnan(share[node])
        if smaller < 2:
            assert np.isnan(transfer[node])
            continue
        moves = [
            min(min(len(own ^ each), len(own ^ (everything - each))) for each in theirs)
            for theirs in others
        ]
        assert transfer[node] == pytest.approx(1 - np.mean(moves) / (smaller - 1))


def test_one_item_that_strays_costs_little() -> None:
    """The example that the transfer bootstrap was made for: the share is 0."""
    whole = newick.read("(((a,b,c,d,e,f),(g,h)),(i,j,k,l,m,n,o));")
    strayed = newick.read("(((b,c,d,e,f),(g,h)),(i,j,k,l,m,n,o,a));")
    items = matched_items([whole, strayed])
    six = next(node for node, each in enumerate(sets(items.trees[0])) if len(each) == 6)
    assert support_by(items)[six] == 0.0
    assert support_by(items, "transfer")[six] == pytest.approx(1 - 1 / 5)


def test_halves_of_alike_trees_agree_and_of_random_ones_do_not() -> None:
    rng = np.random.default_rng(0)
    alike = [random_tree(rng, 40, 2) for _ in range(60)]
    different = [random_tree(rng, 40) for _ in range(6)]
    close = agreement_of_halves(Clusters.of(matched_items(alike).trees), rng)
    far = agreement_of_halves(Clusters.of(matched_items(different).trees), rng)
    assert close is not None
    assert far is not None
    assert close[0] > 0.9 > far[0]
    assert agreement_of_halves(Clusters.of(matched_items(alike[:3]).trees), rng) is None
