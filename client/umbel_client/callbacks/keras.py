"""A callback of Keras; `keras` must be installed."""

from __future__ import annotations

from typing import Any

import numpy as np
from keras.callbacks import Callback

from umbel_client.callbacks.class_trees import ClassTrees


class UmbelCallback(Callback):  # type: ignore[misc]
    """Send the logits of validation rows to `trees` at the end of each epoch.

    x : rows, as `model.predict` takes them. labels : their classes, numbers or one column a class.
    probabilities : whether the model ends in a softmax; the logarithm is then sent.
    """

    def __init__(
        self,
        trees: ClassTrees,
        x: Any,
        labels: Any = None,
        *,
        probabilities: bool = False,
        batch_size: int | None = None,
    ) -> None:
        super().__init__()
        self._trees = trees
        self._x = x
        classes = None if labels is None else np.asarray(labels)
        if classes is not None and classes.ndim == 2:
            classes = classes.argmax(1)
        self._labels = classes
        self._probabilities = probabilities
        self._batch_size = batch_size

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Predict the rows and send them."""
        del logs
        scores = np.asarray(
            self.model.predict(self._x, batch_size=self._batch_size, verbose=0), dtype=np.float32
        )
        if self._probabilities:
            scores = np.log(np.maximum(scores, np.finfo(np.float32).tiny))
        self._trees(scores, self._labels, step=int(epoch))
