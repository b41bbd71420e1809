"""Variational inference for the mixture of vMF distributions whose clusters move with time.

mu_1k ~ vMF(mu0, first C0), mu_tk ~ vMF(mu_{t-1,k}, C0), log kappa_k ~ N(m, sigma^2), weights as
`WeightPaths` say. The factors are as in `bayes.variational`, with q(mu_tk) = vMF(psi_tk, gamma_tk)
for every period:

gamma_tk psi_tk = E[kappa_k] S_tk + C0 E[mu_{t-1,k}] + C0 E[mu_{t+1,k}] (thesis 5.5), S_tk being the
weighted sum of the period's rows. The last period lacks the last term; in the first period, first
C0 mu0 replaces the term of the previous one. q(kappa_k) follows from all periods: sum_t S_tk .
E[mu_tk], the product of each row with the mean of the row's period (the thesis omits t there and
kappa before the sum).

C0 is a parameter of a run: where periods have few rows, the value at which this bound is highest
tends to 0; `step_concentration` estimates it otherwise. The thesis also draws the first
means with C0, which puts slow clusters all in one place; here the first means have their own
concentration, estimated like the other parameters.

`WeightPaths` are weights of clusters that change with time: the softmax of Gaussian random walks.

eta_1 ~ N(0, s0^2 I), eta_t ~ N(eta_{t-1}, s^2 I), z_ti ~ Cat(softmax(eta_t)) (thesis 5.5, whose
Dirichlet in between is not indexed by time). q(eta) is Gaussian and factorises over clusters, with
the precision P + diag(w_k): P is the precision of the prior and w >= 0, so periods are coupled as
in the prior. E[log softmax(eta_t)_k] >= m_tk - log sum_j exp(m_tj + v_tj / 2), by Jensen.

At the bound's maximum w_tk = N_t softmax(m_t + v_t / 2)_k, so Newton's steps in m, with that
precision, and w are taken together, shortened until the bound does not fall. O(T K) a step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp, softmax

from models.arrays import Arrays, Float, Int
from models.methods.sphere.bayes.concentrations import Concentrations, Form
from models.methods.sphere.bayes.priors import Priors, vmf_divergence
from models.methods.sphere.mixture.mixture import Constraints, Mixture, maximize
from models.methods.sphere.mixture.passes import Passes, Sums
from models.methods.sphere.mixture.runs import Climb, alternating, climb, restored
from models.numerics import sphere
from models.numerics.sphere import unit
from models.running.progress import Progress, silent, subprogress

STEPS = 8
"""The most Newton steps in one update."""

HALVINGS = 12

LEAST_SD, MOST_SD = 0.01, 10.0
"""Bounds of the estimates of s and s0."""


@dataclass(frozen=True, slots=True)
class WeightPaths:
    """mean, precision (T, K) m and w; variance (T, K) v; link (T - 1, K) covariances of t and
    t + 1; log_det (K,) of the precisions P + diag(w_k); first_sd, sd : s0 and s."""

    mean: Float
    precision: Float
    variance: Float
    link: Float
    log_det: Float
    first_sd: float
    sd: float

    @classmethod
    def of_precision(cls, mean: Float, precision: Float, first_sd: float, sd: float) -> WeightPaths:
        variance, link, log_det = _chain(precision, first_sd, sd)
        return cls(mean, precision, variance, link, log_det, first_sd, sd)

    @property
    def log_weights(self) -> Float:
        """(T, K) the bound of E[log pi_tk]; 0 for a single cluster."""
        if self.mean.shape[1] == 1:
            return np.zeros_like(self.mean)
        high = self.mean + 0.5 * self.variance
        return np.asarray(self.mean - logsumexp(high, axis=1, keepdims=True))

    @property
    def weights(self) -> Float:
        """(T, K) softmax(m + v / 2), the shares that the bound expects; also after the last period,
        since all variances grow alike."""
        return np.asarray(softmax(self.mean + 0.5 * self.variance, axis=1))

    def divergence(self) -> float:
        """KL(q || prior)."""
        n_periods, n_clusters = self.mean.shape
        if n_clusters == 1:
            return 0.0
        first, steps = self._spread()
        value = first / self.first_sd**2 + steps / self.sd**2 - self.mean.size
        prior = 2.0 * n_clusters * (np.log(self.first_sd) + (n_periods - 1) * np.log(self.sd))
        return 0.5 * float(value + prior + self.log_det.sum())

    def gain(self, size: Float) -> float:
        """The weights' part of the lower bound: E[log p(z)] - KL, for numbers of rows (T, K)."""
        return float((size * self.log_weights).sum()) - self.divergence()

    def updated(self, size: Float) -> WeightPaths:
        """The optimum for `size`, (T, K); never worse than the current weights."""
        if self.mean.shape[1] == 1:
            return self
        n_rows = size.sum(axis=1, keepdims=True)
        best, value = self, self.gain(size)
        for _ in range(STEPS):
            target = n_rows * best.weights
            pull = size - target - _times_prior(best.mean, best.first_sd, best.sd)
            move = _solved(target, best.first_sd, best.sd, pull)
            low = np.log(np.maximum(best.precision, 1e-12))
            far = np.log(np.maximum(target, 1e-12)) - low
            for halving in range(HALVINGS):
                step = 0.5**halving
                tried = WeightPaths.of_precision(
                    best.mean + step * move, np.exp(low + step * far), best.first_sd, best.sd
                )
                after = tried.gain(size)
                if after > value:
                    break
            else:
                return best
            rise, best, value = after - value, tried, after
            if rise < 1e-8 * (1.0 + abs(value)):
                break
        return best

    def estimated(self) -> WeightPaths:
        """With s0 and s by empirical Bayes; q stays."""
        n_periods, n_clusters = self.mean.shape
        if n_clusters == 1:
            return self
        first, steps = self._spread()
        first_sd = float(np.clip(np.sqrt(first / n_clusters), LEAST_SD, MOST_SD))
        sd = self.sd
        if n_periods > 1:
            sd = float(np.clip(np.sqrt(steps / ((n_periods - 1) * n_clusters)), LEAST_SD, MOST_SD))
        return replace(self, first_sd=first_sd, sd=sd)

    def _spread(self) -> tuple[float, float]:
        """E[|eta_1|^2], and the sum over t > 1 of E[|eta_t - eta_{t-1}|^2]."""
        first = self.mean[0] ** 2 + self.variance[0]
        step = np.diff(self.mean, axis=0) ** 2 + self.variance[1:] + self.variance[:-1]
        return float(first.sum()), float((step - 2.0 * self.link).sum())

    def arrays(self, prefix: str = "") -> dict[str, Float]:
        return {
            f"{prefix}walk": np.stack([self.mean, self.precision, self.variance]),
            f"{prefix}walk_link": self.link,
            f"{prefix}walk_log_det": self.log_det,
            f"{prefix}walk_sd": np.array([self.first_sd, self.sd]),
        }

    @classmethod
    def of(cls, arrays: Arrays, prefix: str = "") -> WeightPaths:
        mean, precision, variance = np.asarray(arrays[f"{prefix}walk"], dtype=np.float64)
        first_sd, sd = arrays[f"{prefix}walk_sd"].tolist()
        link, log_det = arrays[f"{prefix}walk_link"], arrays[f"{prefix}walk_log_det"]
        return cls(mean, precision, variance, link, log_det, first_sd, sd)

    def reordered(self, order: Int) -> WeightPaths:
        return replace(
            self,
            mean=self.mean[:, order],
            precision=self.precision[:, order],
            variance=self.variance[:, order],
            link=self.link[:, order],
            log_det=self.log_det[order],
        )


