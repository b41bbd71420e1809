"""Work on data: submitted with its inputs and waited for; runs of methods and comparisons.

For asyncio. Written by `make client` from `umbel_client.core.runs`.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from umbel_client._written.aio.core.connection import AsyncConnection
from umbel_client._written.aio.core.uploads import supplied, warn_of
from umbel_client._written.aio.core.waiting import awaited
from umbel_client.core.events import Ended, Waiting, succeeded
from umbel_client.core.messages import CONTENT_TIMEOUT_S, Reply, error_of, json_of, post
from umbel_client.core.requests import Run, body_of, compared_run, run_of
from umbel_client.errors import InputError, UnexpectedResponse
from umbel_client.inputs import Inputs, converted_inputs
from umbel_client.methods import METHODS, MethodFacts
from umbel_client.problems import NotFound
from umbel_client.quoting import shown

_UNKNOWN_METHOD = {
    "type": "/problems/unknown-method",
    "title": "Unknown method",
    "status": 422,
    "errors": [{"detail": "There is no such method.", "pointer": "/method"}],
}


async def done(
    connection: AsyncConnection,
    path: str,
    inputs: Inputs,
    fields: Mapping[str, Any],
    waiting: Waiting,
    *,
    keep: bool = False,
    warn: bool = True,
) -> Reply | Ended:
    """Work whose inputs are uploaded first. inputs : by where they belong, as of `body_of`. keep,
    warn : as of `supplied`.

    Raises as `umbel_client.core.waiting.awaited` and `umbel_client.core.uploads.supplied`.
    """
    async with supplied(connection, inputs, waiting.progress, keep=keep, warn=warn) as given:
        return await awaited(connection, path, body_of(fields, given), waiting)


async def facts_of(connection: AsyncConnection, method: str) -> MethodFacts:
    """The roles and parameters of a method; one that this client does not know is read from the
    service. Raises UnknownMethod where there is no such method.
    """
    known = METHODS.get(method)
    if known is not None:
        return known
    try:
        path = f"/v1/methods/{quote(method, safe='')}"
        entry = await connection.described(path, "inputs", "params", "outputs")
    except (NotFound, UnexpectedResponse) as error:
        near = difflib.get_close_matches(method, METHODS, n=3, cutoff=0.5)
        meant = f". Is {' or '.join(map(shown, near))} meant?" if near else "."
        detail = f"There is no method {shown(method)}; there are {', '.join(METHODS)}{meant}"
        raise error_of({**_UNKNOWN_METHOD, "detail": detail}) from error
    return facts_in(entry)


def facts_in(entry: Mapping[str, Any]) -> MethodFacts:
    """The names of a method, from its entry of the service's catalogue."""
    roles = entry["inputs"]
    return MethodFacts(
        inputs=tuple(roles),
        several=tuple(role for role, each in roles.items() if each.get("many")),
        sparse=tuple(role for role, each in roles.items() if each.get("sparse")),
        defaults={
            name: each.get("default")
            for name, each in entry["params"].get("properties", {}).items()
        },
    )


async def ran(
    connection: AsyncConnection,
    method: str,
    values: Mapping[str, Any],
    params: Mapping[str, Any],
    options: Mapping[str, Any],
    waiting: Waiting,
) -> dict[str, Any]:
    """The job of a run, which has succeeded; arguments as of `run_of`.

    Raises InputError before anything is sent, and as `done`.
    """
    inputs, fields = run_of(method, await facts_of(connection, method), values, params, options)
    answer = await done(connection, "/v1/jobs", inputs, fields, waiting, keep=True, warn=False)
    if isinstance(answer, Reply):
        return succeeded(json_of(answer, "id", "status", "result"))
    return answer.job


