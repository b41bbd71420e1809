"""Tools that measure trees, and use them on new rows."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from umbel_client.assistants.answers import Calibrated, Drifted, Evaluated, Named, Predicted
from umbel_client.assistants.values import (
    Clusters,
    Labels,
    Limit,
    Metrics,
    Tree,
    Value,
    Wait,
    by_role,
    given,
)
from umbel_client.client import Umbel

_TRUTHS = ("hierarchy", "features", "distances", "similarity")
_EVIDENCE = ("documents", "names", "features", "feature_names")

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
        metrics: Metrics = None,
        k: Clusters = None,
        wait_s: Wait = None,
    ) -> Evaluated:
        """The metrics of a tree against what is known of its rows."""
        truths = by_role(inputs or {}, labels, taken=_TRUTHS)
        cut = None if k is None else {"k": k}
        evaluation = self._umbel.tree(tree).evaluate(
            metrics=metrics, cut=cut, wait_s=wait_s, **truths
        )
        return {
            "metrics": dict(evaluation),
            "standard_errors": dict(evaluation.standard_errors),
            "cut": evaluation.cut,
            "warnings": list(evaluation.warnings),
        }

    def predict(
        self,
        tree: Tree,
        rows: Rows,
        k: Annotated[int | None, Field(ge=1, description="Also the cluster of each row")] = None,
        calibration: Annotated[
            str | None, Field(description="cal_...: also the nodes that surely hold the class")
        ] = None,
        limit: Limit = 50,
        wait_s: Wait = None,
    ) -> Predicted:
        """New rows placed in a tree: leaf, label, and how sure."""
        found = self._umbel.tree(tree).predict(
            given("rows", rows), k=k, calibration=calibration, wait_s=wait_s
        )
        items = [
            {"row": row, **{name: own for name, own in item.items() if name != "path"}}
            for row, item in enumerate(found[:limit])
        ]
        return {"rows": items, "n_rows": len(found)}

    def calibrate(
        self,
        tree: Tree,
        labels: Annotated[
            str | list[Any],
            Field(description="The class of each row, by name or number: a path, an id, or a list"),
        ],
        rows: Rows,
        alpha: Annotated[
            float | None, Field(gt=0, lt=1, description="The error that is kept; default: 0.1")
        ] = None,
        limit: Limit = 20,
        wait_s: Wait = None,
    ) -> Calibrated:
        """Learn from rows that the model has not seen how deep its answers may go; answers with
        what is promised, the labels that look wrong and the pairs that need more data."""
        calibration = self._umbel.tree(tree).calibrate(
            given("labels", labels), given("rows", rows), alpha=alpha, wait_s=wait_s
        )
        return {
            "calibration": calibration.id,
            "result": dict(calibration.body["result"]),
            "suspects": calibration.suspects[:limit],
            "n_suspects": len(calibration.suspects),
            "pairs": calibration.pairs[:limit],
            "n_pairs": len(calibration.pairs),
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
        wait_s: Wait = None,
    ) -> Drifted:
        """What moved in a tree from reference rows to new ones, the surest changes first."""
        known: dict[str, Any] = {
            name: given("labels", labels)
            for name, labels in (
                ("reference_labels", reference_labels),
                ("batch_labels", batch_labels),
            )
            if labels is not None
        }
        drift = self._umbel.tree(tree).drift(
            given("rows", reference), given("rows", batch), wait_s=wait_s, **known
        )
        return {
            "drift": drift.id,
            "moved": drift.moved,
            "aspects": list((drift.body["result"] or {}).get("aspects") or ()),
            "moves": drift.moves[:limit],
            "n_moves": drift.n_moves,
            "warnings": list(drift.warnings),
        }

    def name(
        self,
        tree: Tree,
        by: Annotated[
            Literal["labels", "terms", "items", "features", "model"],
            Field(
                description="What names are made of; `model` sends what stands out to the language "
                "model that the service's operator has set, if any"
            ),
        ],
        labels: Labels = None,
        inputs: Annotated[
            dict[str, Value] | None,
            Field(description="What the fit had not: documents, names, features, feature_names"),
        ] = None,
        limit: Limit = 50,
        wait_s: Wait = None,
    ) -> Named:
        """Name the nodes of a tree by what their rows share, the largest nodes first."""
        evidence = by_role(inputs or {}, labels, taken=_EVIDENCE)
        naming = self._umbel.tree(tree).name_nodes(by, wait_s=wait_s, **evidence)
        nodes = sorted(naming.nodes, key=lambda node: -node["size"])
        return {
            "naming": naming.id,
            "nodes": [
                {key: node[key] for key in ("node", "name", "size")} for node in nodes[:limit]
            ],
            "n_nodes": len(nodes),
            "sent": naming.sent,
            "warnings": list(naming.warnings),
        }
