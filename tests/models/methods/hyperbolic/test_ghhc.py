"""gHHC on data with a known answer; its inputs, model, warnings and refusals."""

from __future__ import annotations

import tracemalloc
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from models import registry
from models.errors import UsageError
from models.inputs.data import Data, Earlier
from models.inputs.rows import ArrayRows
from models.method import Fitted
from models.methods.hyperbolic.ball import extraction, parameters, points
from models.methods.hyperbolic.ball.parameters import training_of
from models.methods.hyperbolic.ghhc import GHHCParams
from models.metrics.hierarchical import dendrogram_purity
from models.metrics.inputs import classes_of
from models.tree.walk import lca
from umbel.testing.lost_worker import MemoryCheckpoint

pytestmark = pytest.mark.needs("torch")

METHOD = registry.method("ghhc")
QUICK: dict[str, Any] = {"n_internal": 15, "max_iter": 60, "n_init": 2, "batch_size": 40}


@pytest.fixture(autouse=True)
def _short_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parameters, "ROUND", 20)


def fit(features: Any, base: Earlier | None = None, **params: Any) -> Fitted:
    inputs = {"features": features} | ({} if base is None else {"base": base})
    torch.set_num_threads(1)
    return METHOD.fit(Data(inputs), GHHCParams(**{**QUICK, **params}))


def purity(fitted: Fitted, labels: np.ndarray) -> float:
    value = dendrogram_purity(fitted.tree, classes_of(labels, len(labels))).value
    assert value is not None
    return value


