"""The client: runs methods, compares them, uploads data and finds what the service keeps.

For asyncio. Written by `make client` from `umbel_client.client`.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Coroutine, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, Unpack
from urllib.parse import quote

from umbel_client import imports
from umbel_client._written.aio.aliases import AsyncAliases
from umbel_client._written.aio.attachment import AsyncAttachment
from umbel_client._written.aio.calibration import AsyncCalibration
from umbel_client._written.aio.comparison import AsyncComparison
from umbel_client._written.aio.core import runs
from umbel_client._written.aio.core.connection import AsyncConnection
from umbel_client._written.aio.core.uploads import inspected, uploaded, warn_of
from umbel_client._written.aio.core.waiting import awaited, followed, job_of
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
from umbel_client.core.events import Waiting
from umbel_client.core.fields import Expiry, Retrying, in_query, new_work
from umbel_client.core.messages import Reply, Request, given, json_of, new_key, post
from umbel_client.core.requests import Run
from umbel_client.embedding import embeddable
from umbel_client.errors import InputError
from umbel_client.inputs import Input, Items, Reference, TableOptions, converted, is_id, table_query
from umbel_client.local import LocalService
from umbel_client.methods import Methods
from umbel_client.progress import Progress
from umbel_client.settings import settings_of
from umbel_client.share import Share

_IMPORT_TIMEOUT_S = 120.0


class AsyncUmbel(AsyncAliases):
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
        super().__init__(AsyncConnection(settings_of(url, key, retries)))
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
        return self._connection.settings.url

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
        retrying: Retrying | None = None,
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
        an address that hears of the end. expires_at : when the job, its tree and its model may be
        removed, as a datetime or RFC 3339, with the offset. retrying : how it is tried again where
        an attempt ends for a reason that may pass; see `Retrying`. wait_s : the most seconds to
        wait; None: as long as it takes. progress : see `Progress`.

        An interrupted call (Ctrl-C) cancels the job.

        Raises InputError before anything is sent, the problem of a failed job, JobCancelled,
        WaitTimeout, UploadInterrupted. UmbelWarning for what the method approximated.
        """
        work = new_work(name, description, tags, webhook, expires_at, retrying)
        steps = {"preprocess": preprocess, "then": then, "support": support, "name_by": name_by}
        options, how = {**steps, **work}, Waiting(wait_s, progress, method)
        job = await runs.ran(
            self._connection, method, inputs_and_params, params or {}, options, how
        )
        return await AsyncTree._of(self._connection, job)

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
        retrying: Retrying | None = None,
        progress: Progress = None,
        params: Mapping[str, Any] | None = None,
        **inputs_and_params: Any,
    ) -> AsyncJob:
        """Begin a run and give its job at once; arguments and exceptions as of `run`."""
        work = new_work(name, description, tags, webhook, expires_at, retrying)
        steps = {"preprocess": preprocess, "then": then, "support": support, "name_by": name_by}
        options, how = {**steps, **work}, Waiting(None, progress, method)
        values = inputs_and_params
        job = await runs.submitted(self._connection, method, values, params or {}, options, how)
        return AsyncJob(self._connection, job)

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
        webhook: str | None = None,
        expires_at: Expiry = None,
        retrying: Retrying | None = None,
        wait_s: float | None = None,
        progress: Progress = None,
        **inputs: Input,
    ) -> AsyncComparison:
        """Run several methods on the same inputs and give one table of metrics and times.

        compared : ids, `(id, params)`, or `{"method": ..., "params": ..., "preprocess": [...],
        "then": ...}`. labels, hierarchy : the truth, for metrics (and for methods that take them).
        seeds : how often a method that draws is run. inputs : by role, `features=X`.
        keep_trees : whether the tree of each run, with its first seed, stays; the table names it.
        name, description, tags, webhook, expires_at, retrying : as of `run`.

        A run that fails has its problem in the table. Raises as `run`.
        """
        values = {**inputs, "labels": labels, "hierarchy": hierarchy}
        fields = {
            "seeds": seeds,
            "metrics": metrics,
            "cut": cut,
            "keep_trees": keep_trees or None,
            **new_work(name, description, tags, webhook, expires_at, retrying),
        }
        how = Waiting(wait_s, progress, "comparing")
        body = await runs.compared(self._connection, compared, values, fields, how)
        return AsyncComparison(self._connection, body)

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
        **table: Unpack[TableOptions],
    ) -> AsyncDataset:
        """Upload data once, as an input of any number of runs.

        content : an array, a data frame, a list or a path. role : what it is to be, `features`,
        `logits`, `labels`, .... resume : goes on with an upload that was interrupted.
        dedupe : whether an earlier dataset with the same content, name and role will do; then none
        is made. expires_at : when the dataset may be removed, as of `run`. table : of a table, as
        of `TableOptions`: `columns=["width", "height"]`, `id_column="name"`, `decimal=","`, ....

        UmbelWarning for what the service decided about the file or leaves out, and where it cannot
        be used. Raises InputError, UploadInterrupted.
        """
        payload = converted(role, content)
        if isinstance(payload, (list, Reference)):
            raise InputError(role, "the service has this already; give it as an input.")
        about = in_query(new_work(name, description, tags, None, expires_at, None))
        sendable = imports.payload_of(role, payload, {**about, **table_query(table)})
        body = await uploaded(self._connection, sendable, progress, resume, dedupe=dedupe)
        body = await inspected(self._connection, body)
        warn_of(body)
        return AsyncDataset(self._connection, body)

    async def embed(
        self,
        content: Items,
        *,
        name: str | None = None,
        description: str | None = None,
        tags: Sequence[str] = (),
        webhook: str | None = None,
        expires_at: Expiry = None,
        retrying: Retrying | None = None,
        wait_s: float | None = None,
        progress: Progress = None,
        **table: Unpack[TableOptions],
    ) -> AsyncDataset:
        """Texts or images as vectors, by the endpoint of embeddings that the service's operator has
        set, as a new dataset: `features` of runs and maps, and `documents` of namings, at once.

        content : a list or column of texts, a data frame, mapping or file with a column of them, a
        zip or a folder of images, or of texts (.txt, .md), or a dataset of these. name,
        description, tags, webhook, expires_at, retrying, wait_s, progress : as of `run`. table : of
        a table, as of `TableOptions`: `text_column="review", id_column="number"`, ....

        UmbelWarning for texts of which only the beginning was embedded. Raises InputError, the
        problem of a failed job (`NotEmbedded`), JobCancelled, WaitTimeout, UploadInterrupted.
        """
        fields = {**new_work(name, description, tags, webhook, expires_at, retrying), "inputs": {}}
        how = Waiting(wait_s, progress, "embedding")
        if isinstance(content, str) and is_id(content):
            content = await self.dataset(content)
        with embeddable(content, table) as rows:
            answer = await runs.done(
                self._connection, "/v1/embeddings", rows, fields, how, keep=True, warn=False
            )
        if isinstance(answer, Reply):
            body = json_of(answer, "id", "status")
            warn_of(await job_of(self._connection, f"job_{body['id'].partition('_')[2]}"))
            return AsyncDataset(self._connection, body)
        warn_of(answer.job)
        return await AsyncDataset._read(self._connection, answer.job["result"]["dataset"])

    async def import_tree(
        self,
        tree: Any,
        *,
        name: str | None = None,
        description: str | None = None,
        tags: Sequence[str] = (),
        webhook: str | None = None,
        expires_at: Expiry = None,
        retrying: Retrying | None = None,
    ) -> AsyncTree:
        """A tree made elsewhere: a ground truth, or another tool's.

        tree : Newick, Nexus or JSON text, a linkage matrix of SciPy, class paths (`["animal/dog",
        ...]`, or lists of names), a mapping with `nodes`, d3's nested form or R's hclust, a
        networkx.DiGraph from parents to children, or a file (.nwk, .nex, .json, .txt, .npy).
        name, description, tags, webhook, expires_at, retrying : as of `run`.

        UmbelWarning for what was left out or decided. Raises InputError.
        """
        content, media_type = imports.tree_file(tree)
        query = given(in_query(new_work(name, description, tags, webhook, expires_at, retrying)))
        headers = {"Content-Type": media_type, "Prefer": "wait=60", **new_key()}
        request = Request("POST", "/v1/trees", query, headers, content, _IMPORT_TIMEOUT_S)
        made = str(json_of(await self._connection.send(request), "id")["id"])
        if not made.startswith("job_"):
            return await AsyncTree._made(self._connection, made)
        job = await followed(self._connection, made, Waiting(title="importing"))
        return await AsyncTree._of(self._connection, job)

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
        webhook: str | None = None,
        expires_at: Expiry = None,
        retrying: Retrying | None = None,
        wait_s: float | None = None,
    ) -> AsyncTree:
        """One tree from several over the same leaves or rows, with the share of them that agree on
        each node (`support`).

        alternatives : trees or their ids. rule : `majority` (the default), `strict`, `extended` or
        `median`. threshold : of `majority`, the share that must be exceeded. reference : a tree
        that is kept instead; `support` of its nodes is then the `share` of the trees or by
        `transfer`. match : `names`, `rows` or `auto`. common : leave out names that not all have.
        name, description, tags, webhook, expires_at, retrying : as of `run`.

        Raises WaitTimeout, JobCancelled.
        """
        fields = {
            "trees": [getattr(tree, "id", tree) for tree in alternatives],
            "rule": rule,
            "threshold": threshold,
            "reference": reference,
            "support": support,
            "match": match,
            "common": common,
            **new_work(name, description, tags, webhook, expires_at, retrying),
        }
        how = Waiting(wait_s, title="joining trees")
        answer = await awaited(self._connection, "/v1/consensus", given(fields), how)
        if isinstance(answer, Reply):
            job = await job_of(self._connection, json_of(answer, "tree", "job")["job"])
        else:
            job = answer.job
        return await AsyncTree._of(self._connection, job)

    async def tree(self, tree_id: str) -> AsyncTree:
        """A tree that the service keeps."""
        return await AsyncTree._read(self._connection, tree_id)

    async def job(self, job_id: str) -> AsyncJob:
        """A job, with its current state."""
        return await AsyncJob._read(self._connection, job_id)

    async def dataset(self, dataset_id: str) -> AsyncDataset:
        """A dataset that the service keeps."""
        return await AsyncDataset._read(self._connection, dataset_id)

    async def model(self, model_id: str) -> AsyncModel:
        """A model that the service keeps."""
        return await AsyncModel._read(self._connection, model_id)

    async def comparison(self, comparison_id: str) -> AsyncComparison:
        """A comparison, with its table if it has ended."""
        return await AsyncComparison._read(self._connection, comparison_id)

    async def calibration(self, calibration_id: str) -> AsyncCalibration:
        """A calibration, with its curve, groups, suspects and pairs if it has succeeded."""
        return await AsyncCalibration._read(self._connection, calibration_id)

    async def drift(self, drift_id: str) -> AsyncDrift:
        """A drift, with its nodes and its picture if it has succeeded."""
        return await AsyncDrift._read(self._connection, drift_id)

    async def placement(self, placement_id: str) -> AsyncPlacement:
        """A placement, with its picture if it has succeeded."""
        return await AsyncPlacement._read(self._connection, placement_id)

    async def naming(self, naming_id: str) -> AsyncNaming:
        """A naming, with its names if it has succeeded."""
        return await AsyncNaming._read(self._connection, naming_id)

    async def attachment(self, attachment_id: str) -> AsyncAttachment:
        """An attachment, with its columns if it has succeeded."""
        return await AsyncAttachment._read(self._connection, attachment_id)

    async def heatmap(self, heatmap_id: str) -> AsyncHeatmap:
        """A heatmap, with its matrix and its picture if it has succeeded."""
        return await AsyncHeatmap._read(self._connection, heatmap_id)

    async def map(self, map_id: str) -> AsyncMap:
        """A map of a tree's points."""
        return await AsyncMap._read(self._connection, map_id)

    async def edition(self, edition_id: str) -> AsyncEdition:
        """An edition of a tree."""
        return await AsyncEdition._read(self._connection, edition_id)

    async def share(self, share_id: str) -> Share:
        """A link that shows a tree, by its id `sh_...`, without its address."""
        body = await self._connection.described(f"/v1/shares/{share_id}", "id", "expires_at")
        return Share(body, self._connection.settings.url)

    async def shared(self) -> dict[str, Any]:
        """What a link shows, to a client whose key is its token: the `tree`, and the `edition`,
        `names` and `map` that each call must name.

        Raises NotFound with another key.
        """
        return await self._connection.described("/v1/shared", "tree", "expires_at")

    async def usage(self) -> dict[str, Any]:
        """What the tenant (`tenant`) and this key (`key`) use of what they may: `bytes`,
        `datasets`, `trees`, `jobs`, `queued` and `running` with `used` and `limit` (None: no
        limit), and `requests`."""
        return await self._connection.described("/v1/usage", "tenant", "key")

    async def audit(
        self,
        *,
        since: str | None = None,
        until: str | None = None,
        tenant: str | None = None,
        actor: str | None = None,
        action: str | None = None,
        limit: int = 50,
    ) -> list[dict[str, Any]]:
        """The newest changes, refused sign-ins and uses of links, for keys of the role `admin`.

        since, until : times with their offset, "2026-03-01T00:00:00Z". actor : the id of a key or
        link. action : how it begins, as "DELETE" or "sign-in".
        """
        wanted = {"since": since, "until": until, "tenant": tenant, "actor": actor}
        return await self._connection.listed("/v1/audit", {**wanted, "action": action}, limit)

    async def audit_lines(
        self,
        *,
        since: str | None = None,
        until: str | None = None,
        tenant: str | None = None,
        actor: str | None = None,
        action: str | None = None,
    ) -> bytes:
        """All that `audit` has, as JSON lines."""
        wanted = {"since": since, "until": until, "tenant": tenant, "actor": actor}
        query = given({**wanted, "action": action})
        return (await self._connection.send(Request("GET", "/v1/audit.jsonl", query))).content

    async def pauses(self) -> list[dict[str, Any]]:
        """What takes no jobs for now: `scope`, `name`, `reason` and `since` of each. For keys of
        administrators, as are the calls that follow."""
        return await self._connection.listed("/v1/pauses")

    async def pause(self, scope: str, name: str, reason: str | None = None) -> dict[str, Any]:
        """Let the jobs of a `lane` (`cpu:fit`), a `tenant`, a `method` or a `worker` wait; a worker
        drains. reason : shown with each job that waits."""
        path, content = _pause(scope, name), json.dumps({"reason": reason}).encode()
        request = Request("PUT", path, {}, {"Content-Type": "application/json"}, content)
        return json_of(await self._connection.send(request), "scope", "name")

    async def resume(self, scope: str, name: str) -> None:
        """End a pause. Raises NotFound where there is none."""
        await self._connection.remove(_pause(scope, name))

    async def workers(self) -> list[dict[str, Any]]:
        """The workers that are alive: `id`, `status` (`active`, `draining` or `drained`), `queues`,
        `running` and `seen_at` of each."""
        return await self._connection.listed("/v1/workers")

    async def version(self) -> dict[str, str]:
        """The version of the API (`api`), of the service and of its Python."""
        return await self._connection.described("/v1/version", "api", "service")

    async def catalogue(self) -> dict[str, dict[str, Any]]:
        """The service's methods by id: inputs, parameters and outputs."""
        return {entry["id"]: entry for entry in await self._connection.listed("/v1/methods")}

    async def method(self, method_id: str) -> dict[str, Any]:
        """One method of the catalogue."""
        return await self._connection.described(f"/v1/methods/{method_id}", "id", "params")

    async def webhook_secret(self) -> dict[str, Any]:
        """The `secret` that signs webhooks, and the `former` one."""
        return await self._connection.described("/v1/webhook-secret", "secret")

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
        return (await self._connection.send(post("/v1/figures", given(fields)))).content

    async def aclose(self) -> None:
        """Close the connections, and end the service if this client started it."""
        await self._connection.aclose()
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
        return {"_connection": self._connection, "_service": None}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.url}>"


def _pause(scope: str, name: str) -> str:
    """The path of a pause."""
    return f"/v1/pauses/{quote(scope, safe='')}/{quote(name, safe=':')}"
