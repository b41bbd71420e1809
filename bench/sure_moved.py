"""Sure answers where new rows are not like the calibration's, and beside other packages.

`sure_moved`: a half of the rows calibrates; the others are drawn with classes' shares multiplied by
exp(N(0, 1)), a half of them as the batch of a drift, a half to be answered at alpha 0.1. `held` is
the mean share held over draws, by a calibration that knows nothing of it, and by ones that know the
drift; `regions` is how many it found.

`sure_following`: batches of 50 rows. The first twenty are like the calibration's; of the next
twenty the logits are divided by two and noise is added; then they are as before. `missed` of all,
`worst` of ten batches in a row, `bound` what is promised at most of all rows by `following`.

`sure_peers`: sets with the same probabilities, alpha and rows by this package, MAPIE, crepes and
torchcp, as far as they are installed: over all rows, and by class.
"""

from __future__ import annotations

from importlib import import_module

import numpy as np

from bench import Size
from bench.report import Report
from bench.trust import LabelledLogits
from models.answers.beside_tree import ClassScores
from models.arrays import Array, Float, Int
from models.calibration.calibration import Calibration, CalibrationTerms
from models.calibration.climbing import ClassTree
from models.calibration.fit import fitted_calibration, followed_calibration
from models.calibration.probabilities import probabilities
from models.calibration.shifts import Regions
from models.drift.drift import Sample, drift
from models.inputs.data import Data
from models.registry import method
from models.tree.tree import Tree

ALPHA = 0.1
N_BATCHES, N_ROWS = 20, 50
_DRAWS: dict[Size, int] = {"quick": 2, "default": 20, "full": 100}


def table(report: Report, name: str, known: LabelledLogits, size: Size) -> None:
    maker = method("class-tree")
    tree = maker.fit(Data({"logits": known.logits}), maker.Params()).tree
    _moved(report, name, known, tree, _DRAWS[size])
    _following(report, name, known, tree, _DRAWS[size])
    _peers(report, name, known, _DRAWS[size])


def _scores(tree: Tree, logits: Float) -> ClassScores:
    node = tree.leaves.astype(np.int64)
    return ClassScores(node, len(logits), lambda start, stop: logits[start:stop])


def held(tree: Tree, calibration: Calibration, logits: Float, label: Int) -> tuple[Array, Float]:
    """Which rows' classes are held, and the number of classes in each answer."""
    scores = _scores(tree, logits)
    shown = calibration.answers(tree, scores, calibration.terms.alpha)
    classes = ClassTree.of(tree, scores.node)
    place = np.argsort(classes.order)
    row = np.repeat(np.arange(len(label)), np.diff(shown.start))
    of = place[label[row]]
    inside = (of >= classes.start[shown.node]) & (of < classes.end[shown.node])
    return np.bincount(row, inside, len(label)) > 0, shown.n_classes.astype(float)


def _moved(report: Report, name: str, known: LabelledLogits, tree: Tree, n_draws: int) -> None:
    found: dict[str, list[tuple[float, float, int]]] = {}
    for seed in range(n_draws):
        rng = np.random.default_rng(seed)
        first, others = np.array_split(rng.permutation(len(known.label)), 2)
        weight = np.exp(rng.normal(size=known.logits.shape[1]))[known.label[others]]
        later = rng.choice(others, min(len(others), 4000), p=weight / weight.sum())
        batch, rest = np.array_split(later, 2)
        at = {
            key: tree.leaves[known.logits[own].argmax(axis=1)]
            for key, own in (("a", first), ("b", batch))
        }
        samples = [Sample(each.astype(np.int64), np.ones(len(each))) for each in at.values()]
        moves = drift(tree, *samples, 0.05)
        moved = moves.nodes["mass"].rejected
        regions = Regions.of_moves(tree.parent.astype(np.int64), moved, moves.count_after)
        for shift in (None, "rows", "classes"):
            terms = CalibrationTerms(
                answer="set", alpha=ALPHA, seed=seed, shift=shift, abstains=True
            )
            own = fitted_calibration(
                tree,
                _scores(tree, known.logits[first]),
                known.label[first],
                terms,
                regions=regions,
                placed=at["a"].astype(np.int64),
            ).calibration
            right, width = held(tree, own, known.logits[rest], known.label[rest])
            share = (float(right.mean()), float(width.mean()), len(regions.node))
            found.setdefault(shift or "not known", []).append(share)
    for shift, own in found.items():
        values = np.array(own)
        report.row(
            "sure_moved",
            data=name,
            shift=shift,
            alpha=ALPHA,
            held=float(values[:, 0].mean()),
            se=float(values[:, 0].std(ddof=1) / np.sqrt(n_draws)),
            off=float(np.abs(values[:, 0] - (1 - ALPHA)).mean()),
            classes=float(values[:, 1].mean()),
            regions=float(values[:, 2].mean()),
        )


