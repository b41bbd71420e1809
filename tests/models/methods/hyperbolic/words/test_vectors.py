"""GloVe's loss, its passes, and words in the ball, against literal versions."""

from __future__ import annotations

import numpy as np
import pytest

from models.errors import UsageError
from models.method import Checkpoint
from models.methods.hyperbolic.words.loops import sweep
from models.methods.hyperbolic.words.pairs import WordPairs, checked, pairs_of
from models.methods.hyperbolic.words.vectors import WordVectors, into_ball, learn_vectors, loss
from models.running.progress import silent
from tests.models.methods.hyperbolic.words.vectors_kit import some_counts, some_vectors
from umbel.testing.lost_worker import MemoryCheckpoint


def literal_loss(counts: np.ndarray, vectors: WordVectors, x_max: float, exponent: float) -> float:
    """Eq. 8 word by word, over the number of pairs."""
    total, n_pairs = 0.0, 0
    for i in range(len(counts)):
        for j in range(len(counts)):
            if counts[i, j] > 0:
                f = (counts[i, j] / x_max) ** exponent if counts[i, j] < x_max else 1.0
                log_count = sum(vectors.words[i] * vectors.contexts[j])
                log_count += vectors.bias[i] + vectors.context_bias[j]
                total += f * (log_count - np.log(counts[i, j])) ** 2
                n_pairs += 1
    return total / n_pairs


def in_order(vectors: WordVectors, pairs: WordPairs) -> WordVectors:
    """Vectors of words as given, in the order of the pairs."""
    at = pairs.order
    return WordVectors(
        vectors.words[at], vectors.contexts[at], vectors.bias[at], vectors.context_bias[at]
    )


@pytest.mark.parametrize(("x_max", "exponent"), [(100.0, 0.75), (20.0, 0.5), (1.0, 0.0)])
def test_the_loss_is_that_of_the_paper(x_max: float, exponent: float) -> None:
    counts, vectors = some_counts(9, 0), some_vectors(9, 4, 1)
    pairs = pairs_of(checked(counts, "graph"), x_max, exponent)
    assert loss(pairs, in_order(vectors, pairs)) == pytest.approx(
        literal_loss(counts, vectors, x_max, exponent), rel=1e-12
    )
    assert loss(pairs, in_order(vectors, pairs), block=7) == pytest.approx(
        loss(pairs, in_order(vectors, pairs)), rel=1e-12
    )


def test_a_pass_is_adagrad_pair_by_pair() -> None:
    counts = some_counts(6, 0)
    pairs = pairs_of(checked(counts, "graph"), 100.0, 0.75)
    rng = np.random.default_rng(1)
    w, c = rng.normal(size=(2, 6, 4)) / 3
    gw, gc = np.ones_like(w), np.ones_like(c)
    order = rng.permutation(pairs.n_pairs)
    ours = [array.copy() for array in (w, c, gw, gc)]
    columns = (pairs.row, pairs.column, pairs.log_count, pairs.weight)
    total = sweep(order, *columns, *ours, 0.05)
    expected = 0.0
    for number in order:
        i, j = pairs.row[number], pairs.column[number]
        rest = w[i, :-1] @ c[j, :-1] + w[i, -1] + c[j, -1] - pairs.log_count[number]
        expected += pairs.weight[number] * rest**2
        slope = pairs.weight[number] * rest
        to_w, to_c = slope * np.append(c[j, :-1], 1), slope * np.append(w[i, :-1], 1)
        w[i] -= 0.05 * to_w / np.sqrt(gw[i])
        c[j] -= 0.05 * to_c / np.sqrt(gc[j])
        gw[i] += to_w**2
        gc[j] += to_c**2
    assert total == pytest.approx(expected, rel=1e-10)
    for array, literal in zip(ours, (w, c, gw, gc), strict=True):
        np.testing.assert_allclose(array, literal, rtol=1e-9)


