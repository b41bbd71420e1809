"""What metrics of a tree start from: checked inputs, the cut, counts and orders, computed once.

`truth_over_points` gives a true hierarchy over the points of a tree: labels name its leaves, or its
rows are these points.

A metric is a function of a `Subject` under the decorator `metric`, which makes an entry of the
catalogue with its name, inputs and definition.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from models.arrays import Int, Matrix
from models.errors import UsageError, listed, shown
from models.inputs.frames import CENTRE, NARROW, Aside, Frame
from models.inputs.label_sets import LabelSets
from models.inputs.rows import Rows
from models.metrics.estimate import Estimate
from models.metrics.flat import Contingency, contingency
from models.metrics.hierarchical import upper_part
from models.metrics.inputs import Classes, classes_of, distances_of, features_of, similarity_of
from models.metrics.lca_order import LeafOrder, PointOrder
from models.metrics.pairs import Cosine, Euclidean, Gaussian, Pairs, SparsePairs
from models.tree.cut import Cut, cut, most_clusters, rows_at
from models.tree.named import NamedNodes
from models.tree.rows import matched
from models.tree.tree import Tree, sizes


def truth_over_points(
    hierarchy: Tree, classes: Classes | None, tree: Tree
) -> tuple[Tree, tuple[str, ...]]:
    """The hierarchy with the tree's points at its leaves, and warnings.

    Labels that are text name a leaf, or give its path of names such as `animal/cat/lion`, with or
    without the root's name. Integer labels name a leaf too, as text, or are row numbers of a
    hierarchy with one row per leaf. Without labels, with text that names no leaf and with integers,
    a hierarchy of as many rows as the tree has points is taken as one over these same points,
    matched by the leaves' names if both have the same (`rows.matched`), else in order.

    Raises UsageError `wrong-input` for a label that fits no leaf or several, `wrong-length` if
    there are no labels and the numbers of rows and points differ. O(n_nodes + n_points + length of
    the paths).
    """
    n_points = tree.n_points
    same_rows = hierarchy.n_points == n_points
    if classes is None:
        if not same_rows:
            raise UsageError(
                f"The hierarchy has {hierarchy.n_points} rows and the tree {n_points} points. "
                "Without labels both must be over the same points; with labels, each names a leaf "
                "of the hierarchy.",
                code="wrong-length",
                role="hierarchy",
                rows=hierarchy.n_points,
                n_points=n_points,
            )
        over, by_name = matched(tree, hierarchy)
        return over, () if by_name else _doubled_names(tree, hierarchy)
    integers = bool(classes.name) and isinstance(classes.name[0], int)
    if same_rows and integers:
        return _over_rows(hierarchy, tree, "integers as labels")
    leaf, lost = _leaves_named(hierarchy, [str(name) for name in classes.name])
    if lost and integers and _counts_rows(hierarchy, classes.name):
        leaf, lost = hierarchy.leaf_of_point[np.array(classes.name)].astype(np.int64), []
    if lost:
        if same_rows:
            return _over_rows(hierarchy, tree, "labels that do not name its leaves")
        raise _no_leaf(hierarchy, lost)
    leaf_of_point = leaf[classes.code].astype(np.int32)
    return (
        replace(
            hierarchy,
            leaf_of_point=leaf_of_point,
            size=sizes(hierarchy.parent, leaf_of_point),
            extra={},
        ),
        (),
    )


def _doubled_names(tree: Tree, hierarchy: Tree) -> tuple[str, ...]:
    """A warning where rows are matched in order because leaves share a name."""
    for of, what in ((tree, "tree"), (hierarchy, "hierarchy")):
        times = Counter(name for name in of.name[of.leaves].tolist() if name is not None)
        twice = [name for name, count in times.items() if count > 1]
        if twice:
            return (
                f"Several leaves of the {what} are called {listed(twice, 3)}, so its rows were "
                "matched in order.",
            )
    return ()


def _over_rows(hierarchy: Tree, tree: Tree, why: str) -> tuple[Tree, tuple[str, ...]]:
    """The hierarchy as one over the tree's points, with the warning that it is taken so."""
    over, by_name = matched(tree, hierarchy)
    how = "matched by name" if by_name else "in order"
    return over, (f"With {why}, the hierarchy's rows are taken as the tree's own points, {how}.",)


def _counts_rows(hierarchy: Tree, names: list[int] | list[str]) -> bool:
    """Whether names are row numbers of a hierarchy with one row per leaf."""
    single = hierarchy.n_points == hierarchy.n_leaves and bool(
        (hierarchy.size[hierarchy.leaves] == 1).all()
    )
    return single and int(names[0]) >= 0 and int(names[-1]) < hierarchy.n_points


def _leaves_named(hierarchy: Tree, labels: list[str]) -> tuple[Int, list[str]]:
    """(n,) the leaf that each label names, and the labels that name none or several."""
    nodes = NamedNodes(hierarchy)
    leaves = np.fromiter(map(nodes.find, labels), dtype=np.int64, count=len(labels))
    lost = (leaves < 0) | (hierarchy.n_children[leaves] > 0)
    return leaves, [labels[number] for number in np.flatnonzero(lost)]


