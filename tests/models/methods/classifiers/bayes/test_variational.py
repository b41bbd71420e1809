"""Variational inference: the bound of its definition, which no half-step lowers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from models.methods.classifiers.bayes.inferences import Variational, VariationalState
from models.methods.classifiers.bayes.likelihood import LikelihoodKind
from models.methods.classifiers.bayes.newton import Design, Elimination, Levels
from models.methods.classifiers.bayes.precisions import Covariance, information_of
from models.methods.classifiers.classes.structure import ClassTree
from models.running.progress import silent
from tests.models.methods.classifiers.bayes.bayes_kit import (
    Posterior,
    Small,
    elbo,
    small,
)
from tests.models.methods.classifiers.bayes.sampler_kit import sampled

ALL = pytest.mark.parametrize(
    ("covariance", "kind"),
    [(covariance, kind) for covariance in ("M1", "M2", "M3") for kind in ("softmax", "logistic")],
)


def inference_of(problem: Small, covariance: Covariance, kind: LikelihoodKind) -> Variational:
    bound = problem.bound(kind)
    return Variational(Design(problem.rows), problem.tree, bound, problem.precisions(covariance))


def posterior_of(
    inference: Variational, problem: Small, before: VariationalState, after: VariationalState
) -> Posterior:
    """The posterior after a sweep, whose covariances come from the state before it."""
    tree, n_columns = problem.tree, problem.rows.shape[1]
    levels = Levels.of(tree)
    mean = Elimination(tree, levels, before.precisions.of_nodes).nodes(after.mean)
    covariance = np.zeros((tree.n_nodes, n_columns, n_columns))
    diagonal = np.arange(n_columns)
    covariance[:, diagonal, diagonal] = 1 / information_of(tree, before.precisions)
    for class_, leaf in enumerate(tree.node):
        covariance[leaf] = inference.covariance(class_, before.bound, before.precisions)[0]
    return Posterior(mean, covariance, after.precisions, after.bound)


@ALL
def test_the_bound_never_falls_and_is_that_of_the_definition(
    covariance: Covariance, kind: LikelihoodKind
) -> None:
    problem = small(4)
    inference = inference_of(problem, covariance, kind)
    state, values = inference.first(), []
    for _ in range(30):
        sweep = inference.sweep(state, silent)
        values += sweep.values
        after = sweep.state
        posterior = posterior_of(inference, problem, state, after)
        assert sweep.values[-1] == pytest.approx(elbo(problem, posterior), rel=1e-9)
        former = replace(posterior, precisions=state.precisions)
        assert sweep.values[-2] == pytest.approx(elbo(problem, former), rel=1e-9)
        state = after
    assert (np.diff(values) >= -1e-10 * np.abs(values[-1])).all()


Move = Callable[[float], Posterior]


def moves(end: Posterior) -> Iterator[tuple[str, Move]]:
    """For each parameter of a posterior its name, and what moves it by a step."""

    def of(name: str, array: np.ndarray, put: Callable[[np.ndarray], Posterior]) -> Iterator[Any]:
        for at in np.ndindex(array.shape):

            def move(step: float, at: tuple[int, ...] = at) -> Posterior:
                moved = array.copy()
                moved[at] += step
                if name == "covariance":
                    moved[at[0], at[2], at[1]] = moved[at]
                return put(moved)

            yield f"{name} {at}", move

    precisions, bound = end.precisions, end.bound
    yield from of("mean", end.mean, lambda moved: replace(end, mean=moved))
    # Between different nodes and, at inner nodes, features the posterior is independent: entries of
    # inner nodes off the diagonal are no parameters, but the bound is flat there as well.
    yield from of("covariance", end.covariance, lambda moved: replace(end, covariance=moved))
    for name in ("tau", "nu"):
        yield from of(
            name,
            getattr(precisions, name),
            lambda moved, name=name: replace(end, precisions=replace(precisions, **{name: moved})),
        )
    names = ("xi", "beta") if bound.kind == "softmax" else ("xi",)
    for name in names:
        yield from of(
            name,
            getattr(bound, name),
            lambda moved, name=name: replace(end, bound=replace(bound, **{name: moved})),
        )


@ALL
def test_no_parameter_moves_at_the_end(covariance: Covariance, kind: LikelihoodKind) -> None:
    """A.8 to A.14, corrected: the derivative of the bound by every parameter is 0."""
    problem = small(5, n_rows=12, n_columns=2)
    inference = inference_of(problem, covariance, kind)
    state, change = inference.first(), np.inf
    while change > 1e-9:
        sweep = inference.sweep(state, silent)
        before, state, change = state, sweep.state, sweep.change
    end = posterior_of(inference, problem, before, state)
    highest = elbo(problem, end)
    for name, move in moves(end):
        up, down = elbo(problem, move(1e-4)), elbo(problem, move(-1e-4))
        assert (up - down) / 2e-4 == pytest.approx(0.0, abs=1e-4), name
        assert max(up, down) <= highest + 1e-9, name


@pytest.mark.parametrize(("covariance", "kind"), [("M1", "logistic"), ("M3", "softmax")])
def test_means_lie_within_the_intervals_of_a_sampler(
    covariance: Covariance, kind: LikelihoodKind
) -> None:
    #    0
    #   / \
    #  1   2
    #     / \
    #    3   4
    tree = ClassTree(np.array([-1, 0, 0, 2, 2]), np.array([1, 3, 4]))
    problem = small(11, n_rows=40, n_columns=2, tree=tree)
    inference = inference_of(problem, covariance, kind)
    state = inference.first()
    for _ in range(100):
        state = inference.sweep(state, silent).state
    draws = sampled(problem, covariance, kind)[:, tree.node]
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    assert ((low < state.mean) & (state.mean < high)).all()
    if kind == "logistic":
        # Under Bouchard's bound of the softmax, classes lie further apart than in truth.
        assert (np.abs(state.mean - draws.mean(axis=0)) < 0.5 * draws.std(axis=0)).all()
