"""`heatmap`: the clusters of a tree as the rows of a matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from models.heatmaps.heatmap import MEASURED, TILE, HeatmapTerms
from models.inputs.data import Data
from models.preprocess.inputs import TERMS
from models.preprocess.pipeline import parsed
from models.roles import role_of
from models.running.progress import Progress, subprogress
from workers.artifacts import results
from workers.formats.column_roles import features
from workers.kinds.kind import Find, NamedKind, Size
from workers.kinds.of_fit import OfFit
from workers.model import Request
from workers.work.job import Job, Outcome

if TYPE_CHECKING:
    from models.heatmaps.drawing import Heatmap
from workers.work.fit_rows import matrix_of, prepared
from workers.work.sources import Source, of_role, tree_of

_MOST_COMPARED = 20_000
"""Nodes and points of a tree whose pairs are estimated; larger trees are drawn by clusters."""


class _Heatmap(NamedKind[OfFit]):
    name = "heatmap"
    noun = "heatmap"
    prefix = "hm"
    companion = True
    Options = OfFit

    def sources(self, find: Find, options: OfFit) -> list[Source]:
        return options.sources(find)

    def seconds(self, options: OfFit, params: Mapping[str, Any], size: Size) -> float | None:
        """Distances are measured for the rows or clusters that are drawn."""
        most = min(size.n_nodes, _MOST_COMPARED)
        pairs = most**2 if params.get("what") == "distances" else 0
        return size.linear_s + 5e-9 * pairs

    def run(self, job: Job, options: OfFit) -> Outcome:
        job.reading()
        result, facts = _drawn(job.request, options, job.sources, job.progress)
        results.save_heatmap(result, job.folder)
        return Outcome(result={"tree": options.tree, "heatmap": facts}, warnings=result.warnings)


KIND = _Heatmap()


def _names_of_columns(options: OfFit, given: Sequence[Source]) -> list[str] | None:
    """The names that the tables of what is shown bring, side by side; None where one has none."""
    if not all(step.keeps_columns for step in parsed(options.preprocess)):
        return None
    shown = [each for each in given if role_of(each.role).wants == "matrix"]
    names = [list(features(each.columns)) for each in shown]
    return [name for own in names for name in own] if names and all(names) else None


def _drawn(
    request: Request, options: OfFit, sources: Sequence[Source], progress: Progress
) -> tuple[Heatmap, dict[str, Any]]:
    """(the heatmap, facts of the answer).

    sources : the tree, with its model if there is one, and what is shown, with names of its
    columns.

    Raises UsageError as `models.heatmaps.drawing.heatmap`.
    """
    from models.heatmaps.drawing import heatmap, measured_heatmap
    from models.heatmaps.measured import of_features

    cut = request.params["cut"]
    terms = HeatmapTerms.model_validate(
        {name: value for name, value in request.params.items() if name != "cut"}
    )
    source = of_role(sources, "tree")
    given = [each for each in sources if each.role != "tree"]
    within = subprogress(progress, 0.02, 0.98)
    if terms.metric in ("gower", "pairwise"):
        result = _as_fitted(source, cut, terms, within)
        return result, _facts(result, terms)
    values = prepared(options, source, given, seed=0, gaps=terms.what == "features")
    names_role = options.names_of_fit or TERMS
    names = Data(values).names(names_role)
    if names is None:
        names = _names_of_columns(options, given)
    values = {role: value for role, value in values.items() if role not in (names_role, TERMS)}
    rows = matrix_of(values) if values else None
    if terms.metric in MEASURED and rows is not None:
        result = measured_heatmap(tree_of(source), cut, *of_features(rows, terms.metric), within)
    else:
        result = heatmap(tree_of(source), cut, rows, names, terms, within)
    return result, _facts(result, terms)


def _as_fitted(source: Source, cut: Any, terms: HeatmapTerms, progress: Progress) -> Heatmap:
    """Distances of pairs of points as the fit measured them."""
    from models.heatmaps.drawing import measured_heatmap
    from models.heatmaps.measured import of_fit

    tree, path = tree_of(source), source.files.get(results.MODEL)
    model = None if path is None else results.load_model(path)
    points = of_fit(None if model is None else model.stages[-1].model, terms.metric)
    bare = () if model is None else model.bare
    return measured_heatmap(tree, cut, points, (), progress, bare)


def _facts(result: Heatmap, terms: HeatmapTerms) -> dict[str, Any]:
    """The facts of the answer."""
    return {
        **terms.own(),
        "n_rows": result.n_rows,
        "n_columns": result.n_columns,
        "n_levels": result.n_levels,
        "tile": TILE,
        "low": result.low,
        "high": result.top,
        "missing": result.missing,
        "shown_low": result.shown[0],
        "shown_high": result.shown[1],
    }
