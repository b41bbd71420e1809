"""Tools that measure trees, and use them on new rows."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from umbel_client.assistants.values import (
    Labels,
    Limit,
    Tree,
    Value,
    Wait,
    by_role,
    given,
    shortened,
)
from umbel_client.client import Umbel
from umbel_client.errors import InputError

_TRUTHS = ("labels", "hierarchy", "features", "distances", "similarity")

Rows = Annotated[
    str | list[Any], Field(description="Rows as the fit's: a path, an id, or a list of lists")
]


class Judging:
    """The tools on one service."""

    def __init__(self, umbel: Umbel) -> None:
        self._umbel = umbel

    def evaluate(
        self,
        tree: Tree,
        labels: Labels = None,
        inputs: Annotated[
            dict[str, Value] | None,
            Field(
                description="Other truths by role: hierarchy (another tree or class paths), "
                "features, distances, similarity"
            ),
        ] = None,
        metrics: Annotated[
            list[str] | None, Field(description="Such as nmi, ari; none: all that fit")
        ] = None,
        k: Annotated[int | None, Field(description="Clusters that flat metrics look at")] = None,
    ) -> dict[str, Any]:
        """The metrics of a tree against what is known of its rows."""
        truths = dict(inputs or {})
        if unknown := sorted(set(truths) - set(_TRUTHS)):
            raise InputError(unknown[0], f"an evaluation takes {', '.join(_TRUTHS)}.")
        if labels is not None:
            if "labels" in truths:
                raise InputError("labels", "they are given twice, by themselves and in inputs.")
            truths["labels"] = labels
        cut = None if k is None else {"k": k}
        evaluation = self._umbel.tree(tree).evaluate(metrics=metrics, cut=cut, **by_role(truths))
        return {
            "metrics": dict(evaluation),
            "standard_errors": evaluation.standard_errors,
            "cut": evaluation.cut,
            "warnings": list(evaluation.warnings),
        }

    def predict(
        self,
        tree: Tree,
        rows: Rows,
        k: Annotated[int | None, Field(description="Also the cluster of each row")] = None,
        calibration: Annotated[
            str | None, Field(description="cal_...: also the nodes that surely hold the class")
        ] = None,
        limit: Limit = 50,
    ) -> dict[str, Any]:
        """New rows placed in a tree: leaf, label, and how sure."""
        found = self._umbel.tree(tree).predict(given("rows", rows), k=k, calibration=calibration)
        items = [{"row": row, **item} for row, item in enumerate(found)]
        for item in items:
            item.pop("path", None)
        return shortened("rows", items, limit)

    def calibrate(
        self,
        tree: Tree,
        labels: Annotated[
            str | list[Any], Field(description="The class of each row: a path, an id, or a list")
        ],
        rows: Rows,
        alpha: Annotated[
            float | None, Field(gt=0, lt=1, description="The error that is kept; default: 0.1")
        ] = None,
        limit: Limit = 20,
    ) -> dict[str, Any]:
        """Learn from rows that the model has not seen how deep its answers may go; answers with
        what is promised, the labels that look wrong and the pairs that need more data."""
        calibration = self._umbel.tree(tree).calibrate(
            given("labels", labels), given("rows", rows), alpha=alpha
        )
        return {
            "calibration": calibration.id,
            "result": calibration.body["result"],
            **shortened("suspects", calibration.suspects, limit),
            **shortened("pairs", calibration.pairs, limit),
            "warnings": list(calibration.warnings),
        }

    def drift(
        self,
        tree: Tree,
        reference: Rows,
        batch: Rows,
        reference_labels: Labels = None,
        batch_labels: Labels = None,
        limit: Limit = 20,
    ) -> dict[str, Any]:
        """What moved in a tree from reference rows to new ones, the surest changes first."""
        known = {
            name: given("labels", labels)
            for name, labels in (
                ("reference_labels", reference_labels),
                ("batch_labels", batch_labels),
            )
            if labels is not None
        }
        drift = self._umbel.tree(tree).drift(
            given("rows", reference), given("rows", batch), **known
        )
        return {
            "drift": drift.id,
            "moved": drift.moved,
            "aspects": (drift.body["result"] or {}).get("aspects"),
            **shortened("moves", drift.moves, limit),
            "warnings": list(drift.warnings),
        }

    def name(
        self,
        tree: Tree,
        by: Annotated[
            Literal["labels", "terms", "items", "features", "model"],
            Field(description="What names are made of"),
        ],
        inputs: Annotated[
            dict[str, Value] | None,
            Field(description="What the fit had not: documents, names, labels, feature_names"),
        ] = None,
        wait_s: Wait = None,
        limit: Limit = 50,
    ) -> dict[str, Any]:
        """Name the nodes of a tree by what their rows share, the largest nodes first."""
        naming = self._umbel.tree(tree).name_nodes(by, wait_s=wait_s, **by_role(inputs or {}))
        nodes = sorted(naming.nodes, key=lambda node: -node["size"])
        kept = [{key: node[key] for key in ("node", "name", "size")} for node in nodes]
        return {
            "naming": naming.id,
            **shortened("nodes", kept, limit),
            "warnings": list(naming.warnings),
        }