def _prior_diagonal(n_periods: int, first_sd: float, sd: float) -> Float:
    """(T,) the diagonal of P, whose neighbours are -1 / s^2."""
    diagonal = np.full(n_periods, 2.0 / sd**2)
    diagonal[-1] = 1.0 / sd**2
    diagonal[0] = first_sd**-2 + (sd**-2 if n_periods > 1 else 0.0)
    return diagonal


def _times_prior(mean: Float, first_sd: float, sd: float) -> Float:
    """P times each column."""
    product = _prior_diagonal(len(mean), first_sd, sd)[:, None] * mean
    product[1:] -= mean[:-1] / sd**2
    product[:-1] -= mean[1:] / sd**2
    return product


def _pivots(diagonal: Float, sd: float) -> Float:
    """(T, K) the pivots of the elimination from the first row on."""
    pivots = diagonal.copy()
    for t in range(1, len(pivots)):
        pivots[t] -= sd**-4 / pivots[t - 1]
    return pivots


def _chain(precision: Float, first_sd: float, sd: float) -> tuple[Float, Float, Float]:
    """Variances (T, K), covariances (T - 1, K) of neighbours, log determinants (K,) of the
    precisions."""
    diagonal = precision + _prior_diagonal(len(precision), first_sd, sd)[:, None]
    down = _pivots(diagonal, sd)
    up = _pivots(diagonal[::-1], sd)[::-1]
    variance = 1.0 / (down + up - diagonal)
    link = variance[1:] / (sd**2 * down[:-1])
    return variance, link, np.asarray(np.log(down).sum(axis=0))


