"""How well trees of classes agree with their true hierarchies: `l2h` and the rules of `class-tree`.

`right` is the share of triplets of classes of which both trees hold the same pair closest: triplets
that the true hierarchy resolves, of classes that are predicted at all, at most 200,000 drawn; a
third would be by chance. `over_l2h`: how much is gained over `l2h`, and `low`, `high` 95% of that
when classes are drawn anew (1,000 times). Logits: of two real classifiers, and of heads trained on
one half of a set's embeddings (ridge regression, logistic regression, the nearest mean of a class,
15 nearest neighbours), for the other half.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from bench import Size, real_data
from bench.report import Report
from bench.truths import loaded
from models.arrays import Float, Int
from models.inputs.data import Data
from models.registry import method
from models.tree.tree import Tree
from models.tree.walk import lca

_TRIPLETS: dict[Size, int] = {"quick": 20_000, "default": 200_000, "full": 1_000_000}
_DRAWS: dict[Size, int] = {"quick": 100, "default": 1000, "full": 1000}
RULES = ("l2h", "walk", "consensus")
NEIGHBOURS = 15
_RIDGE = 1e-2

GROUPS_20NG = (
    *("alt.atheism", "comp.graphics", "comp.os.ms-windows.misc", "comp.sys.ibm.pc.hardware"),
    *("comp.sys.mac.hardware", "comp.windows.x", "misc.forsale", "rec.autos", "rec.motorcycles"),
    *("rec.sport.baseball", "rec.sport.hockey", "sci.crypt", "sci.electronics", "sci.med"),
    *("sci.space", "soc.religion.christian", "talk.politics.guns", "talk.politics.mideast"),
    *("talk.politics.misc", "talk.religion.misc"),
)


@dataclass(frozen=True, slots=True)
class ClassLogits:
    """logits : (n, K). near : (K, K) how near two classes are in the true hierarchy: nodes on the
    path from the root that they share; of a class and itself -1 where that is not known, or has no
    row."""

    logits: Float
    near: Int


def table(report: Report, size: Size) -> None:
    for name, known in sets(size):
        if known is None:
            report.left_out("class_trees", name)
            continue
        triplets = Triplets.of(known, _TRIPLETS[size])
        own: dict[str, Float] = {}
        for rule in RULES:
            began = time.process_time()
            own[rule] = triplets.right(_fitted(rule, known.logits))
            cpu_s = time.process_time() - began
            low, high = triplets.interval(own[rule] - own["l2h"], _DRAWS[size])
            report.row(
                "class_trees",
                logits=name,
                classes=len(np.unique(known.logits.argmax(axis=1))),
                tree=rule,
                right=float(own[rule].mean()),
                over_l2h=float((own[rule] - own["l2h"]).mean()),
                low=low,
                high=high,
                cpu_s=cpu_s,
            )


def _fitted(rule: str, logits: Float) -> Tree:
    name, params = ("l2h", {}) if rule == "l2h" else ("class-tree", {"rule": rule})
    fits = method(name)
    return fits.fit(Data({"logits": logits}), fits.Params(**params)).tree


def lca_sizes(tree: Tree) -> Int:
    """(K, K) the number of classes under the lowest node that has both, leaves in their order."""
    n = tree.n_leaves
    under = np.zeros((tree.n_nodes, n), dtype=bool)
    under[tree.leaves, np.arange(n)] = True
    sizes = np.full((n, n), n)
    for node in range(tree.n_nodes - 1, 0, -1):
        under[tree.parent[node]] |= under[node]
    for node in range(tree.n_nodes):
        inside = np.flatnonzero(under[node])
        sizes[np.ix_(inside, inside)] = np.minimum(sizes[np.ix_(inside, inside)], len(inside))
    return sizes


@dataclass(frozen=True, slots=True)
class Triplets:
    """first, second, third : (m,) classes; the truth holds the first two closest."""

    n_classes: int
    first: Int
    second: Int
    third: Int

    @classmethod
    def of(cls, known: ClassLogits, n_drawn: int) -> Triplets:
        used = np.unique(known.logits.argmax(axis=1))
        used = used[np.diag(known.near)[used] >= 0]
        drawn = np.random.default_rng(0).choice(used, (4 * n_drawn, 3))
        a, b, c = drawn.T
        near = known.near
        closest = (a != b) & (a != c) & (b != c)
        closest &= (near[a, b] > near[a, c]) & (near[a, b] > near[b, c])
        kept = np.flatnonzero(closest)[:n_drawn]
        return cls(len(near), a[kept], b[kept], c[kept])

    def right(self, tree: Tree) -> Float:
        """(m,) 1 where the tree holds the same pair closest; 1/3 where it holds none."""
        size = lca_sizes(tree)
        a, b, c = self.first, self.second, self.third
        own, other = size[a, b], np.minimum(size[a, c], size[b, c])
        return np.where(own < other, 1.0, np.where(size[a, c] == size[b, c], (own == other) / 3, 0))

    def interval(self, values: Float, n_draws: int) -> tuple[float, float]:
        """95% of the mean of the values when classes are drawn anew."""
        rng = np.random.default_rng(0)
        classes, place = np.unique([self.first, self.second, self.third], return_inverse=True)
        place = place.reshape(3, -1)
        means = []
        for _ in range(n_draws):
            times = np.bincount(rng.integers(0, len(classes), len(classes)), minlength=len(classes))
            weight = times[place].prod(axis=0)
            if weight.any():
                means.append(float((weight * values).sum() / weight.sum()))
        low, high = np.quantile(means, [0.025, 0.975])
        return float(low), float(high)


def sets(size: Size) -> Iterator[tuple[str, ClassLogits | None]]:
    """Logits by name, one after the other."""
    yield "tinyimagenet", _images()
    yield "languages", _languages()
    embedded = ("emoji", "20ng3000") if size == "quick" else (*EMBEDDED,)
    for name in embedded:
        found = EMBEDDED[name]()
        for head in HEADS:
            named = f"{name} {head}"
            yield named, None if found is None else _headed(*found, HEADS[head])


def _shared(path_of: list[tuple[str, ...]]) -> Int:
    """(K, K) length of the common beginning of two paths; longer than any for the same class."""
    near = np.empty((len(path_of), len(path_of)), dtype=np.int64)
    for i, p in enumerate(path_of):
        for j, q in enumerate(path_of):
            differ = (at for at, (a, b) in enumerate(zip(p, q, strict=False)) if a != b)
            near[i, j] = next(differ, min(len(p), len(q)))
    return near


def _images() -> ClassLogits | None:
    logits, described = (
        real_data(f"tinyimagenet_{part}") for part in ("efflite0_logits.npy", "classes.json")
    )
    if logits is None or described is None:
        return None
    classes = json.loads(described.read_text())
    paths = zip(classes["wordnet_path"], classes["wnid"], strict=True)
    near = _shared([(*map(str, path), own) for path, own in paths])
    return ClassLogits(np.load(logits), near)


def _languages() -> ClassLogits | None:
    logits, labels, described = (
        real_data(f"lang_py3langid_udhr_{part}")
        for part in ("logits.npy", "labels.npy", "classes.json")
    )
    if logits is None or labels is None or described is None:
        return None
    classes = json.loads(described.read_text())
    family = [classes["family"][own] for own in classes["classes"]]
    near = _shared([(str(name), own) for name, own in zip(family, classes["classes"], strict=True)])
    unknown = [at for at, name in enumerate(family) if name is None]
    absent = np.union1d(np.setdiff1d(np.arange(len(near)), np.load(labels)), unknown).astype(int)
    near[absent, absent] = -1
    return ClassLogits(np.load(logits), near)


def _true_set(name: str) -> tuple[Float, Int, Int] | None:
    """Points, their classes, and how near these are."""
    found = loaded(name)
    if found is None:
        return None
    tree = found.hierarchy
    leaf = tree.leaf_of_point.astype(np.int64)
    pairs = np.meshgrid(leaf, leaf, indexing="ij")
    meet = lca(tree, *(each.ravel() for each in pairs))
    near = tree.depth[meet].reshape(len(leaf), -1)
    return found.points, found.label, near


def _newsgroups() -> tuple[Float, Int, Int] | None:
    points, labels = (real_data(f"20ng3000_{part}.npy") for part in ("minilm", "labels"))
    if points is None or labels is None:
        return None
    near = _shared([tuple(name.split(".")) for name in GROUPS_20NG])
    return np.load(points).astype(np.float64), np.load(labels).astype(np.int64), near


EMBEDDED: dict[str, Callable[[], tuple[Float, Int, Int] | None]] = {
    "tinyimagenet": partial(_true_set, "tinyimagenet"),
    "wordnet12k": partial(_true_set, "wordnet12k"),
    "ImCLEF07A": partial(_true_set, "ImCLEF07A"),
    "emoji": partial(_true_set, "emoji"),
    "20ng3000": _newsgroups,
}


def _ridge(points: Float, label: Int, new: Float) -> Float:
    ones = np.ones((len(points), 1))
    x = np.hstack([points, ones])
    penalty = _RIDGE * np.trace(x.T @ x) / x.shape[1] * np.eye(x.shape[1])
    weights = np.linalg.solve(x.T @ x + penalty, x.T @ np.eye(label.max() + 1)[label])
    return np.asarray(10.0 * (np.hstack([new, np.ones((len(new), 1))]) @ weights))


def _logistic(points: Float, label: Int, new: Float) -> Float:
    from sklearn.linear_model import LogisticRegression

    scale = points.std()
    fitted = LogisticRegression(C=10.0, max_iter=200).fit(points / scale, label)
    return np.asarray(fitted.decision_function(new / scale))


def _means(points: Float, label: Int, new: Float) -> Float:
    mean = np.array([points[label == c].mean(axis=0) for c in range(label.max() + 1)])
    squares = (mean**2).sum(axis=1)
    return np.asarray((2.0 * new @ mean.T - squares) / points.var(axis=0).sum() * 10.0)


def _nearest(points: Float, label: Int, new: Float) -> Float:
    """Logarithms of the shares of classes among the nearest rows, one of each class added."""
    from sklearn.neighbors import NearestNeighbors

    near = NearestNeighbors(n_neighbors=NEIGHBOURS).fit(points).kneighbors(new)[1]
    n_classes = int(label.max()) + 1
    count = np.zeros((len(new), n_classes))
    np.add.at(count, (np.arange(len(new))[:, None], label[near]), 1.0)
    return np.log((count + 1.0 / n_classes) / (NEIGHBOURS + 1.0))


HEADS = {"ridge": _ridge, "logistic": _logistic, "means": _means, "nearest": _nearest}


def _headed(
    points: Float, label: Int, near: Int, head: Callable[[Float, Int, Float], Float]
) -> ClassLogits:
    """The logits of the odd rows, of a head trained on the even ones of a shuffle."""
    order = np.random.default_rng(0).permutation(len(points))
    train, test = order[::2], order[1::2]
    known = np.unique(label[train])
    column = np.full(len(near), -1)
    column[known] = np.arange(len(known))
    logits = head(points[train], column[label[train]], points[test])
    return ClassLogits(logits, near[np.ix_(known, known)])
