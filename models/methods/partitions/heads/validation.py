"""How well linear classifiers learn a labelling: their accuracy on held-out folds.

In each space an L2-regularised multinomial logistic regression (C = 1, as in scikit-learn's
LogisticRegression) is fitted by L-BFGS to the labels of all folds but one and evaluated on that
fold.

Cost: at most `MOST_STEPS` times about 4.5 N D K for each fold; memory another copy of the points of
the other folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from models.arrays import Float, Int
from models.running.progress import Progress

if TYPE_CHECKING:
    from torch import Tensor


MOST_STEPS = 100


def accuracy(
    spaces: Sequence[Tensor],
    labels: Tensor,
    n_folds: int,
    rng: np.random.Generator,
    progress: Progress,
) -> float:
    """Mean accuracy over spaces and points, with at most as many folds as there are points.

    spaces : (n_points, D_s) each. labels : (n_points,) integers.
    """
    import torch

    classes, label = torch.unique(labels, return_inverse=True)
    if len(classes) == 1:
        return 1.0
    n_folds = min(n_folds, len(labels))
    drawn = torch.from_numpy(folds(label.cpu().numpy(), n_folds, rng)).to(labels.device)
    n_right, done = 0, 0
    for rows in spaces:
        for fold in range(n_folds):
            progress(done / (len(spaces) * n_folds), "validating", f"fold {fold + 1} of {n_folds}")
            train = drawn != fold
            params = fitted(rows[train], label[train], len(classes))
            scores = rows[~train] @ params[:-1] + params[-1]
            n_right += int((scores.argmax(dim=1) == label[~train]).sum())
            done += 1
    return n_right / (len(labels) * len(spaces))


def folds(labels: Int, n_folds: int, rng: np.random.Generator) -> Int:
    """(n_points,) the fold of each point: random, with about the same share of each label."""
    mixed = rng.permutation(len(labels))
    by_label = mixed[np.argsort(labels[mixed], kind="stable")]
    fold = np.empty(len(labels), dtype=np.int64)
    fold[by_label] = np.arange(len(labels)) % n_folds
    return fold


def fitted(rows: Tensor, labels: Tensor, n_classes: int) -> Tensor:
    """(D + 1, n_classes) weights and, last, the intercepts, which are not regularised."""
    import torch
    from scipy.optimize import minimize

    n_rows, width = rows.shape
    shape = width + 1, n_classes
    truth = torch.arange(n_rows, device=rows.device), labels

    def loss(flat: Float) -> tuple[float, Float]:
        params = torch.from_numpy(flat.reshape(shape)).to(rows)
        log_learned = torch.log_softmax(torch.addmm(params[-1], rows, params[:-1]), dim=1)
        value = -log_learned[truth].mean(dtype=torch.float64)
        value += params[:-1].double().square().sum() / (2 * n_rows)
        miss = log_learned.exp_()
        miss[truth] -= 1.0
        miss /= n_rows
        gradient = torch.cat([rows.T @ miss + params[:-1] / n_rows, miss.sum(dim=0)[None]])
        return float(value), gradient.double().cpu().numpy().ravel()

    start = np.zeros(shape[0] * shape[1])
    solution = minimize(
        loss, start, jac=True, method="L-BFGS-B", options={"maxiter": MOST_STEPS, "gtol": 1e-5}
    )
    return torch.from_numpy(solution.x.reshape(shape)).to(rows)
