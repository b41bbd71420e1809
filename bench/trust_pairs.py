"""Which pairs need more data: confusions of too few rows against those that stay.

Ten pairs of classes lie apart and are learned from 8 rows a class; ten overlap and are learned from
400. Held-out rows are drawn like these, 20 to 60 and 100 to 400 a class. The conditional
probabilities are known, so the confusions that a model has beyond the best one's are, too.
`first`: how many of the ten pairs that come first are among those learned from few rows. `order`:
the probability that such a pair comes before one that overlaps, of those with confused rows.
`agrees`: the correlation with the excess by the known probabilities, over all pairs of classes with
confused rows. `gain` orders as `models.calibration.pair_needs` does, `rate` by the share of
confused rows alone. Models: class means estimated from the rows; logistic regression, its penalty
weak or strong: the last hedges.

`trust_pairs_real`: sets with known classes, of which half, drawn at random, are learned from 12
rows each; the other half of the rows is held out. `agrees`: the correlation with how much less of a
pair is confused after learning from all the rows; `first`: how much less that is for the ten first
pairs, as a share of what ten pairs could have at most. The regression's penalty is weak.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bench import Size, real_data
from bench.report import Report
from models.answers.beside_tree import ClassScores
from models.arrays import Float, Int
from models.calibration.pair_needs import PairNeeds, pair_needs
from models.calibration.probabilities import probabilities
from models.calibration.temperature import fitted_temperature
from models.tree.build import from_parents, from_partition
from models.tree.tree import Tree

N_PAIRS = 20
FIRST = 10
REAL = ("letter", "pendigits", "usps", "20ng")
_FEW = 12
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
    n_held = np.where(few, rng.integers(20, 60, N_PAIRS), rng.integers(100, 400, N_PAIRS))
    learned = np.repeat(np.arange(n_classes), np.where(of_class, 8, 400))
    label = np.repeat(np.arange(n_classes), np.repeat(n_held, 2))
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


def regression(learned: Float, label: Int, rows: Float, inverse_penalty: float = 1.0) -> Float:
    """Logits of rows by a logistic regression."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=inverse_penalty, max_iter=1000).fit(learned, label)
    return np.asarray(model.decision_function(rows), dtype=np.float64)


def _by_regression(inverse_penalty: float) -> Callable[[World], Float]:
    return lambda world: regression(world.learned, world.learned_label, world.rows, inverse_penalty)


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


def _real(name: str) -> tuple[Float, Int] | None:
    """Standardised features, and classes."""
    names = (
        ("20ng3000_minilm.npy", "20ng3000_labels.npy") if name == "20ng" else (f"bench_{name}.npz",)
    )
    paths = [real_data(each) for each in names]
    if None in paths:
        return None
    files = [np.load(path) for path in paths if path is not None]
    rows, classes = files if len(files) == 2 else (files[0]["X"], files[0]["y"])
    rows = np.asarray(rows, dtype=np.float64)
    label = np.unique(classes, return_inverse=True)[1].astype(np.int64)
    spread = rows.std(axis=0)
    return (rows - rows.mean(axis=0)) / np.where(spread > 0, spread, 1.0), label


def real_table(report: Report, size: Size) -> None:
    for name in REAL:
        known = _real(name)
        if known is None:
            report.left_out("trust_pairs_real", name)
            continue
        every = [_learned_more(*known, seed) for seed in range(1 if size == "quick" else 4)]
        for number, column in enumerate(("gain", "rate")):
            means = np.mean([values[number] for values in every], axis=0)
            report.row(
                "trust_pairs_real",
                data=name,
                by=column,
                agrees=float(means[0]),
                first=float(means[1]),
            )


def _learned_more(rows: Float, label: Int, seed: int) -> list[tuple[float, float]]:
    """`agrees` and `first` of both orders."""
    rng = np.random.default_rng(seed)
    order, n_classes = rng.permutation(len(label)), int(label.max()) + 1
    learned, held = order[: len(order) // 2], order[len(order) // 2 :][:4000]
    is_few = rng.random(n_classes) < 0.5
    few = np.concatenate(
        [learned[label[learned] == c][: _FEW if is_few[c] else None] for c in range(n_classes)]
    )
    before, after = (regression(rows[some], label[some], rows[held]) for some in (few, learned))
    tree = from_partition(np.arange(n_classes), n_classes)
    found = needs_of(tree, before, label[held])
    pair = np.stack([found.node, found.other], axis=1) - tree.leaves[0]
    given = after.argmax(axis=1)
    wrong = given != label[held]
    left = np.array(
        [(np.isin(label[held], each) & np.isin(given, each) & wrong).sum() for each in pair]
    )
    less = found.rate - left / found.n_rows
    most = np.sort(less)[::-1][:FIRST].sum()
    return [
        (
            float(np.corrcoef(by, less)[0, 1]),
            float(less[np.argsort(-by, kind="stable")[:FIRST]].sum() / most),
        )
        for by in (found.gain, found.rate)
    ]


def needs_of(tree: Tree, logits: Float, label: Int) -> PairNeeds:
    """At the temperature that fits."""
    temperature = fitted_temperature(logits, label).value
    node = tree.leaves.astype(np.int64)
    scores = ClassScores(node, len(logits), lambda start, stop: logits[start:stop])
    return pair_needs(tree, scores, label, temperature)


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
        found = needs_of(tree, logits, world.label)
        kept = found.classes
        pair = np.stack([found.node[kept], found.other[kept]], axis=1) - tree.leaves[0]
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
    real_table(report, size)
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
