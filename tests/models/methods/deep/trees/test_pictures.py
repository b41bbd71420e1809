"""Images of nodes against their definition."""

from __future__ import annotations

import numpy as np
import pytest

from models.methods.deep.networks.scaling import RowScaling
from models.methods.deep.trees import placing
from models.methods.deep.trees.placing import node_pictures
from models.tree.build import from_parents

#     0
#   1   2
TREE = from_parents([-1, 0, 0], [1.0, 0, 0], [None] * 3, np.array([1, 2, 1, 1]))


@pytest.mark.parametrize("kind", [np.uint8, np.float64])
def test_they_show_the_decoded_centre_and_the_mean(
    kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placing, "BLOCK", 12)
    rows = np.array([[0, 10, 40, 50, 60, 70], [200] * 6, [2, 30, 41, 50, 0, 0], [1] * 6])
    rows = rows.astype(kind)
    weight = np.array([[1.0, 0, 0, 0, 0, 1.0]], dtype=np.float32)
    network = {"decoder.0.weight": weight, "decoder.0.bias": np.zeros(6, dtype=np.float32)}
    scaling = RowScaling(np.full(6, 10.0), 50.0)
    centres = np.array([[1.0], [4.0], [-1.0]], dtype=np.float32)
    drawn = node_pictures(TREE, centres, network, scaling, rows, (2, 3, 1))
    assert (drawn.dtype, drawn.shape) == (np.uint8, (3, 2, 2, 3, 1))
    # Bytes stay; other values are stretched from the least (0) and largest (200) of all.
    factor = 1.0 if kind is np.uint8 else 255 / 200
    means = np.stack([rows.mean(axis=0), rows[[0, 2, 3]].mean(axis=0), rows[1]])
    np.testing.assert_array_equal(drawn[:, 1].reshape(3, 6), np.rint(factor * means))
    middle = np.rint(10 * factor)
    ends = [np.rint(60 * factor), np.rint(min(255, 210 * factor)), 0]
    expected = [[end, *[middle] * 4, end] for end in ends]
    np.testing.assert_array_equal(drawn[:, 0].reshape(3, 6), expected)


def test_colours_are_the_last_axis() -> None:
    rows = np.arange(48, dtype=np.uint8).reshape(4, 12)
    network = {
        "decoder.0.weight": np.zeros((1, 12), np.float32),
        "decoder.0.bias": np.zeros(12, np.float32),
    }
    drawn = node_pictures(
        TREE, np.zeros((3, 1), np.float32), network, RowScaling(np.zeros(12), 1.0), rows, (2, 2, 3)
    )
    assert (drawn[2, 1] == rows[1].reshape(2, 2, 3)).all()
