"""The client: runs methods, compares them, uploads data and finds what the service keeps.

For asyncio. Written by `make client` from `umbel_client.client`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal

from umbel_client import imports
from umbel_client._written.aio.attachment import AsyncAttachment
from umbel_client._written.aio.calibration import AsyncCalibration
from umbel_client._written.aio.comparison import AsyncComparison
from umbel_client._written.aio.dataset import AsyncDataset
from umbel_client._written.aio.drift import AsyncDrift
from umbel_client._written.aio.edition import AsyncEdition
from umbel_client._written.aio.heatmap import AsyncHeatmap
from umbel_client._written.aio.job import AsyncJob
from umbel_client._written.aio.map import AsyncMap
from umbel_client._written.aio.model import AsyncModel
from umbel_client._written.aio.naming import AsyncNaming
from umbel_client._written.aio.tree import AsyncTree
from umbel_client.core import editions, runs, trees, uploads, waiting
from umbel_client.core.drivers import AsyncDriver
from umbel_client.core.expiry import Expiry, expiry
from umbel_client.core.runs import Run, RunOptions
from umbel_client.core.waiting import Waiting
from umbel_client.errors import InputError
from umbel_client.inputs import Input, Reference, converted
from umbel_client.local import LocalService
from umbel_client.methods import Methods
from umbel_client.progress import Progress
from umbel_client.settings import settings_of
from umbel_client.share import Share


class AsyncUmbel:
    """A client of one service.

    Nothing is sent before the first call. An `async with` statement closes the connections.
    Tasks of one event loop may share a client.

    Every call raises ProblemError (by the problem's type, see `umbel_client.problems`) where the
    service refuses it, ConnectionFailed where the service cannot be reached, and
    UnexpectedResponse where something else answers; further exceptions are named at the call.

    url : the service's address; by default UMBEL_URL, else where `umbel serve` listens.
    key : by default UMBEL_KEY; None: no key.
    retries : how often a request is repeated after 429, 503 or a cut connection.
    """

    def __init__(self, url: str | None = None, key: str | None = None, *, retries: int = 5) -> None:
        self._driver = AsyncDriver(settings_of(url, key, retries))
        self._service: LocalService | None = None

    @classmethod
    async def local(
        cls,
        data_dir: str | os.PathLike[str] | None = None,
        *,
        workers: int = 2,
        key: str | None = None,
    ) -> AsyncUmbel:
        """A client of a service that is started now and ends with this process.

        data_dir : where the service keeps its data; None: a temporary folder, removed at the end.
        workers : worker processes.

        Raises CannotStart where the server is not installed or does not start.
        """
        service = await asyncio.to_thread(LocalService, data_dir, workers)
        umbel = cls(service.url, key)
        umbel._service = service
        return umbel

    @property
    def url(self) -> str:
        """The service's address."""
        return self._driver.settings.url

    @property
    def methods(self) -> Methods[Coroutine[Any, Any, AsyncTree]]:
        """Every method as a function: `umbel.methods.l2h(logits=...)` gives its tree."""
        return Methods(self.run)

    async def run(
        self,
        method: str,
        *,
        preprocess: Sequence[Mapping[str, Any]] | None = None,
        then: str | Mapping[str, Any] | None = None,
        support: Mapping[str, Any] | None = None,
        name_by: str | None = None,
        name: str | None = None,
        description: str | None = None,
        tags: Sequence[str] = (),
        webhook: str | None = None,
        expires_at: Expiry = None,
        wait_s: float | None = None,
        progress: Progress = None,
        params: Mapping[str, Any] | None = None,
        **inputs_and_params: Any,
    ) -> AsyncTree:
        """Run a method and give its tree.

        method : an id of the catalogue. inputs_and_params : inputs by role and parameters by name,
        as in `umbel.methods`, where editors know them. params : further parameters, as a mapping.
        preprocess : steps that prepare the features. then : a method for the logits that the first
        one gives. support : resample, to see how often each cluster comes back. name_by : name
        nodes by an input. name, description, tags : of the job, its tree and its model. webhook :
        an address that is told of the end. expires_at : when the job, its tree and its model may be
        removed, as a datetime or RFC 3339, with the offset. wait_s : the most seconds to wait;
        None: as long as it takes. progress : see `Progress`.

        An interrupted call (Ctrl-C) cancels the job.

        Raises InputError before anything is sent, the problem of a failed job, JobCancelled,
        WaitTimeout, UploadInterrupted. UmbelWarning for what the method approximated.
        """
        said = (name, description, trees.tags_of(tags) or None)
        options = RunOptions(preprocess, then, support, name_by, *said, webhook, expiry(expires_at))
        how = Waiting(wait_s, progress, method)
        job = await self._driver.run(
            runs.ran(method, inputs_and_params, params or {}, options, how)
        )
        return AsyncTree(self._driver, await self._driver.run(trees.result_facts(job)))

    async def submit(
        self,
        method: str,
        *,
        preprocess: Sequence[Mapping[str, Any]] | None = None,
        then: str | Mapping[str, Any] | None = None,
        support: Mapping[str, Any] | None = None,
        name_by: str | None = None,
        name: str | None = None,
        description: str | None = None,
        tags: Sequence[str] = (),
        webhook: str | None = None,
        expires_at: Expiry = None,
        progress: Progress = None,
        params: Mapping[str, Any] | None = None,
        **inputs_and_params: Any,
    ) -> AsyncJob:
        """Begin a run and give its job at once; arguments and exceptions as of `run`."""
        said = (name, description, trees.tags_of(tags) or None)
        options = RunOptions(preprocess, then, support, name_by, *said, webhook, expiry(expires_at))
        how = Waiting(None, progress, method)
        job = runs.submitted(method, inputs_and_params, params or {}, options, how)
        return AsyncJob(self._driver, await self._driver.run(job))

    async def compare(
        self,
        compared: Sequence[Run],
        *,
        labels: Input | None = None,
        hierarchy: Input | None = None,
        seeds: int = 5,
        metrics: Sequence[str] | None = None,
        cut: Mapping[str, float] | None = None,
        keep_trees: bool = False,
        name: str | None = None,
        description: str | None = None,
        tags: Sequence[str] = (),
        expires_at: Expiry = None,
        wait_s: float | None = None,
        progress: Progress = None,
        **inputs: Input,
    ) -> AsyncComparison:
        """Run several methods on the same inputs and give one table of metrics and times.

        compared : ids, `(id, params)`, or `{"method": ..., "params": ..., "preprocess": [...],
        "then": ...}`. labels, hierarchy : the truth, for metrics (and for methods that take them).
        seeds : how often a method that draws is run. inputs : by role, `features=X`.
        keep_trees : whether the tree of each run, with its first seed, stays; the table names it.
        expires_at : as of `run`.

        A run that fails has its problem in the table. Raises as `run`.
        """
        values = {**inputs, "labels": labels, "hierarchy": hierarchy}
        chosen = {"seeds": seeds, "metrics": metrics, "cut": cut, "name": name}
        more = {
            "keep_trees": keep_trees or None,
            "description": description,
            "tags": trees.tags_of(tags) or None,
            "expires_at": expiry(expires_at),
        }
        fields = runs.plain("cut", {**chosen, **more})
        how = Waiting(wait_s, progress, "comparing")
        body = await self._driver.run(runs.compared(compared, values, fields, how))
        return AsyncComparison(self._driver, body)

    async def upload(
        self,
        content: Input,
        role: str = "features",
        *,
        name: str | None = None,
        description: str | None = None,
        tags: Sequence[str] = (),
        progress: Progress = None,
        resume: str | None = None,
        dedupe: bool = False,
        expires_at: Expiry = None,
    ) -> AsyncDataset:
        """Upload data once, as an input of any number of runs.

        content : an array, a data frame, a list or a path. role : what it is to be, `features`,
        `logits`, `labels`, .... resume : goes on with an upload that was interrupted.
        dedupe : whether an earlier dataset with the same content, name and role will do; then none
        is made. expires_at : when the dataset may be removed, as of `run`.

        Raises InputError, UploadInterrupted.
        """
        payload = converted(role, content)
        if isinstance(payload, (list, Reference)):
            raise InputError(role, "the service has this already; give it as an input.")
        said = {"name": name, "description": description, "tag": trees.tags_of(tags) or None}
        sendable = imports.payload_of(role, payload, said, expires_at)
        body = await self._driver.run(uploads.uploaded(sendable, progress, resume, dedupe=dedupe))
        return AsyncDataset(self._driver, body)

    async def import_tree(
        self,
        tree: Any,
        *,
        name: str | None = None,
        description: str | None = None,
        tags: Sequence[str] = (),
    ) -> AsyncTree:
        """A tree made elsewhere: a ground truth, or another tool's.

        tree : Newick text, a linkage matrix of SciPy, class paths (`["animal/dog", ...]`), a
        mapping with `nodes` or d3's nested form, or a networkx.DiGraph from parents to children.

        Raises InputError.
        """
        content, media_type = imports.tree_file(tree)
        said = {"name": name, "description": description, "tag": trees.tags_of(tags) or None}
        return AsyncTree(
            self._driver, await self._driver.run(trees.imported(content, media_type, said))
        )

    async def consensus(
        self,
        alternatives: Sequence[AsyncTree | str],
        rule: str | None = None,
        *,
        threshold: float | None = None,
        reference: AsyncTree | str | None = None,
        support: str | None = None,
        match: str | None = None,
        common: bool | None = None,
        name: str | None = None,
        description: str | None = None,
        tags: Sequence[str] = (),
        expires_at: Expiry = None,
        wait_s: float | None = None,
    ) -> AsyncTree:
        """One tree from several over the same leaves or rows, with the share of them that agree on
        each node (`support`).

        alternatives : trees or their ids. rule : `majority` (the default), `strict`, `extended` or
        `median`. threshold : of `majority`, the share that must be exceeded. reference : a tree
        that is kept instead; `support` of its nodes is then the `share` of the trees or by
        `transfer`. match : `names`, `rows` or `auto`. common : leave out names that not all have.
        expires_at : as of `run`.

        Raises WaitTimeout, JobCancelled.
        """
        fields = {
            "trees": [_tree_id(tree) for tree in alternatives],
            "rule": rule,
            "threshold": threshold,
            "reference": None if reference is None else _tree_id(reference),
            "support": support,
            "match": match,
            "common": common,
            "name": name,
            "description": description,
            "tags": trees.tags_of(tags) or None,
            "expires_at": expiry(expires_at),
        }
        how = Waiting(wait_s, title="joining trees")
        return AsyncTree(self._driver, await self._driver.run(trees.agreed(fields, how)))

    async def tree(self, tree_id: str) -> AsyncTree:
        """A tree that the service keeps."""
        return AsyncTree(self._driver, await self._driver.run(trees.facts(tree_id)))

    async def job(self, job_id: str) -> AsyncJob:
        """A job, with its state as it is now."""
        return AsyncJob(self._driver, await self._driver.run(waiting.job_of(job_id)))

    async def dataset(self, dataset_id: str) -> AsyncDataset:
        """A dataset that the service keeps."""
        body = await self._driver.run(trees.described(f"/v1/datasets/{dataset_id}", "id", "status"))
        return AsyncDataset(self._driver, body)

    async def model(self, model_id: str) -> AsyncModel:
        """A model that the service keeps."""
        body = await self._driver.run(trees.described(f"/v1/models/{model_id}", "id", "inputs"))
        return AsyncModel(self._driver, body)

    async def comparison(self, comparison_id: str) -> AsyncComparison:
        """A comparison, with its table if it has ended."""
        body = await self._driver.run(
            trees.described(f"/v1/comparisons/{comparison_id}", "id", "table")
        )
        return AsyncComparison(self._driver, body)

    async def calibration(self, calibration_id: str) -> AsyncCalibration:
        """A calibration, with its curve, groups, suspects and pairs if it has succeeded."""
        return AsyncCalibration(
            self._driver, await self._driver.run(trees.calibration(calibration_id))
        )

    async def drift(self, drift_id: str) -> AsyncDrift:
        """A drift, with its nodes and its picture if it has succeeded."""
        return AsyncDrift(self._driver, await self._driver.run(trees.drift(drift_id)))

    async def heatmap(self, heatmap_id: str) -> AsyncHeatmap:
        """A heatmap, with its matrix and its picture if it has succeeded."""
        return AsyncHeatmap(self._driver, await self._driver.run(trees.heatmap(heatmap_id)))

    async def naming(self, naming_id: str) -> AsyncNaming:
        """A naming, with its names if it has succeeded."""
        return AsyncNaming(self._driver, await self._driver.run(trees.naming(naming_id)))

    async def attachment(self, attachment_id: str) -> AsyncAttachment:
        """An attachment, with its columns if it has succeeded."""
        return AsyncAttachment(
            self._driver, await self._driver.run(trees.attachment(attachment_id))
        )

    async def map(self, map_id: str) -> AsyncMap:
        """A map of a tree's points."""
        path = f"/v1/maps/{map_id}"
        return AsyncMap(self._driver, await self._driver.run(trees.described(path, "id", "result")))

    async def edition(self, edition_id: str) -> AsyncEdition:
        """An edition of a tree."""
        return AsyncEdition(self._driver, await self._driver.run(editions.read(edition_id)))

    async def share(self, share_id: str) -> Share:
        """A link that shows a tree, by its id `sh_...`, without its address."""
        body = await self._driver.run(trees.described(f"/v1/shares/{share_id}", "id", "expires_at"))
        return Share(body, self._driver.settings.url)

    async def shared(self) -> dict[str, Any]:
        """What a link shows, to a client whose key is its token: the `tree`, and the `edition`,
        `names` and `map` that each call must name.

        Raises NotFound with another key.
        """
        return await self._driver.run(trees.described("/v1/shared", "tree", "expires_at"))

    async def jobs(
        self,
        *,
        status: str | None = None,
        method: str | None = None,
        name: str | None = None,
        tags: Sequence[str] = (),
        words: str | None = None,
        limit: int = 50,
    ) -> list[AsyncJob]:
        """The newest jobs, with a status, of a method, with a name, with all of the tags.

        words : only those that have each of these words in their name, description, tags, id or
        method, in any case; of the other lists, too.
        """
        query = trees.filters(tags, words, status=status, method=method, name=name)
        bodies = await self._driver.run(trees.listed("/v1/jobs", query, limit))
        return [AsyncJob(self._driver, body) for body in bodies]

    async def datasets(
        self,
        *,
        role: str | None = None,
        name: str | None = None,
        tags: Sequence[str] = (),
        words: str | None = None,
        limit: int = 50,
    ) -> list[AsyncDataset]:
        """The newest datasets, of a role, with a name, with all of the tags."""
        query = trees.filters(tags, words, role=role, name=name)
        bodies = await self._driver.run(trees.listed("/v1/datasets", query, limit))
        return [AsyncDataset(self._driver, body) for body in bodies]

    async def trees(
        self,
        *,
        name: str | None = None,
        tags: Sequence[str] = (),
        words: str | None = None,
        limit: int = 50,
    ) -> list[dict[str, Any]]:
        """The newest trees as the service lists them, without their nodes; `tree(id)` gives one.

        name, tags : only those with this name, with all of the tags. words : as of `jobs`.
        """
        query = trees.filters(tags, words, name=name)
        return await self._driver.run(trees.listed("/v1/trees", query, limit))

    async def comparisons(
        self,
        *,
        status: str | None = None,
        name: str | None = None,
        tags: Sequence[str] = (),
        words: str | None = None,
        limit: int = 50,
    ) -> list[AsyncComparison]:
        """The newest comparisons, with a status, with a name, whose jobs have all of the tags."""
        query = trees.filters(tags, words, status=status, name=name)
        bodies = await self._driver.run(trees.listed("/v1/comparisons", query, limit))
        return [AsyncComparison(self._driver, body) for body in bodies]

    async def calibrations(
        self,
        *,
        status: str | None = None,
        name: str | None = None,
        tags: Sequence[str] = (),
        words: str | None = None,
        tree: str | None = None,
        limit: int = 50,
    ) -> list[AsyncCalibration]:
        """The newest calibrations without curves and tables, with a status, with a name, whose
        jobs have all of the tags, of the tree with this id."""
        query = trees.filters(tags, words, status=status, name=name, tree=tree)
        bodies = await self._driver.run(trees.listed("/v1/calibrations", query, limit))
        return [AsyncCalibration(self._driver, body) for body in bodies]

    async def drifts(
        self,
        *,
        status: str | None = None,
        name: str | None = None,
        tags: Sequence[str] = (),
        words: str | None = None,
        tree: str | None = None,
        limit: int = 50,
    ) -> list[AsyncDrift]:
        """The newest drifts without nodes and pictures, with a status, with a name, whose jobs have
        all of the tags, of the tree with this id."""
        query = trees.filters(tags, words, status=status, name=name, tree=tree)
        bodies = await self._driver.run(trees.listed("/v1/drifts", query, limit))
        return [AsyncDrift(self._driver, body) for body in bodies]

    async def namings(
        self,
        *,
        status: str | None = None,
        name: str | None = None,
        tags: Sequence[str] = (),
        words: str | None = None,
        tree: str | None = None,
        limit: int = 50,
    ) -> list[AsyncNaming]:
        """The newest namings without names, with a status, with a name, whose jobs have all of
        the tags, of the tree with this id."""
        query = trees.filters(tags, words, status=status, name=name, tree=tree)
        bodies = await self._driver.run(trees.listed("/v1/namings", query, limit))
        return [AsyncNaming(self._driver, body) for body in bodies]

    async def attachments(
        self,
        *,
        status: str | None = None,
        name: str | None = None,
        tags: Sequence[str] = (),
        words: str | None = None,
        tree: str | None = None,
        limit: int = 50,
    ) -> list[AsyncAttachment]:
        """The newest attachments without columns, with a status, with a name, whose jobs have
        all of the tags, of the tree with this id."""
        query = trees.filters(tags, words, status=status, name=name, tree=tree)
        bodies = await self._driver.run(trees.listed("/v1/attachments", query, limit))
        return [AsyncAttachment(self._driver, body) for body in bodies]

    async def heatmaps(
        self,
        *,
        status: str | None = None,
        name: str | None = None,
        tags: Sequence[str] = (),
        words: str | None = None,
        tree: str | None = None,
        limit: int = 50,
    ) -> list[AsyncHeatmap]:
        """The newest heatmaps without matrices, with a status, with a name, whose jobs have all of
        the tags, of the tree with this id."""
        query = trees.filters(tags, words, status=status, name=name, tree=tree)
        bodies = await self._driver.run(trees.listed("/v1/heatmaps", query, limit))
        return [AsyncHeatmap(self._driver, body) for body in bodies]

    async def maps(
        self,
        *,
        status: str | None = None,
        name: str | None = None,
        tags: Sequence[str] = (),
        words: str | None = None,
        tree: str | None = None,
        limit: int = 50,
    ) -> list[AsyncMap]:
        """The newest maps, with a status, with a name, whose jobs have all of
        the tags, of the tree with this id."""
        query = trees.filters(tags, words, status=status, name=name, tree=tree)
        bodies = await self._driver.run(trees.listed("/v1/maps", query, limit))
        return [AsyncMap(self._driver, body) for body in bodies]

    async def usage(self) -> dict[str, Any]:
        """What the tenant (`tenant`) and this key (`key`) use of what they may: `bytes`,
        `datasets`, `trees`, `jobs`, `queued` and `running` with `used` and `limit` (None: no
        limit), and `requests`."""
        return await self._driver.run(trees.described("/v1/usage", "tenant", "key"))

    async def version(self) -> dict[str, str]:
        """The version of the API (`api`), of the service and of its Python."""
        return await self._driver.run(trees.described("/v1/version", "api", "service"))

    async def catalogue(self) -> dict[str, dict[str, Any]]:
        """The service's methods by id: inputs, parameters and outputs."""
        body = await self._driver.run(trees.described("/v1/methods", "items"))
        return {entry["id"]: entry for entry in body["items"]}

    async def method(self, method_id: str) -> dict[str, Any]:
        """One method of the catalogue."""
        return await self._driver.run(trees.described(f"/v1/methods/{method_id}", "id", "params"))

    async def webhook_secret(self) -> dict[str, Any]:
        """The `secret` that signs webhooks, and the `former` one."""
        return await self._driver.run(trees.described("/v1/webhook-secret", "secret"))

    async def figure(
        self,
        items: Sequence[Mapping[str, Any]],
        *,
        width: float,
        height: float,
        width_mm: float,
        form: Literal["svg", "png", "pdf"] = "svg",
        dpi: float | None = None,
        fonts: Literal["embed", "none"] | None = None,
        title: str | None = None,
        paper: str | None = None,
    ) -> bytes:
        """A drawing of one's own as a file, in millimetres and with fonts inside; nothing is kept.

        items : lines, areas and texts as of `POST /v1/figures`; later ones lie on earlier ones.
        width, height : of the drawing, in the unit of the items. width_mm : on paper. dpi : of PNG.
        fonts : of SVG. title : for readers of screens. paper : its colour.
        """
        fields = {
            "form": form,
            "width": width,
            "height": height,
            "width_mm": width_mm,
            "dpi": dpi,
            "fonts": fonts,
            "title": title,
            "paper": paper,
            "items": list(items),
        }
        return await self._driver.run(trees.figure(fields))

    async def aclose(self) -> None:
        """Close the connections, and end the service if this client started it."""
        await self._driver.aclose()
        if self._service is not None:
            await asyncio.to_thread(self._service.stop)
            self._service = None

    async def __aenter__(self) -> AsyncUmbel:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    def __getstate__(self) -> dict[str, Any]:
        # A copy calls the same service, but does not end it.
        return {"_driver": self._driver, "_service": None}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.url}>"


def _tree_id(tree: AsyncTree | str) -> str:
    return tree if isinstance(tree, str) else tree.id
