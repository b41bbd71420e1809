"""Words learned with a tree: gradients, the result, checkpoints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from models.methods.hyperbolic.ball import training
from models.methods.hyperbolic.ball.parameters import BallObjective
from models.methods.hyperbolic.words.pairs import WordPairs, checked, pairs_of
from models.methods.hyperbolic.words.vectors import WordVectors, into_ball, loss
from models.methods.hyperbolic.words.words_torch import LearnedWords, WordTreeCost
from models.running.progress import silent
from tests.models.methods.hyperbolic.words.vectors_kit import some_counts, some_vectors

pytestmark = pytest.mark.needs("torch")


def some_words(seed: int = 0, **params: Any) -> tuple[LearnedWords, WordPairs, WordVectors]:
    pairs = pairs_of(checked(some_counts(12, seed), "graph"), 100.0, 0.75)
    vectors = into_ball(some_vectors(12, 3, seed), "unit", 0.7)
    params = {
        "n_neighbors": 3,
        "batch_size": 4,
        "weight": 1.0,
        "learning_rate": 0.01,
        "max_norm": 0.95,
        "device": "cpu",
        "seed": 9,
        "threads": 1,
    } | params
    return LearnedWords(pairs, vectors, **params), pairs, vectors


def nodes_of(n: int) -> torch.Tensor:
    rng = np.random.default_rng(3)
    return torch.from_numpy(rng.uniform(-0.4, 0.4, size=(n, 3)))


def test_the_problem_is_the_loss_of_a_batch_of_pairs() -> None:
    words, pairs, vectors = some_words(weight=2.0, batch_size=20_000)
    words.begin_round(0, silent)
    own = words.own_loss()
    assert own is not None
    # Drawn with repeats, so many that their mean is near that of all.
    assert float(own.detach()) == pytest.approx(2.0 * loss(pairs, vectors), rel=0.05)


def test_gradients_are_those_of_both_losses() -> None:
    """The gradients of eq. 21, by finite differences in float64."""
    words, _, _ = some_words()
    words.points = words.points.detach().double().requires_grad_()
    words.contexts = words.contexts.detach().double().requires_grad_()
    words.bias = words.bias.detach().double().requires_grad_()
    words.context_bias = words.context_bias.detach().double().requires_grad_()
    learned = [words.points, words.contexts, words.bias, words.context_bias]
    nodes, objective = nodes_of(5), BallObjective(temperature=0.3, mask="nearest", noise=0.0)

    def value() -> torch.Tensor:
        words.begin_round(0, silent)
        tree = training.ranking(words.draw(), nodes, objective)
        problem = words.own_loss()
        assert problem is not None
        return tree + problem

    with torch.enable_grad():
        gradients = torch.autograd.grad(value(), learned)
    seen = 0
    for parameter, gradient in zip(learned, gradients, strict=True):
        for place_ in list(np.ndindex(*parameter.shape))[::3]:
            sides = []
            for step in (1e-6, -1e-6):
                with torch.no_grad():
                    parameter[place_] += step
                    sides.append(float(value()))
                    parameter[place_] -= step
            slope = (sides[0] - sides[1]) / 2e-6
            assert float(gradient[place_]) == pytest.approx(slope, rel=1e-4, abs=1e-7)
            seen += slope != 0
    assert seen > 10


def test_triples_are_of_the_nearest_words_by_angle() -> None:
    words, _, _ = some_words()
    points = words.points.detach().double().numpy()
    points = points - points.mean(axis=0)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    likeness = points @ points.T
    np.fill_diagonal(likeness, -2)
    assert (words.near == likeness.argsort(axis=1)[:, ::-1][:, :3]).all()
    words.begin_round(0, silent)
    assert words.draw().shape == (3, 4, 3)


def steps(words: LearnedWords, first: int, last: int) -> None:
    for number in range(first, last):
        words.begin_round(number, silent)
        for _ in range(3):
            with torch.enable_grad():
                whole = training.ranking(
                    words.draw(), nodes_of(5).float(), BallObjective(noise=0.0)
                )
                problem = words.own_loss()
                assert problem is not None
                gradients = torch.autograd.grad(whole + problem, list(words.learned))
            words.learn(gradients)
        if number == 8:
            words.keep()


def test_words_resumed_from_a_checkpoint_end_the_same() -> None:
    whole, _, _ = some_words()
    steps(whole, 0, 14)
    begun, _, _ = some_words()
    steps(begun, 0, 12)
    state = {name: np.array(array) for name, array in begun.arrays().items()}
    again, _, _ = some_words()
    again.restore(state)
    steps(again, 12, 14)
    for resumed, expected in zip(again.learned, whole.learned, strict=True):
        assert (resumed == expected).all()
    for resumed, expected in zip(again.kept, whole.kept, strict=True):
        assert (resumed == expected).all()
    assert (again.near == whole.near).all()
    assert not (whole.kept[0] == whole.points).all()


def test_the_cost_is_over_words_as_they_are() -> None:
    words, _, _ = some_words()
    tree_cost = WordTreeCost(words, 0)
    nodes = nodes_of(5).float()
    before = tree_cost.of(nodes)
    assert tree_cost.of(nodes) == before
    with torch.no_grad():
        words.points.copy_(nodes[np.arange(12) % 5])
    assert tree_cost.of(nodes) != before
