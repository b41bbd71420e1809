"""What each replicate of a fit gets, and when replicates end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from models.errors import UsageError
from models.inputs.data import Earlier
from models.inputs.label_sets import LabelSets
from models.inputs.rows import ArrayRows, Rows
from models.running.progress import Alone, silent
from models.tree import class_paths
from models.tree.build import from_parents
from workers.work import support
from workers.work.plan import Plan


@pytest.mark.parametrize(
    "edges",
    [
        np.array([["a", "b"], ["b", "c"], ["c", "d"]], dtype=object),
        np.array([["a", "b"], ["b", "c"]], dtype=object),
        np.array([[0, 1], [1, 2]]),
    ],
    ids=["three", "two", "two of numbers"],
)
def test_labels_are_drawn_with_their_rows_and_edges_are_not(
    monkeypatch: pytest.MonkeyPatch, edges: np.ndarray[Any, Any]
) -> None:
    drawn: dict[str, Any] = {}

    def run_plan(plan: Plan, values: dict[str, Any], *rest: Any) -> None:
        drawn.update(values)
        raise UsageError("Not fitted.")

    monkeypatch.setattr(support, "run_plan", run_plan)
    rng = np.random.default_rng(3)
    has = rng.random((20, 4)) < 0.4
    unknown = ~has.any(axis=1)
    row, code = np.nonzero(has)
    start = np.searchsorted(row, np.arange(21))
    values = {
        "graph": edges,
        "labels": LabelSets(start, code, ["a", "b", "c", "d"], unknown),
        "features": np.arange(20.0).reshape(20, 1),
    }
    replicates = support.Replicates(support.Support(seed=2), Plan("hac", {}, (), None), values, 1)
    assert replicates.compute({"replicate": 5}, silent)["row"].size == 0
    chosen = drawn["features"][:, 0].astype(int)
    assert len(set(chosen.tolist())) < 20
    labels = drawn["labels"]
    assert labels.shape == (20,)
    again = np.zeros((20, 4), dtype=bool)
    again[np.repeat(np.arange(20), np.diff(labels.start)), labels.code] = True
    np.testing.assert_array_equal(again, has[chosen])
    np.testing.assert_array_equal(labels.unlabelled, unknown[chosen])
    assert drawn["graph"] is edges


def test_pairs_of_rows_are_those_of_the_drawn_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: dict[str, Any] = {}

    def run_plan(plan: Plan, values: dict[str, Any], *rest: Any) -> None:
        drawn.update(values)
        raise UsageError("Not fitted.")

    monkeypatch.setattr(support, "run_plan", run_plan)
    pairs = np.random.default_rng(0).integers(0, 12, (15, 2)).astype(np.float64)
    values = {"must_link": pairs, "features": np.arange(12.0).reshape(12, 1)}
    plan = Plan("fda", {}, (), None)
    support.Replicates(support.Support(seed=1), plan, values, 1).compute({"replicate": 0}, silent)
    chosen = drawn["features"][:, 0].astype(int).tolist()
    expected = [
        (first, second)
        for one, other in pairs.tolist()
        for first, row in enumerate(chosen)
        for second, another in enumerate(chosen)
        if (row, another) == (one, other)
    ]
    assert len(set(chosen)) < 12
    assert sorted(map(tuple, drawn["must_link"].tolist())) == sorted(expected)


def captured(monkeypatch: pytest.MonkeyPatch, values: dict[str, Any], **options: Any) -> Any:
    """The values that a replicate is fitted to, and the arrays that it gives."""
    drawn: dict[str, Any] = {}

    def run_plan(plan: Plan, values: dict[str, Any], *rest: Any) -> None:
        drawn.update(values)
        raise UsageError("Not fitted.")

    monkeypatch.setattr(support, "run_plan", run_plan)
    replicates = support.Replicates(support.Support(**options), Plan("hac", {}), values, 1)
    return drawn, replicates.compute({"replicate": 3}, silent)


def test_subsamples_are_a_share_of_the_rows_each_once(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"features": np.arange(20.0).reshape(20, 1)}
    drawn, _ = captured(monkeypatch, values, resample="subsamples", share=0.3)
    assert len(drawn["features"]) == len(np.unique(drawn["features"])) == 6


@pytest.mark.parametrize("kind", ["array", "rows", "float16", "bfloat16"])
def test_noise_is_that_of_each_column(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    rng = np.random.default_rng(0)
    scale = np.array([1.0, 10.0, 0.0])
    values = (scale * rng.normal(size=(3000, 3))).astype(np.float32)
    given: Any = values
    if kind == "bfloat16":
        bits = (values.view(np.uint32) >> 16).astype(np.uint16)
        given = ArrayRows(bits, bfloat16=True)
    elif kind != "array":
        given = ArrayRows(values.astype(np.float16 if kind == "float16" else np.float64))
    drawn, _ = captured(monkeypatch, {"logits": given}, resample="noise", noise=0.5)
    noisy = drawn["logits"]
    if isinstance(noisy, Rows):
        assert noisy.shape == (3000, 3)
        own = noisy.read(0, 3000)
        assert own.dtype == noisy.dtype
        # The noise of a row does not depend on how it is read.
        np.testing.assert_array_equal(noisy.read(1000, 1100), own[1000:1100])
        some = np.array([0, 5, 1023, 1024, 2999])
        np.testing.assert_array_equal(noisy.take(some), own[some])
        noisy = own
    apart = noisy - values
    np.testing.assert_allclose(apart.std(axis=0), 0.5 * scale, rtol=0.1, atol=0.01)
    assert np.abs(apart.mean(axis=0)).max() < 0.5
    again, _ = captured(monkeypatch, {"logits": given}, resample="noise", noise=0.5, seed=1)
    other = again["logits"]
    other = other.read(0, 3000) if isinstance(other, Rows) else other
    assert not np.array_equal(other, noisy)


def test_noise_needs_dense_features_or_logits(monkeypatch: pytest.MonkeyPatch) -> None:
    sparse = sp.csr_array(np.eye(4))
    for values, message in (
        ({"features": sparse}, "zeros it would fill"),
        ({"distances": np.ones((4, 4))}, "has neither"),
    ):
        with pytest.raises(UsageError, match=message):
            captured(monkeypatch, values, resample="noise")


class Fitted:
    """Replicates whose trees are given: the pair (0, 1) recurs where `recurs` of the number."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, recurs: Any, **options: Any) -> None:
        values = {"features": np.zeros((4, 1))}
        self.replicates = support.Replicates(
            support.Support(resample="noise", **options), Plan("hac", {}), values, 1
        )
        self.recurs = recurs
        monkeypatch.setattr(self.replicates, "compute", self.compute)
        self.fractions: list[float] = []

    def compute(self, piece: Any, _: Any) -> Any:
        number = int(piece["replicate"])
        recurs = self.recurs(number)
        if recurs is None:
            none = np.empty(0, dtype=np.int32)
            why = np.frombuffer(b"Too few rows.", dtype=np.uint8)
            return {"parent": none, "leaf_of_point": none, "row": none.astype(np.int64), "why": why}
        leaf = np.array([3, 4, 5, 6] if recurs else [3, 5, 4, 6], dtype=np.int32)
        parent = np.array([-1, 0, 0, 1, 1, 2, 2], dtype=np.int32)
        return {"parent": parent, "leaf_of_point": leaf, "row": np.arange(4)}

    def supported(self) -> Any:
        tree = from_parents(
            np.array([-1, 0, 0, 1, 1, 2, 2]),
            np.array([2.0, 1, 1, 0, 0, 0, 0]),
            [None] * 7,
            leaf_of_point=np.array([3, 4, 5, 6]),
        )

        def progress(fraction: float, stage: str, message: str = "") -> None:
            self.fractions.append(fraction)

        def crew_of(part: Any) -> Alone:
            def piece(piece: Any, own: Any) -> Any:
                own(1.0, "fitting")
                return self.replicates.compute(piece, own)

            return Alone(piece, progress=part)

        return self.replicates.supported(tree, crew_of, progress)


