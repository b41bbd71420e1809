"""From a request to what its child needs: ids become local files. Runs in the supervisor."""

from __future__ import annotations

from pathlib import Path

from models.errors import UsageError
from workers import results
from workers.datasets import Datasets
from workers.errors import Missing
from workers.jobs import Request
from workers.run import Source, Spec
from workers.stores import layout
from workers.stores.blobs import Blobs
from workers.trees import Trees


def prepare(
    request: Request, blobs: Blobs, datasets: Datasets, trees: Trees, folder: Path, threads: int
) -> Spec:
    """Resolve the inputs of `request`.

    Raises UsageError `input-deleted` for an input that is gone, the dataset's own problem for one
    known to be invalid, StoreUnavailable where the store does not answer.
    """
    sources = [
        _source(request, role, item, blobs, datasets, trees)
        for role, value in request.inputs.items()
        for item in (value if isinstance(value, list) else [value])
    ]
    if "tree" in request.options:
        sources.append(_tree(request, "tree", request.options["tree"], trees, model=True))
    if request.kind == "import":
        sources.append(_inline(request, "content", blobs))
    if request.kind == "inspect":
        sources.append(
            _dataset(request, "dataset", request.options["dataset"], blobs, datasets, known=False)
        )
    return Spec(request=request, sources=tuple(sources), folder=folder, threads=threads)


def _source(
    request: Request, role: str, value: str, blobs: Blobs, datasets: Datasets, trees: Trees
) -> Source:
    if value == "inline":
        return _inline(request, role, blobs)
    if value.startswith("tr_"):
        return _tree(request, role, value, trees)
    return _dataset(request, role, value, blobs, datasets)


def _inline(request: Request, role: str, blobs: Blobs) -> Source:
    try:
        path = blobs.local_path(layout.inline(request.tenant, request.id, role))
    except Missing as error:
        raise _deleted(role, "inline") from error
    return Source(role=role, kind="inline", path=path)


def _dataset(
    request: Request,
    role: str,
    dataset_id: str,
    blobs: Blobs,
    datasets: Datasets,
    *,
    known: bool = True,
) -> Source:
    dataset = datasets.get(request.tenant, dataset_id)
    if dataset is None:
        raise _deleted(role, dataset_id)
    if known and dataset.status == "invalid" and dataset.problem is not None:
        raise UsageError(
            dataset.problem["detail"],
            code=dataset.problem["type"].rpartition("/")[2],
            **{**dataset.problem.get("where", {}), "role": role, "dataset": dataset_id},
        )
    try:
        path = blobs.local_path(datasets.content_key(request.tenant, dataset_id))
    except Missing as error:
        raise _deleted(role, dataset_id) from error
    return Source(
        role=role, kind="dataset", path=path, format=dataset.format, member=dataset.member
    )


def _tree(
    request: Request, role: str, tree_id: str, trees: Trees, *, model: bool = False
) -> Source:
    files = {}
    wanted = [results.TREE, results.LEAF_OF_POINT]
    if model and request.kind == "predict":
        wanted.append(results.MODEL)
    for name in wanted:
        path = trees.file(request.tenant, tree_id, name)
        if path is not None:
            files[name] = path
    if results.TREE not in files or results.LEAF_OF_POINT not in files:
        raise _deleted(role, tree_id)
    return Source(role=role, kind="tree", path=files[results.TREE], files=files)


def _deleted(role: str, what: str) -> UsageError:
    return UsageError(
        f"Input {role!r} ({what}) was deleted before the job could read it; upload it again and "
        "submit a new job.",
        code="input-deleted",
        role=role,
    )
