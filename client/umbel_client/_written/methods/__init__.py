"""Every method as a function with its parameters. Written by `make client` from the catalogue.

Start with the family; each module has the functions of one.

- `classifiers`
- `clusterings`
- `deep`
- `features`
- `hyperbolic`
- `labelled`
- `logits`
- `margins`
- `partitions`
- `sphere`
- `tasks`
"""

from __future__ import annotations

from typing import TypeVar

from umbel_client._written.methods.classifiers import ClassifiersMethods
from umbel_client._written.methods.clusterings import ClusteringsMethods
from umbel_client._written.methods.deep import DeepMethods
from umbel_client._written.methods.features import FeaturesMethods
from umbel_client._written.methods.hyperbolic import HyperbolicMethods
from umbel_client._written.methods.labelled import LabelledMethods
from umbel_client._written.methods.logits import LogitsMethods
from umbel_client._written.methods.margins import MarginsMethods
from umbel_client._written.methods.partitions import PartitionsMethods
from umbel_client._written.methods.sphere import SphereMethods
from umbel_client._written.methods.tasks import TasksMethods

R = TypeVar("R")


class Methods(
    ClassifiersMethods[R],
    ClusteringsMethods[R],
    DeepMethods[R],
    FeaturesMethods[R],
    HyperbolicMethods[R],
    LabelledMethods[R],
    LogitsMethods[R],
    MarginsMethods[R],
    PartitionsMethods[R],
    SphereMethods[R],
    TasksMethods[R],
):
    """All methods; each gives what `run` gives: a tree, or one to be awaited."""


OPTIONS = (
    "preprocess",
    "then",
    "support",
    "name_by",
    "name",
    "description",
    "tags",
    "webhook",
    "expires_at",
    "retrying",
    "wait_s",
    "progress",
    "extra_inputs",
)
"""Arguments of every function, besides its inputs and parameters."""

__all__ = ["OPTIONS", "Methods"]