def test_replicates_stop_when_more_would_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = Fitted(monkeypatch, lambda number: True, stop=True, replicates=1000)
    tree, facts, warnings = fitted.supported()
    assert facts == {
        "replicates": 50,
        "failed": 0,
        "halves": {"correlation": 1.0, "alike": 1.0},
    }
    assert warnings == []
    assert tree.extra["support"][1:3].tolist() == [1.0, 1.0]
    assert fitted.fractions == sorted(fitted.fractions)


def test_replicates_that_disagree_are_all_made(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = Fitted(monkeypatch, lambda number: number % 2, stop=True, replicates=120)
    tree, facts, (warning,) = fitted.supported()
    assert facts["replicates"] == 120
    assert "would still change" in warning
    assert tree.extra["support"][1] == 0.5
    assert max(fitted.fractions) == pytest.approx(1.0)


def test_replicates_that_failed_are_counted_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = Fitted(monkeypatch, lambda number: None if number < 3 else True, replicates=5)
    tree, facts, (warning,) = fitted.supported()
    assert (facts["replicates"], facts["failed"], facts["halves"]) == (2, 3, None)
    assert warning.startswith("3 of 5 replicates could not be fitted")
    assert warning.endswith("Too few rows.")
    assert tree.extra["support"][1] == 1.0


def test_a_large_tree_takes_no_transfer_support(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(support, "TRANSFER_STEPS", 100)
    with pytest.raises(UsageError, match="takes hours"):
        Fitted(monkeypatch, lambda number: True, measure="transfer").supported()


def test_growing_that_is_not_exact_has_no_support() -> None:
    whole = from_parents(
        np.array([-1, 0, 0]), np.array([1.0, 0, 0]), [None] * 3, leaf_of_point=np.array([1, 2])
    )
    base = Earlier("perch", {}, whole, {}, {})
    values = {"features": np.zeros((4, 1)), "base": base}
    with pytest.raises(UsageError, match="another tree"):
        support.Replicates(support.Support(), Plan("perch", {}), values, 1)


def test_growing_from_rows_that_are_gone_has_no_support() -> None:
    whole = from_parents(
        np.array([-1, 0, 0]), np.array([1.0, 0, 0]), [None] * 3, leaf_of_point=np.array([1, 2])
    )
    base = Earlier("l2h", {}, whole, {"parts": np.array([2])}, {"logits": [None]})
    values = {"logits": np.zeros((4, 2)), "base": base}
    with pytest.raises(UsageError, match="are gone"):
        support.Replicates(support.Support(), Plan("l2h", {}), values, 1)


def test_constraints_of_points_are_drawn_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs and edges by name are by number; beside a known tree each copy keeps its name."""
    names = [f"n{row}" for row in range(12)]
    pairs = np.array([["n0", "n5"], ["n5", "n7"]], dtype=object)
    tree = class_paths.read("top/n0\ntop/n5\nn7")
    values = {
        "features": np.arange(12.0).reshape(12, 1),
        "cannot_link": pairs,
        "graph": np.array([[0, 5], [5, 7], [7, 8]]),
        "hierarchy": tree,
        "names": names,
    }
    drawn: dict[str, Any] = {}

    def run_plan(plan: Plan, values: dict[str, Any], *rest: Any) -> None:
        drawn.update(values)
        raise UsageError("Not fitted.")

    monkeypatch.setattr(support, "run_plan", run_plan)
    plan = Plan("hac", {}, (), None)
    support.Replicates(support.Support(seed=1), plan, values, 1).compute({"replicate": 0}, silent)
    chosen = drawn["features"][:, 0].astype(int).tolist()
    assert drawn["names"] == [names[row] for row in chosen]
    assert drawn["hierarchy"] is tree
    for role, wanted in (("cannot_link", [[0, 5], [5, 7]]), ("graph", values["graph"].tolist())):  # type: ignore[attr-defined]
        expected = [
            (first, second)
            for one, other in wanted
            for first, row in enumerate(chosen)
            for second, another in enumerate(chosen)
            if (row, another) == (one, other)
        ]
        assert expected
        assert sorted(map(tuple, drawn[role].tolist())) == sorted(expected)


def test_support_under_constraints_by_the_whole_way() -> None:
    points = np.random.default_rng(0).normal(size=(20, 3))
    values: dict[str, Any] = {
        "features": points,
        "must_link": np.array([["0", "5"], ["5", "7"]], dtype=object),
        "cannot_link": np.array([[0, 19]]),
        "hierarchy": class_paths.read("a/1\na/2\nb/3\nb/4"),
    }
    replicates = support.Replicates(support.Support(seed=3), Plan("hac", {}, (), None), values, 1)
    for number in range(5):
        assert replicates.compute({"replicate": number}, silent)["row"].size == 20
