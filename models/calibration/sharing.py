"""Thresholds that classes with few rows share with those nearest in the tree.

Groups are made from the leaves up, of the calibration rows and the new row together: a class with
at least m + 1 rows is a group, and so are the classes below a node that are in no group yet, once
they have so many; m is the fewest rows with which a threshold is finite. The rule sees the labels
alone, and all n + 1 rows alike. So the new row's score is exchangeable with its group's, and the
quantile of the group's m or more other scores keeps the promise for each group exactly (Mondrian
conformal prediction: Vovk, Gammerman and Shafer, 2005), although groups depend on the rows. Classes
are clustered for the same end by Ding, Angelopoulos, Bates, Jordan and Tibshirani, "Class-
conditional conformal prediction with many classes" (NeurIPS 2023), by quantiles of their scores, on
rows set apart; here the tree is there before any row.

Whether a class is the new row's is not known, so its group is the one that it would have: the first
on the way up with m other rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Int


@dataclass(frozen=True, slots=True)
class ClassGroups:
    """of : (n_classes,) the group of each class if it is the new row's, -1 for none. node :
    (n_groups,) the node that a group is below. members : of each group the classes whose rows set
    its threshold, ascending.
    """

    of: Int
    node: Int
    members: list[Int]

    @classmethod
    def below_nodes(cls, parent: Int, node: Int, n_rows: Int, fewest: int) -> ClassGroups:
        """parent : (n_nodes,) of the tree. node, n_rows : (n_classes,) the node and the calibration
        rows of each class. fewest : m. O(n_nodes + n_classes depth).
        """
        n_nodes, n_classes = len(parent), len(node)
        alone = n_rows > fewest
        left = np.zeros(n_nodes, dtype=np.int64)
        np.add.at(left, node, np.where(alone, 0, n_rows))
        for each in range(n_nodes - 1, 0, -1):
            if left[each] <= fewest:
                left[parent[each]] += left[each]
        of = np.full(n_classes, -1, dtype=np.int64)
        number: dict[int, int] = {}
        at: list[int] = []
        members: list[list[int]] = []
        for each in range(n_classes):
            if n_rows[each] >= fewest:
                of[each] = len(at)
                at.append(int(node[each]))
                members.append([each])
        for each in np.flatnonzero(of < 0).tolist():
            place = int(node[each])
            while left[place] < fewest and place:
                place = int(parent[place])
            if left[place] >= fewest:
                of[each] = number.setdefault(place, len(at))
                if of[each] == len(at):
                    at.append(place)
                    members.append([])
        for each in np.flatnonzero(~alone).tolist():
            place = int(node[each])
            while True:
                if place in number:
                    members[number[place]].append(each)
                if left[place] > fewest or not place:
                    break
                place = int(parent[place])
        return cls(of, np.array(at, dtype=np.int64), [np.array(m, dtype=np.int64) for m in members])
