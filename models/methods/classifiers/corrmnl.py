"""Correlated multinomial logit: a Bayesian softmax whose classes share the branches on their paths.

The weights of a class are the sum of the branches' weights from the root down to it. The weights of
a branch are normal around 0 with a precision that branches below the same node share; precisions
have a gamma prior and are sampled too. Classes that share much of their path are correlated before
any data are seen. Predictions average the probabilities over draws of the posterior, of which up to
'n_kept' stay in the model.

Markov chains, each from another start: Hamiltonian trajectories for the weights, exact draws of
the precisions, and moves of both together (`sampling.chain`). `rhat` is the largest split R-hat and
`ess` the smallest effective sample size of the likelihood and the precisions; a warning says if
the chains have not mixed.

Columns of any offset and size are sampled along their axes, in units in which they are moderate.

Source: Shahbaba and Neal, "Improving Classification When a Class Hierarchy is Available Using a
Hierarchy-based Prior" (2007). Deviations: the intercept is a weight like others and precisions do
not depend on the feature; trajectories along rotated features, with masses from the information of
the weights, and exact draws of precisions, where theirs are sampled by slices.

Cost: (burn_in + n_samples) n_chains iterations, each of some to some tens of steps of O(N K D);
minutes to hours. Features become dense. Memory: 24 N D + 48 N K bytes, 4 n_kept K D for the draws;
the model holds these draws, and answers take as many products of rows and weights.

Measured: CPU time as N^0.4 D^0.1 K^0.2, from 400 x 16 and 8 classes to four times each, iterations
bounded (`python -m bench costs`).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from pydantic import Field

from models.errors import UsageError
from models.method import Paper, Run, Shapes
from models.methods.classifiers.classes.classifier import Classifier, Trained
from models.methods.classifiers.classes.coordinates import hardest
from models.methods.classifiers.classes.inputs import ClassifierParams
from models.methods.classifiers.classes.problem import Problem
from models.methods.classifiers.sampling.branches import BranchModel
from models.methods.classifiers.sampling.chain import (
    Draws,
    effective_sample_size,
    sample,
    split_rhat,
)
from models.methods.classifiers.structured.inputs import Contract
from models.parameters import Seed

MOST_RHAT = 1.05
FEWEST_EFFECTIVE = 50.0


class CorrMNLParams(ClassifierParams):
    n_samples: int = Field(
        500, ge=10, le=100_000, description="Number of draws of each chain after its burn-in."
    )
    burn_in: int = Field(
        500, ge=10, le=100_000, description="Number of iterations of each chain before its draws."
    )
    n_chains: int = Field(2, ge=1, le=16, description="Number of chains, from different starts.")
    n_kept: int = Field(
        100,
        ge=1,
        le=1000,
        description="Most draws that stay in the model, evenly from all, for predictions.",
    )
    shape: float = Field(1.0, gt=0, le=1e6, description="Shape of the gamma prior of precisions.")
    rate: float = Field(1.0, gt=0, le=1e6, description="Rate of the gamma prior of precisions.")
    contract: Contract = True
    seed: Seed = 0


class CorrMNL(Classifier[CorrMNLParams]):
    """See the module's docstring."""

    title = "Correlated multinomial logit"
    paper = Paper(
        "Improving Classification When a Class Hierarchy is Available Using a Hierarchy-based "
        "Prior",
        2007,
    )
    Params = CorrMNLParams
    several_labels = False
    resumes = True
    advice = "Use fewer features ('preprocess' with svd or pca), or 'hblr'."
    example = {"n_samples": 10, "burn_in": 10}

    def _memory(self, shapes: Shapes, params: CorrMNLParams) -> int:
        if len(shapes.get("features", ())) != 2:
            return 0
        return _bytes_of(params, shapes["features"][0], shapes["features"][1] + 1, 2)

    def _train(self, problem: Problem, params: CorrMNLParams, run: Run) -> Trained:
        assert problem.tree is not None
        tree = problem.tree.contracted() if params.contract else problem.tree
        needed = _bytes_of(params, problem.n_rows, problem.n_columns, problem.n_classes)
        self._require(needed)
        design = problem.design
        dense = design.toarray() if isinstance(design, sp.csr_array) else design
        draws = sample(
            BranchModel(dense, problem.code, tree, params.shape, params.rate),
            n_chains=params.n_chains,
            n_samples=params.n_samples,
            burn_in=params.burn_in,
            n_kept=params.n_kept,
            seed=params.seed,
            progress=run.progress,
            checkpoint=run.checkpoint,
        )
        if not np.isfinite(draws.weights).all():
            n_features = problem.n_columns - params.intercept
            column, size = hardest(problem.as_given, n_features) or (0, "Scale the features.")
            raise UsageError(
                f"The chains left all bounds. {size}",
                code="wrong-input",
                role="features",
                column=column,
            )
        return _trained(draws)


def _bytes_of(params: CorrMNLParams, n_rows: int, n_columns: int, n_classes: int) -> int:
    values = n_rows * (3 * n_columns + 6 * n_classes) + 8 * n_classes * n_columns
    values += 2 * n_columns**2
    return 8 * values + 4 * params.n_kept * n_classes * n_columns


def _trained(draws: Draws) -> Trained:
    traces = [draws.likelihood, *np.moveaxis(draws.log_precision, 2, 0)]
    rhat = max(split_rhat(trace) for trace in traces)
    ess = min(effective_sample_size(trace) for trace in traces)
    mixed = rhat <= MOST_RHAT and ess >= FEWEST_EFFECTIVE
    warnings = (
        f"The chains have not mixed: R-hat is up to {rhat:.3g} (1 if they agree), and the draws "
        f"are worth {ess:.0f} independent ones. Raise 'burn_in' and 'n_samples'.",
    )
    mean = draws.likelihood.mean(axis=0)
    return Trained(
        weights=draws.weights,
        link="softmax",
        metrics={
            "log_likelihood": float(draws.likelihood.mean()),
            # JSON has no infinity.
            "rhat": min(rhat, 1e6),
            "ess": ess,
            "accept": draws.accept,
            "step": draws.step,
        },
        curves={"log_likelihood": list(enumerate(mean.tolist(), 1))},
        warnings=() if mixed else warnings,
        converged=mixed,
    )