def test_half_the_gradient_of_the_loss_is_what_a_step_takes() -> None:
    """By finite differences, of one pair."""
    counts = np.array([[0.0, 30.0], [30.0, 0.0]])
    pairs = pairs_of(checked(counts, "graph"), 100.0, 0.75)
    rng = np.random.default_rng(0)
    w, c = rng.normal(size=(2, 2, 4))

    def value(w: np.ndarray, c: np.ndarray) -> float:
        return 2 * loss(pairs, WordVectors(w[:, :-1], c[:, :-1], w[:, -1], c[:, -1]))

    rate = 1e-9
    words, contexts = w.copy(), c.copy()
    columns = (pairs.row, pairs.column, pairs.log_count, pairs.weight)
    sweep(np.arange(2), *columns, words, contexts, np.ones_like(w), np.ones_like(c), rate)
    for before, after, number in ((w, words, 0), (c, contexts, 1)):
        for place in np.ndindex(2, 4):
            step = np.zeros_like(w)
            step[place] = 1e-6
            sides = [(w + s * step * (number == 0), c + s * step * (number == 1)) for s in (1, -1)]
            slope = (value(*sides[0]) - value(*sides[1])) / 2e-6
            moved = (before - after)[place] / rate
            assert moved == pytest.approx(slope / 2, rel=1e-4, abs=1e-5)


def test_passes_lower_the_loss_and_resume_from_a_checkpoint() -> None:
    pairs = pairs_of(checked(some_counts(20, 0), "graph"), 100.0, 0.75)
    kept = MemoryCheckpoint()
    whole = learn_vectors(pairs, 8, 30, 0.05, 5, kept, silent)
    assert whole.losses[-1] < whole.losses[0] / 10
    assert loss(pairs, whole) < whole.losses[-1]
    again = learn_vectors(pairs, 8, 30, 0.05, 5, MemoryCheckpoint(kept.states[11]), silent)
    assert again.losses == whole.losses
    for name in ("words", "contexts", "bias", "context_bias"):
        np.testing.assert_array_equal(getattr(again, name), getattr(whole, name))


def test_products_of_low_rank_are_found() -> None:
    """Counts that vectors of three dimensions represent exactly."""
    rng = np.random.default_rng(0)
    true = rng.normal(size=(30, 3))
    counts = np.exp(true @ true.T / 2 + 3)
    pairs = pairs_of(checked(counts, "graph"), 100.0, 0.75)
    assert learn_vectors(pairs, 6, 400, 0.05, 0, Checkpoint(), silent).losses[-1] < 1e-3


def test_steps_too_long_are_refused() -> None:
    pairs = pairs_of(checked(some_counts(8, 0), "graph"), 100.0, 0.75)
    with pytest.raises(UsageError, match="Lower 'vector_learning_rate'") as caught:
        learn_vectors(pairs, 8, 50, 100.0, 0, Checkpoint(), silent)
    assert caught.value.code == "diverged"


def test_largest_changes_no_product_and_unit_puts_all_on_a_sphere() -> None:
    vectors = some_vectors(7, 4, 0)

    def products(one: WordVectors) -> np.ndarray:
        return one.words @ one.contexts.T + one.bias[:, None] + one.context_bias

    largest = into_ball(vectors, "largest", 0.9)
    np.testing.assert_allclose(products(largest), products(vectors), atol=1e-12)
    assert np.linalg.norm(largest.words, axis=1).max() == pytest.approx(0.9)
    np.testing.assert_allclose(largest.words.mean(axis=0), 0, atol=1e-12)
    unit = into_ball(vectors, "unit", 0.9)
    np.testing.assert_allclose(np.linalg.norm(unit.words, axis=1), 0.9)
    alike = WordVectors(np.ones((3, 2)), np.ones((3, 2)), np.zeros(3), np.zeros(3))
    assert (into_ball(alike, "unit", 0.9).words == 0).all()
    assert (into_ball(alike, "largest", 0.9).words == 0).all()
