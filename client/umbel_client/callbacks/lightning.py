"""A callback of PyTorch Lightning; `lightning` or `pytorch_lightning` must be installed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

try:
    from lightning.pytorch import Callback
except ModuleNotFoundError:
    from pytorch_lightning import Callback

from umbel_client.callbacks.class_trees import ClassTrees


class UmbelCallback(Callback):  # type: ignore[misc]
    """Send the logits of every validation to `trees`.

    `validation_step` gives `{"logits": ..., "labels": ...}` (labels may be missing), or `logits`
    takes what it gave and the batch, and gives (logits, labels) with None for no labels. The rows
    of the first data loader are used, and of several processes the first one's. The sanity check
    before training is left out.
    """

    def __init__(
        self,
        trees: ClassTrees,
        logits: Callable[[Any, Any], tuple[Any, Any]] | None = None,
    ) -> None:
        super().__init__()
        self._trees = trees
        self._read = logits or _of_outputs
        self._logits: list[Any] = []
        self._labels: list[Any] = []

    def on_validation_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Forget the rows of the last validation."""
        self._logits.clear()
        self._labels.clear()

    def on_validation_batch_end(
        self,
        trainer: Any,
        pl_module: Any,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Keep the rows of a batch, on the host."""
        if trainer.sanity_checking or dataloader_idx or not trainer.is_global_zero:
            return
        logits, labels = self._read(outputs, batch)
        self._logits.append(logits.detach().float().cpu())
        if labels is not None:
            self._labels.append(labels.detach().cpu())

    def on_validation_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Send the rows of all batches."""
        if not self._logits:
            return
        import torch

        labels = torch.cat(self._labels) if self._labels else None
        self._trees(torch.cat(self._logits), labels, step=int(trainer.current_epoch))


def _of_outputs(outputs: Any, batch: Any) -> tuple[Any, Any]:
    del batch
    if not isinstance(outputs, Mapping) or "logits" not in outputs:
        raise ValueError(
            "validation_step must give {'logits': ..., 'labels': ...} for UmbelCallback, or "
            "UmbelCallback(trees, logits=...) must say how both are found"
        )
    return outputs["logits"], outputs.get("labels")
