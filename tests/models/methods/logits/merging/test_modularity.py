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


@pytest.mark.parametrize(("n_classes", "n_groups"), [(9, 3), (12, 4), (40, 5)])
def test_levels_of_classes_are_held_against_chance(n_classes: int, n_groups: int) -> None:
    rng, l2h = np.random.default_rng(n_classes), method("l2h")
    label = np.arange(25 * n_classes) % n_classes
    alike = (label % n_groups)[:, None] == np.arange(n_classes) % n_groups
    by_chance = 0
    for _ in range(20):
        logits = rng.normal(size=alike.shape) + 6.0 * (label[:, None] == np.arange(n_classes))
        fitted = l2h.fit(Data({"logits": logits}), l2h.Params())
        by_chance += bool(levels(fitted.tree, fitted.curves))
    # More than 4 of 20 have a probability of 0.3 % where each has .05.
    assert by_chance <= 4
    fitted = l2h.fit(Data({"logits": logits + 3.0 * alike}), l2h.Params())
    level = max(levels(fitted.tree, fitted.curves), key=lambda level: level.score)
    assert (level.k, level.criterion) == (n_groups, "modularity")
    assert level.p_value <= 0.05


def test_other_classes_are_a_bijection_and_rows_are_of_every_class(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    logits = np.random.default_rng(2).normal(size=(60, 7)).astype(np.float32)
    _, digest = merged(logits)
    other = modularity._elsewhere(digest, np.random.default_rng(0))
    for row, (c, listed) in enumerate(zip(digest.label.tolist(), other.tolist(), strict=True)):
        assert sorted([c, *listed]) == list(range(7)), row
    same = (digest.label[:, None] == digest.label) & (
        digest.listed[:, None, 0] == digest.listed[:, 0]
    )
    assert (other[:, None, 0] == other[:, 0])[same].all()
    monkeypatch.setattr(modularity, "_ROWS", 20)
    some = modularity._some_rows(digest)
    assert len(some.label) < 40
    assert set(some.label.tolist()) == set(digest.label.tolist())
    assert some.size.tolist() == np.bincount(some.label, minlength=7).tolist()
