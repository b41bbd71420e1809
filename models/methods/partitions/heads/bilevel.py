"""Turtle's two levels: classifiers that learn a labelling, and the heads that make it.

A labelling tau(x) is the mean over spaces of softmax(w.x + b), the head's weights w = g v / |v|. In
each space a classifier takes `inner_iter` Adam steps of cross-entropy to tau held fixed; then the
heads take one Adam step down

    sum_s CE(classifier s held fixed, tau) - gamma sum_s H(mean over the batch of softmax of head s)

with CE(q, tau) = - mean_i sum_c tau_ic log q_ic, and H the entropy. Gradients are written out:

    classifier   dCE/dz = (softmax(z) - tau) / B
    softmax p_s  d/dp_s = - sum_s' log q_s' / (S B) + gamma log(mean p_s) / B, constants left out
    head         dz_s = p_s (d/dp_s - sum_c p_s d/dp_s)
    weights      dg = dw.v / |v|,  dv = g / |v| (dw - (dg / |v|) v)

Source: Gadetsky, Jiang and Brbic, "Let Go of Your Labels with Unsupervised Transfer" (2024), eq. 9
and 12. Where the paper is silent, this follows the authors' program: weights and biases start
uniform within 1 / sqrt(D), and the labels of a batch are those before its step.

Cost: 4 (inner_iter + 1) B D K multiplications and additions a step, D the columns of all spaces;
memory about 5 S B K values besides the batch, twice, and about 10 D K.

Runs are compared by how well linear classifiers learn a labelling: their accuracy on held-out
folds.

In each space an L2-regularised multinomial logistic regression (C = 1, as in scikit-learn's
LogisticRegression) is fitted by L-BFGS to the labels of all folds but one and evaluated on that
fold.

Cost: at most `MOST_STEPS` times about 4.5 N D K for each fold; memory another copy of the points of
the other folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from models.arrays import Float, Int
from models.methods.partitions.heads.labels import Linear, columns, scores
from models.methods.partitions.heads.space_tensors import SpaceTensors
from models.numerics.descent import Adam
from models.parameters import Params
from models.running.progress import Progress

if TYPE_CHECKING:
    from torch import Generator, Tensor


_REPORTED = 1e10
"""The approximate number of multiplications between two progress reports, ..."""

_FEWEST = 10
"""... if that is more than so many steps."""


class LabellingParams(Params):
    """How a labelling is trained: a part of the parameters of `turtle`."""

    n_clusters: int = Field(8, ge=2, le=100_000, description="Number of clusters.")
    gamma: float = Field(
        10.0, ge=0, le=1e6, description="Weight of the entropy of the clusters' sizes."
    )
    max_iter: int = Field(6000, ge=1, le=1_000_000, description="Steps of the labelling.")
    learning_rate: float = Field(
        1e-3, gt=0, le=10, description="Step length of the labelling (Adam)."
    )
    inner_iter: int = Field(
        10, ge=1, le=10_000, description="Steps of the classifiers for each step of the labelling."
    )
    inner_learning_rate: float = Field(
        1e-3, gt=0, le=10, description="Step length of the classifiers (Adam)."
    )
    warm_start: bool = Field(
        False,
        description="Whether classifiers continue from the step before instead of starting again.",
    )


@dataclass(frozen=True, slots=True)
class Objective:
    """The objective of the heads on one batch.

    cross_entropy, entropy : both summed over spaces.
    """

    cross_entropy: float
    entropy: float
    gamma: float

    @property
    def value(self) -> float:
        return self.cross_entropy - self.gamma * self.entropy


class Heads:
    """The labelling's heads, their weights by direction and length.

    params : (D + 2 S, K), for each space the directions v and the bias, then the lengths g of all.
        Directions start with the lengths g.
    """

    def __init__(self, widths: Sequence[int], n_clusters: int, generator: Generator) -> None:
        import torch

        start = Linear(widths, n_clusters, str(generator.device))
        start.draw(generator)
        lengths = torch.stack([weights.norm(dim=0) for weights in start.weights])
        self._layer = start
        self.params = torch.cat([start.params, lengths])
        self._units = [torch.empty_like(weights) for weights in start.weights]
        self._norms, self._scales = torch.ones_like(lengths), torch.ones_like(lengths)

    def split(self, tensor: Tensor) -> tuple[list[Tensor], list[Tensor], Tensor]:
        """(directions of each space, biases, lengths) of a tensor like `params`."""
        n_spaces = len(self._layer.widths)
        parts = self._layer.views(tensor[:-n_spaces])
        return [part[:-1] for part in parts], [part[-1] for part in parts], tensor[-n_spaces:]

    def layer(self) -> Linear:
        """The linear layer with these parameters; its tensor is overwritten by the next call."""
        import torch

        self._measure()
        directions, bias, _ = self.split(self.params)
        for part, v, b, scale in zip(
            self._layer.parts, directions, bias, self._scales, strict=True
        ):
            torch.mul(v, scale, out=part[:-1])
            part[-1].copy_(b)
        return self._layer

    def scores(self, rows: Sequence[Tensor], out: Tensor) -> Tensor:
        """(S, B, K) as the `scores` of `layer`, written to `out`."""
        import torch

        self._measure()
        _, bias, lengths = self.split(self.params)
        for batch, unit, b, g, own in zip(rows, self._units, bias, lengths, out, strict=True):
            torch.addcmul(b, batch @ unit, g, out=own)
        return out

    def _measure(self) -> None:
        """The directions' lengths, and the directions of length 1."""
        import torch

        directions, _, lengths = self.split(self.params)
        for v, norm, unit in zip(directions, self._norms, self._units, strict=True):
            torch.linalg.vector_norm(v, dim=0, out=norm)
            torch.div(v, norm, out=unit)
        torch.div(lengths, self._norms, out=self._scales)

    def pull_back(
        self, tall: Sequence[Tensor], slope: Tensor, out: Tensor, factor: float = 1.0
    ) -> None:
        """Write the gradient in `params`, times a factor, to `out`, given that in the last scores.

        tall : the rows by `columns`. slope : (S, B, K).
        """
        import torch

        parts, out_g = self._layer.views(out[: -len(slope)]), out[-len(slope) :]
        for space, part in enumerate(parts):
            # Weights and biases; then weights along the direction, and across.
            torch.addmm(part, tall[space], slope[space], beta=0.0, alpha=factor, out=part)
            dw, unit = part[:-1], self._units[space]
            torch.sum(dw * unit, dim=0, out=out_g[space])
            dw.addcmul_(unit, out_g[space], value=-1.0).mul_(self._scales[space])


