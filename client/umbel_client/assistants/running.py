"""Tools that run methods."""

from __future__ import annotations

from typing import Annotated, Any

from anyio import from_thread
from mcp.server.mcpserver import Context
from pydantic import Field

from umbel_client.assistants.values import Labels, Value, Wait, by_role, given
from umbel_client.client import Umbel
from umbel_client.errors import InputError
from umbel_client.methods import METHODS, documentation
from umbel_client.quoting import shown

Inputs = Annotated[
    dict[str, Value],
    Field(description="By role, as `methods` lists them: {'logits': 'x.npy', 'names': [...]}"),
]


class Running:
    """The tools on one service."""

    def __init__(self, umbel: Umbel) -> None:
        self._umbel = umbel

    def methods(
        self, method: Annotated[str | None, Field(description="An id, such as l2h")] = None
    ) -> dict[str, Any]:
        """The methods that can be run, or what one of them takes: its inputs and parameters."""
        if method is None:
            return {name: documentation(name).partition("\n")[0] for name in METHODS}
        if method not in METHODS:
            raise InputError(
                "method", f"there is no {shown(method)}; there are {', '.join(METHODS)}."
            )
        facts = METHODS[method]
        return {
            "inputs": list(facts.inputs),
            "params": list(facts.params),
            "documentation": documentation(method),
        }

    def upload(
        self,
        content: Value,
        role: Annotated[
            str,
            Field(description="features, logits, labels, names, documents, distances, ..."),
        ] = "features",
        name: str | None = None,
    ) -> dict[str, Any]:
        """Upload a file, or a list of rows or values, once for several runs; answers with its id,
        how its columns were read, and what was left out."""
        dataset = self._umbel.upload(given(role, content), role, name=name, progress=False)
        return {
            "dataset": dataset.id,
            "columns": [each["name"] for each in dataset.columns or ()][:100],
            "warnings": list(dataset.warnings),
        }

    def run(
        self,
        method: Annotated[str, Field(description="An id of `methods`")],
        inputs: Inputs,
        ctx: Context,
        params: Annotated[
            dict[str, Any] | None, Field(description="Parameters by name, as `methods` lists them")
        ] = None,
        preprocess: Annotated[
            list[dict[str, Any]] | None, Field(description='Steps such as {"step": "standardize"}')
        ] = None,
        then: Annotated[
            str | None, Field(description="A second method, on the logits of the first")
        ] = None,
        name: str | None = None,
        wait_s: Wait = None,
    ) -> dict[str, Any]:
        """Run a method on inputs, wait for its end, and answer with the tree."""
        _report(ctx, 0.0, "reading the inputs")
        tree = self._umbel.run(
            method,
            preprocess=preprocess,
            then=then,
            name=name,
            wait_s=wait_s,
            progress=lambda fraction, stage: _report(ctx, fraction, stage),
            params=params,
            **by_role(inputs),
        )
        _report(ctx, 1.0, "done")
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
        metrics: list[str] | None = None,
        seeds: Annotated[int, Field(ge=1, le=100, description="Runs of methods that draw")] = 5,
        k: Annotated[int | None, Field(description="Clusters that flat metrics look at")] = None,
        wait_s: Wait = None,
    ) -> dict[str, Any]:
        """Run several methods on the same inputs; a table of metrics and seconds, and which method
        is best by each metric."""
        comparison = self._umbel.compare(
            methods,
            labels=None if labels is None else given("labels", labels),
            metrics=metrics,
            seeds=seeds,
            cut=None if k is None else {"k": k},
            keep_trees=True,
            wait_s=wait_s,
            progress=False,
            **by_role(inputs),
        )
        rows = comparison.rows()
        return {
            "comparison": comparison.id,
            "rows": rows,
            "best": {name: rows[row]["method"] for name, row in comparison.best.items()},
            "warnings": list(comparison.warnings),
        }


def _report(ctx: Context, fraction: float, stage: str) -> None:
    """Progress for who waits; tools run on threads of their server."""
    from_thread.run(ctx.report_progress, fraction, 1.0, stage)
