"""Each step against its definition, and the same from arrays, sparse matrices and rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from pydantic import ValidationError
from sklearn import decomposition, preprocessing

from models.arrays import Float
from models.errors import UsageError
from models.inputs.rows import ArrayRows
from models.preprocess import pipeline as pipelines
from models.preprocess.pipeline import Pipeline, PreparedRows, fit, parsed
from tests.pairwise_kit import pairwise

COUNTS = np.random.default_rng(0).poisson(0.7, (120, 15)).astype(np.float64)
REALS = np.random.default_rng(1).normal(3.0, 2.0, (120, 15)) @ np.diag(np.arange(1.0, 16.0))
TALL = [{"step": "pca", "n": 4}]


def prepared(steps: list[dict[str, Any]], features: Any) -> Float:
    result = fit(steps, features, 0)[1]
    if isinstance(result, PreparedRows):
        return np.concatenate(list(result.blocks()))
    return result.toarray() if isinstance(result, sp.csr_array) else result


def tfidf(counts: Float, scheme: str) -> Float:
    """Weight by weight, as the notation defines them."""
    n, weights = len(counts), np.zeros_like(counts)
    for i, row in enumerate(counts):
        for j, tf in enumerate(row):
            if tf > 0:
                w = {"n": tf, "l": 1 + np.log(tf), "b": 1.0}[scheme[0]]
                df = np.count_nonzero(counts[:, j])
                weights[i, j] = w * (np.log(n / df) if scheme[1] == "t" else 1.0)
        length = np.sqrt((weights[i] ** 2).sum())
        if scheme[2] == "c" and length:
            weights[i] /= length
    return weights


@pytest.mark.parametrize("scheme", ["ltc", "ntn", "bnc", "lnn", "btc", "nnn"])
def test_tfidf_is_what_its_letters_say(scheme: str) -> None:
    steps = [{"step": "tfidf", "scheme": scheme}]
    for features in (COUNTS, sp.csr_array(COUNTS), ArrayRows(COUNTS), COUNTS.astype(np.int32)):
        assert prepared(steps, features) == pytest.approx(tfidf(COUNTS, scheme), abs=1e-14)


def test_columns_without_a_tfidf_weight_are_warned_of() -> None:
    counts = COUNTS.copy()
    counts[:, 2], counts[:, 5] = 1, 0
    pipeline, _, warnings = fit([{"step": "tfidf"}], counts, 0)
    assert [note.split(" ", 2)[1] for note in warnings] == ["1", "1"]
    new = np.zeros((1, 15))
    new[0, [2, 5]] = 3
    assert not pipeline.apply(new).any()


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, ArrayRows])
def test_a_negative_count_is_named_by_its_place(kind: Any) -> None:
    counts = COUNTS.copy()
    counts[77, 3] = -1
    with pytest.raises(UsageError, match="row 77, column 3"):
        prepared([{"step": "tfidf"}], kind(counts))


def test_standardize_is_scikit_learns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipelines, "_BLOCK_BYTES", 8 * 15 * 7)
    expected = preprocessing.StandardScaler().fit_transform(REALS)
    for features in (REALS, ArrayRows(REALS)):
        assert prepared([{"step": "standardize"}], features) == pytest.approx(expected, abs=1e-12)
    far = REALS + 1e9
    again = preprocessing.StandardScaler().fit_transform(far)
    assert prepared([{"step": "standardize"}], ArrayRows(far)) == pytest.approx(again, abs=1e-5)


def test_sparse_columns_are_scaled_and_stay_sparse() -> None:
    pipeline, scaled, warnings = fit([{"step": "standardize"}], sp.csr_array(COUNTS), 0)
    assert isinstance(scaled, sp.csr_array)
    assert scaled.toarray() == pytest.approx(COUNTS / COUNTS.std(axis=0), rel=1e-12)
    assert "not centred" in warnings[0]
    assert pipeline.apply(COUNTS[:3]) == pytest.approx(scaled.toarray()[:3], rel=1e-12)


def test_constant_columns_are_not_scaled() -> None:
    values = REALS.copy()
    values[:, 4] = 7.0
    _, scaled, warnings = fit([{"step": "standardize"}], values, 0)
    assert not np.asarray(scaled)[:, 4].any()
    assert "1 column(s) are constant" in warnings[0]


def test_rows_of_length_one_but_those_of_zeros() -> None:
    values = REALS.copy()
    values[9] = 0.0
    for features in (values, sp.csr_array(values), ArrayRows(values)):
        _, _, warnings = fit([{"step": "l2"}], features, 0)
        assert "1 row(s)" in warnings[0]
        length = np.linalg.norm(prepared([{"step": "l2"}], features), axis=1)
        assert np.delete(length, 9) == pytest.approx(1.0, abs=1e-14)
        assert length[9] == 0.0


def alike(a: Float, b: Float) -> bool:
    """Equal but for the signs of columns."""
    signs = np.sign((a * b).sum(axis=0))
    return bool(np.allclose(a, b * signs, atol=1e-8 * np.abs(b).max()))


@pytest.mark.parametrize("n", [1, 4, 14, 15])
@pytest.mark.parametrize("shape", [(120, 15), (15, 120)])
def test_projections_are_scikit_learns(
    n: int, shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipelines, "_BLOCK_BYTES", 8 * shape[1] * 7)
    values = np.random.default_rng(2).normal(1.0, 1.0, shape) * np.linspace(1, 4, shape[1])
    pca = decomposition.PCA(n, svd_solver="full").fit(values)
    left, singular, _ = np.linalg.svd(values, full_matrices=False)
    for features in (values, sp.csr_array(values), ArrayRows(values)):
        # With as many components as rows the last one is 0.
        if n < min(shape):
            assert alike(prepared([{"step": "pca", "n": n}], features), pca.transform(values))
        assert alike(prepared([{"step": "svd", "n": n}], features), left[:, :n] * singular[:n])
        explained = fit([{"step": "pca", "n": n}], features, 0)[0].explained
        total = pca.explained_variance_ratio_.sum()
        assert explained == {"pca_explained_variance": pytest.approx(total, rel=1e-9)}


def test_components_do_not_depend_on_the_seed() -> None:
    for features in (REALS, sp.csr_array(COUNTS)):
        a, b = (np.asarray(fit(TALL, features, seed)[1]) for seed in (0, 1))
        assert a == pytest.approx(b, abs=1e-8)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, ArrayRows])
def test_too_many_components_are_refused(kind: Any) -> None:
    with pytest.raises(UsageError, match="at most 15"):
        prepared([{"step": "svd", "n": 16}], kind(REALS))


ALL: list[dict[str, Any]] = [
    {"step": "tfidf"},
    {"step": "svd", "n": 6},
    {"step": "standardize"},
    {"step": "l2"},
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int64])
def test_new_rows_are_prepared_as_the_old_ones(dtype: Any) -> None:
    counts = COUNTS.astype(dtype)
    pipeline, expected, _ = fit(ALL, counts, 0)
    kept = Pipeline.of(
        [step.model_dump(mode="json") for step in pipeline.steps], pipeline.arrays(), 15
    )
    assert kept.n_columns == 6
    assert np.array_equal(kept.apply(counts), expected)
    assert kept.apply(counts).dtype == (np.float32 if dtype == np.float32 else np.float64)
    rows = PreparedRows(ArrayRows(counts), kept)
    assert rows.shape == (120, 6)
    assert np.array_equal(rows.read(100, 200), rows.take(np.arange(100, 120)))
    assert rows.read(0, 5) == pytest.approx(np.asarray(expected)[:5], rel=1e-5)


def test_rows_that_are_given_are_not_changed() -> None:
    counts = COUNTS.copy()
    counts.flags.writeable = False
    fit(ALL, counts, 0)
    assert np.array_equal(counts, COUNTS)


def test_another_number_of_columns_is_refused() -> None:
    pipeline, _, _ = fit(ALL, COUNTS, 0)
    with pytest.raises(UsageError, match="14 columns; the preprocessing was fitted on 15"):
        pipeline.apply(COUNTS[:, :14])


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, ArrayRows])
def test_values_that_are_not_finite_are_named_by_their_place(kind: Any) -> None:
    values = REALS.copy()
    values[100, 2] = np.nan
    with pytest.raises(UsageError, match="row 100, column 2"):
        prepared(TALL, kind(values))


def test_no_rows() -> None:
    with pytest.raises(UsageError, match="0 rows"):
        fit(TALL, np.empty((0, 3)), 0)


@pytest.mark.parametrize(
    "step", [{"step": "umap"}, {"step": "pca"}, {"step": "pca", "n": 0}, {"scheme": "ltc"},
             {"step": "tfidf", "scheme": "xyz"}, {"step": "l2", "n": 3}],
)  # fmt: skip
def test_unknown_steps_are_refused(step: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        parsed([step])


@pytest.mark.parametrize(
    ("kind", "step", "shape"),
    pairwise(
        [np.asarray, sp.csr_array, ArrayRows],
        [{"step": "standardize"}, {"step": "l2"}, {"step": "pca", "n": 2}, {"step": "svd", "n": 2}],
        [(30, 5), (5, 30)],
    ),
)
def test_squares_that_overflow_are_refused(
    kind: Any, step: dict[str, Any], shape: tuple[int, int]
) -> None:
    values = np.random.default_rng(0).normal(size=shape) * 1e200
    with pytest.raises(UsageError, match="overflow"):
        prepared([step], kind(values))


def magnitudes(series: Float, n: int) -> Float:
    """Frequency by frequency, as the discrete Fourier transform is defined."""
    length = len(series)
    turns = np.exp(-2j * np.pi * np.outer(np.arange(n), np.arange(length)) / length)
    return np.abs((turns * series).sum(axis=1)) / np.sqrt(length)


@pytest.mark.parametrize(("series", "n"), [(1, None), (1, 3), (3, None), (3, 2), (15, None)])
def test_fft_is_the_transform_of_each_series(
    series: int, n: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipelines, "_BLOCK_BYTES", 8 * 15 * 7)
    length = 15 // series
    kept = n or length // 2 + 1
    expected = np.array(
        [
            np.concatenate([magnitudes(one, kept) for one in row.reshape(series, length)])
            for row in REALS
        ]
    )
    step = {"step": "fft", "n": n, "series": series}
    for features in (REALS, ArrayRows(REALS)):
        assert prepared([step], features) == pytest.approx(expected, abs=1e-12)
    pipeline = fit([step], REALS.astype(np.float32), 0)[0]
    assert pipeline.n_columns == series * kept
    assert pipeline.apply(REALS.astype(np.float32)).dtype == np.float32


def test_a_shifted_series_has_the_same_frequencies() -> None:
    shifted = np.stack([np.roll(row, at) for at, row in enumerate(REALS)])
    assert prepared([{"step": "fft"}], shifted) == pytest.approx(
        prepared([{"step": "fft"}], REALS), abs=1e-10
    )


@pytest.mark.parametrize(
    ("step", "features", "message"),
    [
        ({"series": 4}, REALS, "cannot divide 15 columns into 4 series"),
        ({"series": 30}, REALS, "cannot divide 15 columns into 30 series"),
        ({"n": 9}, REALS, "15 values; at most 8"),
        ({}, sp.csr_array(COUNTS), "not sparse ones"),
        ({}, np.full((3, 4), 1e308), "overflow"),
    ],
)
def test_rows_that_are_no_such_series_are_refused(
    step: dict[str, Any], features: Any, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        prepared([{"step": "fft", **step}], features)
