"""Words learned along with a tree: gradients, what is kept, checkpoints, and new rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from models.errors import UsageError
from models.method import Model
from models.methods.hyperbolic.ball import losses
from models.methods.hyperbolic.ball.losses import Objective
from models.methods.hyperbolic.words.pairs import Pairs, checked, pairs_of
from models.methods.hyperbolic.words.placing import digests, place, unexplained
from models.methods.hyperbolic.words.vectors import Vectors, loss, placed
from models.methods.hyperbolic.words.words_torch import Watching, Words
from models.progress import silent
from models.tree.build import from_merges
from tests.models.methods.hyperbolic.words.test_vectors import some_counts, some_vectors


def some_words(seed: int = 0, **asked: Any) -> tuple[Words, Pairs, Vectors]:
    pairs = pairs_of(checked(some_counts(12, seed), "graph"), 100.0, 0.75)
    vectors = placed(some_vectors(12, 3, seed), "unit", 0.7)
    asked = {
        "n_neighbors": 3,
        "batch_size": 4,
        "weight": 1.0,
        "learning_rate": 0.01,
        "max_norm": 0.95,
        "device": "cpu",
        "seed": 9,
        "threads": 1,
    } | asked
    return Words(pairs, vectors, **asked), pairs, vectors


def nodes_of(n: int) -> torch.Tensor:
    rng = np.random.default_rng(3)
    return torch.from_numpy(rng.uniform(-0.4, 0.4, size=(n, 3)))


def test_the_problem_is_the_loss_of_a_batch_of_pairs() -> None:
    words, pairs, vectors = some_words(weight=2.0, batch_size=20_000)
    words.begin(0, silent)
    found = words.problem()
    assert found is not None
    # Drawn with repeats, so many that their mean is near that of all.
    assert float(found.detach()) == pytest.approx(2.0 * loss(pairs, vectors), rel=0.05)


def test_gradients_are_those_of_both_losses() -> None:
    """Of eq. 21, by finite differences in float64."""
    words, _, _ = some_words()
    words.points = words.points.detach().double().requires_grad_()
    words.contexts = words.contexts.detach().double().requires_grad_()
    words.bias = words.bias.detach().double().requires_grad_()
    words.context_bias = words.context_bias.detach().double().requires_grad_()
    learned = [words.points, words.contexts, words.bias, words.context_bias]
    nodes, objective = nodes_of(5), Objective(temperature=0.3, mask="nearest", noise=0.0)

    def value() -> torch.Tensor:
        words.begin(0, silent)
        tree = losses.ranking(words.draw(), nodes, objective)
        problem = words.problem()
        assert problem is not None
        return tree + problem

    with torch.enable_grad():
        gradients = torch.autograd.grad(value(), learned)
    seen = 0
    for one, gradient in zip(learned, gradients, strict=True):
        for place_ in list(np.ndindex(*one.shape))[::3]:
            sides = []
            for step in (1e-6, -1e-6):
                with torch.no_grad():
                    one[place_] += step
                    sides.append(float(value()))
                    one[place_] -= step
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
    words.begin(0, silent)
    assert words.draw().shape == (3, 4, 3)


def steps(words: Words, first: int, last: int) -> None:
    for number in range(first, last):
        words.begin(number, silent)
        for _ in range(3):
            with torch.enable_grad():
                whole = losses.ranking(words.draw(), nodes_of(5).float(), Objective(noise=0.0))
                problem = words.problem()
                assert problem is not None
                gradients = torch.autograd.grad(whole + problem, list(words.learned))
            words.learn(gradients)
        if number == 8:
            words.keep()


def test_words_that_go_on_from_a_checkpoint_end_as_they_would_have() -> None:
    whole, _, _ = some_words()
    steps(whole, 0, 14)
    begun, _, _ = some_words()
    steps(begun, 0, 12)
    state = {name: np.array(array) for name, array in begun.arrays().items()}
    again, _, _ = some_words()
    again.restore(state)
    steps(again, 12, 14)
    for one, other in zip(again.learned, whole.learned, strict=True):
        assert (one == other).all()
    for one, other in zip(again.kept, whole.kept, strict=True):
        assert (one == other).all()
    assert (again.near == whole.near).all()
    assert not (whole.kept[0] == whole.points).all()


def test_the_judge_looks_at_words_as_they_are() -> None:
    words, _, _ = some_words()
    judge = Watching(words, 0)
    nodes = nodes_of(5).float()
    before = judge.cost(nodes)
    assert judge.cost(nodes) == before
    with torch.no_grad():
        words.points.copy_(nodes[np.arange(12) % 5])
    assert judge.cost(nodes) != before


def test_what_a_word_does_not_explain_is_least_for_the_best_bias() -> None:
    rng = np.random.default_rng(0)
    told, log_count, weight = rng.normal(size=(4, 6)), rng.normal(size=6), rng.random(6)
    for u in range(4):
        values = [
            float((weight * (told[u] + bias - log_count) ** 2).sum())
            for bias in np.linspace(-5, 5, 20_001)
        ]
        assert unexplained(told, log_count, weight)[u] == pytest.approx(min(values), rel=1e-5)


def served(n_words: int = 6) -> tuple[Model, Any, np.ndarray]:
    vectors, counts = some_vectors(n_words, 3, 0), some_counts(n_words, 1)
    steps_ = np.arange(n_words - 1)
    left = np.concatenate([[0], n_words + steps_[:-1]])
    tree = from_merges(left, steps_ + 1, steps_ + 1.0)
    model = Model(
        arrays={
            "words": vectors.words,
            "contexts": vectors.contexts,
            "context_bias": vectors.context_bias,
            "digest": digests(checked(counts, "graph")),
        },
        facts={"x_max": 100.0, "exponent": 0.75, "glove_loss": 0.5},
    )
    return model, tree, counts


def test_a_row_comes_to_the_word_that_explains_it_best() -> None:
    model, tree, _ = served()
    words, contexts = model.arrays["words"], model.arrays["contexts"]
    told = words @ contexts.T + model.arrays["context_bias"]
    # What word u tells of, and a bias of its own, but for a little.
    rows = np.exp(
        told + np.arange(6)[:, None] + 0.01 * np.random.default_rng(0).normal(size=(6, 6))
    )
    found = place(model, tree, rows, "graph")
    assert (found.leaf == tree.leaf_of_point).all()
    lost = np.array(
        [
            unexplained(told, np.log(row), np.minimum(row / 100, 1) ** 0.75)
            for row in rows
        ]
    )  # fmt: skip
    share = np.exp(-lost / (2 * 0.5))
    share /= share.sum(axis=1, keepdims=True)
    for row in range(6):
        path = slice(found.start[row], found.start[row + 1])
        for node, probability in zip(found.node[path], found.probability[path], strict=True):
            under = [word for word in range(6) if node in ancestors(tree, tree.leaf_of_point[word])]
            assert probability == pytest.approx(share[row, under].sum(), rel=1e-9)


def ancestors(tree: Any, node: int) -> set[int]:
    found = {int(node)}
    while tree.parent[node] >= 0:
        node = tree.parent[node]
        found.add(int(node))
    return found


def test_a_words_own_row_comes_to_it_for_certain() -> None:
    model, tree, counts = served()
    for rows in (counts, sp.csr_array(counts), counts.astype(np.float64)[:, :]):
        found = place(model, tree, rows, "graph")
        assert (found.leaf == tree.leaf_of_point).all()
        assert (found.probability == 1).all()
    order = np.array([4, 0, 2])
    assert (place(model, tree, counts[order], "graph").leaf == tree.leaf_of_point[order]).all()


def test_rows_that_cannot_be_placed_are_named() -> None:
    model, tree, counts = served()
    for bad, said in (
        (counts[:, :4], "4 columns; the model has 6 words"),
        (np.where(np.arange(6)[:, None] == 2, 0, counts), "row 2"),
        (np.where(np.arange(6)[:, None] == 3, -counts, counts), "below 0 in row 3"),
    ):
        with pytest.raises(UsageError, match=said) as caught:
            place(model, tree, bad, "graph")
        assert caught.value.where["role"] == "graph"
