"""From a request to what its child needs: ids become local files. Runs in the supervisor."""

from __future__ import annotations

from pathlib import Path

from workers.datasets import Datasets
from workers.jobs import Request
from workers.run import Spec
from workers.stores.blobs import Blobs
from workers.trees import Trees


def prepare(
    request: Request, blobs: Blobs, datasets: Datasets, trees: Trees, folder: Path, threads: int
) -> Spec:
    """Resolve the inputs of `request`.

    Raises UsageError `input-deleted` for an input that is gone, the dataset's own problem for one
    known to be invalid, StoreUnavailable where the store does not answer.
    """
    raise NotImplementedError
