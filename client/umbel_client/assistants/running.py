"""Tools that run methods."""

from __future__ import annotations

import inspect
from contextlib import suppress
from typing import Annotated, Any

from pydantic import Field

from umbel_client.assistants.answers import Catalogue, Compared, JobState, Ran, Uploaded
from umbel_client.assistants.values import (
    Clusters,
    Labels,
    Metrics,
    Name,
    Value,
    Wait,
    by_role,
    given,
)
from umbel_client.client import Umbel
from umbel_client.core.events import Waiting
from umbel_client.core.waiting import followed
from umbel_client.errors import InputError, JobCancelled, ProblemError, WaitTimeout
from umbel_client.methods import METHODS, documentation
from umbel_client.quoting import shown

Inputs = Annotated[
    dict[str, Value],
    Field(
        description="By role, as `methods` lists them: {'logits': 'x.npy', 'names': [...]}; labels "
        "are an argument beside them"
    ),
]

_ARGUMENTS = frozenset(
    {*inspect.signature(Umbel.run).parameters, *inspect.signature(Umbel.compare).parameters}
)
"""What is not the role of an input."""


class Running:
    """The tools on one service."""

    def __init__(self, umbel: Umbel) -> None:
        self._umbel = umbel

    def methods(
        self, method: Annotated[str | None, Field(description="An id, such as l2h")] = None
    ) -> Catalogue:
        """The methods that can be run, or what one of them takes: its inputs and parameters."""
        if method is None:
            every = {name: documentation(name).partition("\n")[0] for name in METHODS}
            return {"methods": every, "method": None}
        if method not in METHODS:
            raise InputError(
                "method", f"there is no {shown(method)}; there are {', '.join(METHODS)}."
            )
        facts, text = METHODS[method], documentation(method)
        return {
            "methods": {method: text.partition("\n")[0]},
            "method": {
                "inputs": list(facts.inputs),
                "params": list(facts.params),
                "documentation": text,
            },
        }

    def upload(
        self,
        content: Value,
        role: Annotated[
            str,
            Field(description="features, logits, labels, names, documents, distances, ..."),
        ] = "features",
        name: Name = None,
        table: Annotated[
            dict[str, Any] | None,
            Field(
                description="How a table is read: columns (a list, the features), id_column, "
                "label_column, text_column, weight_column, delimiter, decimal, thousands, header"
            ),
        ] = None,
    ) -> Uploaded:
        """Upload a file, or a list of rows or values, once for several runs; answers with its id,
        how its columns were read, and what was left out."""
        dataset = self._umbel.upload(given(role, content), role, name=name, **(table or {}))
        return {
            "dataset": dataset.id,
            "columns": [str(each["name"]) for each in dataset.columns or ()][:100],
            "warnings": list(dataset.warnings),
        }

    def run(
        self,
        method: Annotated[str, Field(description="An id of `methods`")],
        inputs: Inputs,
        labels: Labels = None,
        params: Annotated[
            dict[str, Any] | None, Field(description="Parameters by name, as `methods` lists them")
        ] = None,
        preprocess: Annotated[
            list[dict[str, Any]] | None, Field(description='Steps such as {"step": "standardize"}')
        ] = None,
        then: Annotated[
            str | None, Field(description="A second method, on the logits of the first")
        ] = None,
        name: Name = None,
        wait_s: Wait = None,
    ) -> Ran:
        """Run a method on inputs, wait for its end, and answer with the tree. Labels are for
        methods that learn from them."""
        tree = self._umbel.run(
            method,
            preprocess=preprocess,
            then=then,
            name=name,
            wait_s=wait_s,
            params=params,
            **by_role(inputs, labels, other=_ARGUMENTS),
        )
        return {
            "tree": tree.id,
            "job": tree.job,
            "n_points": tree.n_points,
            "n_leaves": tree.n_leaves,
            "metrics": dict(tree.metrics),
            "warnings": list(tree.warnings),
            "page": tree.url,
        }

    def compare(
        self,
        methods: Annotated[
            list[str | dict[str, Any]],
            Field(description='Ids, or {"method": "kmeans", "params": {"n_clusters": 5}}'),
        ],
        inputs: Inputs,
        labels: Labels = None,
        metrics: Metrics = None,
        seeds: Annotated[int, Field(ge=1, le=100, description="Runs of methods that draw")] = 5,
        k: Clusters = None,
        wait_s: Wait = None,
    ) -> Compared:
        """Run several methods on the same inputs; a table of metrics and seconds, and which method
        is best by each metric."""
        shared = by_role(inputs, labels, other=_ARGUMENTS - {"hierarchy"})
        comparison = self._umbel.compare(
            methods,
            metrics=metrics,
            seeds=seeds,
            cut=None if k is None else {"k": k},
            keep_trees=True,
            wait_s=wait_s,
            **shared,
        )
        rows = comparison.rows()
        return {
            "comparison": comparison.id,
            "rows": rows,
            "best": {name: rows[row]["method"] for name, row in comparison.best.items()},
            "warnings": list(comparison.warnings),
        }

    def job(
        self,
        job: Annotated[str, Field(pattern=r"^job_\w+$", description="The id of a job, job_...")],
        wait_s: Annotated[
            float | None, Field(gt=0, le=3600, description="Wait so many seconds for its end")
        ] = None,
    ) -> JobState:
        """Where a job stands whose end was not waited for, and the tree that it made."""
        found = self._umbel.job(job)
        if wait_s is not None and not found.ended:
            with suppress(WaitTimeout, ProblemError, JobCancelled):
                followed(found._connection, found.id, Waiting(wait_s), cancel=False)
            found.refresh()
        body, result = found.body, found.body.get("result") or {}
        return {
            "job": found.id,
            "status": found.status,
            "kind": body.get("kind"),
            "tree": result.get("tree"),
            "problem": (body.get("error") or {}).get("detail"),
        }
