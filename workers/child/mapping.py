"""The points of a tree laid out in the plane, as the work of a child."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from models.arrays import Single
from models.errors import UsageError
from models.inputs.data import Data
from models.maps.mapping import disc_map, mapped
from models.maps.options import MapTerms
from models.preprocess.inputs import TERMS
from models.preprocess.pipeline import ROLE
from models.registry import method
from models.running.progress import Progress
from workers.artifacts import results
from workers.child.fit_rows import matrix_of, prepared
from workers.child.sources import Source, of_role, tree_of
from workers.model import Request


@dataclass(frozen=True, slots=True)
class MappedPoints:
    """positions : (n_points, 2). facts : of the answer. warnings : of the job."""

    positions: Single
    facts: dict[str, Any]
    warnings: tuple[str, ...]


def mapped_points(
    request: Request, sources: Sequence[Source], threads: int, progress: Progress
) -> MappedPoints:
    """The map that a request of the kind `map` describes.

    sources : the tree, with its model if there is one, and what is mapped.

    Raises UsageError for rows that are not those of the tree, for a model that is gone where it is
    needed, and as `models.maps.mapping.mapped`.
    """
    terms = MapTerms.model_validate(request.params)
    source = of_role(sources, "tree")
    tree = tree_of(source)
    given = [each for each in sources if each.role != "tree"]
    values = prepared(request, source, given, terms.seed)
    values.pop(TERMS, None)
    progress(0.02, "mapping")
    if terms.by == "disc":
        if results.MODEL not in source.files:
            raise UsageError(
                "The tree's model was deleted, and with it where its method placed the points.",
                code="cannot-predict",
            )
        stage = results.map_stage(source.files[results.MODEL], 0)
        result = disc_map(method(stage.method).ball(stage.model, Data(values)), terms)
    else:
        result = mapped(matrix_of(values), terms, threads, progress)
    if len(result.positions) != tree.n_points:
        raise UsageError(
            f"There are {len(result.positions):,} rows to be mapped; the tree has "
            f"{tree.n_points:,} points. Give `inputs` with a row of features for each.",
            code="wrong-shape",
            role=ROLE,
        )
    facts = {
        **terms.own(),
        "n_points": tree.n_points,
        "n_columns": result.n_columns,
        "explained": result.explained,
        "neighbors_kept": result.neighbours_kept,
    }
    return MappedPoints(result.positions, facts, result.warnings)
