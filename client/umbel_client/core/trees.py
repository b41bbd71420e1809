"""Trees and models: what is read from them, and work on them."""

from __future__ import annotations

import io
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from umbel_client.core.sending import json_of, new_key, post, sent
from umbel_client.core.steps import Operation, Reply, Request
from umbel_client.core.uploads import TIMEOUT_S, Inputs, supplied
from umbel_client.core.waiting import Waiting, awaited, followed, job_of
from umbel_client.errors import InputError, UmbelError, UmbelWarning, UnexpectedResponse
from umbel_client.inputs import Converted

_IMPORT_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class TreeFacts:
    """A tree without its nodes.

    job : the id of the job that made it; None for an imported tree. model : the id of the model
    that was fitted with it, if there is one. warnings, metrics : what the job said.
    description, tags : what users say of it.
    """

    id: str
    name: str | None
    method: str
    kind: str
    job: str | None
    model: str | None
    n_points: int
    n_leaves: int
    created_at: str
    warnings: tuple[str, ...] = ()
    metrics: Mapping[str, float] | None = None
    description: str | None = None
    tags: tuple[str, ...] = ()


def facts(tree_id: str, job: Mapping[str, Any] | None = None) -> Operation[TreeFacts]:
    """What is known of a tree; `job` is the one that made it, if the caller has it.

    Raises ProblemError, ConnectionFailed, UnexpectedResponse.
    """
    root = json_of((yield from sent(_get(tree_id, ".json", {"depth": 0}))), "id", "method", "kind")
    view = json_of((yield from sent(_get(tree_id, "/view", {"max_nodes": 1}))), "nodes")
    top = view["nodes"][0]
    if job is None and root["job"] is not None:
        try:
            job = yield from job_of(str(root["job"]))
        except UmbelError:
            job = {}  # The job was removed, the tree was not.
    job = job or {}
    result = job.get("result") or {}
    return TreeFacts(
        id=root["id"],
        name=root["name"],
        method=root["method"],
        kind=root["kind"],
        job=root["job"],
        model=result.get("model"),
        n_points=top["size"],
        n_leaves=top["n_leaves"],
        created_at=root["created_at"],
        warnings=tuple(job.get("warnings") or ()),
        metrics=result.get("metrics") or {},
        description=root.get("description"),
        tags=tuple(root.get("tags") or ()),
    )


def result_facts(job: Mapping[str, Any]) -> Operation[TreeFacts]:
    """As `facts`, of the tree that a job has made; UmbelWarning for each of the job's warnings.

    Raises UnexpectedResponse if it made none.
    """
    tree_id = (job.get("result") or {}).get("tree")
    if not isinstance(tree_id, str):
        raise UnexpectedResponse(f"The job {job.get('id')} has no tree", 200)
    known = yield from facts(tree_id, job)
    for sentence in known.warnings:
        warnings.warn(sentence, UmbelWarning, stacklevel=2)
    return known


def content(tree_id: str, suffix: str, query: Mapping[str, Any]) -> Operation[bytes]:
    """A form of a tree, by the ending of its address; of `query` what is None is left out.

    Raises ProblemError (`not-binary` and others), ConnectionFailed, UnexpectedResponse.
    """
    reply = yield from sent(_get(tree_id, suffix, query))
    return reply.content


def text(tree_id: str, suffix: str, query: Mapping[str, Any]) -> Operation[str]:
    """As `content`, as text."""
    return (yield from content(tree_id, suffix, query)).decode()


def array(tree_id: str, suffix: str, query: Mapping[str, Any]) -> Operation[npt.NDArray[Any]]:
    """As `content`, of a .npy form, as an array."""
    return _loaded((yield from content(tree_id, suffix, query)), f"{tree_id}{suffix}")


def _loaded(file: bytes, what: str) -> npt.NDArray[Any]:
    """The array of a .npy file. Raises UnexpectedResponse for anything else."""
    try:
        loaded: npt.NDArray[Any] = np.load(io.BytesIO(file), allow_pickle=False)
    except ValueError:
        raise UnexpectedResponse(f"{what} is no .npy file", 200) from None
    return loaded


def document(
    tree_id: str, suffix: str, query: Mapping[str, Any], *needed: str
) -> Operation[dict[str, Any]]:
    """As `content`, of a JSON form, with the fields that it must have."""
    return json_of((yield from sent(_get(tree_id, suffix, query))), *needed)


