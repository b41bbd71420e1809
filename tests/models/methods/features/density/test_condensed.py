"""The condensed tree as a tree of chosen clusters."""

from __future__ import annotations

import numpy as np
import pytest

from models.methods.features.density.clusters import Condensed, tree_of

INF = np.inf


def condensed(
    above: list[int], birth: list[float], cluster: list[int], fall: list[float]
) -> Condensed:
    return Condensed(np.array(above), np.array(birth), np.array(cluster), np.array(fall))


# Densities: the root splits at 1, its left side again at 4.
#
#            root
#       1 __/    \__ 1        points 0, 1 in 3 (fall at 8), 2, 3 in 4 (fall at 5), 4 falls out of 1
#       |          |          at 2 and 5 out of the root at 0.5, 6, 7 in 2 (fall at 3)
#      _1_ (4)     2
#     3   4
FULL = condensed(
    [-1, 0, 0, 1, 1],
    [0, 1, 1, 4, 4],
    [3, 3, 4, 4, 1, 0, 2, 2],
    [8, 8, 5, 5, 2, 0.5, 3, 3],
)


def test_stability_is_its_definition() -> None:
    # Root: 7 points until 1, one until 0.5. Cluster 1: 4 points from 1 to 4, one from 1 to 2.
    assert FULL.stability().tolist() == [7.5, 13, 4, 8, 2]


def test_the_last_density_at_which_something_leaves() -> None:
    # Clusters 3 and 4 begin at 4, where 1 splits.
    assert FULL.death().tolist() == [1, 4, 3, 8, 5]


def test_infinite_densities_count_as_the_largest_finite_one() -> None:
    condensed_tree = condensed([-1, 0, 0], [0, 2, 2], [1, 1, 2], [INF, 5, INF])
    assert condensed_tree.stability().tolist() == [6, 6, 3]
    assert (condensed([-1], [0], [0, 0], [INF, INF]).stability() == 0).all()


def test_the_last_clusters_with_all_above() -> None:
    tree = tree_of(FULL, np.array([0, 0, 1, 1, -1, -1, 2, 2]))
    #        root 0
    #     1     2 '2'   noise
    #   '0' '1'
    assert sorted(map(str, tree.name)) == ["0", "1", "2", "None", "None", "noise"]
    by_name = {name: node for node, name in enumerate(tree.name) if name}
    assert tree.parent[by_name["0"]] == tree.parent[by_name["1"]] != 0
    assert tree.parent[by_name["2"]] == tree.parent[by_name["noise"]] == 0
    assert tree.height[0] == 1.0
    assert tree.height[tree.parent[by_name["0"]]] == 0.25
    assert (tree.height[tree.leaves] == 0).all()
    assert [tree.name[leaf] for leaf in tree.leaf_of_point] == [
        "0", "0", "1", "1", "noise", "noise", "2", "2",
    ]  # fmt: skip
    assert tree.extra["birth"][by_name["0"]] == 4
    assert tree.extra["stability"][by_name["0"]] == 8
    assert tree.extra["cluster"][by_name["2"]] == 2


def test_what_lies_below_a_chosen_cluster_is_left_out() -> None:
    tree = tree_of(FULL, np.array([0, 0, 0, 0, 0, -1, 1, 1]))
    assert tree.n_nodes == 4
    assert sorted(map(str, tree.name)) == ["0", "1", "None", "noise"]
    assert tree.max_depth == 1


def test_clusters_that_hold_only_noise_are_left_out() -> None:
    # Only 3 and 4 are chosen: 2 is noise, so the root has one side and node 1 takes its place
    # beside the noise.
    tree = tree_of(FULL, np.array([0, 0, 1, 1, -1, -1, -1, -1]))
    assert sorted(map(str, tree.name)) == ["0", "1", "None", "None", "noise"]


@pytest.mark.parametrize("noise", [False, True])
def test_the_whole_as_one_cluster(noise: bool) -> None:
    condensed_tree = condensed([-1], [0], [0, 0, 0], [2, 4, 4])
    tree = tree_of(condensed_tree, np.array([-1 if noise else 0, 0, 0]))
    if noise:
        assert tree.name.tolist() == [None, "0", "noise"]
        assert tree.height.tolist() == [0.5, 0, 0]
        assert tree.leaf_of_point.tolist() == [2, 1, 1]
    else:
        assert tree.name.tolist() == ["0"]


def test_nothing_but_noise() -> None:
    tree = tree_of(condensed([-1], [0], [0, 0], [1, 1]), np.array([-1, -1]))
    assert tree.name.tolist() == ["noise"]
    assert tree.leaf_of_point.tolist() == [0, 0]
