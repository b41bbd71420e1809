"""Small problems with a tree of classes, and the evidence lower bound written out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, log_softmax, psi

from models.methods.classifiers.bayes.likelihood import LikelihoodKind, QuadraticBound
from models.methods.classifiers.bayes.precisions import (
    Covariance,
    Precisions,
    shares_of,
    squares_of,
)
from models.methods.classifiers.classes.structure import ClassTree

TREE = ClassTree(np.array([-1, 0, 0, 1, 1, 2, 2, 2]), np.array([3, 4, 5, 6, 7]))
#        0
#      /   \
#     1     2
#    / \   /|\
#   3   4 5 6 7


@dataclass(frozen=True)
class Small:
    """Rows with a class each, drawn from the model."""

    rows: np.ndarray
    row: np.ndarray
    code: np.ndarray
    tree: ClassTree = TREE

    def precisions(self, covariance: Covariance) -> Precisions:
        times = np.bincount(self.code, minlength=self.tree.n_classes)
        share = shares_of(times, self.rows.shape[0])
        return Precisions.of(covariance, self.tree, share, squares_of(self.rows))

    def bound(self, kind: LikelihoodKind) -> QuadraticBound:
        shape = self.rows.shape[0], self.tree.n_classes
        return QuadraticBound.first(kind, self.row, self.code, *shape)


def small(seed: int = 0, n_rows: int = 60, n_columns: int = 3, tree: ClassTree = TREE) -> Small:
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.normal(size=(n_rows, n_columns - 1)), np.ones(n_rows)])
    weights = rng.normal(size=(tree.n_nodes, n_columns))
    for node in range(1, tree.n_nodes):
        weights[node] = weights[tree.parent[node]] + 0.7 * weights[node]
    score = rows @ weights[tree.node].T + rng.gumbel(size=(n_rows, tree.n_classes))
    code = score.argmax(axis=1)
    code[: tree.n_classes] = np.arange(tree.n_classes)
    return Small(rows, np.arange(n_rows), code, tree)


def objective(
    problem: Small, weights: np.ndarray, precision: np.ndarray, kind: LikelihoodKind
) -> float:
    """Equation 2.11 with the prior of all nodes, negative, for the weights of all nodes."""
    score = problem.rows @ weights[TREE.node].T
    if kind == "softmax":
        total = -log_softmax(score, axis=1)[problem.row, problem.code].sum()
    else:
        sign = np.where(np.eye(5)[problem.code] == 1, 1.0, -1.0)
        total = np.logaddexp(0.0, -sign * score).sum()
    total += 0.5 * (precision[0] * weights[0] ** 2).sum()
    for node in range(1, TREE.n_nodes):
        total += 0.5 * (precision[node] * (weights[node] - weights[TREE.parent[node]]) ** 2).sum()
    return float(total)


@dataclass
class Posterior:
    """All parameters of a variational posterior.

    mean : (n_nodes, n_columns). covariance : (n_nodes, n_columns, n_columns).
    """

    mean: np.ndarray
    covariance: np.ndarray
    precisions: Precisions
    bound: QuadraticBound


def elbo(problem: Small, posterior: Posterior) -> float:
    """The evidence lower bound, term by term from its definition."""
    mean, covariance = posterior.mean, posterior.covariance
    precisions, bound = posterior.precisions, posterior.bound
    parent, n_columns = problem.tree.parent, mean.shape[1]
    total = 0.0
    shape = precisions.b.shape
    tau, a = np.broadcast_to(precisions.tau, shape), np.broadcast_to(precisions.a, shape)
    nu, b = precisions.nu, precisions.b
    expected, log_expected = tau / nu, psi(tau) - np.log(nu)
    for group, column in np.ndindex(shape):
        at = group, column
        total += a[at] * np.log(b[at]) - gammaln(a[at])
        total += (a[at] - 1) * log_expected[at] - b[at] * expected[at]
        total += tau[at] - np.log(nu[at]) + gammaln(tau[at]) + (1 - tau[at]) * psi(tau[at])
    for node in range(problem.tree.n_nodes):
        sign, log = np.linalg.slogdet(covariance[node])
        assert sign == 1
        total += 0.5 * (n_columns * (1 + np.log(2 * np.pi)) + log)
        for column in range(n_columns):
            square = mean[node, column] ** 2 + covariance[node, column, column]
            precision, log_precision = 1.0, 0.0
            if node:
                above = parent[node]
                square = (mean[node, column] - mean[above, column]) ** 2
                square += covariance[node, column, column] + covariance[above, column, column]
                at = precisions.group[node - 1], column % shape[1]
                precision, log_precision = expected[at], log_expected[at]
            total += 0.5 * (log_precision - np.log(2 * np.pi) - precision * square)
    for row, x in enumerate(problem.rows):
        beta = bound.beta[row]
        total -= beta if bound.kind == "softmax" else 0.0
        for class_, leaf in enumerate(problem.tree.node):
            score, xi = float(mean[leaf] @ x), bound.xi[row, class_]
            square = float(x @ covariance[leaf] @ x) + (score - beta) ** 2
            total -= (score - beta - xi) / 2 + np.log1p(np.exp(xi))
            total -= np.tanh(xi / 2) / (4 * xi) * (square - xi**2)
    for row, class_ in zip(problem.row, problem.code, strict=True):
        total += float(mean[problem.tree.node[class_]] @ problem.rows[row])
    return total