def evaluated(
    path: str, inputs: Inputs, rows: Inputs, fields: Mapping[str, Any], waiting: Waiting
) -> Operation[dict[str, Any]]:
    """An evaluation of a tree or a model, whose address is `path`.

    inputs : by field of the request. rows : new rows, by role. fields : further ones; None: left
    out. Raises InputError for a role that is given twice, and as
    `umbel_client.core.waiting.awaited`.
    """
    for role in inputs.keys() & rows.keys():
        raise InputError(role, "it is given twice, as new rows and beside them.")

    def use(given: dict[str, Any]) -> Operation[dict[str, Any]]:
        body = {name: value for name, value in fields.items() if value is not None}
        body |= {role: given[role] for role in inputs}
        if rows:
            body["inputs"] = {role: given[role] for role in rows}
        answer = yield from awaited(f"{path}/evaluations", body, waiting)
        if isinstance(answer, Reply):
            result = json_of(answer, "metrics")
        else:
            ended = answer.job["result"]
            result = dict(ended["evaluation"])
            if "nodes" in ended:
                result["nodes"] = f"/v1/jobs/{answer.job['id']}/nodes"
            if isinstance(result.get("tables"), str):
                result["tables"] = yield from described(result["tables"])
        if isinstance(result.get("nodes"), str):
            nodes = yield from described(result["nodes"], "items")
            result["nodes"] = nodes["items"]
        return result

    return (yield from supplied({**inputs, **rows}, use, waiting.progress, keep=False))


def predicted(
    path: str, inputs: Inputs, fields: Mapping[str, Any], waiting: Waiting
) -> Operation[list[dict[str, Any]]]:
    """Predictions of a tree or a model, one a row. Raises as `evaluated`."""

    def use(given: dict[str, Any]) -> Operation[list[dict[str, Any]]]:
        body = {name: value for name, value in fields.items() if value is not None}
        answer = yield from awaited(f"{path}/predictions", {**body, "inputs": given}, waiting)
        if not isinstance(answer, Reply):
            answer = yield from sent(
                Request("GET", f"/v1/jobs/{answer.job['id']}/predictions", timeout_s=TIMEOUT_S)
            )
        items: list[dict[str, Any]] = json_of(answer, "items")["items"]
        return items

    return (yield from supplied(inputs, use, waiting.progress, keep=False))


def calibrated(
    path: str, inputs: Inputs, fields: Mapping[str, Any], waiting: Waiting
) -> Operation[dict[str, Any]]:
    """A calibration of the tree at `path`, as `calibration` gives it; UmbelWarning for each of its
    warnings. Raises as `evaluated`."""

    def use(given: dict[str, Any]) -> Operation[dict[str, Any]]:
        body = {name: value for name, value in fields.items() if value is not None}
        body |= {name: given.pop(name) for name in ("labels", "costs") if name in given}
        made = yield from _made(f"{path}/calibrations", {**body, "inputs": given}, waiting)
        return (yield from calibration(made))

    return _told((yield from supplied(inputs, use, waiting.progress, keep=False)))


def _made(path: str, body: Mapping[str, Any], waiting: Waiting) -> Operation[str]:
    """The id of what a POST makes, once it has ended."""
    answer = yield from awaited(path, body, waiting)
    made = json_of(answer, "id") if isinstance(answer, Reply) else answer.accepted
    return str(made["id"])


def _told(body: dict[str, Any]) -> dict[str, Any]:
    """The body; UmbelWarning for each of its warnings."""
    for sentence in body["warnings"]:
        warnings.warn(sentence, UmbelWarning, stacklevel=2)
    return body


def calibration(calibration_id: str) -> Operation[dict[str, Any]]:
    """A calibration and, once it has succeeded, the steps of its `curve`, its `groups`, `suspects`
    and `pairs`."""
    path = f"/v1/calibrations/{calibration_id}"
    body = yield from described(path, "id", "status", "warnings")
    if body["status"] != "succeeded":
        return body
    curve = yield from described(f"{path}/curve", "steps")
    groups = yield from described(f"{path}/groups", "items")
    suspects = yield from described(f"{path}/suspects", "items")
    pairs = yield from described(f"{path}/pairs", "items")
    return {
        **body,
        "curve": curve["steps"],
        "groups": groups["items"],
        "suspects": suspects["items"],
        "pairs": pairs["items"],
    }


