"""The evaluation of a fitted classifier on rows whose labels are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from models.arrays import Int
from models.errors import UsageError
from models.inputs.data import Data, Value, require_finite
from models.inputs.label_sets import label_sets
from models.method import PredictionOptions, Predictions
from models.metrics.classification.evaluation import ClassifierEvaluation, evaluate_classifier
from models.preprocess.inputs import Preparation
from models.registry import method
from models.running.progress import Progress
from models.tree.tree import Tree
from workers.artifacts.results import FittedModel

_OPTIONS = ("metrics", "by", "top_k", "threshold", "bootstrap", "seed")


def evaluation_of(
    model: FittedModel,
    tree: Tree,
    values: Mapping[str, Value],
    options: Mapping[str, Any],
    progress: Progress,
) -> ClassifierEvaluation:
    """What the model does on rows.

    values : the inputs that a prediction needs, `labels`, and maybe `names`: what numbers among the
        labels mean, as in the fit.
    options : those of `evaluate_classifier` that were given.

    Raises UsageError as `Method.predict`, `label_sets` and `evaluate_classifier`.
    """
    stage = model.stages[-1]
    classifier = method(stage.method)
    rest = {role: value for role, value in values.items() if role != "labels"}
    data = Data(Preparation(model.prepared).apply(rest))
    if "features" not in data:
        raise UsageError(
            f"Method {classifier.id!r} needs the input 'features'.",
            code="wrong-input",
            role="features",
        )
    features = data.matrix("features")
    # The blocks that are predicted do not know the numbers of their rows.
    require_finite(features, "features")
    labels = label_sets(values["labels"], features.shape[0], data.names())

    def predict(rows: Int, asked: PredictionOptions) -> Predictions:
        whole = rows.size > 0 and int(rows[-1]) - int(rows[0]) + 1 == rows.size
        some = features[rows[0] : rows[-1] + 1] if whole else features[rows]
        used = Data({**data.values, "features": some})
        return classifier.predict(stage.model, tree, used, asked)

    given = {name: options[name] for name in _OPTIONS if options.get(name) is not None}
    return evaluate_classifier(tree, labels, predict, progress=progress, **given)
