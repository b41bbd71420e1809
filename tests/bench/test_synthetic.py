"""The planted logits match the generator's statistics, and are the same for the same seed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.special import softmax

from bench import synthetic


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_the_statistics_are_those_of_the_file(tmp_path: Path, dtype: type) -> None:
    path = tmp_path / "logits.npy"
    statistics = synthetic.write(path, 3_000, 200, dtype)
    logits = np.load(path)
    assert logits.shape == (3_000, 200)
    assert logits.dtype == dtype
    values = logits.astype(np.float64)
    confidence = softmax(values, axis=1).max(axis=1).mean()
    assert statistics.mean_confidence == pytest.approx(confidence, abs=1e-3)
    assert statistics.never_predicted == 200 - len(set(values.argmax(axis=1)))


def test_the_seed_determines_the_file(tmp_path: Path) -> None:
    files = []
    for number, seed in enumerate((3, 3, 4)):
        path = tmp_path / f"{number}.npy"
        synthetic.write(path, 500, 30, seed=seed)
        files.append(path.read_bytes())
    assert files[0] == files[1] != files[2]


def test_many_blocks_are_written_completely(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(synthetic, "BLOCK", 7 * 30)
    statistics = synthetic.write(tmp_path / "logits.npy", 500, 30)
    logits = np.load(tmp_path / "logits.npy")
    assert (np.abs(logits).max(axis=1) > 0).all()
    assert statistics.mean_confidence == pytest.approx(
        softmax(logits, axis=1).max(axis=1).mean(), abs=1e-4
    )


def test_accuracy_and_confidence_with_1000_classes(tmp_path: Path) -> None:
    statistics = synthetic.write(tmp_path / "logits.npy", 8_000, 1_000)
    assert statistics.accuracy == pytest.approx(0.93, abs=0.02)
    assert statistics.mean_confidence == pytest.approx(0.74, abs=0.02)


def test_confusions_stay_in_the_planted_groups(tmp_path: Path) -> None:
    statistics = synthetic.write(tmp_path / "logits.npy", 5_000, 100)
    assert statistics.n_groups == synthetic.BRANCHING
    assert sorted(np.bincount(statistics.group).tolist()) == [20] * 5
    order = np.argsort(np.load(tmp_path / "logits.npy"), axis=1)
    first, second = statistics.group[order[:, -1]], statistics.group[order[:, -2]]
    assert (first == second).mean() > 0.5  # by chance 0.2


@pytest.mark.parametrize("confidence", [0.1, 0.5, 0.95])
def test_logits_of_a_kind_have_its_confidence_and_rank(tmp_path: Path, confidence: float) -> None:
    kind = synthetic.Kind(rank=8, noise=1.1, confidence=confidence)
    planted = synthetic.write(tmp_path / "logits.npy", 2_000, 100, kind=kind)
    assert planted.mean_confidence == pytest.approx(confidence, abs=0.02)
    # What comes after the rank is the noise on each logit.
    strength = np.linalg.svd(np.load(tmp_path / "logits.npy"), compute_uv=False)
    assert strength[8] < 0.2 * strength[7]


def test_imbalanced_classes_have_points_by_their_place(tmp_path: Path) -> None:
    kind = synthetic.Kind(rank=64, noise=0.1, imbalance=1.0)
    synthetic.write(tmp_path / "logits.npy", 10_000, 4, kind=kind)
    n_points = np.bincount(np.load(tmp_path / "logits.npy").argmax(axis=1))
    assert np.sort(n_points)[::-1] == pytest.approx([4_800, 2_400, 1_600, 1_200], abs=60)