def learn(
    rows: Sequence[Tensor],
    tall: Sequence[Tensor],
    labels: Tensor,
    classifier: Linear,
    adam: Adam,
    n_steps: int,
    numbers: Tensor | None = None,
) -> None:
    """Take `n_steps` Adam steps of cross-entropy to `labels` (B, K), in every space at once.

    tall : the rows by `columns`. numbers : (n_steps,) from 1, where Adam is at its start; None:
    wherever it is.
    """
    import torch

    out = labels.new_empty((len(rows), *labels.shape))
    gradient, taught = torch.empty_like(classifier.params), torch.empty_like(classifier.params)
    of_parts, constant = classifier.views(gradient), classifier.views(taught)
    share = 1.0 / len(labels)
    for own, part in zip(tall, constant, strict=True):
        torch.addmm(part, own, labels, beta=0.0, alpha=-share, out=part)
    for step in range(n_steps):
        learned = torch.softmax(scores(rows, classifier, out), dim=2)
        for own, soft, fixed, part in zip(tall, learned, constant, of_parts, strict=True):
            torch.addmm(fixed, own, soft, alpha=share, out=part)
        if numbers is None:
            adam.step(gradient)
        else:
            adam.step_of(numbers[step], gradient)


def measured(soft: Tensor, log_learned: Tensor, gamma: float) -> Objective:
    """The objective of a batch.

    soft : (S, B, K) softmax of each head. log_learned : (S, B, K) log softmax of each classifier.
    """
    import torch

    learned = torch.dot(soft.mean(dim=0).view(-1), log_learned.sum(dim=0).view(-1))
    entropy = torch.special.entr(soft.mean(dim=1)).sum()
    total, spread = torch.stack([learned, entropy]).tolist()
    return Objective(-total / soft.shape[1], spread, gamma)


