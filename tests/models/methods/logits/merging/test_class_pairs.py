"""Which classes are taken for which, against the definition row by row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models import registry
from models.answers.confusions import Confusions
from models.arrays import Arrays, Float
from models.inputs.data import Data, Earlier
from models.inputs.rows import ArrayRows
from models.methods.logits.merging import class_pairs, row_digest
from models.methods.logits.merging.class_pairs import ClassPairs
from models.methods.logits.merging.logit_matrix import LogitMatrix
from models.methods.logits.merging.row_digest import Digest
from models.running.progress import silent
from models.tree.tree import Tree
from tests.models.methods.logits.merging.cases import SHAPES, probabilities, stored

METHOD = registry.method("l2h")
RELATIVE, ABSOLUTE = 1e-5, 1e-30
"""For a listed class and for the sum of the others; float32 has no smaller probabilities."""


def softmax(values: Float, scale: float = 1.0) -> Float:
    e = np.exp((values - values.max(axis=1, keepdims=True)) * scale)
    return e / e.sum(axis=1, keepdims=True)


def literal(values: Float, scale: float, n_listed: int) -> tuple[Float, Float, Float]:
    """(mass, right, rest) of the definition, row by row, ties to the lowest class."""
    k = values.shape[1]
    mass, right, rest = np.zeros((k, k)), np.zeros(k), np.zeros(k)
    for row, p in zip(values, softmax(values, scale), strict=True):
        best = sorted(range(k), key=lambda j: (-row[j], j))
        right[best[0]] += p[best[0]]
        for j in best[1 : n_listed + 1]:
            mass[best[0], j] += p[j]
        rest[best[0]] += p[best[n_listed + 1 :]].sum()
    return mass, right, rest


def full_matrix(pairs: ClassPairs) -> Float:
    k = len(pairs.total)
    mass = np.zeros((k, k))
    np.add.at(mass, (pairs.of, pairs.taken_for), pairs.mass)
    return mass


def digest_of(matrix: LogitMatrix) -> Digest:
    return row_digest.scan(matrix, 0, matrix.shape[0], 1, silent)


@settings(max_examples=60, deadline=None)
@given(
    shape=st.sampled_from(SHAPES),
    seed=st.integers(0, 10**6),
    n=st.sampled_from((1, 2, 7, 60)),
    k=st.sampled_from((2, 3, 9, 10, 40, 300)),
    how=st.sampled_from(("float16", "float32", "float64")),
    scale=st.sampled_from((1.0, 0.25, 3.0)),
)
def test_masses_are_those_of_the_definition(
    shape: object, seed: int, n: int, k: int, how: str, scale: float
) -> None:
    assert callable(shape)
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        rows = stored(shape(rng, n, k), how)
        matrix = LogitMatrix(rows, temperature=1.0 / scale)
        values = rows.array.astype(np.float64)
        mass, right, rest = literal(values, matrix.scale, 8)
    pairs = class_pairs.class_pairs(digest_of(matrix))
    n = len(values)
    np.testing.assert_allclose(full_matrix(pairs), mass, rtol=RELATIVE, atol=n * ABSOLUTE)
    np.testing.assert_allclose(pairs.rest, rest, rtol=1e-4, atol=n * ABSOLUTE)
    np.testing.assert_allclose(pairs.right, right, rtol=1e-4)
    assert (pairs.total == np.bincount(values.argmax(axis=1), minlength=k)).all()
    assert (pairs.of != pairs.taken_for).all()
    assert (pairs.mass > 0).all()


def test_a_table_and_lists_of_classes_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(3).normal(size=(900, 40)) * 2
    digest = digest_of(LogitMatrix(ArrayRows(values)))
    as_table = class_pairs.class_pairs(digest)
    monkeypatch.setattr(class_pairs, "_TABLE_BYTES", 0)
    by_class = class_pairs.class_pairs(digest)
    assert (full_matrix(as_table) == full_matrix(by_class)).all()
    assert (as_table.rest == by_class.rest).all()
    np.testing.assert_allclose(as_table.right, by_class.right, rtol=1e-14)


@pytest.mark.parametrize("table_bytes", [0, 32 << 20])
def test_only_the_largest_pairs_are_kept(table_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(class_pairs, "_TABLE_BYTES", table_bytes)
    values = np.random.default_rng(4).normal(size=(500, 30)) * 2
    digest = digest_of(LogitMatrix(ArrayRows(values)))
    whole = class_pairs.class_pairs(digest)
    part = class_pairs.class_pairs(digest, 50)
    assert sorted(part.mass) == sorted(whole.mass)[-50:]
    assert part.n_dropped == len(whole.mass) - 50
    assert part.dropped == pytest.approx(whole.mass.sum() - part.mass.sum())
    assert (part.right == whole.right).all()
    equal = replace(digest, weight=np.ones_like(digest.weight), second=digest.second * 0 + 0.1)
    assert len(class_pairs.class_pairs(equal, 50).mass) == 50


def test_probabilities_and_pieces() -> None:
    rng = np.random.default_rng(5)
    logits = rng.normal(size=(300, 12)) * 3
    given_as = probabilities(logits, rng)
    matrix = LogitMatrix(ArrayRows(given_as), "probs")
    mass, _, _ = literal(np.log(given_as.clip(1e-300)), 1.0, 8)
    np.testing.assert_allclose(
        full_matrix(class_pairs.class_pairs(digest_of(matrix))), mass, rtol=1e-4, atol=1e-20
    )
    parts = [row_digest.scan(matrix, a, b, 1, silent) for a, b in ((0, 100), (100, 300))]
    halves = class_pairs.class_pairs(row_digest.joined(parts))
    assert (full_matrix(halves) == full_matrix(class_pairs.class_pairs(digest_of(matrix)))).all()


def test_best_classes_only_bound_the_masses() -> None:
    values = np.random.default_rng(6).normal(size=(200, 20)) * 2
    top = np.argsort(-values, axis=1)[:, :5]
    best = np.take_along_axis(values, top, axis=1)
    # Logits: the missing ones have at most the least probability given.
    exact, exact_right, _ = literal(values, 1.0, 4)
    params = METHOD.Params.model_validate({"n_classes": 20})
    fit = METHOD.fit(Data({"logits": best, "top_classes": top.astype(np.int32)}), params)
    confusions = METHOD.confusions(fit.model, fit.tree)
    mass = confusions.matrix(fit.tree.leaves)
    assert (mass <= np.where(np.eye(20) > 0, exact_right, exact) * (1 + 1e-5)).all()
    assert mass.sum() + confusions.rest == pytest.approx(200)
    assert "only the 4 given other classes" in confusions.warnings[0]
    # Probabilities: what is missing is known in sum.
    probs = np.take_along_axis(softmax(values), top, axis=1)
    params = METHOD.Params.model_validate({"n_classes": 20, "input": "probs"})
    fit = METHOD.fit(Data({"logits": probs, "top_classes": top.astype(np.int32)}), params)
    mass = METHOD.confusions(fit.model, fit.tree).matrix(fit.tree.leaves)
    np.fill_diagonal(exact, exact_right)
    np.testing.assert_allclose(mass, exact, rtol=1e-4)
    # One class a row says nothing of others.
    one = {"logits": best[:, :1], "top_classes": top[:, :1].astype(np.int32)}
    fit = METHOD.fit(Data(one), METHOD.Params.model_validate({"n_classes": 20}))
    assert METHOD.confusions(fit.model, fit.tree) is None


def test_a_job_that_grows_adds_its_rows_to_the_earlier_ones() -> None:
    values = np.random.default_rng(8).normal(size=(400, 15))
    growable = METHOD.Params.model_validate({"growable": True})
    first = METHOD.fit(Data({"logits": values[:250]}), growable)
    whole = METHOD.fit(Data({"logits": values}), growable)

    def grown(state: Arrays) -> tuple[Confusions, Tree]:
        rows = {"logits": [ArrayRows(values[:250])]}
        base = Earlier("l2h", growable.model_dump(), first.tree, state, rows)
        fit = METHOD.fit(Data({"logits": values[250:], "base": base}), growable)
        return METHOD.confusions(fit.model, fit.tree), fit.tree

    confusions, tree = grown(first.state)
    same = METHOD.confusions(whole.model, whole.tree)
    assert (confusions.matrix(tree.leaves) == same.matrix(whole.tree.leaves)).all()
    # A job of an earlier version kept no probabilities: its rows are left out, with a warning.
    old = {name: array for name, array in first.state.items() if name != "digest.second"}
    confusions, tree = grown(old)
    assert confusions.n_rows == 150
    assert "250 row(s) of the job in 'base' are left out" in confusions.warnings[-1]
    model = replace(first.model, arrays={"leaf_of_class": first.model.arrays["leaf_of_class"]})
    assert METHOD.confusions(model, first.tree) is None
