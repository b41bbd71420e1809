"""A callback of Hugging Face's Trainer; `transformers` must be installed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from transformers import TrainerCallback

from umbel_client.callbacks.class_trees import ClassTrees


class UmbelCallback(TrainerCallback):  # type: ignore[misc]
    """Send the logits of every evaluation to `trees`.

    The Trainer shows predictions to `compute_metrics` alone, so the callback is given as both:

        umbel = UmbelCallback(trees, compute_metrics)
        Trainer(..., compute_metrics=umbel.compute_metrics, callbacks=[umbel])

    compute_metrics : your own, which goes on as before. The step is that of the optimiser.
    """

    def __init__(
        self,
        trees: ClassTrees,
        compute_metrics: Callable[[Any], Mapping[str, float]] | None = None,
    ) -> None:
        self._trees = trees
        self._own = compute_metrics
        self._found: tuple[Any, Any] | None = None

    def compute_metrics(self, predictions: Any) -> dict[str, float]:
        """Keep the predictions; give what your own function gives."""
        logits = predictions.predictions
        if isinstance(logits, tuple):
            logits = logits[0]
        self._found = np.asarray(logits, dtype=np.float32), predictions.label_ids
        return {} if self._own is None else dict(self._own(predictions))

    def on_evaluate(self, args: Any, state: Any, control: Any, **further: Any) -> None:
        """Send what was evaluated, from the first of several processes."""
        del args, control, further
        found, self._found = self._found, None
        if found is not None and state.is_world_process_zero:
            self._trees(found[0], found[1], step=int(state.global_step))
