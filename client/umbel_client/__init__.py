"""The Python client of Umbel: hierarchies from logits, features or counts.

    from umbel_client import Umbel

    tree = Umbel().run("l2h", logits=logits, names=names)

Start with `client`, which has `Umbel`.

- `client`, `lists`, `tree`, `job`, `dataset`, `model`, `edition`, `share`, `results`: what a user
  holds; `tree_parts`, `tree_forms`, `tree_work`: parts of `tree`
- `held`: the base of what the service keeps; `artifact`: that of `comparison`, `calibration`,
  `drift`, `placement`, `heatmap`, `map`, `naming` and `attachment`
- `methods`, `problems`: the methods as functions, and an exception for each type of problem
- `inputs`, `items`, `frames`, `columns`, `tables`, `line_files`, `encodings`, `imports`: from a
  value of the caller to bytes
- `core`: requests until they are answered, uploads, waiting, runs
- `errors`, `quoting`, `progress`, `display`, `shapes`, `packages`, `settings`, `version`: what the
  rest uses
- `commands`: the command line on files; `assistants`: the same as tools for assistants
- `local`, `keeper`: a service of one's own; `sklearn`: the face for scikit-learn; `exchange`: files
  and objects of other programs
- `_written`: the same for asyncio, and what follows from the service's code, written by a script
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from umbel_client.attachment import Attachment
from umbel_client.calibration import Calibration
from umbel_client.client import Umbel
from umbel_client.comparison import Comparison
from umbel_client.dataset import Dataset
from umbel_client.drift import Drift
from umbel_client.edition import Edition
from umbel_client.errors import (
    CannotStart,
    ConnectionFailed,
    InputError,
    JobCancelled,
    MissingPackage,
    ProblemError,
    UmbelError,
    UmbelWarning,
    UnexpectedResponse,
    UploadInterrupted,
    WaitTimeout,
)
from umbel_client.heatmap import Heatmap
from umbel_client.inputs import File, Input
from umbel_client.job import Job
from umbel_client.map import Map
from umbel_client.model import Model
from umbel_client.naming import Naming
from umbel_client.placement import Placement
from umbel_client.results import Cluster, Confusions, Cut, Evaluation, Level, Predictions
from umbel_client.share import Share
from umbel_client.tree import Tree
from umbel_client.version import VERSION as __version__

if TYPE_CHECKING:
    from umbel_client._written.aio.attachment import AsyncAttachment
    from umbel_client._written.aio.calibration import AsyncCalibration
    from umbel_client._written.aio.client import AsyncUmbel
    from umbel_client._written.aio.comparison import AsyncComparison
    from umbel_client._written.aio.dataset import AsyncDataset
    from umbel_client._written.aio.drift import AsyncDrift
    from umbel_client._written.aio.edition import AsyncEdition
    from umbel_client._written.aio.heatmap import AsyncHeatmap
    from umbel_client._written.aio.job import AsyncJob
    from umbel_client._written.aio.map import AsyncMap
    from umbel_client._written.aio.model import AsyncModel
    from umbel_client._written.aio.naming import AsyncNaming
    from umbel_client._written.aio.placement import AsyncPlacement
    from umbel_client._written.aio.tree import AsyncTree

__all__ = [
    "AsyncAttachment",
    "AsyncCalibration",
    "AsyncComparison",
    "AsyncDataset",
    "AsyncDrift",
    "AsyncEdition",
    "AsyncHeatmap",
    "AsyncJob",
    "AsyncMap",
    "AsyncModel",
    "AsyncNaming",
    "AsyncPlacement",
    "AsyncTree",
    "AsyncUmbel",
    "Attachment",
    "Calibration",
    "CannotStart",
    "Cluster",
    "Comparison",
    "Confusions",
    "ConnectionFailed",
    "Cut",
    "Dataset",
    "Drift",
    "Edition",
    "Evaluation",
    "File",
    "Heatmap",
    "Input",
    "InputError",
    "Job",
    "JobCancelled",
    "Level",
    "Map",
    "MissingPackage",
    "Model",
    "Naming",
    "Placement",
    "Predictions",
    "ProblemError",
    "Share",
    "Tree",
    "Umbel",
    "UmbelError",
    "UmbelWarning",
    "UnexpectedResponse",
    "UploadInterrupted",
    "WaitTimeout",
    "__version__",
]


def __getattr__(name: str) -> Any:
    """The classes for asyncio, which takes longer to load than the client, when one is used."""
    if name in __all__ and name.startswith("Async"):
        kind = name.removeprefix("Async").lower().replace("umbel", "client")
        return getattr(import_module(f"umbel_client._written.aio.{kind}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
