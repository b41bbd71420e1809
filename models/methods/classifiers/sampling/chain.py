"""Chains of draws of the correlated multinomial logit.

An iteration draws the weights of branches along a trajectory given the precisions, then the
precisions given the weights, from their gamma posteriors, then both together. In the burn-in steps
are adapted, and masses to the information of the weights. Each iteration has random numbers of its
own, so that an interrupted chain goes on as it would have.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Arrays, Float
from models.method import Checkpoint
from models.methods.classifiers.sampling.branches import BranchModel
from models.methods.classifiers.sampling.hamiltonian import StepSize, moved
from models.running.progress import Progress

FIRST_STEP = 0.1
MASSES_AT = (0.1, 0.25, 0.5, 0.75)
"""Shares of the burn-in after which masses are computed anew; steps then adapt from the start."""


@dataclass(frozen=True, eq=False)
class Draws:
    """What chains gave.

    weights : (n_kept, n_classes, n_columns) of classes, evenly from all chains.
    likelihood : (n_chains, n_samples) logarithms. log_precision : (n_chains, n_samples, n_inner).
    accept : share of trajectories accepted. step : mean length of steps.
    """

    weights: Float
    likelihood: Float
    log_precision: Float
    accept: float
    step: float


def sample(
    model: BranchModel,
    *,
    n_chains: int,
    n_samples: int,
    burn_in: int,
    n_kept: int,
    seed: int,
    progress: Progress,
    checkpoint: Checkpoint,
) -> Draws:
    """Draws of all chains, one chain after the other.

    Cost: O(N K D) for each step of a trajectory, some to some tens of them for each draw.
    """
    state = _State.start(model, n_chains, n_samples, n_kept, checkpoint)
    n_iterations = burn_in + n_samples
    masses_at = {int(share * burn_in) for share in MASSES_AT}
    for number in range(state.n_done, n_chains * n_iterations):
        chain, iteration = divmod(number, n_iterations)
        rng = np.random.default_rng([seed, chain, iteration])
        if iteration == 0:
            state.begin(model, rng)
        if iteration in masses_at and iteration < burn_in:
            state.information = model.information(state.weights)
            state.steps = StepSize.first(state.steps.step)
        burning = iteration < burn_in
        accept = state.advance(model, rng, burning)
        if not burning:
            state.keep(model, chain, iteration - burn_in, n_samples, accept)
        state.n_done = number + 1
        stage = "burning in" if burning else "sampling"
        progress(state.n_done / (n_chains * n_iterations), stage, f"chain {chain + 1}/{n_chains}")
        checkpoint.save(state.arrays())
    return Draws(
        state.kept,
        state.likelihood,
        state.log_precision,
        float(state.totals[0] / (n_chains * n_samples)),
        float(state.totals[1] / (n_chains * n_samples)),
    )


class _State:
    """The running chain, and what all gave so far. totals : sums of acceptance and of steps."""

    def __init__(self, arrays: Arrays) -> None:
        self.n_done = int(arrays["n_done"][0])
        self.weights = np.array(arrays["weights"])
        self.precision = np.array(arrays["precision"])
        self.information = np.array(arrays["information"])
        self.steps = StepSize.of(np.asarray(arrays["steps"]))
        self.kept = np.array(arrays["kept"])
        self.likelihood = np.array(arrays["likelihood"])
        self.log_precision = np.array(arrays["log_precision"])
        self.totals = np.array(arrays["totals"])

    @classmethod
    def start(
        cls, model: BranchModel, n_chains: int, n_samples: int, n_kept: int, checkpoint: Checkpoint
    ) -> _State:
        saved = checkpoint.load()
        if saved is not None:
            return cls(saved)
        n_nodes, n_columns = model.shape
        n_inner = model.families(np.ones(n_nodes)).size
        n_kept = min(n_kept, n_chains * n_samples)
        empty: Arrays = {
            "n_done": np.zeros(1, dtype=np.int64),
            "weights": np.zeros((n_nodes, n_columns)),
            "precision": np.ones(n_nodes),
            "information": np.zeros((n_nodes, n_columns)),
            "steps": StepSize.first(FIRST_STEP).array(),
            "kept": np.zeros((n_kept, model.tree.n_classes, n_columns), dtype=np.float32),
            "likelihood": np.zeros((n_chains, n_samples)),
            "log_precision": np.zeros((n_chains, n_samples, n_inner)),
            "totals": np.zeros(2),
        }
        return cls(empty)

    def arrays(self) -> Arrays:
        return {
            "n_done": np.array([self.n_done]),
            "weights": self.weights,
            "precision": self.precision,
            "information": self.information,
            "steps": self.steps.array(),
            "kept": self.kept,
            "likelihood": self.likelihood,
            "log_precision": self.log_precision,
            "totals": self.totals,
        }

    def begin(self, model: BranchModel, rng: np.random.Generator) -> None:
        """Start a chain at small random weights, so that chains differ."""
        self.weights = 0.1 * rng.normal(size=model.shape)
        self.weights[0] = 0.0
        family = np.exp(rng.normal(size=model.shape[0]))
        self.precision = model.of_branches(family)
        self.information = model.information(self.weights)
        self.steps = StepSize.first(FIRST_STEP)

    def advance(self, model: BranchModel, rng: np.random.Generator, burning: bool) -> float:
        """One iteration; the probability with which its trajectory was accepted."""
        mass = self.precision[:, None] + self.information
        step = self.steps.step if burning else self.steps.mean
        point, accept = moved(model, model.at(self.weights), self.precision, mass, step, rng)
        self._likelihood = point.likelihood
        precision = model.precisions(point.weights, rng)
        self.weights, self.precision = model.rescaled(point.weights, precision, rng)
        if burning:
            self.steps = self.steps.adapted(accept)
        return accept

    def keep(
        self, model: BranchModel, chain: int, sample: int, n_samples: int, accept: float
    ) -> None:
        self.likelihood[chain, sample] = self._likelihood
        self.log_precision[chain, sample] = np.log(model.families(self.precision))
        self.totals += accept, self.steps.mean
        n_draws = len(self.likelihood) * n_samples
        number, n_kept = chain * n_samples + sample, len(self.kept)
        # The draw is kept if a new share of all draws ends with it.
        place = (number + 1) * n_kept // n_draws
        if place > number * n_kept // n_draws:
            self.kept[place - 1] = model.of_classes(self.weights)
