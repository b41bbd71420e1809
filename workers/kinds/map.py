"""`map`: the points of a tree laid out in the plane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from models.arrays import Single
from models.errors import UsageError
from models.inputs.data import Data
from models.maps.options import MapTerms
from models.preprocess.inputs import TERMS
from models.preprocess.pipeline import ROLE
from models.registry import method
from models.running.progress import Progress
from workers.artifacts import results
from workers.kinds.kind import Find, Lane, NamedKind, Size
from workers.kinds.of_fit import OfFit
from workers.model import Request
from workers.work.fit_rows import matrix_of, prepared
from workers.work.job import Job, Outcome
from workers.work.sources import Source, of_role, tree_of

_PROJECTED = ("pca", "disc")
"""Maps that take one pass."""


class _Map(NamedKind[OfFit]):
    name = "map"
    noun = "map"
    prefix = "map"
    companion = True
    Options = OfFit

    def lane(self, request: Request) -> Lane:
        return super().lane(request) if request.params["by"] in _PROJECTED else "fit"

    def sources(self, find: Find, options: OfFit) -> list[Source]:
        return options.sources(find)

    def seconds(self, options: OfFit, params: Mapping[str, Any], size: Size) -> float | None:
        """Neighbours are searched, and positions improved in rounds, but for a projection."""
        rows = max(size.n_rows, size.n_nodes // 3)
        return size.linear_s + (0.0 if params.get("by") in _PROJECTED else 2e-3 * rows)

    def run(self, job: Job, options: OfFit) -> Outcome:
        job.reading()
        positions, facts, warnings = _mapped(
            job.request, options, job.sources, job.spec.threads, job.progress
        )
        results.save_positions(positions, job.folder)
        return Outcome(result={"tree": options.tree, "map": facts}, warnings=warnings)


KIND = _Map()


def _mapped(
    request: Request, options: OfFit, sources: Sequence[Source], threads: int, progress: Progress
) -> tuple[Single, dict[str, Any], tuple[str, ...]]:
    """((n_points, 2) positions, facts of the answer, warnings).

    sources : the tree, with its model if there is one, and what is mapped.

    Raises UsageError for rows other than the tree's, for a model that is gone where it is
    needed, and as `models.maps.mapping.mapped`.
    """
    from models.maps.mapping import disc_map, mapped

    terms = MapTerms.model_validate(request.params)
    source = of_role(sources, "tree")
    tree = tree_of(source)
    given = [each for each in sources if each.role != "tree"]
    values = prepared(options, source, given, terms.seed)
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
    return result.positions, facts, result.warnings