def branches(each: int = 20, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Six groups, two on each of three axes' sides: (points, group); groups 2 g and 2 g + 1 are
    near each other."""
    rng = np.random.default_rng(seed)
    middle = 20.0 * np.repeat(np.eye(6)[:3], 2, axis=0) + 5.0 * np.eye(6)[[3, 4, 3, 4, 3, 4]]
    group = np.repeat(np.arange(6), each)
    return middle[group] + 0.4 * rng.normal(size=(6 * each, 6)), group


@cache
def planted() -> Fitted:
    """The fit to `branches`."""
    return fit(branches()[0])


@pytest.mark.parametrize("seeding", ["k-means", "k-means++", "afk-mc2"])
@pytest.mark.parametrize("scaling", ["unit", "largest"])
def test_groups_and_groups_of_groups_are_found(seeding: str, scaling: str) -> None:
    features, group = branches()
    fitted = fit(features, seeding=seeding, scaling=scaling)
    assert purity(fitted, group) > 0.98
    assert purity(fitted, group // 2) > 0.98
    assert fitted.metrics["cost"] <= fitted.metrics["cost_of_seeds"]


@pytest.mark.parametrize(
    "params",
    [
        {"optimizer": "adam", "learning_rate": 0.003},
        {"optimizer": "sgd", "learning_rate": 0.05, "decay": False},
        {"perplexity": None},
        {"perplexity": 3.0},
        {"loss": "sigmoid"},
        {"loss": "softplus"},
        {"loss": "sigmoid", "margin": 0.25},
        {"structure": "norms", "structure_every": 1},
        {"structure_every": 7},
        {"loss": "sigmoid", "mask": "likeliest"},
        {"loss": "sigmoid", "noise": 0.0},
        {"loss": "sigmoid", "temperature": 1.0, "perplexity": None},
        {"placement": "order"},
        {"point_norm": 0.999, "max_norm": 0.99},
        {"n_neighbors": 15},
        {"batch_size": 7},
    ],
)
def test_every_way_finds_the_groups(params: dict[str, Any]) -> None:
    features, group = branches()
    assert purity(fit(features, **params), group) > 0.95


def test_random_nodes_learn() -> None:
    """Without a tree of seeds, the steps alone learn a tree."""
    features, group = branches()
    ways: dict[str, Any] = {"seeding": "points", "n_init": 1, "learning_rate": 0.05}
    ways |= {"structure": "distance", "gamma": 0.25}
    start = fit(features, max_iter=0, **ways)
    moved = fit(features, max_iter=400, **ways)
    assert moved.metrics["cost"] < start.metrics["cost"]
    assert purity(moved, group) > purity(start, group)
    assert start.curves["cost"] == [(0, start.metrics["cost"])]


def test_steps_lower_the_cost_of_groups_that_overlap() -> None:
    """They lower it more than steps of the ranking objective do, each from its own start."""
    rng = np.random.default_rng(0)
    group = rng.integers(12, size=200)
    features = rng.normal(size=(12, 8))[group] + 0.7 * rng.normal(size=(200, 8))
    shares = {}
    for loss, params in (
        ("expected", {"max_iter": 200}),
        ("sigmoid", {"max_iter": 500, "optimizer": "sgd", "learning_rate": 0.05, "decay": False}),
    ):
        fits = [fit(features, loss=loss, seed=seed, n_internal=31, **params) for seed in range(2)]
        ratios = [fitted.metrics["cost"] / fitted.metrics["cost_of_seeds"] for fitted in fits]
        shares[loss] = float(np.mean(ratios))
    assert shares["expected"] < 0.9
    assert shares["expected"] < shares["sigmoid"] - 0.05


def test_new_points_go_to_their_group_with_its_ancestors() -> None:
    fitted = planted()
    new, group = branches(seed=5)
    predictions = METHOD.predict(fitted.model, fitted.tree, Data({"features": new}))
    joined = np.concatenate([fitted.tree.leaf_of_point, predictions.leaf])
    both = np.concatenate([group, group])
    meet = lca(fitted.tree, joined[:, None].repeat(12, 1).ravel(), np.tile(joined[::20], 240))
    alike = (both[:, None] == both[::20]).ravel()
    size = fitted.tree.size[meet]
    assert size[alike].max() <= 20
    assert size[~alike].min() >= 40
    assert predictions.probability[predictions.start[:-1]] == pytest.approx(1.0)
    last = predictions.probability[predictions.start[1:] - 1]
    assert ((last > 0) & (last < 1)).all()
    few = METHOD.predict(fitted.model, fitted.tree, Data({"features": new[:0]}))
    assert (few.leaf.size, few.start.tolist()) == (0, [0])


def test_points_within_a_leaf_are_separated_and_found_again() -> None:
    features, group = branches()
    fitted = fit(features, below="average")
    shared = planted()
    assert fitted.tree.n_leaves == len(features)
    assert purity(fitted, group) >= purity(shared, group)
    assert fitted.tree.parent[: shared.tree.n_nodes].tolist() == shared.tree.parent.tolist()
    predictions = METHOD.predict(fitted.model, fitted.tree, Data({"features": features}))
    assert (predictions.leaf == fitted.tree.leaf_of_point).all()
    above = METHOD.predict(shared.model, shared.tree, Data({"features": features}))
    for row in range(len(features)):
        path = slice(predictions.start[row], predictions.start[row + 1])
        short = slice(above.start[row], above.start[row + 1])
        n_above = short.stop - short.start
        assert predictions.node[path][:n_above].tolist() == above.node[short].tolist()
        expected = above.probability[short]
        assert predictions.probability[path][:n_above] == pytest.approx(expected)
        assert predictions.probability[path][n_above:] == pytest.approx(expected[-1])


def test_prediction_is_the_same_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    from models.methods.hyperbolic.ball import placing

    features, _ = branches()
    fitted = planted()
    whole = METHOD.predict(fitted.model, fitted.tree, Data({"features": features}))
    rows = placing.row_blocks
    monkeypatch.setattr(placing, "row_blocks", lambda n, length, values: rows(n, 1, 7))
    parts = METHOD.predict(fitted.model, fitted.tree, Data({"features": features}))
    assert (parts.leaf == whole.leaf).all()
    assert (parts.node == whole.node).all()
    assert parts.probability == pytest.approx(whole.probability, rel=1e-9)


def test_the_fit_has_uncertainty_curves_and_embedding() -> None:
    fitted = planted()
    tree, model = fitted.tree, fitted.model
    columns = tree.extra
    inner = np.arange(1, len(model.arrays["embedding"]))
    assert (columns["parent_probability"][1:] > 0).all()
    assert (
        columns["alternative_1_probability"][inner[1:]]
        <= columns["parent_probability"][2:][: len(inner) - 1]
    ).all()
    assert np.isnan(columns["parent_probability"][0])
    assert fitted.point_columns["parent_probability"].shape == (120,)
    assert fitted.metrics["log_probability"] < 0
    steps = [step for step, _ in fitted.curves["objective"]]
    assert steps == [20, 40, 60]
    assert [step for step, _ in fitted.curves["cost"]] == [0, 20, 40, 60]
    norm = np.linalg.norm(model.arrays["embedding"].astype(np.float64), axis=1)
    assert columns["norm"][: len(norm)] == pytest.approx(2 * np.arctanh(norm))
    assert (np.diff(norm) >= 0).all()
    assert (norm <= 0.95 + 1e-6).all()


def test_progress_reports_the_objective() -> None:
    reports: list[str] = []
    METHOD.fit(
        Data({"features": branches()[0]}),
        GHHCParams(**QUICK),
        lambda fraction, stage, message="": reports.append(f"{stage}: {message}"),
    )
    steps = [report for report in reports if report.startswith("moving nodes")]
    assert any("step 30 of 60, objective" in step and "cost" in step for step in steps)


def test_a_fit_starts_from_an_earlier_job() -> None:
    features, group = branches()
    first = fit(features, seeding="points", n_init=1, max_iter=100, learning_rate=0.05)
    params = {**QUICK, "seeding": "points"}
    earlier = Earlier("ghhc", GHHCParams(**params).model_dump(), first.tree, first.state, {})
    again = fit(features, earlier, max_iter=0)
    assert again.metrics["cost"] == pytest.approx(first.metrics["cost"])
    assert (again.tree.parent == first.tree.parent).all()
    assert (again.state["nodes"] == first.state["nodes"]).all()
    new, _ = branches(seed=3)
    more = fit(new, earlier, max_iter=100, learning_rate=0.05)
    assert more.tree.n_points == 120
    assert more.metrics["cost"] <= more.metrics["cost_of_seeds"]
    assert purity(more, group) > purity(first, group) - 0.05


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"method": "l2h"}, "must be a job of method 'ghhc'"),
        ({"state": {}}, "must be a job of method 'ghhc'"),
        ({"params": {"n_internal": 16}}, "Parameter 'n_internal' is 15; the job in 'base' had 16"),
        ({"params": {**QUICK, "scaling": "largest"}}, "Parameter 'scaling' is 'unit'"),
        ({"state": {"nodes": np.zeros((15, 2))}}, "6 columns; the model was fitted on 2"),
    ],
)
def test_a_base_that_does_not_fit_is_refused(change: dict[str, Any], match: str) -> None:
    features, _ = branches()
    state = {"nodes": np.zeros((15, 6)), "mean": np.zeros(6), "factor": np.array(1.0)}
    base = {"method": "ghhc", "params": QUICK, "tree": None, "state": state, "rows": {}}
    with pytest.raises(UsageError, match=match):
        fit(features, Earlier(**{**base, **change}))


def test_a_mapped_file_larger_than_a_pool_gives_the_same_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    features, group = branches(each=100)
    np.save(tmp_path / "features.npy", features)
    monkeypatch.setattr(points, "MOST_POINTS", 150)
    rows = ArrayRows(np.load(tmp_path / "features.npy", mmap_mode="r"))
    fitted = fit(rows, max_iter=160)
    assert purity(fitted, group) > 0.98
    assert fitted.warnings[0] == (
        "Triples came from 4 pool(s) of 150 of the 600 points; neighbours are the nearest within "
        "a pool, and seeds are points of the first."
    )


def test_a_learning_rate_that_diverges_is_stopped_with_a_warning() -> None:
    features, group = branches()
    fitted = fit(features, learning_rate=30.0, max_iter=3000)
    assert fitted.warnings[-1].startswith("The fit diverged and was stopped: after ")
    assert fitted.warnings[-1].endswith("Lower 'learning_rate'.")
    assert purity(fitted, group) > 0.98
    assert len(fitted.curves["objective"]) < 100
    nodes = fitted.state["nodes"]
    assert np.isfinite(nodes).all()


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("rate", [100.0, 1e4, 1e6])
def test_no_learning_rate_is_too_large_to_be_noticed(optimizer: str, rate: float) -> None:
    """Also where few nodes over few groups make any tree a good one."""
    features = np.repeat(20.0 * np.eye(4), 15, axis=0)
    features += np.random.default_rng(0).normal(size=features.shape)
    params = {"n_internal": 11, "optimizer": optimizer, "learning_rate": rate, "max_iter": 1000}
    kept = MemoryCheckpoint()
    fitted = METHOD.fit(
        Data({"features": features}), GHHCParams(**{**QUICK, **params}), checkpoint=kept
    )
    assert "The fit diverged and was stopped: after " in fitted.warnings[-1]
    for state in kept.states:
        assert np.isfinite(state["moving"]).all()
        assert np.isfinite(state["nodes"]).all()
    if rate == 1e6:
        match = r"diverged and was stopped.*Lower 'learning_rate'"
        with pytest.raises(UsageError, match=match) as no:
            fit(features, keep="last", **params)
        assert (no.value.code, no.value.where) == ("diverged", {"parameter": "learning_rate"})


def test_duplicates_are_taken() -> None:
    features, group = branches()
    twice = np.repeat(features, 3, axis=0)
    assert purity(fit(twice), np.repeat(group, 3)) > 0.98


@pytest.mark.parametrize("scaling", ["unit", "largest"])
def test_a_row_a_million_million_times_the_others_does_not_hide_their_groups(scaling: str) -> None:
    features, group = branches()
    features[7] *= 1e12
    fitted = fit(features, scaling=scaling)
    assert purity(fitted, group) > 0.95
    assert fitted.warnings[0].startswith("1 row(s), the first of them row 7, lie more than 100,000")


def test_few_distinct_points_make_fewer_nodes() -> None:
    corners = np.repeat(np.eye(4), 10, axis=0)
    fitted = fit(corners)
    assert fitted.warnings[0] == (
        "There are 4 distinct points, so the tree has 7 nodes to move, not 'n_internal' = 15."
    )
    assert "Points have 3 neighbours at other places, not 'n_neighbors' = 5." in fitted.warnings
    assert purity(fitted, np.repeat(np.arange(4), 10)) == 1.0


def test_two_distinct_points_and_one() -> None:
    two = fit(np.repeat(np.eye(2), 10, axis=0))
    assert two.tree.n_leaves == 2
    single = fit(np.full((20, 3), 7.5))
    assert (single.tree.n_nodes, single.tree.n_points) == (1, 20)
    assert any(
        "20 point(s) lie at the mean of all points" in warning for warning in single.warnings
    )
    predictions = METHOD.predict(single.model, single.tree, Data({"features": np.zeros((2, 3))}))
    assert predictions.leaf.tolist() == [0, 0]


@pytest.mark.parametrize("scaling", ["unit", "largest", "none"])
def test_features_of_zeros_only(scaling: str) -> None:
    fitted = fit(np.zeros((20, 3)), scaling=scaling)
    assert (fitted.tree.n_nodes, fitted.tree.n_points) == (1, 20)
    assert np.isfinite(fitted.model.arrays["embedding"]).all()


def test_a_file_is_never_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only blocks, a pool and a few numbers per point of a file of 102 MB are in memory."""
    planted()  # Modules that are imported late are loaded now.
    monkeypatch.setattr(points, "MOST_POINTS", 1000)
    for module in (points, extraction):
        monkeypatch.setattr(module, "_BLOCK", 1 << 18)
    n_points = 40_000
    features = np.lib.format.open_memmap(
        tmp_path / "features.npy", "w+", np.float32, (n_points, 640)
    )
    rng = np.random.default_rng(0)
    middle = 10 * rng.normal(size=(6, 640)).astype(np.float32)
    for start in range(0, n_points, 10_000):
        group = rng.integers(6, size=10_000)
        features[start : start + 10_000] = middle[group]
        features[start : start + 10_000, :4] += rng.normal(size=(10_000, 4))
    del features
    rows = ArrayRows(np.load(tmp_path / "features.npy", mmap_mode="r"))
    tracemalloc.start()
    fitted = fit(rows, n_init=1, max_iter=20)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert fitted.tree.n_points == n_points
    assert peak < 48e6


def late(n: int, column: int, value: float, tmp_path: Path) -> ArrayRows:
    """A mapped file with one odd value in its last row."""
    features = branches(each=n // 6)[0] / 100
    features[-1, column] = value
    np.save(tmp_path / "features.npy", features)
    return ArrayRows(np.load(tmp_path / "features.npy", mmap_mode="r"))


@pytest.mark.parametrize(
    ("value", "params", "code"),
    [
        (np.nan, {}, "not-finite"),
        (-np.inf, {"scaling": "largest"}, "not-finite"),
        (1e300, {}, "too-large"),
        (1.0, {"scaling": "none"}, "outside-the-ball"),
    ],
)
def test_a_bad_row_late_in_a_file_is_named_before_any_step(
    value: float,
    params: dict[str, Any],
    code: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(points, "MOST_POINTS", 150)
    monkeypatch.setattr(points, "_BLOCK", 100 * 6)
    kept = MemoryCheckpoint()
    with pytest.raises(UsageError) as caught:
        METHOD.fit(
            Data({"features": late(600, 3, value, tmp_path)}),
            GHHCParams(**{**QUICK, **params}),
            checkpoint=kept,
        )
    assert caught.value.code == code
    if code != "too-large":
        assert caught.value.where["row"] == 599
        assert "row 599" in caught.value.detail
    assert kept.states == []


class Turning(ArrayRows):
    """A file that changes while it is read: from then on its last row is NaN."""

    n_read = 0

    def read(self, start: int, stop: int) -> np.ndarray:
        values = super().read(start, stop)
        if stop == self.shape[0]:
            self.n_read += 1
            if self.n_read > 2:
                values = values.copy()
                values[-1, 2] = np.nan
        return values


def test_a_row_that_turns_bad_during_a_fit_leaves_a_good_checkpoint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(points, "MOST_POINTS", 150)
    monkeypatch.setattr(points, "_STRETCHES", 2)
    features, _ = branches(each=100)
    kept = MemoryCheckpoint()
    with pytest.raises(UsageError, match="NaN at row 599, column 2") as caught:
        METHOD.fit(
            Data({"features": Turning(features)}),
            GHHCParams(**{**QUICK, "max_iter": 160}),
            checkpoint=kept,
        )
    assert caught.value.code == "not-finite"
    assert len(kept.states) >= 2
    assert all(np.isfinite(state["moving"]).all() for state in kept.states)


def test_the_approximate_index_of_many_points_is_warned_of() -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(10_500, 3)) + 5 * np.eye(3)[rng.integers(3, size=10_500)]
    fitted = fit(features, max_iter=0, n_init=1)
    assert fitted.warnings[0].startswith("Neighbours come from an approximate index, which found ")


def test_an_impossible_number_of_processes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    features, _ = branches()
    with pytest.raises(UsageError, match="at most 'batch_size', 4"):
        fit(features, processes=5, batch_size=4)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(UsageError, match="separate GPU, and there are 1 where") as caught:
        fit(features, processes=2, device="cuda")
    assert (caught.value.code, caught.value.where) == ("no-gpu", {"parameter": "processes"})


def test_zero_rows_are_taken_with_a_warning_where_they_are_the_mean() -> None:
    features = np.concatenate([np.eye(5), -np.eye(5), np.zeros((6, 5))])
    fitted = fit(features)
    assert any("6 point(s) lie at the mean of all points" in warning for warning in fitted.warnings)


@pytest.mark.parametrize(
    ("features", "params", "code", "part"),
    [
        (np.eye(1), {}, "too-few-points", "'features' has only one point"),
        (2 * np.eye(20), {"scaling": "none"}, "outside-the-ball", "row 0"),
        (1e200 * np.eye(20), {}, "too-large", "would overflow"),
    ],
)
def test_unusable_input_is_named(
    features: np.ndarray, params: dict[str, Any], code: str, part: str
) -> None:
    with pytest.raises(UsageError) as caught:
        fit(features, **params)
    assert caught.value.code == code
    assert part in caught.value.detail


@pytest.mark.parametrize(("n_points", "n_nodes"), [(2, 3), (14, 27), (60, 64)])
def test_fewer_points_than_nodes_are_taken(n_points: int, n_nodes: int) -> None:
    rng = np.random.default_rng(0)
    fitted = METHOD.fit(
        Data({"features": rng.normal(size=(n_points, 4))}), METHOD.Params(max_iter=5, n_init=1)
    )
    assert fitted.tree.n_points == n_points
    fewer = f"the tree has {n_nodes} nodes to move, not 'n_internal' = 64."
    assert any(fewer in warning for warning in fitted.warnings) == (n_nodes < 64)


def test_new_points_outside_the_ball_are_refused() -> None:
    features, _ = branches()
    fitted = fit(features / 100, scaling="none")
    with pytest.raises(UsageError, match="norm below 1"):
        METHOD.predict(fitted.model, fitted.tree, Data({"features": features}))


def test_inputs_too_large_for_memory_are_refused() -> None:
    shapes = {"features": (10**6, 128)}
    METHOD.check_size(shapes, GHHCParams(n_internal=5000), 4 << 30)
    with pytest.raises(UsageError, match=r"GiB.*Lower 'n_internal'"):
        METHOD.check_size(shapes, GHHCParams(n_internal=200_000), 4 << 30)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_a_gpu_finds_the_same_groups() -> None:
    features, group = branches()
    assert purity(fit(features, device="cuda"), group) > 0.98


def test_a_fit_has_enough_rounds_for_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert training_of(GHHCParams()).n_rounds == 10
    assert training_of(GHHCParams(n_internal=50_000)).round_size == 500