def of_heads(soft: Tensor, log_learned: Tensor, gamma: float) -> Tensor:
    """(S, B, K) -S B times the objective's gradient in the heads' scores; arguments as of
    `measured`."""
    import torch

    # The logarithm of a cluster's share would be infinite if that is 0 in the batch.
    share = soft.mean(dim=1, keepdim=True).clamp_(min=torch.finfo(soft.dtype).tiny)
    common = log_learned if len(soft) == 1 else log_learned.sum(dim=0)
    slope = torch.add(common, share.log_(), alpha=-gamma * len(soft))
    return torch._softmax_backward_data(slope, soft, 2, soft.dtype)


@dataclass(frozen=True, slots=True)
class LearnedHeads:
    """The heads from one run.

    objective : that of the last batch, before its step.
    """

    layer: Linear
    objective: Objective

    def labels(self, rows: Sequence[Tensor]) -> Tensor:
        """(B,) the cluster of each row."""
        params = self.layer.params
        soft = params.new_empty((len(rows), len(rows[0]), params.shape[1]))
        return scores(rows, self.layer, soft).softmax(dim=2).mean(dim=0).argmax(dim=1)


def train(
    tensors: SpaceTensors,
    params: LabellingParams,
    rng: np.random.Generator,
    progress: Progress,
) -> LearnedHeads:
    """The heads after `max_iter` steps."""
    import torch

    n_clusters = params.n_clusters
    generator = torch.Generator(tensors.device).manual_seed(int(rng.integers(2**63)))
    heads = Heads(tensors.widths, n_clusters, generator)
    classifier = Linear(tensors.widths, n_clusters, tensors.device)
    outer = Adam(heads.params, params.learning_rate)
    inner = Adam(classifier.params, params.inner_learning_rate)
    out = torch.empty((len(tensors.widths), tensors.batch_size, n_clusters), device=tensors.device)
    of_params, tall, before = torch.empty_like(heads.params), [], None
    steps = max(params.max_iter, params.inner_iter)
    numbers = torch.arange(1.0, steps + 1.0, device=tensors.device)
    inner_numbers = None if params.warm_start else numbers
    batches = tensors.batches(rng)
    ones = torch.ones((1, tensors.batch_size), device=tensors.device)
    objective = Objective(0.0, 0.0, params.gamma)
    work = float(out[0].numel()) * sum(tensors.widths) * 2 * (params.inner_iter + 1)
    every = int(min(max(1.0, _REPORTED / work), max(_FEWEST, params.max_iter // 20)))
    factor = -1.0 / out[:, :, 0].numel()
    for step in range(params.max_iter):
        _, rows = next(batches)
        if rows is not before:
            tall, before = columns(rows, ones), rows
        soft = torch.softmax(heads.scores(rows, out), dim=2)
        labels = soft[0] if len(soft) == 1 else soft.mean(dim=0)
        if step == 0 or not params.warm_start:
            classifier.draw(generator)
            inner.restart()
        learn(rows, tall, labels, classifier, inner, params.inner_iter, inner_numbers)
        log_learned = torch.log_softmax(scores(rows, classifier, out), dim=2)
        if step % every == 0 or step == params.max_iter - 1:
            objective = measured(soft, log_learned, params.gamma)
            progress(
                step / params.max_iter,
                "learning a labelling",
                f"step {step + 1} of {params.max_iter}, objective {objective.value:.5g}",
            )
        slope = of_heads(soft, log_learned, params.gamma)
        heads.pull_back(tall, slope, of_params, factor)
        outer.step_of(numbers[step], of_params)
    return LearnedHeads(heads.layer(), objective)


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
