"""What a method in another distribution is made of: the names that stay.

    from umbel.plugins import Fitted, Input, Method, Params

Import these here, not from `models`, which is Umbel's in its own processes alone; importing this
module makes it so, as in a process of the service (`umbel.floors`). Further modules of `models` can
be imported after it, but they may change in any version.
"""

from __future__ import annotations

import umbel.floors  # noqa: F401
from models.arrays import Array, Arrays, Float, Int
from models.clusters.placing import placed
from models.errors import Cancelled, UsageError
from models.inputs.checks import (
    require_columns,
    require_points,
    require_rows,
    require_width,
)
from models.inputs.data import Data, require_finite
from models.method import (
    Checkpoint,
    ClassAnswers,
    Fitted,
    Input,
    Method,
    Model,
    Paper,
    PredictionOptions,
    Predictions,
    Run,
    Shapes,
)
from models.parameters import Device, HeldOut, MaxIter, NInit, Params, Seed
from models.running.progress import Piece, Progress
from models.tree.build import from_merges, from_parents, from_partition, levels_below
from models.tree.tree import Tree
from models.tree.walk import paths

__all__ = [
    "Array",
    "Arrays",
    "Cancelled",
    "Checkpoint",
    "ClassAnswers",
    "Data",
    "Device",
    "Fitted",
    "Float",
    "HeldOut",
    "Input",
    "Int",
    "MaxIter",
    "Method",
    "Model",
    "NInit",
    "Paper",
    "Params",
    "Piece",
    "PredictionOptions",
    "Predictions",
    "Progress",
    "Run",
    "Seed",
    "Shapes",
    "Tree",
    "UsageError",
    "from_merges",
    "from_parents",
    "from_partition",
    "levels_below",
    "paths",
    "placed",
    "require_columns",
    "require_finite",
    "require_points",
    "require_rows",
    "require_width",
]