async def submitted(
    connection: AsyncConnection,
    method: str,
    values: Mapping[str, Any],
    params: Mapping[str, Any],
    options: Mapping[str, Any],
    waiting: Waiting,
) -> dict[str, Any]:
    """The job of a run as it was accepted. Raises as `ran`, but for the job's own failure."""
    inputs, fields = run_of(method, await facts_of(connection, method), values, params, options)
    async with supplied(connection, inputs, waiting.progress, keep=True, warn=False) as given:
        reply = await connection.send(post("/v1/jobs", body_of(fields, given)))
        return json_of(reply, "id", "status")


async def compared(
    connection: AsyncConnection,
    runs: Sequence[Run],
    values: Mapping[str, Any],
    fields: Mapping[str, Any],
    waiting: Waiting,
) -> dict[str, Any]:
    """A comparison with its table.

    values : inputs by role, `labels` and `hierarchy` among them where they are only for metrics.
    fields : seeds, metrics, cut, name, ...; None: left out.

    Raises as `ran`. A run that fails has its problem in the table.
    """
    described = [compared_run(run) for run in runs]
    several: set[str] = set()
    taken: set[str] = set()
    for run in described:
        facts = await facts_of(connection, run["method"])
        several.update(facts.several)
        taken.update(facts.inputs)
    inputs = converted_inputs(values, several=several)
    async with supplied(connection, inputs, waiting.progress, keep=True) as given:
        truths: dict[str, Any] = {
            role: given[role] for role in ("labels", "hierarchy") if role in given
        }
        # A method that takes labels gets them as an input, too.
        shared = {role: own for role, own in given.items() if role not in truths or role in taken}
        body = body_of({**fields, "runs": described, "inputs": {}}, truths)
        answer = await awaited(connection, "/v1/comparisons", {**body, "inputs": shared}, waiting)
    if isinstance(answer, Reply):
        return json_of(answer, "id", "status", "table")
    path = f"/v1/comparisons/{answer.accepted['id']}"
    return await connection.described(path, "id", "status", "table")


async def evaluated(
    connection: AsyncConnection,
    path: str,
    truths: Mapping[str, Any],
    rows: Mapping[str, Any],
    fields: Mapping[str, Any],
    waiting: Waiting,
) -> dict[str, Any]:
    """An evaluation of the tree or model at `path`.

    truths : inputs by field of the request. rows : new rows, by role. fields : further ones; None:
    left out. Raises InputError for a role that is given twice, and as `done`.
    """
    for role in {role for role, value in truths.items() if value is not None} & rows.keys():
        raise InputError(role, "it is given twice, as new rows and beside them.")
    inputs = {
        **converted_inputs(truths, rows=rows or truths),
        **converted_inputs(rows, "inputs."),
    }
    answer = await done(connection, f"{path}/evaluations", inputs, fields, waiting)
    if isinstance(answer, Reply):
        result = json_of(answer, "metrics")
    else:
        ended = answer.job["result"]
        result = dict(ended["evaluation"])
        if "nodes" in ended:
            result["nodes"] = f"/v1/jobs/{answer.job['id']}/nodes"
        if isinstance(result.get("tables"), str):
            result["tables"] = await connection.described(result["tables"])
    if isinstance(result.get("nodes"), str):
        nodes = await connection.described(result["nodes"], "items")
        result["nodes"] = nodes["items"]
    return result


async def predicted(
    connection: AsyncConnection,
    path: str,
    rows: Mapping[str, Any],
    fields: Mapping[str, Any],
    waiting: Waiting,
) -> list[dict[str, Any]]:
    """Predictions of the tree or model at `path`, one a row. Raises as `done`."""
    inputs = converted_inputs(rows, "inputs.")
    body = {**fields, "inputs": {}}
    answer = await done(connection, f"{path}/predictions", inputs, body, waiting, warn=False)
    if isinstance(answer, Reply):
        items: list[dict[str, Any]] = json_of(answer, "items")["items"]
        return items
    warn_of(answer.job)
    whole = f"/v1/jobs/{answer.job['id']}/predictions"
    predictions = await connection.described(whole, "items", timeout_s=CONTENT_TIMEOUT_S)
    return list(predictions["items"])
