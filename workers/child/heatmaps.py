"""The clusters of a tree as the rows of a matrix, as the work of a child."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from models.heatmaps.drawing import Heatmap, heatmap
from models.heatmaps.options import HeatmapTerms
from models.heatmaps.tiles import TILE
from models.inputs.data import Data
from models.preprocess.inputs import TERMS
from models.running.progress import Progress, subprogress
from workers.child.fit_rows import matrix_of, prepared
from workers.child.sources import Source, of_role, tree_of
from workers.model import Request


def drawn(
    request: Request, sources: Sequence[Source], progress: Progress
) -> tuple[Heatmap, dict[str, Any]]:
    """(the heatmap that a request of the kind `heatmap` describes, facts of the answer).

    sources : the tree, with its model if there is one, and what is shown, with names of its
    columns.

    Raises UsageError as `models.heatmaps.drawing.heatmap`.
    """
    cut = request.params["cut"]
    terms = HeatmapTerms.model_validate(
        {name: value for name, value in request.params.items() if name != "cut"}
    )
    source = of_role(sources, "tree")
    given = [each for each in sources if each.role != "tree"]
    values = prepared(request, source, given, seed=0)
    names_role = request.options["names_of_fit"] or TERMS
    names = Data(values).names(names_role)
    values = {role: value for role, value in values.items() if role not in (names_role, TERMS)}
    rows = matrix_of(values) if values else None
    result = heatmap(tree_of(source), cut, rows, names, terms, subprogress(progress, 0.02, 0.98))
    facts = {
        **terms.own(),
        "n_rows": result.n_rows,
        "n_columns": result.n_columns,
        "n_levels": result.n_levels,
        "tile": TILE,
        "low": result.low,
        "high": result.high,
        "shown_low": result.shown[0],
        "shown_high": result.shown[1],
    }
    return result, facts
