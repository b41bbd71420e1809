"""Sets that hold each class as often as promised, from few rows a class.

Each draw takes `rows` rows of each class at random to calibrate, a share of which fits the
temperature (and, with `relearn`, the discriminants), and answers the rest. `held` is the mean over
classes of the share of their rows that is held, `se` its standard error over draws, `least` the
mean of the class held least, `classes` and `nodes` the mean size of a set, `none` the share of rows
that abstain. `oracle` is the size at which thresholds of the answered rows themselves hold every
class: what no calibration of such scores can beat. `price_2` and `price_5` are mean classes where a
set of more is given up for that price. `ding` are flat sets whose classes share thresholds by
clusters of the quantiles of their scores (Ding et al., 2023; five clusters, made of the rows of the
temperature).

Rows that are not like the calibration's, and other packages: `bench.sure_moved`.

`sure_groups` is a simulation: classes with 1 to 40 rows drawn anew each time, thresholds shared in
the tree, a new row for each draw: how often rows of classes with a promise are held.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression

from bench import Size, real_data, sure_moved
from bench.report import Report
from bench.trust import SETS, LabelledLogits
from models.answers.beside_tree import ClassScores
from models.arrays import Float, Int
from models.calibration.calibration import CalibrationTerms, quantile
from models.calibration.climbing import ClassTree
from models.calibration.fit import FittedCalibration, fitted_calibration
from models.calibration.probabilities import probabilities
from models.inputs.data import Data
from models.registry import method
from models.tree.build import from_parents, levels_below

ALPHAS = (0.05, 0.1)
ROWS = 30
LEFT = 15
"""A class is used if it has so many rows beside those that calibrate."""
_DRAWS: dict[Size, int] = {"quick": 2, "default": 20, "full": 100}
ENTRIES: dict[str, dict[str, Any]] = {
    "all rows": {"per": "all"},
    "class": {},
    "class, may abstain": {"abstains": True},
    "relearned": {"relearn": True, "temperature_share": 1 / 3},
    "relearned, may abstain": {"relearn": True, "temperature_share": 1 / 3, "abstains": True},
    **{
        f"relearned, {n} nodes": {"relearn": True, "temperature_share": 1 / 3, "most_nodes": n}
        for n in (1, 2, 3)
    },
}


def table(report: Report, size: Size) -> None:
    for name in ("languages", "tinyimagenet", "newsgroups"):
        known = _newsgroups() if name == "newsgroups" else SETS[name](size)
        if known is None:
            report.left_out("sure", name)
            continue
        _measure(report, name, known, _DRAWS[size])
        sure_moved.table(report, name, known, size)
    _simulated(report, 400 if size == "quick" else 20_000)


def _newsgroups() -> LabelledLogits | None:
    """Logits of a logistic regression that learned from two fifths of the posts."""
    points, labels = real_data("20ng3000_minilm.npy"), real_data("20ng3000_labels.npy")
    if points is None or labels is None:
        return None
    rows, label = np.load(points), np.load(labels).astype(np.int64)
    order = np.random.default_rng(0).permutation(len(label))
    first, rest = np.split(order, [2 * len(order) // 5])
    learner = LogisticRegression(C=10.0).fit(rows[first], label[first])
    return LabelledLogits(np.asarray(learner.decision_function(rows[rest])), label[rest])


def _measure(report: Report, name: str, known: LabelledLogits, n_draws: int) -> None:
    count = np.bincount(known.label, minlength=known.logits.shape[1])
    used = np.flatnonzero(count >= ROWS + LEFT)
    kept = np.isin(known.label, used)
    logits, label = known.logits[kept], known.label[kept]
    maker = method("class-tree")
    tree = maker.fit(Data({"logits": logits}), maker.Params()).tree
    node = tree.leaves.astype(np.int64)
    for alpha in ALPHAS:
        for entry, terms in {**ENTRIES, "ding, flat": {}}.items():
            draws = []
            for seed in range(n_draws):
                rng = np.random.default_rng(seed)
                own = [rng.permutation(np.flatnonzero(label == each))[:ROWS] for each in used]
                setting = np.zeros(len(label), dtype=np.bool_)
                setting[np.concatenate(own)] = True
                some, rest = np.flatnonzero(setting), np.flatnonzero(~setting)
                given = {"per": "class", "answer": "set", "alpha": alpha, "seed": seed, **terms}
                fitted = fitted_calibration(
                    tree, _scores(logits[some], node), label[some], CalibrationTerms(**given)
                )
                calibration = fitted.calibration
                scores, temperature = calibration.scored(_scores(logits[rest], node))
                probability = probabilities(scores.read(0, len(rest)), temperature)
                if entry == "ding, flat":
                    within = _clustered(fitted, logits[some], label[some], probability, alpha, seed)
                    n_nodes = within.sum(axis=1)
                else:
                    answers = calibration.answers(tree, _scores(logits[rest], node), alpha)
                    within = _within(ClassTree.of(tree, node), answers.start, answers.node)
                    n_nodes = np.diff(answers.start)
                oracle = _oracle(probability, label[rest], used, alpha, bool(terms.get("abstains")))
                draws.append(
                    (_held(within, label[rest], used), within.sum(axis=1), n_nodes, oracle)
                )
            held = np.array([each[0] for each in draws])
            sizes = [each[1] for each in draws]
            mean = held.mean(axis=1)
            report.row(
                "sure",
                data=name,
                alpha=alpha,
                sets=entry.ljust(22),
                held=float(mean.mean()),
                se=float(mean.std(ddof=1) / np.sqrt(n_draws)),
                least=float(held.mean(axis=0).min()),
                classes=float(np.mean([own.mean() for own in sizes])),
                spread=float(np.std([own.mean() for own in sizes], ddof=1)),
                nodes=float(np.mean([each[2].mean() for each in draws])),
                none=float(np.mean([(own == 0).mean() for own in sizes])),
                oracle=float(np.mean([each[3] for each in draws])),
                **{
                    f"price_{price}": float(
                        np.mean([np.where((own > price) | (own == 0), price, own) for own in sizes])
                    )
                    for price in (2, 5)
                },
            )


def _scores(logits: Float, node: Int) -> ClassScores:
    return ClassScores(node, len(logits), lambda start, stop: logits[start:stop])


def _within(classes: ClassTree, start: Int, node: Int) -> Any:
    """(n, n_classes) which classes are under the nodes of each row."""
    place = np.empty(classes.n_classes, dtype=np.int64)
    place[classes.order] = np.arange(classes.n_classes)
    under = (place >= classes.start[:, None]) & (place < classes.end[:, None])
    shape = (len(start) - 1, classes.tree.n_nodes)
    named = csr_array((np.ones(len(node), dtype=np.int32), node, start), shape=shape)
    return named @ under.astype(np.int32) > 0


def _held(within: Any, label: Int, used: Int) -> Float:
    right = within[np.arange(len(label)), label]
    n_classes = within.shape[1]
    total = np.bincount(label, minlength=n_classes)
    return np.asarray(np.bincount(label, right, n_classes)[used] / total[used])


def _own_scores(probability: Float, label: Int, abstains: bool) -> Float:
    own = 1.0 - probability[np.arange(len(label)), label]
    return own if abstains else np.where(probability.argmax(axis=1) == label, -1.0, own)


def _oracle(probability: Float, label: Int, used: Int, alpha: float, abstains: bool) -> float:
    """The mean size of sets whose thresholds are the answered rows' quantiles."""
    limit = np.full(probability.shape[1], -np.inf)
    own = _own_scores(probability, label, abstains)
    for each in used.tolist():
        scores = own[label == each]
        limit[each] = np.quantile(scores, 1 - alpha, method="inverted_cdf")
    within = 1.0 - probability <= limit
    if not abstains:
        within[np.arange(len(label)), probability.argmax(axis=1)] = True
    return float(within.sum(axis=1).mean())


