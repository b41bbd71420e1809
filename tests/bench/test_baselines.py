"""The baselines and algorithm 1 make the same merges; Umbel's are derived from its tree."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from bench import baselines
from bench.l2h import fit, merges_of
from models.tree.build import from_merges

Step = tuple[list[int], list[int]]

BASELINES = [baselines.exact, baselines.hoisted, baselines.trimmed, baselines.as_printed]


def algorithm_1(logits: np.ndarray) -> list[Step]:
    """Algorithm 1 of the paper, point by point, for logits without ties or empty classes."""
    n_classes = logits.shape[1]

    def best(row: np.ndarray, outside: list[int]) -> tuple[int, float]:
        inside = [c for c in range(n_classes) if c not in outside]
        weight = {c: float(np.exp(row[c] - max(row[inside]))) for c in inside}
        winner = max(inside, key=lambda c: weight[c])
        return winner, weight[winner] / sum(weight.values())

    first = [best(row, []) for row in logits]
    score_of_class = [
        np.mean([p for label, p in first if label == c], dtype=np.float64) for c in range(n_classes)
    ]
    groups = [[c] for c in range(n_classes)]
    steps = []
    while len(groups) > 1:
        lowest = min(groups, key=lambda g: sum(score_of_class[c] for c in g))
        confidences = dict.fromkeys(range(n_classes), 0.0)
        for row, (label, _) in zip(logits, first, strict=True):
            if label in lowest:
                c, p = best(row, lowest)
                confidences[c] += p
        candidates = [g for g in groups if g is not lowest]
        partner = max(candidates, key=lambda g: sum(confidences[c] for c in g) / len(g))
        steps.append((sorted(lowest), sorted(partner)))
        groups = [g for g in candidates if g is not partner] + [lowest + partner]
    return steps


def steps_of(merges: np.ndarray) -> list[Step]:
    """The classes of both sides of each merge; `merges` has SciPy ids."""
    groups = [[c] for c in range(len(merges) + 1)]
    for a, b in merges.tolist():
        groups.append(sorted(groups[a] + groups[b]))
    return [(groups[a], groups[b]) for a, b in merges.tolist()]


def random_logits(seed: int, n_points: int, n_classes: int) -> np.ndarray:
    """Random logits whose every class is predicted for some point."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n_points, n_classes)) * 1.5
    logits[np.arange(n_points), np.arange(n_points) % n_classes] += 4.0
    assert len(set(logits.argmax(axis=1))) == n_classes
    return logits


@pytest.mark.parametrize("baseline", BASELINES)
@pytest.mark.parametrize(("n_points", "n_classes"), [(10, 2), (40, 3), (150, 12)])
@pytest.mark.parametrize("seed", range(3))
def test_a_baseline_makes_the_merges_of_algorithm_1(
    baseline: Callable[[np.ndarray], np.ndarray], n_points: int, n_classes: int, seed: int
) -> None:
    logits = random_logits(seed, n_points, n_classes)
    assert steps_of(baseline(logits)) == algorithm_1(logits)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_baselines_agree_on_more_classes_and_with_umbel(dtype: type) -> None:
    logits = random_logits(5, 2_000, 60).astype(dtype)
    merges = baselines.hoisted(logits)
    for baseline in BASELINES:
        assert (baseline(logits) == merges).all()
    for threads in (1, 2):
        assert (merges_of(fit(logits, threads)) == np.sort(merges)).all()


def test_blocks_of_rows_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    logits = random_logits(2, 300, 9)
    unblocked = baselines.exact(logits)
    monkeypatch.setattr(baselines, "BLOCK", 7 * 9)
    assert (baselines.exact(logits) == unblocked).all()


def test_merges_are_derived_from_a_tree() -> None:
    # root (3)
    # ├── (2)
    # │   ├── (1): 3, 0
    # │   └── 1
    # └── 2
    tree = from_merges(
        np.array([3, 4, 5]), np.array([0, 1, 2]), np.arange(1, 4), names=["0", "1", "2", "3"]
    )
    assert merges_of(tree).tolist() == [[0, 3], [1, 4], [2, 5]]


def test_the_timed_baselines_accept_empty_classes() -> None:
    logits = random_logits(0, 50, 5)
    logits[:, 2] = -9.0
    for baseline in (baselines.exact, baselines.hoisted, baselines.trimmed):
        merges = baseline(logits)
        assert sorted(merges.ravel().tolist()) == list(range(8))
