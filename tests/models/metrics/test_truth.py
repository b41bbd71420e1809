"""The places of labels and rows in a true hierarchy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models.errors import UsageError
from models.metrics.catalogue import evaluate
from models.metrics.evaluation import truth_over_points
from models.metrics.inputs import classes_of
from models.tree import class_paths, newick
from models.tree.build import from_partition
from models.tree.tree import Tree
from tests.models.metrics.trees_kit import tree_of

ANIMALS = class_paths.read(
    "animal/cat/lion\nanimal/cat/lynx\nanimal/bird/crane\nmachine/crane\nmachine"
)


def flat(n_points: int) -> Tree:
    """A tree over so many points, in leaves of no name that a hierarchy here has."""
    return from_partition([0] * n_points, 1, names=["all"])


def placed(hierarchy: Tree, labels: Any) -> list[str | None]:
    truth, notes = truth_over_points(hierarchy, classes_of(labels, len(labels)), flat(len(labels)))
    truth.validate()
    assert notes == ()
    return [truth.name[leaf] for leaf in truth.leaf_of_point]


def test_labels_name_leaves() -> None:
    labels = ["lynx", "lion", "lynx", "machine", "lion", "lion"]
    assert placed(ANIMALS, labels) == labels
    truth, _ = truth_over_points(ANIMALS, classes_of(labels, 6), flat(6))
    assert truth.size[0] == 6


def test_labels_give_paths() -> None:
    labels = ["machine/crane", "animal/bird/crane", "animal/cat/lion", "lynx", "machine", "lion"]
    truth, _ = truth_over_points(ANIMALS, classes_of(labels, 6), flat(6))
    assert [truth.name[leaf] for leaf in truth.leaf_of_point] == [
        label.rpartition("/")[2] for label in labels
    ]
    over = truth.parent[truth.leaf_of_point]
    assert [truth.name[node] for node in over[:2]] == ["machine", "bird"]
    rooted = class_paths.read("life/animal/lion\nlife/plant/oak\nlife/plant")
    assert rooted.name[0] == "life"
    labels = ["life/animal/lion", "plant/oak", "animal/lion", "life/plant"]
    assert placed(rooted, labels) == ["lion", "oak", "lion", "plant"]


def test_integers_name_leaves_or_count_rows() -> None:
    # Leaves named by number, as methods name them, in another order than their rows.
    by_name = from_partition([0, 1, 1], 3, names=["7", "8", "9"])
    assert placed(by_name, [9, 7, 7, 8]) == ["9", "7", "7", "8"]
    rose = newick.read("((rose:1,tulip:1):1,oak:2);")
    assert placed(rose, [2, 0, 0, 1]) == ["oak", "rose", "rose", "tulip"]


def test_rows_are_matched_by_the_leaves_names() -> None:
    own = newick.read("((a,b),(c,d));")
    truth, notes = truth_over_points(newick.read("((c,a),(d,b));"), None, own)
    assert [truth.name[leaf] for leaf in truth.leaf_of_point] == ["a", "b", "c", "d"]
    assert notes == ()
    scores = evaluate(own, hierarchy=newick.read("((d,c),(b,a));"), metrics=["robinson_foulds"])
    assert scores.metrics["robinson_foulds"] == 0.0
    scores = evaluate(own, hierarchy=newick.read("((a,c),(b,d));"), metrics=["robinson_foulds"])
    assert scores.metrics["robinson_foulds"] == 1.0


def test_names_that_are_numbers_of_rows_match_a_tree_without_names() -> None:
    own = newick.read("((,),);")
    truth, _ = truth_over_points(newick.read("((2,0),1);"), None, own)
    assert [truth.name[leaf] for leaf in truth.leaf_of_point] == ["0", "1", "2"]


def test_without_labels_the_rows_are_the_points() -> None:
    rose = newick.read("((rose:1,tulip:1):1,oak:2);")
    assert truth_over_points(rose, None, flat(3)) == (rose, ())
    truth, notes = truth_over_points(rose, classes_of([5, 5, 6], 3), flat(3))
    assert truth is rose
    assert "integers" in notes[0]
    truth, notes = truth_over_points(rose, classes_of(["soft", "soft", "wood"], 3), flat(3))
    assert truth is rose
    assert "do not name" in notes[0]
    truth, notes = truth_over_points(rose, classes_of(["oak", "rose", "rose"], 3), flat(3))
    assert truth is not rose
    assert notes == ()


@pytest.mark.parametrize(
    ("labels", "code", "part"),
    [
        (None, "wrong-length", "5 rows and the tree 2 points"),
        (["lion", "dog"], "wrong-input", "'dog' names no leaf .*'lion', 'lynx'"),
        (["lion", "crane"], "wrong-input", "'crane' names 2 leaves"),
        (["lion", "animal/cat"], "wrong-input", "'animal/cat' names no leaf"),
        (["lion", "animal/cat/dog"], "wrong-input", "animal/cat/dog"),
        (["lion", "/"], "wrong-input", "'/' names no leaf"),
        (["lion", ""], "wrong-input", "'' names no leaf"),
        ([0, 5], "wrong-input", "'5' names no leaf|'0' names no leaf"),
        ([-1, 1], "wrong-input", "'-1' names no leaf"),
    ],
)
def test_refused(labels: Any, code: str, part: str) -> None:
    classes = None if labels is None else classes_of(labels, 2)
    with pytest.raises(UsageError, match=part) as caught:
        truth_over_points(ANIMALS, classes, flat(2))
    assert caught.value.code == code
    assert caught.value.where["role"] == "hierarchy"


def test_evaluated_against_classes_in_a_hierarchy() -> None:
    #        0            animal/cat/lion   0
    #      /   \          animal/cat/lynx   1
    #     1     2         animal/bird/...   2
    #    / \              machine           4
    #   3   4
    tree = tree_of([-1, 0, 0, 1, 1], [3, 4, 2, 2])
    labels = ["lion", "lynx", "machine", "animal/bird/crane"]
    evaluation = evaluate(tree, hierarchy=ANIMALS, labels=labels)
    assert {"nmi", "shortest_path_similarity", "robinson_foulds"} <= set(evaluation.metrics)
    assert evaluation.standard_errors == {}
    names = ["path_sharing_similarity"]
    alone = evaluate(tree, hierarchy=ANIMALS, labels=labels, metrics=names)
    # The tree's paths, of three nodes, share 2, 1, 1, 1, 1, 3 (root 0, leaf 2 is 2 long); the
    # hierarchy's, of 4 (machine: 3): 3, 1, 2, 1, 2, 1.
    own = [2 / 3, 1 / 3, 1 / 3, 1 / 3, 1 / 3, 1]
    true = [3 / 4, 1 / 4, 2 / 4, 1 / 4, 2 / 4, 1 / 4]
    gap = np.mean((np.array(own) - np.array(true)) ** 2)
    assert alone.metrics[names[0]] == pytest.approx(1 - gap)


def test_points_are_cut_to_clusters_where_a_cut_is_given() -> None:
    #          0
    #        /   \
    #       1     2        points 0 1 2 3 in leaves 3 4 5 6
    #      / \   / \
    #     3   4 5   6
    tree = tree_of([-1, 0, 0, 1, 1, 2, 2], [3, 4, 5, 6])
    truth = from_partition([0, 0, 1, 1], 2)
    names = ["shortest_path_similarity", "path_sharing_similarity"]
    evaluation = evaluate(tree, hierarchy=truth, metrics=[*names, "robinson_foulds"], cut={"k": 2})
    assert evaluation.metrics == {names[0]: 1.0, names[1]: 1.0, "robinson_foulds": 0.0}
    assert evaluation.cut == {"k": 2, "n_clusters": 2}
    # Two of four edges within 1 and 2.
    whole = evaluate(tree, hierarchy=truth, metrics=names[:1])
    assert whole.metrics[names[0]] == pytest.approx(1 - 2 * (1 / 2) ** 2 / 6)
    assert whole.cut == {}


def test_rows_in_order_because_of_a_name_that_occurs_twice() -> None:
    tree, hierarchy = newick.read("((a,b),c);"), newick.read("((a,a),c);")
    over, warnings = truth_over_points(hierarchy, None, tree)
    assert over is hierarchy
    assert warnings == (
        "Several leaves of the hierarchy are called 'a', so its rows were matched in order.",
    )
    assert truth_over_points(tree, None, newick.read("((b,c),a);"))[1] == ()
