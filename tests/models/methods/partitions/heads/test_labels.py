"""Heads as a partition: the literal mean of softmaxes, clusters by size."""

from __future__ import annotations

import math

import numpy as np
import pytest

from models.errors import UsageError
from models.inputs.frames import Frame
from models.inputs.rows import ArrayRows
from models.method import Model
from models.methods.partitions.heads.labels import labelled, placed_by

RNG = np.random.default_rng(6)
SPACES = [RNG.normal(size=(40, 3)).astype(np.float16), RNG.normal(size=(40, 2))]
WEIGHTS = [(4 * RNG.normal(size=(space.shape[1], 5))).astype(np.float32) for space in SPACES]
BIAS = RNG.normal(size=(2, 5)).astype(np.float32)
PLAIN = [Frame(np.zeros(space.shape[1]), 0) for space in SPACES]


def literal(spaces: list[np.ndarray], weights: list[np.ndarray], bias: np.ndarray) -> np.ndarray:
    """(n_points, K) the mean over spaces of softmax, one number at a time."""
    n_clusters = bias.shape[1]
    logits = np.zeros((len(spaces[0]), n_clusters))
    for x, w, b in zip(spaces, weights, bias.astype(float), strict=True):
        w = w.astype(float)
        for i, row in enumerate(x.tolist()):
            z = [sum(v * w[d, c] for d, v in enumerate(row)) + b[c] for c in range(n_clusters)]
            total = sum(math.exp(one) for one in z)
            for c in range(n_clusters):
                logits[i, c] += math.exp(z[c]) / total / len(spaces)
    return logits


def test_logits_are_the_logarithm_of_the_labelling() -> None:
    result = labelled([ArrayRows(space) for space in SPACES], WEIGHTS, BIAS, PLAIN)
    expected = literal(SPACES, WEIGHTS, BIAS)
    own = expected.argmax(axis=1)
    # Larger clusters first, clusters of one size by their weights in the first space.
    order = sorted(range(5), key=lambda c: (-(own == c).sum(), *WEIGHTS[0][:, c]))
    assert np.exp(result.logits) == pytest.approx(expected[:, order], rel=1e-9)
    assert (result.cluster == result.logits.argmax(axis=1)).all()
    assert (np.array(order)[result.cluster] == own).all()
    model = Model(result.arrays)
    cluster, logits = placed_by(model, [ArrayRows(space) for space in SPACES])
    assert (cluster == result.cluster).all()
    assert logits == pytest.approx(result.logits, rel=1e-12)


def test_saturated_heads_keep_their_logarithms() -> None:
    result = labelled(
        [ArrayRows(np.array([[1e4], [-1e4]]))],
        [np.array([[1.0, -1.0]])],
        BIAS[:1, :2],
        [Frame(np.zeros(1), 0)],
    )
    assert np.isfinite(result.logits).all()
    assert result.logits.min() == pytest.approx(-2e4, rel=1e-3)


def test_new_rows_that_are_not_finite_are_named() -> None:
    model = Model(labelled([ArrayRows(space) for space in SPACES], WEIGHTS, BIAS, PLAIN).arrays)
    bad = SPACES[1].copy()
    bad[11, 1] = np.inf
    with pytest.raises(UsageError, match=r"Matrix 1 .*infinite at row 11, column 1"):
        placed_by(model, [ArrayRows(SPACES[0]), ArrayRows(bad)])


def test_heads_of_rows_in_a_frame_are_kept_for_rows_as_given() -> None:
    spaces = [1e-12 * (SPACES[0].astype(np.float64) + 1e6), SPACES[1] + 1e9]
    frames = [Frame.of(space, scaled_beyond=7) for space in spaces]
    assert frames[0].exponent < 0
    assert all(frame.origin.all() for frame in frames)
    framed = [frame.array(space) for frame, space in zip(frames, spaces, strict=True)]
    given = labelled([ArrayRows(space) for space in spaces], WEIGHTS, BIAS, frames)
    expected = labelled([ArrayRows(space) for space in framed], WEIGHTS, BIAS, PLAIN)
    assert given.logits == pytest.approx(expected.logits, abs=1e-4)
