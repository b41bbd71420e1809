"""Newton's method for the leaves' weights, against another optimiser over all nodes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from models.methods.classifiers.bayes import newton
from models.methods.classifiers.bayes.likelihood import LikelihoodKind, likelihood_of
from models.methods.classifiers.bayes.newton import Design, Elimination, Levels
from models.running.progress import silent
from tests.models.methods.classifiers.bayes.bayes_kit import TREE, objective, small


@pytest.mark.parametrize("form", ["dense", "sparse", "dense without blocks"])
@pytest.mark.parametrize("kind", ["softmax", "logistic"])
def test_it_reaches_the_optimum_over_all_nodes(
    kind: LikelihoodKind, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if form == "dense without blocks":
        monkeypatch.setattr(newton, "LARGEST_BLOCK", 1)
    problem = small(6)
    precision = np.exp(np.random.default_rng(1).normal(size=(8, 3)))
    design = Design(sp.csr_array(problem.rows) if form == "sparse" else problem.rows)
    likelihood = likelihood_of(kind, problem.row, problem.code)
    penalty = Elimination(TREE, Levels.of(TREE), precision)
    mode = newton.Mode.at(np.zeros((5, 3)), design, likelihood)
    values = [mode.objective(penalty)]
    for _ in range(20):
        of_leaves = precision[TREE.node]
        mode, distance = newton.climbed(mode, design, likelihood, penalty, of_leaves, silent)
        values.append(mode.objective(penalty))
    assert distance < 1e-12
    assert (np.diff(values) <= 1e-12).all()
    best = minimize(
        lambda flat: objective(problem, flat.reshape(8, 3), precision, kind),
        np.zeros(24),
        options={"gtol": 1e-7},
    )
    assert values[-1] == pytest.approx(best.fun, rel=1e-9)
    np.testing.assert_allclose(penalty.nodes(mode.weights), best.x.reshape(8, 3), atol=1e-4)