def _no_leaf(hierarchy: Tree, lost: list[str]) -> UsageError:
    names = [name for name in hierarchy.name[hierarchy.leaves].tolist() if name is not None]
    label = lost[0]
    n_such = Counter(names)[label]
    why = "names no leaf" if n_such == 0 else f"names {n_such} leaves"
    return UsageError(
        f"Label {shown(label)} {why} of the hierarchy; its leaves are {listed(names)}. A label "
        "names one leaf, or gives its path of names such as 'animal/cat/lion'.",
        code="wrong-input",
        role="hierarchy",
        label=label[:80],
    )


Kernel = Literal["cosine", "gaussian"]


@dataclass
class Evaluation:
    """The values of metrics on one tree.

    metrics : by metric id; None if a metric is undefined, which a warning explains.
    standard_errors : of those metrics that are estimates from sampled pairs.
    warnings : one sentence each.
    cut : the flat clustering that was evaluated: {"k" | "height" | "level": value} or
        {"leaves": True}, and "n_clusters", with "n_noise" points beside them where the tree has
        noise. Empty if none was given or needed.
    lhd_leaves : K of `lhd`, the leaves of the tree over clusters; None where it was not measured.
    """

    metrics: dict[str, float | None] = field(default_factory=dict)
    standard_errors: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    cut: dict[str, Any] = field(default_factory=dict)
    lhd_leaves: int | None = None


@dataclass
class Subject:
    """A tree and what it is compared with. Derived values are computed on first use and kept.

    Fields are as in `models.metrics.catalogue.evaluate`.
    """

    tree: Tree
    labels: npt.NDArray[Any] | Sequence[Any] | LabelSets | None = None
    features: Matrix | None = None
    distances: Matrix | None = None
    similarity: Matrix | None = None
    hierarchy: Tree | None = None
    cut_by: Mapping[str, Any] | None = None
    kernel: Kernel = "cosine"
    sample: int | None = None
    seed: int = 0
    measured: Mapping[str, float] = field(default_factory=dict)
    fitted: Tree | None = None

    def rng(self, metric: str) -> np.random.Generator:
        """A generator for one metric: its draws do not depend on the other requested metrics."""
        return np.random.default_rng([self.seed, zlib.crc32(metric.encode())])

    @cached_property
    def given(self) -> set[str]:
        """The roles present among the inputs."""
        roles = ("labels", "features", "distances", "similarity", "hierarchy")
        return {role for role in roles if getattr(self, role) is not None}

    @cached_property
    def classes(self) -> Classes:
        assert self.labels is not None
        return classes_of(self.labels, self.tree.n_points)

    @cached_property
    def leaves(self) -> LeafOrder:
        return LeafOrder.of(self.tree)

    @cached_property
    def points(self) -> PointOrder:
        return PointOrder.of(self.tree, self.leaves)

    @cached_property
    def single_points(self) -> bool:
        """Whether the leaves are single points of the fit, so that they are no clusters."""
        tree = self.fitted or self.tree
        return bool(tree.size[tree.leaves].max() <= 1)

    @cached_property
    def cut_given(self) -> dict[str, Any]:
        """The requested cut, without members that are None; empty if there is none."""
        return {key: value for key, value in (self.cut_by or {}).items() if value is not None}

    @cached_property
    def criterion(self) -> dict[str, Any]:
        """The cut that gives the flat clustering: one of k, height, level.

        {} cuts at the leaves.
        """
        if self.cut_given:
            return _criterion(self.cut_given)
        if self.single_points and self.tree.n_points:
            n_clusters = min(self.classes.n_classes, most_clusters(self.tree))
            return {"k": n_clusters} if n_clusters else {}
        return {}

    @property
    def has_clusters(self) -> bool:
        """Whether it is known which flat clustering is meant."""
        return bool(self.cut_given) or self.labels is not None or not self.single_points

    @cached_property
    def cut(self) -> Cut:
        """The clusters and the noise."""
        return cut(self.tree, **self.criterion)

    @cached_property
    def clusters(self) -> Cut:
        """The flat clustering for flat metrics. Noise counts as one more cluster, as in
        scikit-learn's metrics of labels with -1."""
        return self.cut.with_noise()

    @cached_property
    def table(self) -> Contingency:
        """The flat clustering against the classes."""
        return contingency(
            self.clusters.cluster_of_point,
            self.classes.code,
            self.clusters.n_clusters,
            self.classes.n_classes,
        )

    @cached_property
    def cluster_tree(self) -> Tree:
        """The tree over clusters: the tree, or its part above the cut if its leaves are points."""
        if not self.single_points or self.tree.n_points == 0:
            return self.tree
        nodes = self.cut.cover
        return upper_part(self.tree, nodes, rows_at(self.tree, nodes))

    @cached_property
    def truth(self) -> tuple[Tree, tuple[str, ...]]:
        """The hierarchy over the tree's points, and warnings from matching them."""
        assert self.hierarchy is not None
        classes = None if self.labels is None else self.classes
        return truth_over_points(self.hierarchy, classes, self.tree)

    @cached_property
    def feature_rows(self) -> Matrix:
        """The features in their frame, for all that is the same wherever rows lie, on any scale."""
        return self._framed(moves=True)

    def _framed(self, *, moves: bool) -> Matrix:
        features = features_of(self.features, self.tree.n_points)
        framed = Frame.of(features, moves=moves).rows(features)
        assert not isinstance(framed, Rows)
        return framed

    @cached_property
    def pair_distances(self) -> Pairs:
        """The distances given, else Euclidean ones of the features."""
        if self.distances is not None:
            return distances_of(self.distances, self.tree.n_points)
        return Euclidean(self.feature_rows)

    @cached_property
    def pair_similarity(self) -> Pairs | SparsePairs:
        """The similarity given, else the kernel of the features."""
        if self.similarity is not None:
            return similarity_of(self.similarity, self.tree.n_points)
        if self.kernel == "cosine":
            cosine = Cosine(self._framed(moves=False))
            aside = Aside.of(cosine.features) if isinstance(cosine.features, np.ndarray) else None
            if aside is not None and aside.share < NARROW:
                cosine.warnings = (f"{aside.reason}, and the cosines hardly differ. {CENTRE}",)
            return cosine
        return Gaussian(self.feature_rows)

    def cut_used(self) -> dict[str, Any]:
        """The cut in the form of `Evaluation.cut`; empty while no metric has needed it."""
        if "cut" not in self.__dict__:
            return {}
        used = {**(self.criterion or {"leaves": True}), "n_clusters": self.cut.n_clusters}
        return {**used, "n_noise": self.cut.n_noise} if self.cut.noise.size else used

    def noise_warnings(self) -> tuple[str, ...]:
        """A warning of noise in the clusters, and of how it counts, where a metric has needed
        them."""
        if "cut" not in self.__dict__ or not self.cut.n_noise:
            return ()
        return (
            f"{self.cut.n_noise} of {self.tree.n_points} points are noise. Metrics of the clusters "
            "count them as one more cluster, as scikit-learn's do with the label -1.",
        )


