"""The precisions of the weights' Gaussian priors: gamma priors from data, gamma posteriors.

The weights of a node are drawn around its parent's weights, with the precision of its group: one
for each family ('M1': siblings share it), one for each family and feature ('M2'), or one for each
node ('M3'). The root's are drawn from a standard normal.

The priors follow §2.5. For class k with share p_k of the rows, the observed information of feature
i is p_k (1 - p_k) sum x_i^2; the gamma density of a leaf has shape 1 and, as rate, the inverse of
that; an inner node has the sums over its children. Where all features share a precision, the
product of their densities has the sum of their rates as its rate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy.special import gammaln, psi

from models.arrays import Float, Int, Matrix
from models.methods.classifiers.classes.structure import ClassTree

Covariance: TypeAlias = Literal["M1", "M2", "M3"]


@dataclass(frozen=True, eq=False)
class Precisions:
    """Gamma distributions of the precisions, one a row.

    group : (n_nodes - 1,) the precision of each node but the root.
    a, b : (n_groups, 1) and (n_groups, width), shape and rate of the priors; width is the number of
        features in 'M2' and 1 in the others.
    tau, nu : shape and rate of the posteriors, of the same shapes.
    n_features : number of weights of a node.
    """

    group: Int
    a: Float
    b: Float
    tau: Float
    nu: Float
    n_features: int

    @classmethod
    def of(
        cls, covariance: Covariance, tree: ClassTree, share: Float, squares: Float
    ) -> Precisions:
        """The priors, with posteriors that have the priors' means.

        share : (n_classes,) of the rows, between 0 and 1. squares : (n_features,) positive sums of
            squares. O(n_nodes x width).
        """
        n_features = squares.size
        rate = 1.0 / squares if covariance == "M2" else np.array([(1.0 / squares).sum()])
        a, b = np.zeros((tree.n_nodes, 1)), np.zeros((tree.n_nodes, rate.size))
        a[tree.node] = 1.0
        b[tree.node] = rate / (share * (1.0 - share))[:, None]
        for node in range(tree.n_nodes - 1, 0, -1):
            a[tree.parent[node]] += a[node]
            b[tree.parent[node]] += b[node]
        owner = np.arange(1, tree.n_nodes) if covariance == "M3" else tree.parent[1:]
        owners, group = np.unique(owner, return_inverse=True)
        a, b = a[owners], b[owners]
        times = np.bincount(group)[:, None] * (n_features / b.shape[1])
        tau = a + 0.5 * times
        return cls(group, a, b, tau, tau * b / a, n_features)

    @property
    def n_groups(self) -> int:
        return int(self.b.shape[0])

    @property
    def mean(self) -> Float:
        """(n_groups, width)."""
        return self.tau / self.nu

    @property
    def of_nodes(self) -> Float:
        """(n_nodes, width) the mean precision of each node around its parent; the root's is 1."""
        return np.concatenate([np.ones((1, self.b.shape[1])), self.mean[self.group]])

    def updated(self, spread: Float) -> Precisions:
        """The best posteriors for given weights.

        spread : as of `spread_of`.
        """
        return replace(self, nu=self.b + 0.5 * self._sums(spread))

    def balanced(self, spread: Float, variance: Float) -> Precisions:
        """Posteriors nearer to those that `updated` would end at, were variances found anew.

        spread : as of `spread_of`. variance : (n_nodes, n_features) of the weights, found for the
            precisions at hand.

        The equation nu mean = tau is solved for the mean with mean x variance of each node held
        fixed, instead of the variance (MacKay's update). The fixed points are the same; where the
        data tell little of the weights, `updated` approaches them very slowly.
        """
        determined = 1.0 - self.of_nodes * variance
        shape = self.a + 0.5 * self._sums(determined)
        rate = self.b + 0.5 * self._sums(spread - variance)
        return replace(self, nu=self.tau * rate / shape)

    def with_rates(self, nu: Float) -> Precisions:
        """The same with other rates of the posteriors."""
        return replace(self, nu=nu)

    def bound(self, spread: Float) -> float:
        """The part of the evidence lower bound with precisions, and the root's prior.

        E[log p(w | alpha)] + E[log p(alpha)] - E[log q(alpha)]; spread as of `spread_of`.
        """
        mean, log_mean = self.mean, psi(self.tau) - np.log(self.nu)
        # Each precision stands in `tau - a` pairs of a normalisation and a square.
        value = ((self.tau - self.a) * log_mean - 0.5 * mean * self._sums(spread)).sum()
        value += (self.a * np.log(self.b) - gammaln(self.a)).sum()
        value += ((self.a - 1.0) * log_mean - self.b * mean).sum()
        entropy = self.tau + gammaln(self.tau) + (1.0 - self.tau) * psi(self.tau)
        value += (entropy - np.log(self.nu)).sum()
        n_weights = (self.group.size + 1) * self.n_features
        return float(value - 0.5 * spread[0].sum() - 0.5 * n_weights * np.log(2.0 * np.pi))

    def _sums(self, spread: Float) -> Float:
        """(n_groups, width) of the spread of each precision's weights."""
        one_each = np.ones(self.group.size)
        places = (self.group, np.arange(self.group.size))
        sums = np.asarray(sp.csr_array((one_each, places)) @ spread[1:])
        return sums if self.b.shape[1] > 1 else sums.sum(axis=1, keepdims=True)


def spread_of(tree: ClassTree, mean: Float, variance: Float) -> Float:
    """(n_nodes, n_features) the expected squares of w_n - w_parent; for the root of w_n.

    mean, variance : (n_nodes, n_features) of independent weights.
    """
    spread = mean**2 + variance
    above = tree.parent[1:]
    spread[1:] = (mean[1:] - mean[above]) ** 2 + variance[1:] + variance[above]
    return spread


def information_of(tree: ClassTree, precisions: Precisions) -> Float:
    """(n_nodes, n_features) the expected precision around the parent plus the children's."""
    of_nodes = precisions.of_nodes
    information = np.repeat(of_nodes, precisions.n_features // of_nodes.shape[1], axis=1)
    np.add.at(information, tree.parent[1:], of_nodes[1:])
    return information


def shares_of(times: Int, n_rows: int) -> Float:
    """(n_classes,) of the rows in each class; never 0 or 1, but at least 1 / (n_rows + 1) off."""
    least = 1.0 / (n_rows + 1)
    return np.asarray(np.clip(times / n_rows, least, 1.0 - least))


def squares_of(design: Matrix) -> Float:
    """(n_features,) sums of squares."""
    return np.asarray((design * design).sum(axis=0), dtype=np.float64)