def _solved(precision: Float, first_sd: float, sd: float, right: Float) -> Float:
    """(P + diag(w_k))^-1 times each column."""
    diagonal = precision + _prior_diagonal(len(precision), first_sd, sd)[:, None]
    down, solution = _pivots(diagonal, sd), right.copy()
    for t in range(1, len(solution)):
        solution[t] += solution[t - 1] / (sd**2 * down[t - 1])
    solution[-1] /= down[-1]
    for t in range(len(solution) - 2, -1, -1):
        solution[t] = (solution[t] + solution[t + 1] / sd**2) / down[t]
    return solution


TURNS, SWEEPS = 2, 4
"""Updates of q(mu) and q(kappa) after each pass; and sweeps of q(mu) in each update.

A sweep updates even and odd periods in turn.
"""

SETTLING = 5
"""Iterations in the period where the following of clusters starts."""


@dataclass(frozen=True, slots=True)
class TemporalPosterior:
    """q of all but the assignments, and the priors.

    psi (T, K, D) unit vectors; gamma (T, K); kappas of the clusters; walk of their weights.
    c0 : the concentration of the steps; that of the first means is in the priors.
    """

    psi: Float
    gamma: Float
    kappas: Concentrations
    walk: WeightPaths
    priors: Priors
    c0: float

    @property
    def n_features(self) -> int:
        return int(self.psi.shape[2])

    @property
    def lengths(self) -> Float:
        """(T, K) the length of E[mu_tk], which points along psi_tk."""
        return sphere.ratio(self.n_features, self.gamma)

    def divergence(self) -> float:
        """KL(q || prior) of all but the assignments: evidence of the rows minus lower bound."""
        priors, n_features = self.priors, self.n_features
        value = vmf_divergence(self.psi[0], self.gamma[0], priors.mu0, priors.c0).sum()
        lengths = self.lengths
        own = sphere.log_c(n_features, self.gamma[1:]) + self.gamma[1:] * lengths[1:]
        cosine = np.einsum("tkd,tkd->tk", self.psi[1:], self.psi[:-1]) * lengths[1:] * lengths[:-1]
        value += (own - sphere.log_c(n_features, self.c0) - self.c0 * cosine).sum()
        value += self.kappas.divergence_from(priors).sum()
        return float(value) + self.walk.divergence()

    def arrays(self, prefix: str = "") -> dict[str, Float]:
        return {
            f"{prefix}psi": self.psi,
            f"{prefix}gamma": self.gamma,
            f"{prefix}c0": np.array([self.c0]),
            **self.kappas.arrays(prefix),
            **self.walk.arrays(prefix),
            **self.priors.arrays(prefix),
        }

    @classmethod
    def of(cls, arrays: Arrays, prefix: str = "") -> TemporalPosterior:
        psi, gamma = (np.asarray(arrays[prefix + name], np.float64) for name in ("psi", "gamma"))
        kappas, priors = Concentrations.of(arrays, prefix), Priors.of(arrays, prefix)
        walk, c0 = WeightPaths.of(arrays, prefix), float(arrays[f"{prefix}c0"][0])
        return cls(psi, gamma, kappas, walk, priors, c0)

    def reordered(self, order: Int) -> TemporalPosterior:
        """The posterior with component `order[k]` as component k."""
        return replace(
            self,
            psi=self.psi[:, order],
            gamma=self.gamma[:, order],
            kappas=self.kappas.reordered(order),
            walk=self.walk.reordered(order),
        )


