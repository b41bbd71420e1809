"""Triples: three different leaves, each first equally often, every third equally likely."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from models.methods.hyperbolic.leaves.triples import draw_triples

pytestmark = pytest.mark.needs("torch")


@pytest.mark.parametrize("n_points", [3, 4, 50])
def test_three_different_leaves(n_points: int) -> None:
    triples = draw_triples(n_points, 1000, 0, torch.Generator().manual_seed(0)).numpy()
    assert triples.shape == (3, 1000)
    assert triples.min() >= 0
    assert triples.max() == n_points - 1
    assert (np.diff(np.sort(triples, axis=0), axis=0) > 0).all()


def test_every_leaf_is_first_in_turn() -> None:
    generator = torch.Generator().manual_seed(0)
    first = [draw_triples(7, 10, start, generator)[0] for start in (0, 10, 20, 30)]
    assert torch.cat(first).tolist() == [number % 7 for number in range(40)]


def test_all_triples_are_equally_likely() -> None:
    n_triples = 60_000
    triples = draw_triples(5, n_triples, 3, torch.Generator().manual_seed(0)).numpy()
    _, times = np.unique(triples, axis=1, return_counts=True)
    assert times.size == 60
    assert times == pytest.approx(n_triples / 60, rel=0.15)
