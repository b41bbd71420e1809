"""Chains of draws of the correlated multinomial logit, and whether they have mixed.

An iteration draws the weights of branches along a trajectory given the precisions, then the
precisions given the weights, from their gamma posteriors, then both together. In the burn-in steps
are adapted, and masses to the information of the weights. Each iteration has separate random
numbers, so that an interrupted chain goes on as it would have.

The trajectories are Hamiltonian Monte Carlo's: a draw moves with a random momentum (`moved`).

Source: Neal, "MCMC Using Hamiltonian Dynamics" (2011), §3.2 and §5.4; Hoffman and Gelman, "The
No-U-Turn Sampler" (2014), §3.2, for the adaptation of steps.

Split R-hat and the effective sample size tell whether chains have mixed.

Source: Vehtari et al., "Rank-normalization, Folding, and Localization: An Improved R-hat" (2021),
§2 and §3.2, without ranks; Geyer, "Practical Markov Chain Monte Carlo" (1992), for the sum of
autocorrelations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Arrays, Float
from models.method import Checkpoint
from models.methods.classifiers.sampling.branches import BranchModel, Point
from models.running.progress import Progress


def split_rhat(draws: Float) -> float:
    """How much wider the halves of chains lie together than each alone; 1 if they agree.

    draws : (n_chains, n_draws) of one quantity. Infinite if halves differ that do not vary.
    """
    halves = _split(draws)
    n_draws = halves.shape[1]
    within = halves.var(axis=1, ddof=1).mean()
    between = halves.mean(axis=1).var(ddof=1)
    if within == 0.0:
        return 1.0 if between == 0.0 else float("inf")
    return float(np.sqrt((n_draws - 1) / n_draws + between / within))


def effective_sample_size(draws: Float) -> float:
    """The number of independent draws that would tell the mean as well.

    draws : (n_chains, n_draws) of one quantity; at least four of each chain.
    """
    halves = _split(draws)
    n_chains, n_draws = halves.shape
    total = n_chains * n_draws
    within = halves.var(axis=1, ddof=1).mean()
    mixed = (n_draws - 1) / n_draws * within + halves.mean(axis=1).var(ddof=1)
    if mixed == 0.0:
        return float(total)
    correlation = 1.0 - (within - autocovariances(halves).mean(axis=0)) / mixed
    correlation[0] = 1.0
    n_pairs = n_draws // 2
    pairs = correlation[: 2 * n_pairs].reshape(n_pairs, 2).sum(axis=1)
    positive = n_pairs if (pairs > 0.0).all() else int(np.argmax(pairs <= 0.0))
    # In a reversible chain sums of pairs never rise; the estimates are held to that.
    time = -1.0 + 2.0 * float(np.minimum.accumulate(pairs[: max(positive, 1)]).sum())
    return float(total / max(time, 1.0 / np.log10(total)))


def autocovariances(draws: Float) -> Float:
    """(n_chains, n_draws) by lag, of n - 1 for lag 0 as the variance has it. O(n log n)."""
    n_draws = draws.shape[1]
    centered = draws - draws.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centered, 2 * n_draws, axis=1)
    sums = np.fft.irfft(np.abs(spectrum) ** 2, 2 * n_draws, axis=1)[:, :n_draws]
    return np.asarray(sums / (n_draws - 1))


def _split(draws: Float) -> Float:
    """Each chain as two, a middle draw left out where their number is odd."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]])


LENGTH = 1.5
"""The length of a trajectory, in standard deviations: about a quarter of a period."""

MOST_STEPS = 128
TARGET = 0.8
"""Share of trajectories that should be accepted."""


def moved(
    model: BranchModel,
    point: Point,
    precision: Float,
    mass: Float,
    step: float,
    rng: np.random.Generator,
) -> tuple[Point, float]:
    """The next draw of the weights given the precisions, and its probability of acceptance.

    precision : (n_nodes,) of branches. mass : (n_nodes, n_columns) inverse variances of the
        weights, roughly.

    Ceil of LENGTH / step gradients, at most MOST_STEPS.
    """
    prior = precision[:, None]
    momentum = rng.normal(size=mass.shape) * np.sqrt(mass)
    momentum[0] = 0.0
    jittered = step * rng.uniform(0.8, 1.2)
    n_steps = min(MOST_STEPS, int(np.ceil(LENGTH / step)))

    def energy(at: Point, momentum: Float) -> float:
        square = float((prior * at.weights**2).sum() + (momentum**2 / mass).sum())
        return 0.5 * square - at.likelihood

    start, here = energy(point, momentum), point
    for _ in range(n_steps):
        momentum = momentum + 0.5 * jittered * (here.gradient - prior * here.weights)
        momentum[0] = 0.0
        here = model.at(here.weights + jittered * momentum / mass)
        momentum = momentum + 0.5 * jittered * (here.gradient - prior * here.weights)
        momentum[0] = 0.0
        if not np.isfinite(here.likelihood):
            return point, 0.0
    change = start - energy(here, momentum)
    accept = float(np.exp(min(0.0, change))) if np.isfinite(change) else 0.0
    return (here if rng.random() < accept else point), accept


@dataclass(frozen=True, slots=True)
class StepSize:
    """The length of steps, adapted to the acceptance of trajectories by dual averaging.

    center : of the logarithm, to which it is drawn. n_seen : trajectories so far.
    """

    center: float
    log_step: float
    log_mean: float = 0.0
    error: float = 0.0
    n_seen: int = 0

    @classmethod
    def first(cls, step: float) -> StepSize:
        return cls(float(np.log(10.0 * step)), float(np.log(step)))

    def adapted(self, accept: float) -> StepSize:
        n_seen = self.n_seen + 1
        share = 1.0 / (n_seen + 10.0)
        error = (1.0 - share) * self.error + share * (TARGET - accept)
        log_step = min(self.center - np.sqrt(n_seen) / 0.05 * error, float(np.log(LENGTH)))
        weight = n_seen**-0.75
        log_mean = weight * log_step + (1.0 - weight) * self.log_mean
        return StepSize(self.center, float(log_step), float(log_mean), error, n_seen)

    @property
    def step(self) -> float:
        return float(np.exp(self.log_step))

    @property
    def mean(self) -> float:
        """The step after the adaptation."""
        return float(np.exp(self.log_mean)) if self.n_seen else self.step

    def array(self) -> Float:
        return np.array([self.center, self.log_step, self.log_mean, self.error, self.n_seen])

    @classmethod
    def of(cls, array: Float) -> StepSize:
        center, log_step, log_mean, error, n_seen = array.tolist()
        return cls(center, log_step, log_mean, error, int(n_seen))


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
            "kept": np.zeros((n_kept, model.tree.n_classes, n_columns), dtype=model.precision),
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
        """Start a chain at weights of small random scores, so that chains differ."""
        self.weights = 0.1 * rng.normal(size=model.shape) / model.units
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
