"""The tree of a classifier's classes at each epoch of its training.

`ClassTrees` is the plain function; the others call it from where training is:

    trees = ClassTrees(names, to=[MLflow()])
    trees(logits, labels, step=epoch)

- `class_trees`: sends the validation logits of an epoch, and gives its tree, confusions and drift
- `trackers`: MLflow, Weights & Biases and TensorBoard, to which these are logged
- `lightning`, `transformers`, `keras`: callbacks for PyTorch Lightning, Hugging Face's Trainer and
  Keras; each needs its library, and is imported by its name
"""

from umbel_client.callbacks.class_trees import ClassTrees, Epoch
from umbel_client.callbacks.trackers import MLflow, TensorBoard, WeightsAndBiases

__all__ = ["ClassTrees", "Epoch", "MLflow", "TensorBoard", "WeightsAndBiases"]