def _following(report: Report, name: str, known: LabelledLogits, tree: Tree, n_draws: int) -> None:
    found: dict[str, list[tuple[float, ...]]] = {}
    for seed in range(n_draws):
        rng = np.random.default_rng(seed)
        first, others = np.array_split(rng.permutation(len(known.label)), 2)
        terms = CalibrationTerms(answer="set", alpha=ALPHA, seed=seed)
        plain = fitted_calibration(
            tree, _scores(tree, known.logits[first]), known.label[first], terms
        ).calibration
        own = plain
        missed: dict[str, list[float]] = {"fixed": [], "following": []}
        width: dict[str, list[float]] = {"fixed": [], "following": []}
        spread = known.logits.std()
        for batch in range(3 * N_BATCHES):
            rows = rng.choice(others, N_ROWS)
            logits, label = known.logits[rows], known.label[rows]
            if batch // N_BATCHES == 1:
                logits = logits / 2 + spread * rng.normal(size=logits.shape) / 2
            for key, each in (("fixed", plain), ("following", own)):
                right, n_classes = held(tree, each, logits, label)
                missed[key].append(1 - float(right.mean()))
                width[key].append(float(n_classes.mean()))
            own = followed_calibration(own, tree, _scores(tree, logits), label).calibration
        assert own.following is not None
        state, n_rows = own.following, 3 * N_BATCHES * N_ROWS
        bound = ALPHA + (state.cap - state.level) / (state.step * n_rows)
        for key, each in missed.items():
            worst = np.convolve(each, np.full(10, 0.1), "valid").max()
            parts = [float(np.mean(part)) for part in np.array_split(each, 3)]
            found.setdefault(key, []).append(
                (float(np.mean(each)), float(worst), bound, *parts, float(np.mean(width[key])))
            )
    for key, each in found.items():
        mean = np.mean(each, axis=0)
        report.row(
            "sure_following",
            data=name,
            sets=key,
            alpha=ALPHA,
            **dict(
                zip(
                    ("missed", "worst", "bound", "before", "moved", "after", "classes"),
                    mean.tolist(),
                    strict=True,
                )
            ),
            se=float(np.std([own[0] for own in each], ddof=1) / np.sqrt(n_draws)),
        )


def _peers(report: Report, name: str, known: LabelledLogits, n_draws: int) -> None:
    there = [each for each in _SETS_OF if each != "this" and _imports(each)]
    gone = sorted(_SETS_OF.keys() - {"this", *there})
    if gone:
        report.note("sure", f"Not installed, or not whole: {', '.join(gone)}.")
    count = np.bincount(known.label, minlength=known.logits.shape[1])
    used = np.flatnonzero(count >= 45)
    kept = np.isin(known.label, used)
    probability = probabilities(known.logits[kept][:, used], 1.0)
    label = np.searchsorted(used, known.label[kept])
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for seed in range(min(n_draws, 10)):
        rng = np.random.default_rng(seed)
        own = [rng.permutation(np.flatnonzero(label == each))[:30] for each in range(len(used))]
        setting = np.zeros(len(label), dtype=np.bool_)
        setting[np.concatenate(own)] = True
        for per in ("all", "class"):
            for package in ("this", *there):
                sets = _SETS_OF[package](
                    probability[setting], label[setting], probability[~setting], per
                )
                if sets is None:
                    continue
                right = sets[np.arange(len(sets)), label[~setting]]
                of = np.bincount(label[~setting], right) / np.bincount(label[~setting])
                share = right.mean() if per == "all" else of.mean()
                key = (per, package)
                found.setdefault(key, []).append((float(share), float(sets.sum(axis=1).mean())))
    for (per, package), each in found.items():
        values = np.array(each)
        report.row(
            "sure_peers",
            data=name,
            per=per,
            package=package.ljust(8),
            alpha=ALPHA,
            held=float(values[:, 0].mean()),
            se=float(values[:, 0].std(ddof=1) / np.sqrt(len(each))),
            classes=float(values[:, 1].mean()),
        )


