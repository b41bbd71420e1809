"""How often answers of calibrations hold the truth, and how deep they are.

A fifth of the rows makes the tree (`l2h`, which sees no labels) and fits the temperature; the rest
is halved at random, once for each split: one half sets thresholds, the other is answered.
`coverage` is the mean over splits of the share of answers that hold the class, `se` its standard
error over the splits; by class and by subtree it is that of the group that has least, beside the
number of groups that fall `short` of 1 - alpha by more than three of their standard errors. `given`
is the mean share of information, 1 - log(classes under the answer) / log(classes). `kept`: no
shortfall.

Beside them: flat conformal sets (`lac`) of the same scores, measured by the number of their
classes, and the same climb with the threshold 1 - alpha on masses alone, without calibration and
with the temperature only. `trust_labels`: a twentieth of the labels is changed to another class at
random; which of the labels called wrong were changed (precision; also of the first 50, 150 and
300), and which of the changed ones are called wrong (recall), beside cleanlab and its two orders,
where that is installed. The generated set has 64 classes
whose conditional probabilities are known; `true` is the expected coverage by these. `trust_pairs`
is that of `bench.trust_pairs`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

from bench import Size, real_data
from bench.report import Report
from bench.trust_pairs import pairs_table
from models.answers.beside_tree import ClassScores
from models.arrays import Float, Int, Mask
from models.calibration.calibration import (
    fewest_rows,
    group_quantiles,
    quantile,
)
from models.calibration.class_rows import label_errors
from models.calibration.climbing import (
    ClassTree,
    TreeProbabilities,
    answers,
    answers_by_class,
    class_scores,
    class_sets,
    fewest_nodes,
    groups_at,
    scores,
)
from models.calibration.losses import RiskCurve, distance_losses
from models.calibration.probabilities import probabilities
from models.calibration.temperature import fitted_temperature
from models.inputs.data import Data
from models.registry import method
from models.tree.cut import clusters

_SPLITS: dict[Size, int] = {"quick": 5, "default": 100, "full": 1000}
ALPHAS = (0.01, 0.05, 0.1)
FLIPPED = 0.05
N_FLIPS = 5
FIRST = (50, 150, 300)
"""The share of labels that are wrong on purpose, how often others are drawn, and
how many of the first suspects are looked at."""
BOUNDS = (0.1, 0.5, 1.0)
"""Shares of the expected number of edges."""
N_SUBTREES = 10
FEWEST_SPLITS = 5


@dataclass(frozen=True, slots=True)
class LabelledLogits:
    """Logits with labels; truth : (n, n_classes) conditional probabilities where they are known."""

    logits: Float
    label: Int
    truth: Float | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """What rows are answered by: whether the class is held, information, depth, nodes, classes."""

    held: Mask
    given: Float
    depth: Float
    n_nodes: Float
    n_classes: Float
    true: Float | None = None


def table(report: Report, size: Size) -> None:
    for name, make in SETS.items():
        known = make(size)
        if known is None:
            report.left_out("trust", name)
            continue
        _measure(report, name, known, _SPLITS[size])
    pairs_table(report, size)


def _languages(_: Size) -> LabelledLogits | None:
    return _read("lang_py3langid_udhr")


def _tinyimagenet(_: Size) -> LabelledLogits | None:
    return _read("tinyimagenet_efflite0")


def _read(name: str) -> LabelledLogits | None:
    logits, labels = real_data(f"{name}_logits.npy"), real_data(f"{name}_labels.npy")
    if logits is None or labels is None:
        return None
    return LabelledLogits(np.load(logits).astype(np.float64), np.load(labels).astype(np.int64))


def generated(size: Size, n_classes: int = 64) -> LabelledLogits:
    """Classes in four levels of groups of four or two, more alike the deeper they part; the logits
    given are three times those by which labels are drawn."""
    rng = np.random.default_rng(0)
    n_rows = 2000 if size == "quick" else 20_000
    centre = np.zeros((n_classes, 1))
    for n_groups, spread in ((4, 3.0), (16, 2.0), (64, 1.2)):
        own = spread * rng.normal(size=(n_groups, 6))
        centre = np.hstack([centre, np.repeat(own, n_classes // n_groups, axis=0)])
    place = centre[rng.integers(n_classes, size=n_rows)] + rng.normal(size=(n_rows, 19))
    logits = -0.35 * ((place[:, None] - centre) ** 2).sum(axis=2)
    truth = probabilities(logits, 1.0)
    drawn = (rng.random((n_rows, 1)) < np.cumsum(truth, axis=1)).argmax(axis=1)
    return LabelledLogits(3.0 * logits, drawn.astype(np.int64), truth)


SETS: dict[str, Callable[[Size], LabelledLogits | None]] = {
    "languages": _languages,
    "tinyimagenet": _tinyimagenet,
    "generated": generated,
}


def _measure(report: Report, name: str, known: LabelledLogits, n_splits: int) -> None:
    rng = np.random.default_rng(0)
    order = rng.permutation(len(known.label))
    first, rest = np.split(order, [len(order) // 5])
    l2h = method("l2h")
    fitted = l2h.fit(Data({"logits": known.logits[first]}), l2h.Params())
    assert fitted.model is not None
    tree, node = fitted.tree, fitted.tree.leaves.astype(np.int64)
    temperature = fitted_temperature(known.logits[first], known.label[first]).value
    report.note("trust", f"{name}: {len(rest)} rows, temperature {temperature:.3f}")
    trial = Trial.of(
        ClassTree.of(tree, node),
        probabilities(known.logits[rest], temperature),
        probabilities(known.logits[rest], 1.0),
        known.label[rest],
        None if known.truth is None else known.truth[rest],
        clusters(tree, k=min(N_SUBTREES, tree.n_leaves)).nodes,
    )
    halves = []
    for _ in range(n_splits):
        setting = np.zeros(len(rest), dtype=np.bool_)
        setting[rng.permutation(len(rest))[: len(rest) // 2]] = True
        halves.append(setting)
    for alpha in ALPHAS:
        for promise, answer in PROMISES.items():
            _row(report, name, promise, alpha, trial, halves, answer)
    scores_given = ClassScores(node, len(rest), lambda start, stop: known.logits[rest[start:stop]])
    _flip_rows(report, name, trial, scores_given, temperature)
    loss = distance_losses(trial.classes)
    for bound in BOUNDS:
        _risk_row(report, name, bound, trial, halves, loss)


@dataclass(frozen=True, slots=True)
class Trial:
    """Rows with everything that no split changes."""

    classes: ClassTree
    probability: Float
    raw: TreeProbabilities
    rows: TreeProbabilities
    label: Int
    truth: Float | None
    cut: Int
    score: Float
    set_scores: Float
    subtree: Int
    under: Mask

    @classmethod
    def of(
        cls,
        classes: ClassTree,
        probability: Float,
        raw: Float,
        label: Int,
        truth: Float | None,
        cut: Int,
    ) -> Trial:
        rows = TreeProbabilities.of(classes, probability)
        place = np.empty(classes.n_classes, dtype=np.int64)
        place[classes.order] = np.arange(classes.n_classes)
        under = (place >= classes.start[:, None]) & (place < classes.end[:, None])
        return cls(
            classes,
            probability,
            TreeProbabilities.of(classes, raw),
            rows,
            label,
            truth,
            cut,
            scores(rows, label),
            class_scores(probability, "lac"),
            groups_at(classes.tree, rows, cut),
            under,
        )

    def of_nodes(self, node: Int, some: Int) -> Answered:
        """What rows `some` are answered by, one node each."""
        within = self.under[node]
        tree, n_classes = self.classes.tree, self.classes.n_under[node]
        ones = np.ones(len(some))
        return self._answered(within, some, tree.depth[node], ones, n_classes)

    def of_sets(self, within: Mask, some: Int, nodes: bool) -> Answered:
        """nodes : whether sets are given as nodes, not by each of their classes."""
        n_classes = within.sum(axis=1)
        n_nodes, depth = n_classes, np.full(len(some), np.nan)
        if nodes:
            start, node = fewest_nodes(self.classes, within)
            n_nodes = np.diff(start)
            depth = np.minimum.reduceat(self.classes.tree.depth[node], start[:-1])
        return self._answered(within, some, depth, n_nodes, n_classes)

    def _answered(
        self, within: Mask, some: Int, depth: Int | Float, n_nodes: Int | Float, n_classes: Int
    ) -> Answered:
        given = 1 - np.log(n_classes) / np.log(self.classes.n_classes)
        true = None if self.truth is None else (self.truth[some] * within).sum(axis=1)
        held = within[np.arange(len(some)), self.label[some]]
        return Answered(
            held,
            given,
            np.asarray(depth, float),
            np.asarray(n_nodes, float),
            n_classes.astype(np.float64),
            true,
        )


Answer = Callable[[Trial, Mask, float], tuple[Answered, Int, int]]
"""From the rows that set thresholds to the answers to the others; their groups, and how many; a
group is -1 where nothing is promised."""


def _all(trial: Trial, setting: Mask, alpha: float) -> tuple[Answered, Int, int]:
    some = np.flatnonzero(~setting)
    limit = quantile(trial.score[setting], alpha)
    return _climbed(trial, some, limit, np.zeros(len(some), dtype=np.int64), 1)


def _by_subtree(trial: Trial, setting: Mask, alpha: float) -> tuple[Answered, Int, int]:
    some, n_groups = np.flatnonzero(~setting), len(trial.cut)
    limits = group_quantiles(trial.score[setting], trial.subtree[setting], n_groups, alpha)
    return _climbed(trial, some, limits[trial.subtree[some]], trial.subtree[some], n_groups)


def _by_class(trial: Trial, setting: Mask, alpha: float) -> tuple[Answered, Int, int]:
    some, n_groups = np.flatnonzero(~setting), trial.classes.n_classes
    limits = group_quantiles(trial.score[setting], trial.label[setting], n_groups, alpha)
    enough = np.bincount(trial.label[setting], minlength=n_groups) >= fewest_rows(alpha)
    limits = np.where(enough, limits, quantile(trial.score[setting], alpha))
    label = trial.label[some]
    node = answers_by_class(_part(trial.rows, some), limits)
    return trial.of_nodes(node, some), np.where(enough[label], label, -1), n_groups


def _sets(nodes: bool) -> Answer:
    def answer(trial: Trial, setting: Mask, alpha: float) -> tuple[Answered, Int, int]:
        some = np.flatnonzero(~setting)
        own = np.arange(len(trial.label))[setting]
        limit = quantile(trial.set_scores[own, trial.label[own]], alpha)
        within = class_sets(trial.probability[some], trial.set_scores[some], limit)
        return trial.of_sets(within, some, nodes), np.zeros(len(some), dtype=np.int64), 1

    return answer


def _alone(raw: bool) -> Answer:
    def answer(trial: Trial, setting: Mask, alpha: float) -> tuple[Answered, Int, int]:
        some = np.flatnonzero(~setting)
        rows = trial.raw if raw else trial.rows
        node = answers(_part(rows, some), 1 - alpha)
        return trial.of_nodes(node, some), np.zeros(len(some), dtype=np.int64), 1

    return answer


PROMISES: dict[str, Answer] = {
    "node, all rows": _all,
    "node, by subtree": _by_subtree,
    "node, by class": _by_class,
    "set of nodes, all rows": _sets(nodes=True),
    "flat conformal set": _sets(nodes=False),
    "threshold alone": _alone(raw=True),
    "threshold, temperature": _alone(raw=False),
}


def _climbed(
    trial: Trial, some: Int, limit: Float | float, group: Int, n_groups: int
) -> tuple[Answered, Int, int]:
    node = answers(_part(trial.rows, some), limit)
    return trial.of_nodes(node, some), group, n_groups


def _part(rows: TreeProbabilities, some: Int) -> TreeProbabilities:
    return TreeProbabilities(rows.classes, rows.total[some], rows.leaf[some])


def _row(
    report: Report,
    name: str,
    promise: str,
    alpha: float,
    trial: Trial,
    halves: list[Mask],
    answer: Answer,
) -> None:
    shares, means = [], []
    for setting in halves:
        answered, group, n_groups = answer(trial, setting, alpha)
        shares.append(_shares(answered.held, group, n_groups))
        means.append(list(_means(answered)))
    coverage = np.array(shares)
    # A group counts in the splits that promise it something, if these are several.
    counted = np.isfinite(coverage).sum(axis=0)
    coverage, counted = coverage[:, counted >= FEWEST_SPLITS], counted[counted >= FEWEST_SPLITS]
    given, depth, n_nodes, n_classes, true = np.mean(means, axis=0)
    if not counted.size:
        report.row(
            "trust", data=name, alpha=alpha, promise=promise, groups=0, short=None, coverage=None,
            se=None, kept=None, given=given, depth=depth, nodes=n_nodes, classes=n_classes,
            true=true,
        )  # fmt: skip
        return
    mean = np.nanmean(coverage, axis=0)
    error = np.nanstd(coverage, axis=0, ddof=1) / np.sqrt(counted)
    short = mean < 1 - alpha - 3 * error
    least = int(np.argmin(mean))
    report.row(
        "trust",
        data=name,
        alpha=alpha,
        promise=promise,
        groups=int(counted.size),
        short=int(short.sum()),
        coverage=float(mean[least]),
        se=float(error[least]),
        kept=not short.any(),
        given=given,
        depth=None if np.isnan(depth) else depth,
        nodes=n_nodes,
        classes=n_classes,
        true=None if np.isnan(true) else true,
    )


def _shares(held: Mask, group: Int, n_groups: int) -> Float:
    """(n_groups,) share of each group that is held; NaN for groups without rows."""
    promised = group >= 0
    total = np.bincount(group[promised], minlength=n_groups)
    right = np.bincount(group[promised], held[promised], minlength=n_groups)
    return np.asarray(np.divide(right, total, out=np.full(n_groups, np.nan), where=total > 0))


def _means(answered: Answered) -> Iterator[float]:
    for column in (answered.given, answered.depth, answered.n_nodes, answered.n_classes):
        yield float(column.mean())
    yield np.nan if answered.true is None else float(answered.true.mean())


def _flip_rows(
    report: Report, name: str, trial: Trial, given: ClassScores, temperature: float
) -> None:
    """The mean over draws of the flipped labels."""
    found: dict[str, list[list[float]]] = {}
    for seed in range(N_FLIPS):
        rng = np.random.default_rng(seed)
        flipped = rng.random(len(trial.label)) < FLIPPED
        other = rng.choice(np.unique(trial.label), len(trial.label))
        flipped &= other != trial.label
        label = np.where(flipped, other, trial.label)
        own = label_errors(trial.classes.tree, given, label, temperature).row
        called = {"confident joint": own, **_peers(label, trial.probability)}
        for system, rows in called.items():
            right = float(flipped[rows].sum())
            share = right / max(1, len(rows))
            first = [float(flipped[rows[:n]].mean()) for n in FIRST]
            found.setdefault(system, []).append([share, right / flipped.sum(), len(rows), *first])
    for system, each in found.items():
        precision, recall, n_rows, *first = np.mean(each, axis=0)
        report.row(
            "trust_labels",
            data=name,
            what=system,
            precision=float(precision),
            recall=float(recall),
            called=float(n_rows),
            **{f"first_{n}": float(share) for n, share in zip(FIRST, first, strict=True)},
        )


def _peers(label: Int, probability: Float) -> dict[str, Int]:
    """The rows that cleanlab calls wrong, in two orders; it knows only classes with rows."""
    if find_spec("cleanlab") is None:
        return {}
    from cleanlab.filter import find_label_issues

    present, code = np.unique(label, return_inverse=True)
    own = probability[:, present] / probability[:, present].sum(axis=1, keepdims=True)
    return {
        f"cleanlab, {order}": find_label_issues(
            code, own, filter_by="confident_learning", return_indices_ranked_by=order, n_jobs=1
        )
        for order in ("self_confidence", "normalized_margin")
    }


def _risk_row(
    report: Report, name: str, bound: float, trial: Trial, halves: list[Mask], loss: Float
) -> None:
    lost, depth, given = [], [], []
    worst = float(loss.max())
    if worst > bound * (halves[0].sum() + 1):
        needed = int(np.ceil(worst / bound)) - 1
        report.note("trust", f"{name}: edges under {bound} need {needed} rows")
        return
    for setting in halves:
        some = np.flatnonzero(~setting)
        own = np.flatnonzero(setting)
        blocks = [(_part(trial.rows, own), trial.label[own])]
        limit = RiskCurve.of(blocks, trial.classes, loss).threshold_at(bound)
        node = answers(_part(trial.rows, some), limit)
        lost.append(loss[trial.label[some], node].mean())
        depth.append(trial.classes.tree.depth[node].mean())
        given.append(trial.of_nodes(node, some).given.mean())
    error = float(np.std(lost, ddof=1) / np.sqrt(len(lost)))
    report.row(
        "trust_risk",
        data=name,
        bound=bound,
        edges=float(np.mean(lost)),
        se=error,
        kept=bool(np.mean(lost) <= bound + 3 * error),
        given=float(np.mean(given)),
        depth=float(np.mean(depth)),
    )
