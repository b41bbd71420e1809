"""The inputs of a child, resolved from a request: ids become local files, or addresses of objects
that are read in parts. Runs in the supervisor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from models.errors import UsageError
from models.registry import known
from models.roles import role_of
from workers.artifacts import results
from workers.artifacts.datasets import Dataset, Datasets
from workers.artifacts.trees import Trees
from workers.errors import Missing
from workers.formats import column_roles, npy
from workers.formats.catalogue import RAW
from workers.kinds.registry import kind_of
from workers.model import Request, sibling
from workers.stores.objects import layout
from workers.stores.objects.blobs import Blobs, Link
from workers.stores.objects.digests import require_whole
from workers.stores.objects.job_files import read_request
from workers.work.job import Spec
from workers.work.sources import Source


def prepare(
    request: Request, blobs: Blobs, datasets: Datasets, trees: Trees, folder: Path, threads: int
) -> Spec:
    """The resolved inputs of `request`, with everything else that its child needs.

    Raises UsageError `input-deleted` for a deleted input, the problem of a dataset known to be
    invalid, Damaged for one that is not what was stored, and StoreUnavailable where the store does
    not answer. What is read in parts at an address is not compared with its digest.
    """
    inputs = _Inputs(request, blobs, datasets, trees)
    sources = [
        inputs.source(role, input_id)
        for role, value in request.inputs.items()
        for input_id in (value if isinstance(value, list) else [value])
    ]
    own = kind_of(request.kind)
    sources += own.sources(inputs, own.options(request))
    return Spec(request=request, sources=tuple(sources), folder=folder, threads=threads)


@dataclass(frozen=True, slots=True)
class _Inputs:
    """The inputs of one request, each by its role and id."""

    request: Request
    blobs: Blobs
    datasets: Datasets
    trees: Trees

    def source(self, role: str, value: str) -> Source:
        if value == "inline":
            return self.inline(role)
        if value.startswith("tr_"):
            return self.tree(role, value)
        if value.startswith("job_"):
            return self.job(role, value)
        return self.dataset(role, value)

    def inline(self, role: str) -> Source:
        key = layout.inline(self.request.tenant, self.request.id, role)
        try:
            require_whole(self.blobs, key, self.request.inline_sha256.get(role, ""))
            path = self.blobs.local_path(key)
        except Missing as error:
            raise _deleted(role, "inline") from error
        return Source(role=role, kind="inline", path=path)

    def dataset(self, role: str, dataset_id: str) -> Source:
        dataset = self._known(role, dataset_id)
        if dataset.status == "invalid" and dataset.problem is not None:
            raise UsageError(
                dataset.problem["detail"],
                code=dataset.problem["type"].rpartition("/")[2],
                **{**dataset.problem.get("where", {}), "role": role, "dataset": dataset_id},
            )
        by_rows = self._by_rows(role)
        return self._content(role, dataset, by_rows=by_rows, in_parts=by_rows)

    def uninspected(self, role: str, dataset_id: str) -> Source:
        """A dataset of which only the header is read, if its format has one."""
        return self._content(role, self._known(role, dataset_id), by_rows=False, in_parts=True)

    def tree(self, role: str, tree_id: str, *, model: bool = False) -> Source:
        files = {}
        names = [results.TREE, results.LEAF_OF_POINT, results.MODEL if model else results.IDS]
        for name in names:
            path = self.trees.file(self.request.tenant, tree_id, name)
            if path is not None:
                files[name] = path
        if results.TREE not in files or results.LEAF_OF_POINT not in files:
            raise _deleted(role, tree_id)
        return Source(role=role, kind="tree", path=files[results.TREE], files=files)

    def model(self, role: str, model_id: str) -> Source:
        path = self.trees.file(self.request.tenant, model_id, results.MODEL)
        if path is None:
            raise _deleted(role, model_id)
        return Source(role=role, kind="model", path=path)

    def calibration(self, role: str, calibration_id: str) -> Source:
        path = self.trees.file(self.request.tenant, calibration_id, results.CALIBRATION)
        if path is None:
            raise _deleted(role, calibration_id)
        return Source(role=role, kind="calibration", path=path)

    def drift(self, role: str, drift_id: str) -> Source:
        path = self.trees.file(self.request.tenant, drift_id, results.DRIFT)
        if path is None:
            raise _deleted(role, drift_id)
        return Source(role=role, kind="drift", path=path)

    def of_fit(self, role: str) -> list[Source]:
        """The input of the job that made the tree, or several of that role."""
        job_id = sibling(self.request.options["tree"], "job")
        try:
            fit = read_request(self.blobs, self.request.tenant, job_id)
        except Missing as error:
            raise _deleted(role, job_id) from error
        values = fit.inputs[role]
        theirs = replace(self, request=fit)
        return [
            theirs.source(role, value)
            for value in (values if isinstance(values, list) else [values])
        ]

    def taught_by_rows(self) -> bool:
        """Whether the job that made the tree learned classes from rows of this request: by the
        digests of contents, so that the same file uploaded twice is one."""
        own = self.request
        try:
            fit = read_request(self.blobs, own.tenant, sibling(own.options["tree"], "job"))
        except Missing:
            return False
        if "labels" not in fit.inputs:
            return False
        roles = (own.inputs.keys() & fit.inputs.keys()) - {"labels", "costs"}
        return any(self._contents(own, role) & self._contents(fit, role) for role in roles)

    def _contents(self, request: Request, role: str) -> set[tuple[str, str | None]]:
        """The digests of an input, each with the array or sheet that is chosen."""
        value = request.inputs[role]
        if value == "inline":
            return {(request.inline_sha256.get(role, request.id), None)}
        ids = value if isinstance(value, list) else [value]
        found = [self.datasets.get(request.tenant, each) for each in ids]
        return {(each.sha256, each.member) for each in found if each is not None}

    def job(self, role: str, job_id: str) -> Source:
        """An earlier job, with the remaining inputs of that job and of the jobs it grew from."""
        tenant, tree_id = self.request.tenant, sibling(job_id, "tr")
        files = dict(self.tree(role, tree_id).files)
        for name in (results.STATE, results.MODEL):
            path = self.trees.file(tenant, tree_id, name)
            if path is not None:
                files[name] = path
        try:
            earlier = read_request(self.blobs, tenant, job_id)
        except Missing as error:
            raise _deleted(role, job_id) from error
        if earlier.preprocess and results.MODEL not in files:
            # The learned state of the steps was in the model.
            raise _deleted(role, sibling(job_id, "md"))
        before: list[Source | None] = []
        ancestor: Request | None = earlier
        while ancestor is not None:
            before += reversed(self._rows_of(ancestor))
            base = ancestor.inputs.get(role)
            try:
                ancestor = None if base is None else read_request(self.blobs, tenant, str(base))
            except Missing:
                # Its own state contains the number of rows before it.
                break
        return Source(
            role=role,
            kind="job",
            path=files[results.TREE],
            files=files,
            method=earlier.method,
            params=earlier.params,
            before=tuple(reversed(before)),
        )

    def _rows_of(self, request: Request) -> list[Source | None]:
        """The inputs that a job read by rows; None for a deleted one."""
        used = known(request.method)
        sources: list[Source | None] = []
        for role, slot in used.inputs.items() if used else ():
            if slot.by_rows and role in request.inputs:
                input_id = str(request.inputs[role])
                try:
                    sources.append(replace(self, request=request).source(role, input_id))
                except UsageError:
                    sources.append(None)
        return sources

    def _known(self, role: str, dataset_id: str) -> Dataset:
        dataset = self.datasets.get(self.request.tenant, dataset_id)
        if dataset is None:
            raise _deleted(role, dataset_id)
        return dataset

    def _content(self, role: str, dataset: Dataset, *, by_rows: bool, in_parts: bool) -> Source:
        key = self.datasets.content_key(dataset.tenant, dataset.id)
        try:
            link = self._link(key, dataset.format) if in_parts else None
            path = self.datasets.content(dataset) if link is None else None
        except Missing as error:
            raise _deleted(role, dataset.id) from error
        return Source(
            role=role,
            kind="dataset",
            path=path,
            link=link,
            format=dataset.format,
            member=dataset.member,
            by_rows=by_rows,
            hint=dataset.role,
            n_features=dataset.n_features,
            choice=dataset.choice,
            columns=dataset.columns or (),
            warnings=_warnings(dataset, role),
            inspected=dataset.status != "inspecting",
        )

    def _link(self, key: str, format: str) -> Link | None:
        """The address for reading the content in parts.

        None if that is impossible or not needed.
        """
        link = self.blobs.link(key) if format in RAW else None
        if link is not None and format == "npy":
            head = b"".join(self.blobs.read(key, 0, npy.HEAD))
            if npy.header(head, link.size).fortran:
                return None
        return link

    def _by_rows(self, role: str) -> bool:
        """Whether the method that takes this input reads it by rows."""
        read_by, method_id = kind_of(self.request.kind).read_by, ""
        if read_by == "method":
            method_id = self.request.method
        elif read_by == "tree" and self.request.tree is not None:
            record = self.trees.record(self.request.tenant, self.request.tree)
            method_id = "" if record is None else record.method
        used, own = known(method_id), role.rpartition(".")[2]
        return used is not None and own in used.inputs and used.inputs[own].by_rows


def _warnings(dataset: Dataset, role: str) -> tuple[str, ...]:
    """What a job must know of a dataset; which columns are features counts for a matrix alone."""
    if role_of(role.rpartition(".")[2]).wants == "matrix":
        return dataset.warnings
    if dataset.format == "arff":
        # All of it says what is, and is not, among the features.
        return ()
    of_features = column_roles.warnings(dataset.columns or (), dataset.choice)
    return tuple(text for text in dataset.warnings if text not in of_features)


def _deleted(role: str, what: str) -> UsageError:
    return UsageError(
        f"Input {role!r} ({what}) was deleted before the job could read it; upload it again and "
        "submit a new job.",
        code="input-deleted",
        role=role,
    )