@dataclass(frozen=True, slots=True)
class TimedSums:
    """size (T, K), total (T, K, D) as in `passes.Sums`; evidence : its sum over rows."""

    size: Float
    total: Float
    evidence: float


@dataclass(frozen=True, slots=True)
class Temporal:
    """How a run starts and climbs (`runs.Algorithm`); other fields are as in `Variational`.

    passes : over the rows of each period. counted : for each period, 1 for fitted rows.
    sd : s of the weights at the start.
    """

    passes: Sequence[Passes]
    counted: Sequence[Float]
    form: Form
    priors: Priors
    c0: float
    sd: float
    empirical: bool
    max_kappa: float
    max_iter: int
    tol: float

    def start(self, means: Float, sums: Sums, seed: int = 0) -> Climb[TemporalPosterior]:
        """The better of two starts by their bounds.

        Clusters either stand still, with each row at the nearest seed, or are followed from one
        period to both ends.
        """
        n_clusters, n_features = means.shape
        mixture = maximize(sums, Mixture.at(means), Constraints("shared", self.max_kappa))
        priors, kappa = self.priors, mixture.kappa
        if self.empirical and n_clusters > 1:
            m = float(np.log(np.maximum(kappa[0], 1e-12)))
            priors = replace(priors.of_means(mixture.means.mean(axis=0), self.max_kappa), m=m)
        n_rows = np.array([counted.sum() for counted in self.counted])
        log_size = np.log(sums.size + 1.0)
        walk = WeightPaths.of_precision(
            np.tile(log_size - log_size.mean(), (n_rows.size, 1)),
            np.tile(n_rows[:, None] / n_clusters, (1, n_clusters)),
            1.0,
            self.sd,
        )
        gamma = np.tile(sums.size * kappa + self.c0, (n_rows.size, 1))
        kappas = Concentrations.at(kappa, n_features, priors)
        still_psi = np.repeat(mixture.means[None], n_rows.size, axis=0)
        still = TemporalPosterior(still_psi, gamma, kappas, walk, priors, self.c0)
        if (n_rows > 0).sum() <= 1:
            return Climb(self._first(still))
        first = int(np.random.default_rng(seed).choice(n_rows.size, p=n_rows / n_rows.sum()))
        followed = replace(still, psi=self._followed(still, first))
        still, followed = self._first(still), self._first(followed)
        still_bound, bound = (self._expected(q, silent)[1] for q in (still, followed))
        return Climb(followed if bound > still_bound else still)

    def _first(self, posterior: TemporalPosterior) -> TemporalPosterior:
        sums = self._expected(posterior, silent)[0]
        return self._updated(posterior, sums, first=True)

    def restored(self, arrays: Arrays, prefix: str) -> Climb[TemporalPosterior] | None:
        return restored(TemporalPosterior.of, arrays, prefix)

    def climb(
        self,
        run: Climb[TemporalPosterior],
        progress: Progress,
        save: Callable[[Climb[TemporalPosterior]], None],
    ) -> Climb[TemporalPosterior]:
        """The run until the bound rises by at most `tol` per row."""
        return climb(
            run,
            alternating(self._expected, self._updated),
            least_gain=self.tol * float(sum(rows.sum() for rows in self.counted)),
            max_iter=self.max_iter,
            progress=progress,
            save=save,
        )

    def _expected(
        self, posterior: TemporalPosterior, progress: Progress
    ) -> tuple[TimedSums, float]:
        """The sums under the assignments, and the lower bound."""
        n_periods, n_clusters = posterior.gamma.shape
        size, total = np.zeros((n_periods, n_clusters)), np.zeros(posterior.psi.shape)
        lengths, log_weights, evidence = posterior.lengths, posterior.walk.log_weights, 0.0
        for t in range(n_periods):
            within = subprogress(progress, t / n_periods, (t + 1) / n_periods)
            means = lengths[t, :, None] * posterior.psi[t]
            sums = self._assigned(t, means, posterior.kappas, log_weights[t], within)
            if sums is not None:
                size[t], total[t] = sums.size, sums.total
                evidence += float(sums.evidence @ self.counted[t])
        return TimedSums(size, total, evidence), evidence - posterior.divergence()

    def _assigned(
        self, t: int, means: Float, kappas: Concentrations, log_weights: Float, progress: Progress
    ) -> Sums | None:
        """The sums of one period; None where it has no rows."""
        if not self.counted[t].size:
            return None
        weights, offsets = kappas.mean[:, None] * means, log_weights + kappas.log_c
        return self.passes[t].expect(weights, offsets, self.counted[t], progress)

    def _updated(
        self, before: TemporalPosterior, sums: TimedSums, *, first: bool = False
    ) -> TemporalPosterior:
        """The posterior given the assignments: each factor, then the priors, at its optimum."""
        priors, kappas = before.priors, before.kappas
        n_features = before.n_features
        psi, gamma = before.psi.copy(), before.gamma.copy()
        lengths = before.lengths
        size = sums.size.sum(axis=0)
        for turn in range(TURNS):
            pull = kappas.mean[:, None] * sums.total
            pull[0] += priors.c0 * priors.mu0
            for half in range(2 * SWEEPS):
                self._move(slice(half % 2, None, 2), pull, psi, gamma, lengths)
            along = (lengths * np.einsum("tkd,tkd->tk", sums.total, psi)).sum(axis=0)
            known = None if first and turn == 0 else kappas
            kappas = Concentrations.fitted(
                self.form, size, along, n_features, priors, known, self.max_kappa
            )
        walk = before.walk.updated(sums.size)
        after = TemporalPosterior(psi, gamma, kappas, walk, priors, self.c0)
        return self._estimated(after) if self.empirical else after

    def _move(self, at: slice, pull: Float, psi: Float, gamma: Float, lengths: Float) -> None:
        """Moves q(mu) of every second period to its maximum, in place; these periods share no term.

        pull : (T, K, D) E[kappa_k] S_tk, with the prior's part of the first. lengths : of E[mu_tk].
        """
        odd, n_periods = at.start, len(pull)
        field = pull[at].copy()
        after, before = np.arange(odd + 1, n_periods, 2), np.arange(1 - odd, n_periods - 1, 2)
        field[: after.size] += (self.c0 * lengths[after])[..., None] * psi[after]
        field[len(field) - before.size :] += (self.c0 * lengths[before])[..., None] * psi[before]
        length = np.sqrt(np.einsum("tkd,tkd->tk", field, field))
        positive = (length > 0)[..., None]
        psi[at] = np.where(positive, field / np.where(positive, length[..., None], 1.0), psi[at])
        gamma[at], lengths[at] = length, sphere.ratio(psi.shape[2], length)

    def _estimated(self, posterior: TemporalPosterior) -> TemporalPosterior:
        """The posterior with priors by empirical Bayes, unless there is a single cluster."""
        kappas = posterior.kappas
        if len(kappas.mean) == 1:
            return posterior
        log_mean, log_square = float(kappas.log_mean.mean()), float(kappas.log_square.mean())
        priors = posterior.priors.of_kappas(log_mean, log_square).of_means(
            (posterior.lengths[0, :, None] * posterior.psi[0]).mean(axis=0), self.max_kappa
        )
        return replace(posterior, priors=priors, walk=posterior.walk.estimated())

    def _followed(self, start: TemporalPosterior, first: int) -> Float:
        """(T, K, D) means that converge in the period `first` and are followed to both ends."""
        psi, n_periods = start.psi.copy(), len(start.psi)
        kappa, log_weights = start.kappas.mean[:, None], start.walk.log_weights[first]

        def moved(t: int, means: Float, held: float) -> Float:
            sums = self._assigned(t, means, start.kappas, log_weights, silent)
            return means if sums is None else unit(kappa * sums.total + held * means)

        for _ in range(SETTLING):
            psi[first] = moved(first, psi[first], 1e-3)
        for t in range(first + 1, n_periods):
            psi[t] = moved(t, psi[t - 1], self.c0)
        for t in range(first - 1, -1, -1):
            psi[t] = moved(t, psi[t + 1], self.c0)
        return psi
