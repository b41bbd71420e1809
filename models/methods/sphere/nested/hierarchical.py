"""Variational inference for the hierarchical mixture of vMF distributions.

mu_root ~ vMF(mu0, C0), mu_n ~ vMF(mu_parent, kappa_parent) for every other node n, log kappa_n ~
N(m, sigma^2) for all; rows belong to leaves, weighted by pi ~ Dirichlet(alpha). The factors are as
in `bayes.variational`, with q(mu_n) = vMF(psi_n, gamma_n) and q(kappa_n) for every node:

gamma_n psi_n = E[kappa_n] S_n + E[kappa_parent] E[mu_parent] (thesis 5.4; C0 mu0 at the root),
where S_n is the weighted sum of rows at a leaf and the sum of E[mu_c] over the children c
elsewhere. q(kappa_n) follows from S_n . E[mu_n] and the rows, or the number of children, as in
equation 5.7: children are to an inner node what rows are to a leaf. Nodes at one depth share no
term of the bound, so a whole depth is maximised at once, and the bound never falls in a pass up and
down the tree.

mu0 and C0 are not estimated, since a single root does not show how roots spread; m, sigma and alpha
are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import scipy.sparse as sp
from scipy.special import digamma

from models.arrays import Arrays, Float, Int
from models.methods.sphere.bayes.concentrations import Concentrations, Form
from models.methods.sphere.bayes.priors import Priors, dirichlet_divergence, vmf_divergence
from models.methods.sphere.mixture.mixture import Constraints, Mixture, maximize
from models.methods.sphere.mixture.passes import Passes, Sums
from models.methods.sphere.mixture.runs import Climb, alternating, climb, restored
from models.methods.sphere.nested.hierarchy import Hierarchy
from models.numerics import sphere
from models.running.progress import Progress

TURNS = 2
"""The number of updates of q(mu), up and down the tree, and then of q(kappa), after each pass."""


@dataclass(frozen=True, slots=True)
class HierarchyPosterior:
    """q of everything but the assignments, and the priors.

    rho (K,) belongs to the leaves; psi (T, D) unit vectors, gamma (T,) and the kappas to all nodes.
    """

    hierarchy: Hierarchy
    rho: Float
    psi: Float
    gamma: Float
    kappas: Concentrations
    priors: Priors

    @property
    def means(self) -> Float:
        """(T, D) E[mu_n]."""
        return _means(self.psi, self.gamma)

    @property
    def log_weights(self) -> Float:
        """(K,) E[log pi_k]."""
        return np.asarray(digamma(self.rho) - digamma(self.rho.sum()))

    @property
    def weights(self) -> Float:
        """(K, D) the coefficients of a row: E[kappa_k] E[mu_k] for each leaf."""
        leaves = self.hierarchy.leaves
        return self.kappas.mean[leaves, None] * self.means[leaves]

    @property
    def offsets(self) -> Float:
        """(K,) the constants added to them: E[log pi_k] + E[log C_D(kappa_k)]."""
        return self.log_weights + self.kappas.log_c[self.hierarchy.leaves]

    @property
    def shares(self) -> Float:
        """(T,) E[pi] of each leaf; for an inner node the sum over the leaves below it."""
        shares = np.zeros(self.hierarchy.n_nodes)
        shares[self.hierarchy.leaves] = self.rho / self.rho.sum()
        for _, inner, below in reversed(self.hierarchy.steps):
            shares[inner] = below @ shares
        return shares

    def divergence(self) -> float:
        """KL(q || prior) of all but the assignments: evidence of the rows minus lower bound."""
        priors, means, kappas = self.priors, self.means, self.kappas
        parent, n_features = self.hierarchy.parent[1:], self.psi.shape[1]
        root = vmf_divergence(self.psi[:1], self.gamma[:1], priors.mu0, priors.c0)
        own = sphere.log_c(n_features, self.gamma[1:])
        own += self.gamma[1:] * sphere.ratio(n_features, self.gamma[1:])
        cosine = np.einsum("nd,nd->n", means[parent], means[1:])
        expected_prior = kappas.log_c[parent] + kappas.mean[parent] * cosine
        return (
            dirichlet_divergence(self.rho, priors.alpha)
            + float(root.sum())
            + float((own - expected_prior).sum())
            + float(kappas.divergence_from(priors).sum())
        )

    def arrays(self, prefix: str = "") -> dict[str, Float]:
        own = {"rho": self.rho, "psi": self.psi, "gamma": self.gamma}
        return {
            **{prefix + name: array for name, array in own.items()},
            **self.kappas.arrays(prefix),
            **self.priors.arrays(prefix),
        }

    @classmethod
    def of(cls, hierarchy: Hierarchy, arrays: Arrays, prefix: str = "") -> HierarchyPosterior:
        rho, psi, gamma = (
            np.asarray(arrays[prefix + name], dtype=np.float64) for name in ("rho", "psi", "gamma")
        )
        kappas, priors = Concentrations.of(arrays, prefix), Priors.of(arrays, prefix)
        return cls(hierarchy, rho, psi, gamma, kappas, priors)

    def reordered(self, order: Int) -> HierarchyPosterior:
        """The posterior with node `order[n]` as node n of the same hierarchy."""
        cluster = np.empty(self.hierarchy.n_nodes, dtype=np.int64)
        leaves = self.hierarchy.leaves
        cluster[leaves] = np.arange(leaves.size)
        return replace(
            self,
            rho=self.rho[cluster[order[leaves]]],
            psi=self.psi[order],
            gamma=self.gamma[order],
            kappas=self.kappas.reordered(order),
        )


@dataclass(frozen=True, slots=True)
class Hierarchical:
    """How a run starts and climbs (`runs.Algorithm`); the fields are as in `Variational`."""

    hierarchy: Hierarchy
    passes: Passes
    counted: Float
    form: Form
    priors: Priors
    empirical: bool
    max_kappa: float
    max_iter: int
    tol: float

    def start(self, means: Float, sums: Sums, seed: int = 0) -> Climb[HierarchyPosterior]:
        """The posterior with each row at the nearest leaf and kappa at its mode.

        Inner nodes follow from the leaves up.
        """
        tree, n_features = self.hierarchy, means.shape[1]
        mixture = maximize(sums, Mixture.at(means), Constraints("shared", self.max_kappa))
        priors = self.priors
        if self.empirical and tree.n_nodes > 1:
            priors = replace(priors, m=float(np.log(np.maximum(mixture.kappa[0], 1e-12))))
        psi, gamma, kappa = np.zeros((tree.n_nodes, n_features)), *np.zeros((2, tree.n_nodes))
        psi[tree.leaves], kappa[tree.leaves] = mixture.means, mixture.kappa
        gamma[tree.leaves] = sums.size * mixture.kappa
        means = np.zeros_like(psi)
        means[tree.leaves] = _means(psi[tree.leaves], gamma[tree.leaves])
        for _, inner, below in reversed(tree.steps):
            if not inner.size:
                continue
            total = below @ means
            length = np.sqrt(np.einsum("nd,nd->n", total, total))
            psi[inner] = _directions(total, length, np.broadcast_to(priors.mu0, total.shape))
            r = np.minimum(length / tree.n_children[inner], 1.0)
            # A single child does not show how children spread.
            most = np.where(tree.n_children[inner] > 1, self.max_kappa, np.exp(priors.m))
            kappa[inner] = np.minimum(sphere.concentration(n_features, r), most)
            gamma[inner] = kappa[inner] * length
            means[inner] = _means(psi[inner], gamma[inner])
        kappas = Concentrations.at(kappa, n_features, priors)
        posterior = HierarchyPosterior(tree, priors.alpha + sums.size, psi, gamma, kappas, priors)
        return Climb(self._updated(posterior, sums, first=True))

    def restored(self, arrays: Arrays, prefix: str) -> Climb[HierarchyPosterior] | None:
        return restored(partial(HierarchyPosterior.of, self.hierarchy), arrays, prefix)

    def climb(
        self,
        run: Climb[HierarchyPosterior],
        progress: Progress,
        save: Callable[[Climb[HierarchyPosterior]], None],
    ) -> Climb[HierarchyPosterior]:
        """The run until the bound rises by at most `tol` per row."""
        return climb(
            run,
            alternating(self._expected, self._updated),
            least_gain=self.tol * float(self.counted.sum()),
            max_iter=self.max_iter,
            progress=progress,
            save=save,
        )

    def _expected(self, posterior: HierarchyPosterior, progress: Progress) -> tuple[Sums, float]:
        """The sums under the assignments, and the lower bound."""
        sums = self.passes.expect(posterior.weights, posterior.offsets, self.counted, progress)
        return sums, float(sums.evidence @ self.counted) - posterior.divergence()

    def _updated(
        self, before: HierarchyPosterior, sums: Sums, *, first: bool = False
    ) -> HierarchyPosterior:
        """The posterior given the assignments: each factor, then the priors, at its optimum."""
        priors, kappas, tree = before.priors, before.kappas, self.hierarchy
        n_features = before.psi.shape[1]
        size = tree.n_children.astype(np.float64)
        size[tree.leaves] = sums.size
        pull = np.zeros_like(before.psi)
        pull[tree.leaves] = sums.total
        psi, gamma, means = before.psi.copy(), before.gamma.copy(), before.means
        for turn in range(TURNS):
            for step in (*reversed(tree.steps), *tree.steps[1:]):
                self._move(step, pull, kappas.mean, priors, psi, gamma, means)
            pull[tree.inner] = tree.below[tree.inner] @ means
            along = np.einsum("nd,nd->n", pull, means)
            known = None if first and turn == 0 else kappas
            kappas = Concentrations.fitted(
                self.form, size, along, n_features, priors, known, self.max_kappa
            )
        after = HierarchyPosterior(tree, priors.alpha + sums.size, psi, gamma, kappas, priors)
        return replace(after, priors=self._estimated(after)) if self.empirical else after

    def _move(
        self,
        step: tuple[Int, Int, sp.csr_array],
        pull: Float,
        kappa: Float,
        priors: Priors,
        psi: Float,
        gamma: Float,
        means: Float,
    ) -> None:
        """Moves q(mu) of the nodes of one depth to its maximum, in place.

        pull : (T, D) S_n; the rows of inner nodes are updated here.
        """
        tree, (level, inner, below) = self.hierarchy, step
        if inner.size:
            pull[inner] = below @ means
        if level[0] == 0:
            above = np.broadcast_to(priors.c0 * priors.mu0, (1, len(priors.mu0)))
        else:
            parent = tree.parent[level]
            above = kappa[parent, None] * means[parent]
        total = kappa[level, None] * pull[level] + above
        gamma[level] = np.sqrt(np.einsum("nd,nd->n", total, total))
        psi[level] = _directions(total, gamma[level], psi[level])
        means[level] = _means(psi[level], gamma[level])

    def _estimated(self, posterior: HierarchyPosterior) -> Priors:
        """The priors with m, sigma and alpha by empirical Bayes.

        A single node does not show how nodes differ.
        """
        kappas, n_clusters = posterior.kappas, len(posterior.rho)
        if self.hierarchy.n_nodes == 1:
            return posterior.priors
        log_mean, log_square = float(kappas.log_mean.mean()), float(kappas.log_square.mean())
        priors = posterior.priors.of_kappas(log_mean, log_square)
        if n_clusters == 1:
            return priors
        return priors.of_weights(float(posterior.log_weights.mean()), n_clusters)


def _means(psi: Float, gamma: Float) -> Float:
    return np.asarray(sphere.ratio(psi.shape[1], gamma)[:, None] * psi)


def _directions(total: Float, length: Float, otherwise: Float) -> Float:
    """Rows divided by their lengths; rows of `otherwise` where a length is 0."""
    positive = (length > 0)[:, None]
    return np.where(positive, total / np.where(positive, length[:, None], 1.0), otherwise)