def drifted(
    path: str,
    samples: Mapping[str, Inputs],
    fields: Mapping[str, Any],
    waiting: Waiting,
) -> Operation[dict[str, Any]]:
    """A drift in the tree at `path`, as `drift` gives it; UmbelWarning for each of its warnings.

    samples : by name the inputs and maybe labels of each. Raises as `evaluated`.
    """
    roles = {f"{name}.{role}": (name, role) for name, inputs in samples.items() for role in inputs}

    def use(given: dict[str, Any]) -> Operation[dict[str, Any]]:
        body = {name: value for name, value in fields.items() if value is not None}
        for name in samples:
            own = {role: given[key] for key, (of, role) in roles.items() if of == name}
            labels = {"labels": own.pop("labels")} if "labels" in own else {}
            body[name] = {"inputs": own, **labels}
        return (yield from drift((yield from _made(f"{path}/drifts", body, waiting))))

    inputs = {key: samples[name][role] for key, (name, role) in roles.items()}
    return _told((yield from supplied(inputs, use, waiting.progress, keep=False)))


def drift(drift_id: str) -> Operation[dict[str, Any]]:
    """A drift and, once it has succeeded, its `nodes` and its picture, `svg`."""
    path = f"/v1/drifts/{drift_id}"
    body = yield from described(path, "id", "status", "warnings")
    if body["status"] != "succeeded":
        return body
    nodes = yield from described(f"{path}/nodes", "items")
    picture = yield from raw(f"{path}.svg")
    return {**body, "nodes": nodes["items"], "svg": picture.decode()}


def mapped(
    path: str, inputs: Inputs, fields: Mapping[str, Any], waiting: Waiting
) -> Operation[dict[str, Any]]:
    """A map of the points of the tree at `path`; UmbelWarning for each of its warnings. Raises as
    `evaluated`."""

    def use(given: dict[str, Any]) -> Operation[dict[str, Any]]:
        body = {name: value for name, value in fields.items() if value is not None}
        made = yield from _made(f"{path}/maps", {**body, "inputs": given}, waiting)
        return (yield from described(f"/v1/maps/{made}", "id", "result", "warnings"))

    return _told((yield from supplied(inputs, use, waiting.progress, keep=False)))


def heatmap_made(
    path: str, inputs: Inputs, fields: Mapping[str, Any], waiting: Waiting
) -> Operation[dict[str, Any]]:
    """A heatmap of the tree at `path`, as `heatmap` gives it; UmbelWarning for each of its
    warnings. Raises as `evaluated`."""

    def use(given: dict[str, Any]) -> Operation[dict[str, Any]]:
        body = {name: value for name, value in fields.items() if value is not None}
        made = yield from _made(f"{path}/heatmaps", {**body, "inputs": given}, waiting)
        return (yield from heatmap(made))

    return _told((yield from supplied(inputs, use, waiting.progress, keep=False)))


