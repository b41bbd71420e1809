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
    (n_classes,) the node that this group is below, -1 for none. members : of each group the classes
    whose rows set its threshold, ascending.
    """

    of: Int
    node: Int
    members: list[Int]

    @classmethod
    def below_nodes(cls, parent: Int, node: Int, n_rows: Int, fewest: int) -> ClassGroups:
        """parent : (n_nodes,) of the tree. node, n_rows : (n_classes,) the node and the calibration
        rows of each class. fewest : m. O(n_nodes + n_classes log n_classes); no class is a member
        of more than three groups.
        """
        n_nodes = len(parent)
        alone, enough = n_rows > fewest, n_rows >= fewest
        loose = np.zeros(n_nodes, dtype=np.int64)
        np.add.at(loose, node, np.where(alone, 0, n_rows))
        left, up = loose.tolist(), parent.tolist()
        # A node without more rows than a child's m has the child's rows: the same threshold.
        same = list(range(n_nodes))
        for each in range(n_nodes - 1, 0, -1):
            if left[each] <= fewest:
                left[up[each]] += left[each]
            if left[each] == fewest:
                same[up[each]] = same[each]
        # The first node on the way up with m rows, and with more; -1 where none has.
        first, more = [-1] * n_nodes, [-1] * n_nodes
        for each in range(n_nodes):
            above = up[each] if each else -1
            first[each] = each if left[each] >= fewest else first[above] if each else -1
            more[each] = each if left[each] > fewest else more[above] if each else -1
        at = np.where(enough, node, np.array(first)[node])
        rows_at = np.array(
            [s if n == fewest else e for e, (s, n) in enumerate(zip(same, left, strict=True))]
        )
        own = np.flatnonzero(enough)
        share = np.flatnonzero(~enough & (at >= 0))
        used, number = np.unique(rows_at[at[share]], return_inverse=True)
        of = np.full(len(node), -1, dtype=np.int64)
        of[own] = np.arange(own.size)
        of[share] = own.size + number
        giving = np.flatnonzero(~alone & (n_rows > 0))
        near, far = np.array(first)[node[giving]], np.array(more)[node[giving]]
        where = np.concatenate([np.where(near >= 0, rows_at[near], -1), far])
        who = np.concatenate([giving, giving])
        kept = np.isin(where, used) & np.append(np.ones(len(near), np.bool_), far != near)
        where, who = where[kept], who[kept]
        order = np.lexsort((who, where))
        bounds = np.searchsorted(where[order], used[1:])
        shared = np.split(who[order], bounds) if used.size else []
        return cls(of, at, [*own[:, None], *shared])
