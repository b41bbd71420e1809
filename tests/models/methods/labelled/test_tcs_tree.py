r"""tcs-tree on trees whose hidden nodes are known.

            root
      /    /  ...  \     \
     a    b         e     f      six tops, 12 apart in columns 0 and 1
    /|\   ...                    four leaves each, 5 apart in columns 2 and 3

The last leaf of a is hidden, and all of f. Columns 4 and 5 may have far modes that say nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models.errors import UsageError
from models.inputs.data import Data
from models.inputs.label_sets import LabelSets
from models.method import Fitted
from models.methods.labelled.tcs_tree import TCSTree, TCSTreeParams
from models.tree import class_paths
from umbel.testing.lost_worker import MemoryCheckpoint, WorkerLost

TOPS = 12.0 * np.array([[0, 0], [1, 0], [2, 0], [0, 1], [1, 1], [2, 1]])
LEAVES = 2.5 * np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])


def rows_of(seed: int, nuisance: float, n_rows: int = 15) -> tuple[np.ndarray, list[str]]:
    """The rows, and the path of each."""
    rng = np.random.default_rng(seed)
    top, leaf = (part.repeat(n_rows) for part in np.divmod(np.arange(24), 4))
    modes = nuisance * rng.choice([-1.0, 1.0], size=(top.size, 2))
    points = np.hstack([TOPS[top], LEAVES[leaf], modes]) + 0.4 * rng.normal(size=(top.size, 6))
    return points, [f"{'abcdef'[t]}/{'abcdef'[t]}{n}" for t, n in zip(top, leaf, strict=True)]


def hidden(path: str) -> bool:
    return path == "a/a3" or path.startswith("f/")


def puzzle(seed: int, nuisance: float = 0.0) -> tuple[Data, list[str]]:
    """Every third row of what is known is not labelled either."""
    points, path_of = rows_of(seed, nuisance)
    free = np.array([hidden(path) or row % 3 == 0 for row, path in enumerate(path_of)])
    labels = np.where(free, "", path_of).astype(object)
    return Data({"features": points, "labels": _unlabelled(labels, free)}), path_of


def _unlabelled(labels: np.ndarray, free: np.ndarray) -> LabelSets:
    whole = LabelSets.of(labels[~free])
    return LabelSets(np.concatenate([[0], np.cumsum(~free)]), whole.code, whole.names, free)


def fitted(data: Data, **params: Any) -> Fitted:
    own = {"regularizer": "l2", "gamma": 1.0, **params}
    return TCSTree().fit(data, TCSTreeParams(**own))


def shape(result: Fitted, path_of: list[str]) -> set[tuple[frozenset[str], frozenset[str]]]:
    """The paths of the rows under each new node, and of those under its parent."""
    tree = result.tree
    below: list[set[str]] = [set() for _ in range(tree.n_nodes)]
    for path, leaf in zip(path_of, tree.leaf_of_point.tolist(), strict=True):
        below[leaf].add(path)
    for node in range(tree.n_nodes - 1, 0, -1):
        below[tree.parent[node]] |= below[node]
    return {
        (frozenset(below[node]), frozenset(below[tree.parent[node]]))
        for node in range(1, tree.n_nodes)
        if str(tree.name[node]).startswith("new")
    }


def answer(path_of: list[str]) -> set[tuple[frozenset[str], frozenset[str]]]:
    """What lies hidden, in the same form."""
    every = frozenset(path_of)
    a, f = (frozenset(path for path in every if path[0] == top) for top in "af")
    return {
        (frozenset({"a/a3"}), a),
        (f, every),
        *((frozenset({path}), f) for path in f),
    }


@pytest.mark.parametrize("seed", range(3))
def test_a_hidden_leaf_and_a_hidden_subtree_are_found_in_their_places(seed: int) -> None:
    data, path_of = puzzle(seed)
    result = fitted(data)
    assert shape(result, path_of) >= answer(path_of)
    # Rows of known leaves join them, but for few.
    name = result.tree.name[result.tree.leaf_of_point]
    known = [row for row, path in enumerate(path_of) if not hidden(path)]
    joined = [name[row] == path_of[row].split("/")[1] for row in known]
    assert np.mean(joined) > 0.95
    assert "new 1.1" in result.tree.name.tolist()


@pytest.mark.parametrize("seed", range(3))
def test_directions_that_say_nothing_hide_them_unless_metrics_are_learned(seed: int) -> None:
    data, path_of = puzzle(seed, nuisance=9.0)
    assert shape(fitted(data, gamma=0.1), path_of) == answer(path_of)
    untouched = fitted(data, regularizer="identity", gamma=1e12)
    assert len(shape(untouched, path_of) & answer(path_of)) <= 2


def test_validation_finds_that_out() -> None:
    data, path_of = puzzle(0, nuisance=9.0)
    result = fitted(data, regularizer="auto", gamma="auto")
    assert "Chosen by validation on known leaves: " in result.warnings[0]
    assert shape(result, path_of) == answer(path_of)
    assert result.metrics["validation_f1"] > 0.8


def test_new_rows_are_placed_as_those_of_the_fit() -> None:
    data, _ = puzzle(0)
    result = fitted(data)
    points, path_of = rows_of(99, 0.0)
    assert result.model is not None
    predictions = TCSTree().predict(result.model, result.tree, Data({"features": points}))
    by_path = dict(zip(puzzle(0)[1], result.tree.leaf_of_point.tolist(), strict=True))
    expected = np.array([by_path[path] for path in path_of])
    # A leaf that only new rows are close to may take some of another.
    assert (predictions.leaf == expected).mean() > 0.95
    assert (np.diff(predictions.start) == 3).all()


def test_probabilities_multiply_along_the_path() -> None:
    data, _ = puzzle(0)
    result = fitted(data)
    assert result.model is not None
    points = np.random.default_rng(0).normal(0.0, 6.0, size=(40, 6))
    placed = TCSTree().predict(result.model, result.tree, Data({"features": points}))
    for row in range(40):
        own = placed.probability[placed.start[row] : placed.start[row + 1]]
        assert own[0] == 1.0
        assert (np.diff(own) <= 0.0).all()
        assert own[-1] > 0.0


def test_the_depth_of_new_nodes_is_bounded() -> None:
    data, _ = puzzle(0)
    tree = fitted(data, max_depth=1).tree
    new = np.array([str(name).startswith("new") for name in tree.name.tolist()])
    assert new.any()
    assert (tree.depth[new] == 1).all()


def test_the_number_and_size_of_new_nodes_are_bounded() -> None:
    data, _ = puzzle(0)
    none = fitted(data, novelty=0)
    assert "No new node was found" in none.warnings[-1]
    large = fitted(data, min_size=16)
    new = [str(name).startswith("new") for name in large.tree.name.tolist()]
    assert (large.tree.size[new] >= 16).all()


def test_a_hierarchy_gives_the_same_as_paths() -> None:
    data, path_of = puzzle(0)
    hierarchy = class_paths.read("\n".join(sorted({path for path in path_of if not hidden(path)})))
    named = data.values["labels"]
    names = [name.split("/")[1] for name in named.names]
    labels = type(named)(named.start, named.code, names, named.unlabelled)
    again = fitted(Data({**data.values, "labels": labels, "hierarchy": hierarchy}))
    assert shape(again, path_of) == shape(fitted(data), path_of)


def test_rows_with_an_inner_nodes_label_stop_there() -> None:
    data, path_of = puzzle(0)
    named = data.values["labels"]
    names = ["b" if name == "b/b3" else name for name in named.names]
    labels = type(named)(named.start, named.code, names, named.unlabelled)
    result = fitted(Data({**data.values, "labels": labels}))
    tree = result.tree
    leaf = tree.leaf_of_point[path_of.index("b/b3")]
    assert tree.name[leaf] == "b"
    assert tree.name[tree.parent[leaf]] == "b"


def test_known_nodes_without_rows_are_reported_and_left_out() -> None:
    data, path_of = puzzle(0)
    hierarchy = class_paths.read("\n".join(sorted(set(path_of))))
    result = fitted(Data({**data.values, "hierarchy": hierarchy}))
    assert "6 node(s) of the hierarchy have no labelled row" in result.warnings[0]
    assert shape(result, path_of) == answer(path_of)


def test_too_little_to_validate_on_is_a_warning() -> None:
    rng = np.random.default_rng(0)
    code = np.arange(60) % 3
    points = 5.0 * np.eye(3)[code] + rng.normal(size=(60, 3))
    data = Data({"features": points, "labels": np.where(code < 2, code, -1)})
    result = fitted(data, regularizer="auto", gamma="auto")
    assert "learned with identity, gamma 0.1 per row" in result.warnings[0]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.zeros(12, dtype=int), "no node of the hierarchy has two children"),
        (np.full(12, -1), "no row is labelled"),
        (np.array([0, 1, *[-1] * 10]), "a single row"),
        (np.arange(12) % 2, "labels every row"),
    ],
)
def test_labels_that_show_too_little_are_refused(labels: np.ndarray, message: str) -> None:
    points = np.random.default_rng(0).normal(size=(12, 2))
    with pytest.raises(UsageError, match=message) as caught:
        fitted(Data({"features": points, "labels": labels}))
    assert caught.value.where["role"] == "labels"


def test_an_unknown_label_is_named() -> None:
    data, _ = puzzle(0)
    with pytest.raises(UsageError, match="is no node of the hierarchy"):
        fitted(Data({**data.values, "hierarchy": class_paths.read("a/a0\na/a1")}))


def test_a_metric_that_is_zero_is_refused() -> None:
    data, _ = puzzle(0)
    with pytest.raises(UsageError, match="use a smaller 'gamma'") as caught:
        fitted(data, gamma=1e9)
    assert caught.value.where == {"parameter": "gamma"}


def test_a_metric_that_is_zero_in_validation_is_not_chosen() -> None:
    data, _ = puzzle(0)
    result = fitted(data, regularizer="auto", gamma=1e9)
    (message,) = (each for each in result.warnings if each.startswith("Chosen by validation"))
    assert "l2" not in message
    assert result.metrics["validation_f1"] > 0.0


def test_a_fit_that_resumes_ends_as_one_that_was_not_lost() -> None:
    data, _ = puzzle(0)
    params = TCSTreeParams(regularizer="identity", gamma=0.1)
    lost = MemoryCheckpoint(lost_after=5)
    with pytest.raises(WorkerLost):
        TCSTree().fit(data, params, checkpoint=lost)
    resumed = TCSTree().fit(data, params, checkpoint=MemoryCheckpoint(lost.state))
    whole = TCSTree().fit(data, params)
    assert resumed.metrics == whole.metrics
    np.testing.assert_array_equal(resumed.tree.leaf_of_point, whole.tree.leaf_of_point)