def _clustered(
    fitted: FittedCalibration, logits: Float, label: Int, rest: Float, alpha: float, seed: int
) -> Any:
    probability = probabilities(logits, fitted.calibration.temperature)
    own = _own_scores(probability, label, False)
    order = np.random.default_rng(seed).permutation(len(label))
    first, others = np.split(
        order, [round(fitted.calibration.terms.temperature_share * len(order))]
    )
    classes = np.unique(label)
    quantiles = [
        np.quantile(own[first][label[first] == each], (0.5, 0.6, 0.7, 0.8, 0.9))
        if (label[first] == each).any()
        else np.zeros(5)
        for each in classes.tolist()
    ]
    cluster = KMeans(min(5, len(classes)), n_init=4, random_state=seed).fit_predict(quantiles)
    limit = np.full(rest.shape[1], -np.inf)
    for each in np.unique(cluster).tolist():
        members = classes[cluster == each]
        limit[members] = quantile(own[others][np.isin(label[others], members)], alpha)
    within = 1.0 - rest <= limit
    within[np.arange(len(rest)), rest.argmax(axis=1)] = True
    return within


def _simulated(report: Report, n_draws: int) -> None:
    """Classes of 1 to 40 expected rows whose scores differ, in a tree of four levels."""
    rng = np.random.default_rng(0)
    parent = np.array([-1, 0, 0, *np.repeat([1, 2], 3), *np.repeat(np.arange(3, 9), 4)])
    node = np.flatnonzero(np.bincount(parent[1:], minlength=len(parent)) == 0)
    heights = levels_below(parent.astype(np.int32))
    tree = from_parents(parent, heights, [None] * len(parent), node)
    n_classes = len(node)
    share = rng.permutation(np.geomspace(1.0, 40.0, n_classes))
    logits_of = 2.5 * np.eye(n_classes) + rng.normal(size=(n_classes, n_classes))
    spread = rng.uniform(0.5, 2.0, n_classes)
    n_rows = int(share.sum())
    for alpha in ALPHAS:
        hits: dict[str, list[float]] = {}
        for _ in range(n_draws // 20):
            label = rng.choice(n_classes, n_rows + 20, p=share / share.sum())
            logits = logits_of[label] + spread[label, None] * rng.normal(
                size=(len(label), n_classes)
            )
            terms = CalibrationTerms(
                per="class", answer="set", alpha=alpha, temperature=1.0, abstains=True
            )
            own = fitted_calibration(
                tree, _scores(logits[:n_rows], node), label[:n_rows], terms
            ).calibration
            found = own.answers(tree, _scores(logits[n_rows:], node), alpha)
            held = _within(ClassTree.of(tree, node), found.start, found.node)
            groups = own.groups(alpha)
            for row, true in enumerate(label[n_rows:].tolist()):
                of = groups.of[true]
                kind = (
                    "none"
                    if of < 0
                    else "own"
                    if groups.members[of].tolist() == [true]
                    else "shared"
                )
                hits.setdefault(kind, []).append(float(held[row, true]))
        for kind, each in sorted(hits.items()):
            report.row(
                "sure_groups",
                alpha=alpha,
                threshold=kind,
                n=len(each),
                held=float(np.mean(each)),
                se=float(np.std(each) / np.sqrt(len(each))),
            )
