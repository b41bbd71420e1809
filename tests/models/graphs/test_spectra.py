"""Eigenvectors of affinity graphs: by their equation, in parts, and against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse import linalg
from sklearn.manifold import spectral_embedding
from sklearn.neighbors import kneighbors_graph

from models.graphs import spectra
from models.graphs.spectra import Spectrum, Unresolved


def graph(n_points: int = 120, seed: int = 0, n_neighbors: int = 12) -> np.ndarray:
    """A connected graph of neighbours in the plane, with a diagonal that must not count."""
    features = np.random.default_rng(seed).normal(size=(n_points, 2))
    directed = kneighbors_graph(features, n_neighbors, include_self=True)
    return (0.5 * (directed + directed.T)).toarray()


def check(affinity: np.ndarray, value: np.ndarray, vector: np.ndarray) -> None:
    """W f = lambda D f without the diagonal, columns of mean square 1."""
    off = affinity - np.diag(np.diagonal(affinity))
    degree = off.sum(axis=1)
    assert off @ vector == pytest.approx(degree[:, None] * vector * value, abs=1e-7)
    assert (vector**2).mean(axis=0) == pytest.approx(np.ones(len(value)))
    assert (np.diff(value) <= 1e-12).all()
    assert (np.abs(vector).max(axis=0) == vector.max(axis=0)).all()


@pytest.mark.parametrize("planar", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("small", [20, 500])
def test_they_solve_their_equation(
    sparse: bool, planar: bool, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spectra, "SMALL", small)
    affinity = graph()
    form = sp.csr_array(affinity) if sparse else affinity.copy()
    spectrum = Spectrum(form)
    assert spectrum.n_parts == 1
    value, vector = spectrum.leading(5, np.random.default_rng(0), planar=planar)
    check(affinity, value, vector)
    theirs = spectral_embedding(affinity, n_components=5, drop_first=False, random_state=0)
    theirs /= np.sqrt((theirs**2).mean(axis=0))
    same = np.abs((theirs * vector).mean(axis=0))
    assert same == pytest.approx(np.ones(5), abs=1e-6)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("number", [3, 6])
def test_each_part_of_a_graph_has_an_eigenvalue_of_one(sparse: bool, number: int) -> None:
    blocks = [graph(40, seed, 9) for seed in range(2)] + [np.zeros((1, 1))]
    whole = sp.block_diag(blocks).toarray()
    order = np.random.default_rng(1).permutation(len(whole))
    affinity = whole[np.ix_(order, order)]
    spectrum = Spectrum(sp.csr_array(affinity) if sparse else affinity.copy())
    assert spectrum.n_parts == 3
    value, vector = spectrum.leading(number, np.random.default_rng(0))
    assert value[:3] == pytest.approx(np.ones(3), abs=1e-12)
    assert (value[3:] < 0.9999).all()
    own = (order >= 40).astype(int) + (order >= 80)
    for part in range(3):
        assert np.ptp(vector[own == part][:, :3], axis=0) == pytest.approx(np.zeros(3), abs=1e-9)
    if number > 3:
        check(affinity[own < 2][:, own < 2], value[3:], vector[own < 2][:, 3:] * np.sqrt(80 / 81))


def test_parts_are_numbered_by_their_first_points() -> None:
    affinity = np.zeros((5, 5))
    affinity[0, 3] = affinity[3, 0] = affinity[1, 4] = affinity[4, 1] = 2.0
    for form in (affinity.copy(), sp.csr_array(affinity)):
        assert Spectrum(form).parts.tolist() == [0, 1, 2, 0, 1]


def test_an_affinity_lost_in_rounding_joins_nothing() -> None:
    affinity = np.ones((6, 6))
    affinity[:3, 3:] = affinity[3:, :3] = 1e-30
    assert Spectrum(affinity.copy()).n_parts == 2
    assert Spectrum(sp.csr_array(affinity)).n_parts == 2


@pytest.mark.parametrize("sparse", [False, True])
def test_where_lanczos_does_not_converge_another_solver_is_used(
    sparse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spectra, "SMALL", 20)
    monkeypatch.setattr(spectra, "MOST_RESTARTS", 1)
    affinity = graph(300, 3, 8)
    spectrum = Spectrum(sp.csr_array(affinity) if sparse else affinity.copy())
    check(affinity, *spectrum.leading(6, np.random.default_rng(0)))


def test_eigenvalues_that_do_not_converge_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lost(*args: object, **kwargs: object) -> None:
        raise linalg.ArpackNoConvergence("no", np.empty(0), np.empty((0, 0)))

    monkeypatch.setattr(linalg, "eigsh", lost)
    monkeypatch.setattr(spectra, "SMALL", 20)
    with pytest.raises(Unresolved, match="more neighbours or fewer clusters"):
        Spectrum(sp.csr_array(graph())).leading(3, np.random.default_rng(0))
