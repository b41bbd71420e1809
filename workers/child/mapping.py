"""The points of a tree laid out in the plane, as the work of a child."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from models.arrays import Matrix, Single
from models.data import Data, Value
from models.errors import UsageError
from models.images import as_matrix
from models.maps.mapping import disc_map, mapped
from models.maps.options import MapTerms
from models.preprocess.inputs import Preparation, fit_inputs
from models.preprocess.pipeline import ROLE
from models.progress import Progress
from models.registry import method
from models.rows import Rows
from workers.artifacts import results
from workers.child.sources import Source, of_role, tree_of, values_of
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
    values = _prepared(request, values_of(given, many=frozenset({ROLE})), source)
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
        result = mapped(_rows(values), terms, threads, progress)
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


def _prepared(request: Request, values: dict[str, Value], tree: Source) -> dict[str, Value]:
    """The values as the fit prepared them; given ones are used as they are."""
    several = values.get(ROLE)
    if isinstance(several, tuple) and len(several) == 1:
        values = {**values, ROLE: several[0]}
    steps = request.options["preprocess"]
    if request.options["of_fit"] is None or not steps:
        return values
    if results.MODEL in tree.files:
        return Preparation(results.load_prepared(tree.files[results.MODEL])).apply(values)
    return fit_inputs(steps, values, request.params["seed"])[1]


def _rows(values: Mapping[str, Value]) -> Matrix | Rows:
    """The one matrix; of several over the same points, their columns side by side."""
    (value,) = values.values()
    if not isinstance(value, tuple):
        return value if isinstance(value, Rows) else _matrix(value)
    matrices = [
        each.values(0, each.shape[0]) if isinstance(each, Rows) else _matrix(each) for each in value
    ]
    if any(isinstance(each, sp.csr_array) for each in matrices):
        return sp.csr_array(sp.hstack([sp.csr_array(each) for each in matrices]))
    return np.hstack(matrices)


def _matrix(value: Any) -> Matrix:
    return Data({ROLE: as_matrix(value)}).matrix(ROLE)
