"""A tree measured, as the work of a child."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from models.inputs.images import as_matrix
from models.metrics.catalogue import evaluate
from models.running.progress import Progress
from workers.artifacts import results
from workers.child.fit import StepProgress
from workers.child.placing import NewRows
from workers.child.sources import Source, of_role, tree_of, values_of
from workers.model import Request


def evaluated(
    request: Request, sources: Sequence[Source], folder: Path, progress: Progress
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The result of an evaluation of a tree, and its warnings; a report on nodes is written.

    Raises UsageError as `models.metrics.catalogue.evaluate`.
    """
    options = request.options
    rows = NewRows.of(sources, options["inputs"]) if options.get("inputs") else None
    values = values_of(sources, but=("tree",)) if rows is None else rows.others
    given: dict[str, Any] = {role: as_matrix(value) for role, value in values.items()}
    fitted = tree_of(of_role(sources, "tree")) if rows is None else rows.fitted
    tree = fitted if rows is None else rows.tree
    progress(0.1, "measuring")
    per_node = options.get("per_node", False)
    measured = evaluate(
        tree,
        **given,
        fitted=fitted,
        metrics=options.get("metrics"),
        cut=options.get("cut"),
        kernel=options.get("kernel", "cosine"),
        sample=options.get("sample"),
        seed=options.get("seed", 0),
        measured=options.get("measured"),
        progress=StepProgress(progress, 0, 2) if per_node else progress,
    )
    warnings = [*(() if rows is None else rows.warnings), *measured.warnings]
    result: dict[str, Any] = {"tree": options["tree"]}
    if per_node:
        from models.metrics.nodes import report_on_nodes

        node_report = report_on_nodes(
            tree,
            labels=given.get("labels"),
            features=given.get("features"),
            n_exemplars=options.get("n_exemplars", 3),
            progress=StepProgress(progress, 1, 2),
        )
        warnings += node_report.warnings
        results.save_nodes(node_report, folder)
        result["nodes"] = {"n_nodes": tree.n_nodes}
    evaluation = {
        "metrics": dict(measured.metrics),
        "standard_errors": dict(measured.standard_errors),
        "cut": measured.cut,
        "placed": None if rows is None else rows.facts,
        "warnings": warnings,
    }
    return {**result, "evaluation": evaluation}, tuple(warnings)
