"""Which pairs need more data: confusions of too few rows against those that stay.

Ten pairs of classes lie apart and are learned from 8 rows a class; ten overlap and are learned from
400. Held-out rows are drawn like these, 20 to 60 and 100 to 400 a class. The conditional
probabilities are known, so the confusions that a model has beyond those of the best one are, too.
`first`: how many of the ten pairs that come first are among those learned from few rows. `order`:
the probability that such a pair comes before one that overlaps, of those with confused rows.
`agrees`: the correlation with the excess by the known probabilities, over all pairs of classes with
confused rows. `gain` orders as `models.calibration.pair_needs` does, `rate` by the share of
confused rows alone. Models: class means estimated from the rows; logistic regression, its penalty
weak or strong: the last hedges, which the order cannot see.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bench import Size
from bench.report import Report
from models.arrays import Float, Int
from models.calibration.calibration import probabilities
from models.calibration.pair_needs import PairNeeds, pair_needs
from models.calibration.temperature import fitted_temperature
from models.class_scores import ClassScores
from models.tree.build import from_parents
from models.tree.tree import Tree

N_PAIRS = 20
FIRST = 10
_WIDTH = 20
_SEEDS: dict[Size, int] = {"quick": 2, "default": 10, "full": 50}


@dataclass(frozen=True, slots=True)
class World:
    """Classes 2 i and 2 i + 1 are a pair; those below `N_PAIRS` are learned from few rows.

    learned, learned_label : the rows that a model learns from. rows, label : those held out.
    true : (n_rows, n_classes) logits of the known probabilities, all classes being alike frequent.
    """

    learned: Float
    learned_label: Int
    rows: Float
    label: Int
    true: Float


def world(seed: int) -> World:
    rng = np.random.default_rng(seed)
    few = np.arange(N_PAIRS) < N_PAIRS // 2
    apart = rng.normal(size=(N_PAIRS, _WIDTH))
    length = np.where(few, 2.6, rng.uniform(1.2, 2.4, N_PAIRS)) / 2
    apart *= (length / np.linalg.norm(apart, axis=1))[:, None]
    centre = np.repeat(2.5 * rng.normal(size=(N_PAIRS, _WIDTH)), 2, axis=0)
    centre += np.stack([apart, -apart], axis=1).reshape(centre.shape)
    n_classes, of_class = 2 * N_PAIRS, np.repeat(few, 2)
    n_held = np.where(of_class, rng.integers(20, 60, n_classes), rng.integers(100, 400, n_classes))
    learned = np.repeat(np.arange(n_classes), np.where(of_class, 8, 400))
    label = np.repeat(np.arange(n_classes), n_held)
    rows = centre[label] + rng.normal(size=(len(label), _WIDTH))
    return World(
        centre[learned] + rng.normal(size=(len(learned), _WIDTH)),
        learned,
        rows,
        label,
        _by_means(rows, centre),
    )


def by_means(world: World) -> Float:
    """Logits of the held-out rows by the means of the rows learned."""
    n_classes = 2 * N_PAIRS
    total = np.zeros((n_classes, _WIDTH))
    np.add.at(total, world.learned_label, world.learned)
    count = np.bincount(world.learned_label, minlength=n_classes)
    return _by_means(world.rows, total / count[:, None])


def _by_means(rows: Float, mean: Float) -> Float:
    logits: Float = rows @ mean.T - 0.5 * (mean**2).sum(axis=1)
    return logits


def _by_regression(inverse_penalty: float) -> Callable[[World], Float]:
    def logits(world: World) -> Float:
        from sklearn.linear_model import LogisticRegression

        regression = LogisticRegression(C=inverse_penalty, max_iter=1000)
        regression.fit(world.learned, world.learned_label)
        return np.asarray(regression.decision_function(world.rows), dtype=np.float64)

    return logits


MODELS: dict[str, Callable[[World], Float]] = {
    "class means": by_means,
    "regression, weak penalty": _by_regression(1.0),
    "regression, strong penalty": _by_regression(0.01),
}


def pairs_tree() -> Tree:
    """A root over the pairs, with a leaf for each class."""
    pair = np.arange(1, N_PAIRS + 1)
    parent = np.concatenate([[-1], np.zeros(N_PAIRS), np.repeat(pair, 2)]).astype(np.int64)
    height = np.concatenate([[2.0], np.ones(N_PAIRS), np.zeros(2 * N_PAIRS)])
    names: list[str | None] = [None] * len(parent)
    leaf = np.arange(N_PAIRS + 1, len(parent))
    return from_parents(parent, height, names, leaf_of_point=leaf)


@dataclass(frozen=True, slots=True)
class Ranked:
    """The pairs of classes with confused rows: (n_pairs, 2) classes, and what orders them; excess :
    the share of rows that the model confuses and the best one would not.
    """

    pair: Int
    gain: Float
    rate: Float
    excess: Float

    @classmethod
    def of(cls, world: World, logits: Float) -> Ranked:
        tree = pairs_tree()
        temperature = fitted_temperature(logits, world.label).value
        node = tree.leaves.astype(np.int64)
        scores = ClassScores(node, len(logits), lambda start, stop: logits[start:stop])
        found: PairNeeds = pair_needs(tree, scores, world.label, temperature)
        kept = found.classes
        pair = np.stack([found.node[kept], found.other[kept]], axis=1) - node[0]
        truth = probabilities(world.true, 1.0)
        excess = np.zeros(len(pair))
        for sign, taken in ((1.0, logits.argmax(axis=1)), (-1.0, world.true.argmax(axis=1))):
            for at, (one, other) in enumerate(pair.tolist()):
                excess[at] += sign * truth[taken == other, one].sum()
                excess[at] += sign * truth[taken == one, other].sum()
        return cls(pair, found.gain[kept], found.rate[kept], excess / found.n_rows[kept])

    def first(self, order: Float) -> float:
        """How many of the pairs that come first are of two classes learned from few rows."""
        return float(self._few()[np.argsort(-order, kind="stable")[:FIRST]].sum())

    def before(self, order: Float) -> float:
        """The probability that a pair of few rows comes before one that overlaps, ties half."""
        own = self.pair[:, 0] // 2 == self.pair[:, 1] // 2
        few, overlapping = order[own & self._few()], order[own & ~self._few()]
        above = (few[:, None] > overlapping).mean() + 0.5 * (few[:, None] == overlapping).mean()
        return float(above)

    def agrees(self, order: Float) -> float:
        return float(np.corrcoef(order, self.excess)[0, 1])

    def _few(self) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        few: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = (self.pair < N_PAIRS).all(axis=1)
        return few


def pairs_table(report: Report, size: Size) -> None:
    for name, logits in MODELS.items():
        worlds = [world(seed) for seed in range(_SEEDS[size])]
        every = [Ranked.of(each, logits(each)) for each in worlds]
        for column in ("gain", "rate"):
            orders = [getattr(ranked, column) for ranked in every]
            pairs = list(zip(every, orders, strict=True))
            report.row(
                "trust_pairs",
                what=name,
                by=column,
                first=float(np.mean([ranked.first(order) for ranked, order in pairs])),
                order=float(np.mean([ranked.before(order) for ranked, order in pairs])),
                agrees=float(np.mean([ranked.agrees(order) for ranked, order in pairs])),
            )
