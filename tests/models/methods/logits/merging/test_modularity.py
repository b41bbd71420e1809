"""The curve of modularity against its definition, group by group."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench import synthetic
from models.inputs.data import Data
from models.inputs.rows import ArrayRows
from models.levels.suggested_cuts import levels
from models.methods.logits.merging import modularity
from models.methods.logits.merging.logit_matrix import LogitMatrix
from models.methods.logits.merging.merging import Merger
from models.methods.logits.merging.reference import Merges
from models.methods.logits.merging.row_digest import Digest, scan
from models.registry import method
from models.running.progress import silent


def merged(logits: np.ndarray) -> tuple[Merges, Digest]:
    matrix = LogitMatrix(ArrayRows(logits))
    digest = scan(matrix, 0, len(logits), 1, silent)
    return Merger(matrix, digest, "mean-sum", silent).run(), digest


def literal(merges: Merges, digest: Digest) -> dict[int, float]:
    n = len(digest.size)
    table = np.zeros((n, n))
    for c, listed, weight, tail in zip(
        digest.label, digest.listed, digest.weight, digest.tail, strict=True
    ):
        for j, w in zip(listed, weight, strict=True):
            share = float(w) / (float(weight.sum(dtype=float)) + float(tail))
            table[c, j] += share / 2
            table[j, c] += share / 2
    table /= table.sum()
    degree = table.sum(axis=1)
    groups: dict[int, list[int]] = {c: [c] for c in range(n)}
    values = {}
    for step, (a, b) in enumerate(zip(merges.left.tolist(), merges.right.tolist(), strict=True)):
        groups[n + step] = groups.pop(a) + groups.pop(b)
        values[len(groups)] = sum(
            table[np.ix_(g, g)].sum() - degree[g].sum() ** 2 for g in groups.values()
        )
    return values


@settings(max_examples=100)
@given(st.integers(0, 1 << 30))
def test_the_curve_is_newman_and_girvans(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(3, 24))
    # Every class has points.
    logits = rng.normal(size=(3 * n_classes, n_classes)) * 3
    logits[np.arange(len(logits)), np.arange(len(logits)) % n_classes] += 9
    merges, digest = merged(logits)
    expected = literal(merges, digest)
    values = modularity.curve(merges, digest, 15)
    assert [k for k, _ in values] == list(range(2, min(16, n_classes)))
    for k, q in values:
        assert q == pytest.approx(expected[k], abs=1e-12)


def test_nothing_is_confused() -> None:
    logits = np.full((4, 4), -np.inf)
    np.fill_diagonal(logits, 0.0)
    fitted = method("l2h").fit(Data({"logits": logits}), method("l2h").Params(input="log_probs"))
    assert fitted.curves == {}
    two = method("l2h").fit(Data({"logits": np.eye(2)}), method("l2h").Params())
    assert two.curves == {}


def test_a_planted_level_is_proposed(tmp_path) -> None:
    synthetic.write(tmp_path / "x.npy", 6_000, 200)
    fitted = method("l2h").fit(
        Data({"logits": np.load(tmp_path / "x.npy")}), method("l2h").Params()
    )
    proposed = levels(fitted.tree, fitted.curves)
    # The planted tree has 5 groups of 5 groups each.
    assert [(level.k, level.criterion) for level in proposed] == [(5, "modularity")]