def _imports(package: str) -> bool:
    """A package may be there without all that it needs."""
    try:
        import_module(_MODULE_OF[package])
    except ImportError:
        return False
    return True


def _of_this(own: Float, label: Int, rest: Float, per: str) -> Array:
    n_classes = own.shape[1]
    maker = method("class-tree")
    tree = maker.fit(Data({"logits": np.log(own + 1e-300)}), maker.Params()).tree
    terms = CalibrationTerms(answer="set", alpha=ALPHA, per=per, temperature=1.0, abstains=True)
    logits = [np.log(np.maximum(each, 1e-300)) for each in (own, rest)]
    calibration = fitted_calibration(tree, _scores(tree, logits[0]), label, terms).calibration
    scores = 1 - rest
    limit = np.broadcast_to(calibration.thresholds(ALPHA), (n_classes,))
    return np.asarray(scores <= limit)


def _of_mapie(own: Float, label: Int, rest: Float, per: str) -> Array | None:
    from mapie.classification import SplitConformalClassifier  # type: ignore[import-not-found]
    from sklearn.base import BaseEstimator, ClassifierMixin

    if per == "class":
        return None

    class Known(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        def __init__(self) -> None:
            self.classes_ = np.arange(own.shape[1])

        def fit(self, *_: object) -> Known:
            return self

        def __sklearn_is_fitted__(self) -> bool:
            return True

        def predict_proba(self, rows: Array) -> Array:
            return rows

        def predict(self, rows: Array) -> Array:
            return rows.argmax(axis=1)

    made = SplitConformalClassifier(Known(), confidence_level=1 - ALPHA, prefit=True)
    made.conformalize(own, label)
    return np.asarray(made.predict_set(rest)[1])[:, :, 0].astype(np.bool_)


def _of_crepes(own: Float, label: Int, rest: Float, per: str) -> Array:
    from crepes import ConformalClassifier  # type: ignore[import-not-found]

    made = ConformalClassifier()
    scores = 1 - own[np.arange(len(label)), label]
    if per == "all":
        made.fit(scores, seed=0)
        return np.asarray(made.predict_set(1 - rest, confidence=1 - ALPHA, smoothing=False)) > 0
    made.fit(scores, bins=label, seed=0)
    columns = [
        np.asarray(
            made.predict_p((1 - rest)[:, [each]], bins=np.full(len(rest), each), smoothing=False)
        ).ravel()
        > ALPHA
        for each in range(own.shape[1])
    ]
    return np.stack(columns, axis=1)


def _of_torchcp(own: Float, label: Int, rest: Float, per: str) -> Array:
    import torch
    from torchcp.classification.predictor import (  # type: ignore[import-not-found]
        ClassConditionalPredictor,
        SplitPredictor,
    )
    from torchcp.classification.score import LAC  # type: ignore[import-not-found]

    made = (SplitPredictor if per == "all" else ClassConditionalPredictor)(
        score_function=LAC(score_type="identity"), alpha=ALPHA, device="cpu"
    )
    made.calculate_threshold(torch.as_tensor(own), torch.as_tensor(label), ALPHA)
    sets = made.predict_with_logits(torch.as_tensor(rest))
    return np.asarray(sets).astype(np.bool_)


_SETS_OF = {"this": _of_this, "mapie": _of_mapie, "crepes": _of_crepes, "torchcp": _of_torchcp}
_MODULE_OF = {
    "mapie": "mapie.classification",
    "crepes": "crepes",
    "torchcp": "torchcp.classification.predictor",
}
