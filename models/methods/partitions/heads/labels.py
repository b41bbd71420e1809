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

    params : (D + S, K), for each space its weights and, below them, its bias. parts : views, (D_s +
    1, K) of each space.
    """

    def __init__(self, widths: Sequence[int], n_clusters: int, device: str) -> None:
        import torch

        self.widths = list(widths)
        self.params = torch.zeros((sum(widths) + len(widths), n_clusters), device=device)
        self.parts = self.views(self.params)

    @property
    def weights(self) -> list[Tensor]:
        """(D_s, K) of each space."""
        return [part[:-1] for part in self.parts]

    @property
    def bias(self) -> list[Tensor]:
        """(K,) of each space."""
        return [part[-1] for part in self.parts]

    def views(self, tensor: Tensor) -> list[Tensor]:
        """Views of a tensor like `params`, one for each space."""
        return list(tensor.split_with_sizes([width + 1 for width in self.widths]))

    def draw(self, generator: Generator) -> None:
        """Draw all parameters uniformly within 1 / sqrt(D_s)."""
        for part, width in zip(self.parts, self.widths, strict=True):
            part.uniform_(-(width**-0.5), width**-0.5, generator=generator)


def scores(rows: Sequence[Tensor], layer: Linear, out: Tensor) -> Tensor:
    """(S, B, K) a layer's scores in each space, written to `out`.

    rows : (B, D_s) in each space.
    """
    import torch

    for batch, part, own in zip(rows, layer.parts, out, strict=True):
        torch.addmm(part[-1], batch, part[:-1], out=own)
    return out


def columns(rows: Sequence[Tensor], ones: Tensor) -> list[Tensor]:
    """(D_s + 1, B) the columns in each space and one of ones: their product with the gradient in
    scores is that in the weights and the bias. ones : (1, B)."""
    import torch

    return [torch.cat([batch.T, ones]) for batch in rows]


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
