"""Linear heads over one or several feature spaces: their training form, and their labels.

`Linear` is a layer in torch, with its scores and gradients written out, for training. `labelled`
gives the partition by trained heads, in NumPy; `placed_by` places new points by a model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from models.arrays import Float, Int, row_blocks
from models.clusters.placing import by_size, permute, reorder
from models.inputs.data import require_finite
from models.inputs.frames import Frame
from models.inputs.rows import Rows
from models.method import Model
from models.methods.partitions.heads.space_tensors import naming, require_widths
from models.numerics.rows import log_softmax

if TYPE_CHECKING:
    from torch import Generator, Tensor

_BLOCK = 1 << 20


class Linear:
    """A linear layer in each space, in one tensor.

    params : (D + S, K), the weights of all spaces one below the other, then their biases.
    weights : (D_s, K) for each space. bias : (S, K). Both are views.
    """

    def __init__(self, widths: Sequence[int], params: Tensor) -> None:
        self.widths = list(widths)
        self.params = params
        self.weights, self.bias = self.views(self.params)

    @classmethod
    def zeros(cls, widths: Sequence[int], n_clusters: int, device: str) -> Linear:
        import torch

        return cls(widths, torch.zeros((sum(widths) + len(widths), n_clusters), device=device))

    def views(self, tensor: Tensor) -> tuple[list[Tensor], Tensor]:
        """Views of a tensor like `params`: the weights of each space, and the biases."""
        parts = list(tensor.split_with_sizes([*self.widths, len(self.widths)]))
        return parts[:-1], parts[-1]

    def draw(self, generator: Generator) -> None:
        """Draw all parameters uniformly within 1 / sqrt(D_s)."""
        for weights, bias, width in zip(self.weights, self.bias, self.widths, strict=True):
            weights.uniform_(-(width**-0.5), width**-0.5, generator=generator)
            bias.uniform_(-(width**-0.5), width**-0.5, generator=generator)


def scores(rows: Sequence[Tensor], layer: Linear, out: Tensor) -> Tensor:
    """(S, B, K) a layer's scores in each space, written to `out`.

    rows : (B, D_s) in each space.
    """
    import torch

    for space, batch in enumerate(rows):
        torch.addmm(layer.bias[space], batch, layer.weights[space], out=out[space])
    return out


def gather(rows: Sequence[Tensor], of_scores: Tensor, layer: Linear, out: Tensor) -> Tensor:
    """The gradient in a layer's parameters given that in its scores (S, B, K), written to `out`."""
    import torch

    weights, bias = layer.views(out)
    for space, batch in enumerate(rows):
        torch.mm(batch.T, of_scores[space], out=weights[space])
    torch.sum(of_scores, dim=1, out=bias)
    return out


@dataclass(frozen=True, slots=True)
class Labelled:
    """Points with their labels, clusters from the largest to the smallest.

    cluster : (n_points,). logits : (n_points, K) log probabilities.
    arrays : the heads in the same order of clusters, as a model keeps them.
    """

    cluster: Int
    logits: Float
    arrays: Mapping[str, npt.NDArray[Any]]


def labelled(
    spaces: Sequence[Rows],
    weights: Sequence[npt.NDArray[Any]],
    bias: npt.NDArray[Any],
    frames: Sequence[Frame],
) -> Labelled:
    """The points labelled by heads, clusters of one size in the order of their weights.

    weights : (D_s, K) of each space. bias : (S, K). frames : of each space, in which the heads
    learned; those that are kept are for rows as they are given.
    """
    own = [
        _of_given(each, bias[space], frame)
        for space, (each, frame) in enumerate(zip(weights, frames, strict=True))
    ]
    heads: dict[str, npt.NDArray[Any]] = {f"weights_{n}": each for n, (each, _) in enumerate(own)}
    heads["bias"] = np.stack([each for _, each in own])
    logits = log_labels(spaces, heads)
    cluster: Int = logits.argmax(axis=1)
    order = by_size(np.bincount(cluster, minlength=bias.shape[1]), weights[0].T.astype(np.float64))
    permute(logits, order)
    arrays = {name: np.ascontiguousarray(array[:, order]) for name, array in heads.items()}
    return Labelled(reorder(cluster, order), logits, arrays)


def _of_given(
    weights: npt.NDArray[Any], bias: npt.NDArray[Any], frame: Frame
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """(weights, bias) with which rows as given have the scores that they have in their frame."""
    if frame.is_plain:
        return weights, bias
    scaled = np.ldexp(weights.astype(np.float64), -frame.exponent)
    return scaled, bias - frame.origin @ scaled


def placed_by(model: Model, spaces: Sequence[Rows]) -> tuple[Int, Float]:
    """Clusters and log probabilities of new rows.

    Raises UsageError for rows that do not fit the model.
    """
    n_spaces = len(model.arrays["bias"])
    require_widths(spaces, [len(model.arrays[f"weights_{space}"]) for space in range(n_spaces)])
    logits = log_labels(spaces, model.arrays)
    return logits.argmax(axis=1), logits


def log_labels(spaces: Sequence[Rows], heads: Mapping[str, npt.NDArray[Any]]) -> Float:
    """(n_points, K) log of the mean over spaces of softmax(x w + b), in float64. O(N D K).

    Raises UsageError for values that are not finite.
    """
    bias = heads["bias"].astype(np.float64)
    weights = [heads[f"weights_{space}"].astype(np.float64) for space in range(len(bias))]
    n_points, n_clusters = spaces[0].shape[0], bias.shape[1]
    logits = np.empty((n_points, n_clusters))
    widest = max(n_clusters, *(rows.shape[1] for rows in spaces), 1)
    for block in row_blocks(n_points, widest, _BLOCK):
        for space, rows in enumerate(spaces):
            values = rows.values(block.start, block.stop)
            with naming(space, spaces):
                require_finite(values, "features", first_row=block.start)
            scores = values.astype(np.float64, copy=False) @ weights[space] + bias[space]
            log_share = log_softmax(scores)
            if space == 0:
                logits[block] = log_share
            else:
                np.logaddexp(logits[block], log_share, out=logits[block])
    logits -= np.log(len(bias))
    return logits
