r"""Where tcs-tree hangs new nodes: what it learned, against the literal definition; and answers.

            root                    the trees of `test_tcs_tree`: tops 12 apart, leaves 5 apart
      /    /  ...  \     \
     a    b         e     f
    /|\   ...
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models.errors import UsageError
from models.inputs.data import Data
from models.inputs.label_sets import LabelSets
from models.method import Fitted
from models.methods.labelled.hierarchy.placing import Cluster, Family, features, fitted
from models.methods.labelled.tcs_tree import TCSTree, TCSTreeParams
from models.tree import class_paths
from models.tree.tree import Tree

AS_THEY_ARE = {"regularizer": "identity", "gamma": 1e12}


def data_of(n_rows: int = 8) -> tuple[dict[str, Any], list[str]]:
    """Five tops of four leaves, of which a/a3 and c/c0 are not in the hierarchy."""
    rng = np.random.default_rng(0)
    top, leaf = (part.repeat(n_rows) for part in np.divmod(np.arange(20), 4))
    corner = 2.5 * np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])[leaf]
    points = np.hstack([12.0 * np.eye(5)[top], corner]) + 0.4 * rng.normal(size=(top.size, 7))
    path_of = [f"{'abcde'[t]}/{'abcde'[t]}{n}" for t, n in zip(top, leaf, strict=True)]
    known = sorted(set(path_of) - {"a/a3", "c/c0"})
    labels = LabelSets.of(np.array([path.split("/")[1] for path in path_of], dtype=object))
    hierarchy = class_paths.read("\n".join(known))
    return {"features": points, "labels": labels, "hierarchy": hierarchy}, path_of


def fit(values: dict[str, Any], **params: Any) -> Fitted:
    return TCSTree().fit(Data(values), TCSTreeParams(**{**AS_THEY_ARE, **params}))


def above(tree: Tree) -> dict[str, str]:
    return {
        str(name): str(tree.name[parent])
        for name, parent in zip(tree.name.tolist(), tree.parent.tolist(), strict=True)
        if parent >= 0
    }


def column(tree: Tree, name: str, of: str) -> Any:
    return tree.extra[of][tree.name.tolist().index(name)]


def test_labels_that_are_no_node_are_placed_as_classes_of_their_own() -> None:
    values, path_of = data_of()
    with pytest.raises(UsageError, match="is no node"):
        fit(values)
    tree = fit(values, new_classes=True).tree
    assert above(tree)["a3"] == "a"
    assert above(tree)["c0"] == "c"
    for row, path in enumerate(path_of):
        assert tree.name[tree.leaf_of_point[row]] == path.split("/")[1]
    assert column(tree, "a3", "place_probability") > 0.5
    assert column(tree, "a0", "place_probability") is None
    assert sum(column(tree, "a3", "places").values()) <= 1.0 + 1e-3


def test_answers_are_kept_to_and_questions_say_how_to_give_them() -> None:
    values, _ = data_of()
    # Between two tops: a3's rows are moved half way to b.
    values["features"][24:32, :2] = 6.0 + 0.1 * np.arange(16).reshape(8, 2)
    first = fit(values, new_classes=True)
    question = column(first.tree, "a3", "question")
    assert question["rank"] == 1
    row = column(first.tree, "a3", "row")
    assert question["answers"]["b"] == [f"{row} under b"]
    chances = list(column(first.tree, "a3", "places").values())
    assert question["gain"] == pytest.approx(1.0 - chances[0], abs=0.1)
    assert any(warning.startswith("Question 1: ") for warning in first.warnings)
    for answer in ("a", "b"):
        again = fit(values, new_classes=True, answers=question["answers"][answer])
        assert above(again.tree)["a3"] == answer
        assert column(again.tree, "a3", "question") is None
        assert column(again.tree, "a3", "place_probability") == 1.0
    none = fit(values, new_classes=True, answers=question["answers"]["none of these"])
    assert above(none.tree)["a3"] not in question["answers"]


def test_new_nodes_that_a_person_calls_the_same_become_one() -> None:
    values, _ = data_of()
    tree = fit(values, new_classes=True).tree
    rows = [column(tree, name, "row") for name in ("a3", "c0")]
    one = fit(values, new_classes=True, answers=[f"{rows[0]} same as {rows[1]}"]).tree
    assert "c0" not in one.name.tolist()
    assert one.size[one.name.tolist().index("a3")] == 16


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("a3 is below b", "has none of the forms"),
        ("0 under b", "stands for no new node of this fit"),
        ("{row} under b0", "names no node that a new one may hang under"),
    ],
)
def test_answers_that_do_not_fit_are_refused(answer: str, message: str) -> None:
    values, _ = data_of()
    row = column(fit(values, new_classes=True).tree, "a3", "row")
    with pytest.raises(UsageError, match=message) as caught:
        fit(values, new_classes=True, answers=[answer.format(row=row)])
    assert caught.value.where["parameter"] == "answers"


def test_answers_that_contradict_each_other_are_refused() -> None:
    values, _ = data_of()
    row = column(fit(values, new_classes=True).tree, "a3", "row")
    with pytest.raises(UsageError, match="contradicts an earlier one"):
        fit(values, new_classes=True, answers=[f"{row} under b", f"{row} under c"])


def test_texts_place_a_class_whose_columns_say_nothing() -> None:
    values, path_of = data_of()
    values["features"] = np.random.default_rng(1).normal(size=(160, 3))
    values["documents"] = np.array([f"kind {path[0]}{path[0]} of x" for path in path_of], object)
    tree = fit(values, new_classes=True).tree
    assert (above(tree)["a3"], above(tree)["c0"]) == ("a", "c")


def test_rows_of_known_leaves_alone_make_no_new_node() -> None:
    values, path_of = data_of(20)
    known = np.array([path not in ("a/a3", "c/c0") for path in path_of])
    values["features"] = values["features"][known]
    names = [path for path in path_of if path not in ("a/a3", "c/c0")]
    free = np.random.default_rng(0).random(known.sum()) < 0.5
    whole = LabelSets.of(np.array(names, dtype=object)[~free])
    start = np.concatenate([[0], np.cumsum(~free)])
    values["labels"] = LabelSets(start, whole.code, whole.names, free)
    result = fit(values)
    assert result.metrics["n_new_nodes"] == 0
    assert result.tree.extra["question"].tolist() == [None] * result.tree.n_nodes


def family() -> Family:
    """
        0
       / \\
      1   2       3 and 4 are below 1; 5, 6 and 7 below 2, where 7 holds the rows that stop at 2
    """
    rng = np.random.default_rng(3)
    parent = np.array([-1, 0, 0, 1, 1, 2, 2, 2])
    words = [np.array(own, dtype=np.int64) for own in ([], [0], [1, 2], [], [], [], [], [])]
    return Family(
        parent,
        [rng.normal(size=(8, 4)), rng.normal(size=(8, 2))],
        np.arange(8) == 7,
        words,
        rng.normal(size=(8, 3)),
    )


def test_features_are_those_of_their_definition() -> None:
    whole = family()
    below = {0: [3, 4, 5, 6, 7], 1: [3, 4], 2: [5, 6, 7]}
    children = {0: [1, 2], 1: [3, 4], 2: [5, 6, 7]}
    live = np.arange(8) != 5
    cluster = Cluster.of(whole, 5)
    nodes, values = features(whole, live, [cluster])
    assert nodes.tolist() == [0, 1, 2]

    def cosine(a: np.ndarray, b: np.ndarray) -> float:
        return float(a @ b / np.sqrt((a @ a) * (b @ b)))

    def mean(space: np.ndarray, node: int) -> np.ndarray:
        leaves = [leaf for leaf in below.get(node, [node]) if live[leaf]]
        return np.mean([space[leaf] for leaf in leaves], axis=0)

    for place, node in enumerate(nodes.tolist()):
        expected = []
        there = [child for child in children[node] if live[child]]
        for space, own in zip(whole.mean, cluster.mean, strict=True):
            expected.append(cosine(mean(space, node), own))
            expected.append(max(cosine(mean(space, child), own) for child in there))
        level = [1 if child in children else 0 for child in there if child != 7]
        share = np.mean([own == cluster.levels for own in level])
        expected += [float(share > 0), float(share)]
        rates = [float(cluster.rates[word]) for word in whole.words[node]]
        expected.append(max(rates, default=0.0))
        np.testing.assert_allclose(values[0, place], expected, atol=1e-12)


def test_weights_are_those_of_the_least_loss() -> None:
    rng = np.random.default_rng(0)
    examples = [(rng.normal(size=(n, 2)), n // 2) for n in (3, 5, 4, 6)]
    found = fitted(examples, 0.3)

    def loss(weight: np.ndarray) -> float:
        total = 0.3 * float(weight @ weight)
        for values, right in examples:
            score = [float(weight @ ((row - found.center) / found.scale)) for row in values]
            total -= score[right] - np.log(sum(np.exp(score)))
        return total

    best = loss(found.weight)
    for step in 1e-3 * rng.normal(size=(20, 2)):
        assert loss(found.weight + step) > best - 1e-9
    np.testing.assert_allclose(found.probability(examples[0][0]).sum(), 1.0)