def _criterion(cut_by: dict[str, Any]) -> dict[str, Any]:
    """A cut as a client gives it, checked: exactly one of k, height and level."""
    if len(cut_by) != 1 or not set(cut_by) <= {"k", "height", "level"}:
        raise UsageError(
            f"A cut is by one of k, height and level; this one is by {' and '.join(cut_by)}.",
            code="wrong-cut",
            parameter="cut",
        )
    ((key, value),) = cut_by.items()
    wanted: type | tuple[type, ...] = (int, float) if key == "height" else int
    if isinstance(value, bool) or not isinstance(value, wanted):
        kind = "a number" if key == "height" else "an integer"
        raise UsageError(
            f"The cut's {key} is {value!r}; it must be {kind}.", code="wrong-cut", parameter=key
        )
    return cut_by


Role = Literal["labels", "features", "distances", "similarity", "hierarchy", "measured"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One entry of the catalogue.

    needs : roles of which one is required; the first one present is used. "measured" is no input:
        the tree's method measured the metric itself.
    looks_at : "cut" (a flat clustering), "tree" (the whole tree) or "method" (the method that made
        it).
    low, high : range of its values; None: unbounded.
    better : which end is better.
    definition, source : one sentence for people; paper and place.
    compute : the metric itself.
    """

    id: str
    title: str
    needs: tuple[Role, ...]
    looks_at: Literal["cut", "tree", "method"]
    low: float | None
    high: float | None
    better: Literal["higher", "lower"]
    definition: str
    source: str
    compute: Callable[[Subject], Estimate]

    def applies(self, subject: Subject) -> bool:
        """Whether its inputs are present: one of its roles, and a cut if it needs one."""
        if self.needs == ("measured",):
            return self.id in subject.measured
        if not subject.given & set(self.needs):
            return False
        return self.looks_at != "cut" or subject.has_clusters


def metric(
    title: str,
    *,
    needs: tuple[Role, ...],
    looks_at: Literal["cut", "tree", "method"],
    low: float | None,
    high: float | None,
    better: Literal["higher", "lower"],
    source: str,
) -> Callable[[Callable[[Subject], Estimate]], Metric]:
    """Make a function an entry of the catalogue: its name is the id, its docstring the definition.

    The other fields are as in `Metric`.
    """

    def entry(compute: Callable[[Subject], Estimate]) -> Metric:
        definition = " ".join((compute.__doc__ or "").split())
        return Metric(
            compute.__name__,
            title,
            needs,
            looks_at,
            low,
            high,
            better,
            definition,
            source,
            compute,
        )

    return entry
