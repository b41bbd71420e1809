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
from models.methods.labelled.hierarchy import placing
from models.methods.labelled.hierarchy.answers import Places, read_answers
from models.methods.labelled.hierarchy.completion import CompletedTree
from models.methods.labelled.hierarchy.hanging import Hung, labels_of
from models.methods.labelled.hierarchy.known_tree import KnownTree
from models.methods.labelled.hierarchy.placing import Cluster, Family, features, fitted
from models.methods.labelled.hierarchy.questions import beside_nodes
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
    with pytest.raises(UsageError, match="contradicts earlier ones"):
        fit(values, new_classes=True, answers=[f"{row} under b", f"{row} under c"])


def subtrees_of() -> dict[str, Any]:
    """Tops d and e, with their leaves, and a/a3 are not in the hierarchy; no label is of them."""
    values, path_of = data_of(20)
    known = sorted({path for path in path_of if path[0] in "abc"} - {"a/a3"})
    drawn = np.random.default_rng(0).random(len(path_of)) < 0.4
    free = np.array([path not in known for path in path_of]) | drawn
    whole = LabelSets.of(np.array(path_of, dtype=object)[~free])
    start = np.concatenate([[0], np.cumsum(~free)])
    labels = LabelSets(start, whole.code, whole.names, free)
    return {**values, "hierarchy": class_paths.read("\n".join(known)), "labels": labels}


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (
            ["10 under the new node of row 10"],
            "which holds others, may hang under: 'a', 'the root'",
        ),
        (["10 under the new node of row 11"], "which holds others, may hang under"),
        (["12 under a"], "hangs where that does"),
        (["10 same as 11"], "only new leaves can be one"),
        (["20 same as 10"], "only new leaves can be one"),
        (["20 under the new node of row 20"], "names no node that a new one may hang under"),
        (["10 not under the root", "10 not under a"], "refuses its last place"),
        (["20 not under a", "20 under a"], "contradicts"),
        (["20 under a", "20 same as 21", "21 under the root"], "contradicts"),
        (["20 under a", "21 under the root", "20 same as 21"], "contradicts"),
    ],
)
def test_what_no_answer_can_mean_is_refused(answers: list[str], message: str) -> None:
    """Rows 10 to 12 stand for new nodes with others below, 12 in another one; 20 and 21 do not."""
    places = Places(
        {10: 0, 11: 1, 12: 2, 20: 3, 21: 4},
        frozenset(["the root", "a"]),
        frozenset([0, 1, 2]),
        frozenset(f"the new node of row {row}" for row in (10, 11, 12)),
        frozenset([2]),
    )
    with pytest.raises(UsageError, match=message):
        read_answers(answers, places)


def test_answers_that_nothing_is_left_for_are_named() -> None:
    values = subtrees_of()
    tree = fit(values).tree
    row = {name: str(own) for name, own in zip(tree.name.tolist(), tree.extra["row"], strict=True)}
    inner = row["new 1"]
    # Nothing is left at 'new 1' for the last answer but one node, which takes its place.
    moved = [f"{row[f'new 1.{number}']} under a" for number in (1, 2, 3)]
    last = f"{row['new 1.4']} under the new node of row {inner}"
    done = fit(values, answers=[*moved, last])
    assert any("do not hang as answered" in warning for warning in done.warnings)


def test_what_is_answered_of_a_node_holds_for_the_one_that_it_is_the_same_as() -> None:
    values, _ = data_of()
    tree = fit(values, new_classes=True).tree
    first, second = (column(tree, name, "row") for name in ("a3", "c0"))
    for order in (1, -1):
        answers = [f"{second} under d", f"{first} same as {second}"][::order]
        assert above(fit(values, new_classes=True, answers=answers).tree)["a3"] == "d"
    both = [f"{first} under b", f"{second} under d", f"{first} same as {second}"]
    with pytest.raises(UsageError, match="contradicts"):
        fit(values, new_classes=True, answers=both)


def test_probabilities_are_shown_no_larger_than_they_are() -> None:
    done = CompletedTree(np.zeros(1, dtype=np.int64), [-1, 0], [None, "new 1"], [0, -1])
    chance = np.array([0.33336, 0.33336, 0.33328])
    done.hung[1] = Hung(np.zeros(1, dtype=np.int64), 0, None, 0, ["a", "b", "c"], chance)
    columns, _ = beside_nodes(done)
    assert columns["place_probability"][1] == 0.3333
    assert sum(columns["places"][1].values()) <= 1.0


def test_nodes_without_a_name_or_with_that_of_another_have_numbers() -> None:
    parent = np.array([-1, 0, 0, 0, 0, 1])
    names: list[str | None] = [None, "a", "a", None, "the root", "b/c"]
    known = KnownTree(parent, names, np.zeros(1, dtype=np.int64))
    assert labels_of(known) == [
        *("the root", "a", "a (node 2)", "node 3"),
        *("the root (node 4)", "a/b/c"),
    ]
    # A chain: its paths end where answers could not name them.
    chain = KnownTree(np.arange(-1, 400), ["level"] * 401, np.zeros(1, dtype=np.int64))
    labels = labels_of(chain)
    assert labels[2] == "level/level"
    assert max(map(len, labels)) <= 1000
    assert len(set(labels)) == 401


def test_of_large_trees_fewer_hidden_nodes_are_learned_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    parent = np.concatenate([[-1], np.zeros(12, dtype=np.int64), np.repeat(np.arange(1, 13), 4)])
    means = [rng.normal(size=(parent.size, 3))]
    own = np.zeros(parent.size, dtype=bool)
    none = [np.zeros(0, dtype=np.int64)] * parent.size
    family = Family(parent, means, own, none, np.zeros((parent.size, 0)))
    # Nodes below another, as by its definition.
    inside = [node for node in range(parent.size) if 3 in (node, parent[node])]
    assert np.flatnonzero(family.below(3)).tolist() == inside
    whole = placing.learned(family, np.random.default_rng(0)).n_examples
    monkeypatch.setattr(placing, "MOST_OF_DRAW", 30)
    monkeypatch.setattr(placing, "MOST_CANDIDATES", 200)
    few = placing.learned(family, np.random.default_rng(0)).n_examples
    assert 0 < few <= 30 < whole


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