def heatmap(heatmap_id: str) -> Operation[dict[str, Any]]:
    """A heatmap and, once it has succeeded, its `axes`, its picture, `svg`, and its `matrix` from
    the tiles of the last level: a request for every 256 x 256 values."""
    path = f"/v1/heatmaps/{heatmap_id}"
    body = yield from described(path, "id", "status", "result", "warnings")
    result = body["result"]
    if result is None:
        return body
    axes = yield from described(f"{path}/axes", "rows", "columns")
    # In the picture of a larger one, values have no cells of their own.
    picture = (yield from raw(f"{path}.svg")) if result["n_levels"] == 1 else b""
    side, low, high = result["tile"], result["low"], result["high"]
    matrix = np.empty((result["n_rows"], result["n_columns"]), dtype=np.float32)
    tiles = f"{path}/tiles/{result['n_levels'] - 1}"
    for row in range(-(-matrix.shape[0] // side)):
        for column in range(-(-matrix.shape[1] // side)):
            part = matrix[
                row * side : (row + 1) * side,
                column * side : (column + 1) * side,
            ]
            cells = np.frombuffer((yield from raw(f"{tiles}/{row}/{column}")), dtype="<u2")
            if cells.size != part.size:
                raise UnexpectedResponse(f"{tiles}/{row}/{column} has {cells.size} cells", 200)
            part[:] = low + cells.reshape(part.shape) / 65_535 * (high - low)
    return {**body, "axes": axes, "svg": picture.decode(), "matrix": matrix}


def node_names(
    path: str, inputs: Inputs, fields: Mapping[str, Any], waiting: Waiting
) -> Operation[dict[str, Any]]:
    """A naming of the tree at `path`, as `naming` gives it; UmbelWarning for each of its warnings.
    Raises as `evaluated`."""

    def use(given: dict[str, Any]) -> Operation[dict[str, Any]]:
        body = {name: value for name, value in fields.items() if value is not None}
        made = yield from _made(f"{path}/namings", {**body, "inputs": given}, waiting)
        return (yield from naming(made))

    return _told((yield from supplied(inputs, use, waiting.progress, keep=False)))


def naming(naming_id: str) -> Operation[dict[str, Any]]:
    """A naming and, once it has succeeded, its `nodes`."""
    path = f"/v1/namings/{naming_id}"
    body = yield from described(path, "id", "status", "warnings")
    if body["status"] != "succeeded":
        return body
    names = yield from described(f"{path}/names", "items")
    return {**body, "nodes": names["items"]}


def attached(
    path: str, items: Converted, fields: Mapping[str, Any], waiting: Waiting
) -> Operation[dict[str, Any]]:
    """An attachment to the tree at `path`, as `attachment` gives it; UmbelWarning for each of its
    warnings. Raises as `evaluated`."""

    def use(given: dict[str, Any]) -> Operation[dict[str, Any]]:
        body = {name: value for name, value in fields.items() if value is not None}
        made = yield from _made(f"{path}/attachments", {**body, **given}, waiting)
        return (yield from attachment(made))

    return _told((yield from supplied({"items": items}, use, waiting.progress, keep=False)))


def attachment(attachment_id: str) -> Operation[dict[str, Any]]:
    """An attachment and, once it has succeeded, its `columns`."""
    path = f"/v1/attachments/{attachment_id}"
    body = yield from described(path, "id", "status", "warnings")
    if body["status"] != "succeeded":
        return body
    columns = yield from described(f"{path}/columns", "items")
    return {**body, "columns": columns["items"]}


def examples(
    path: str, attachment_id: str | None, node: int, query: Mapping[str, Any]
) -> Operation[list[dict[str, Any]]]:
    """Items under a node of the tree at `path`, of its newest attachment by default. Raises
    InputError where it has none."""
    if attachment_id is None:
        body = yield from described(f"{path}/attachments", "items")
        made = (each["id"] for each in body["items"] if each["status"] == "succeeded")
        attachment_id = next(made, None)
    if attachment_id is None:
        raise InputError("items", "nothing is attached to the tree: tree.attach(items).")
    request = Request("GET", f"/v1/attachments/{attachment_id}/nodes/{node}/examples", query)
    found: list[dict[str, Any]] = json_of((yield from sent(request)), "items")["items"]
    return found


def transformed(
    path: str, inputs: Inputs, fields: Mapping[str, Any], waiting: Waiting
) -> Operation[dict[str, Any]]:
    """The dataset of rows under a model's transformation. Raises as `evaluated`."""

    def use(given: dict[str, Any]) -> Operation[dict[str, Any]]:
        body = {name: value for name, value in fields.items() if value is not None}
        answer = yield from awaited(f"{path}/transformations", {**body, "inputs": given}, waiting)
        if isinstance(answer, Reply):
            return json_of(answer, "id", "status")
        reply = yield from sent(Request("GET", f"/v1/datasets/{answer.job['result']['dataset']}"))
        return json_of(reply, "id", "status")

    return (yield from supplied(inputs, use, waiting.progress, keep=False))


def imported(file: bytes, media_type: str, said: Mapping[str, Any]) -> Operation[TreeFacts]:
    """A tree made of a file; said : `name`, `description` and `tag`, None: left out.

    Raises ProblemError, ConnectionFailed, UnexpectedResponse.
    """
    headers = {"Content-Type": media_type, "Prefer": "wait=60", **new_key()}
    request = Request("POST", "/v1/trees", _given(said), headers, file, _IMPORT_TIMEOUT_S)
    summary = json_of((yield from sent(request)), "id")
    tree_id = str(summary["id"])
    if tree_id.startswith("job_"):
        job = yield from followed(tree_id, Waiting(title="importing"))
        return (yield from result_facts(job))
    return (yield from facts(tree_id))


def agreed(fields: Mapping[str, Any], waiting: Waiting) -> Operation[TreeFacts]:
    """One tree from several. Raises as `umbel_client.core.waiting.awaited`."""
    body = {name: value for name, value in fields.items() if value is not None}
    answer = yield from awaited("/v1/consensus", body, waiting)
    if not isinstance(answer, Reply):
        return (yield from result_facts(answer.job))
    return (yield from result_facts((yield from job_of(json_of(answer, "tree", "job")["job"]))))


def only_role(model_id: str | None, given: Collection[str]) -> Operation[str]:
    """The one role of new rows for a model beside those given; `rows` where there is no model,
    which the service refuses. Raises InputError where several are left.
    """
    if model_id is None:
        return "rows"
    model = json_of((yield from sent(Request("GET", f"/v1/models/{model_id}"))), "inputs")
    left = [role for role in model["inputs"] if role not in given]
    if len(left) != 1:
        needed = ", ".join(model["inputs"])
        raise InputError("rows", f"the model needs the inputs {needed}; give each by its name.")
    return str(left[0])


def described(
    path: str, *needed: str, query: Mapping[str, Any] | None = None
) -> Operation[dict[str, Any]]:
    """The JSON at an address; of `query` what is None is left out.

    Raises ProblemError, ConnectionFailed, UnexpectedResponse.
    """
    return json_of((yield from sent(Request("GET", path, _given(query or {})))), *needed)


def raw(path: str, query: Mapping[str, Any] | None = None) -> Operation[bytes]:
    """The bytes at an address; query and exceptions as of `described`."""
    request = Request("GET", path, _given(query or {}), timeout_s=TIMEOUT_S)
    return (yield from sent(request)).content


def matrix(path: str, query: Mapping[str, Any] | None = None) -> Operation[npt.NDArray[Any]]:
    """As `raw`, of a .npy form, as an array."""
    return _loaded((yield from raw(path, query)), path)


def posted(path: str, fields: Mapping[str, Any], *needed: str) -> Operation[dict[str, Any]]:
    """What the POST of a JSON object at an address answers; a field that is None is left out.

    Raises ProblemError, ConnectionFailed, UnexpectedResponse.
    """
    body = {name: value for name, value in fields.items() if value is not None}
    return json_of((yield from sent(post(path, body))), *needed)


def figure(fields: Mapping[str, Any]) -> Operation[bytes]:
    """A drawing as a file, as of `POST /v1/figures`; exceptions as of `posted`."""
    body = {name: value for name, value in fields.items() if value is not None}
    return (yield from sent(post("/v1/figures", body))).content


def listed(path: str, query: Mapping[str, Any], limit: int) -> Operation[list[dict[str, Any]]]:
    """The newest `limit` things of a list, over as many pages as needed."""
    items: list[dict[str, Any]] = []
    cursor: str | None = None
    while len(items) < limit:
        asked = {**_given(query), "limit": min(limit - len(items), 100)}
        if cursor is not None:
            asked["cursor"] = cursor
        page = json_of((yield from sent(Request("GET", path, asked))), "items", "next_cursor")
        items += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    return items


def all_paths(path: str, clusters: str | None) -> Operation[list[dict[str, Any]]]:
    """The periods of a model's paths at an address, page by page."""
    items: list[dict[str, Any]] = []
    query: dict[str, Any] = {"clusters": clusters}
    while True:
        page = yield from described(path, "items", "next_cursor", query=query)
        items += page["items"]
        if page["next_cursor"] is None:
            return items
        query["cursor"] = page["next_cursor"]


def tags_of(tags: Sequence[str]) -> list[str]:
    """Tags as a query takes them; a single text is one tag."""
    return [tags] if isinstance(tags, str) else list(tags)


def filters(tags: Sequence[str], words: str | None, **fields: str | None) -> dict[str, Any]:
    """The query of a list: tags, words, and what else its items must have."""
    return {**fields, "tag": tags_of(tags), "q": words}


def _get(tree_id: str, suffix: str, query: Mapping[str, Any]) -> Request:
    return Request("GET", f"/v1/trees/{tree_id}{suffix}", _given(query), timeout_s=TIMEOUT_S)


def _given(query: Mapping[str, Any]) -> dict[str, str | int | float | list[str]]:
    """What is not None; of what has an id the id."""
    return {name: getattr(value, "id", value) for name, value in query.items() if value is not None}
