"""`predict`: new rows placed in a tree by its model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from models.arrays import Arrays
from models.method import PredictionOptions
from models.registry import method
from models.running.progress import Piece, Progress, subprogress
from models.tree.cluster_names import has_names
from models.tree.cut import CUTS, clusters
from workers.artifacts import results
from workers.artifacts.predictions import CalibratedAnswers, PlacedClusters, save_predictions
from workers.kinds.kind import Find, Kind, OfTree, Size
from workers.work.crew import Crew
from workers.work.job import Job, Outcome
from workers.work.named_columns import ids_of
from workers.work.placing import fitted_of, new_rows, placed, placed_piece, placing_data
from workers.work.sources import Source, of_role


class PredictionTerms(OfTree):
    """What is predicted of each row; fields that were not given are unset.

    k, height, level : one of them cuts the tree into clusters. calibration : the id of the one that
    answers, at `alpha` instead of the kept one.
    """

    top_k: int | None = None
    threshold: float | None = None
    confidence: float | None = None
    k: int | None = None
    height: float | None = None
    level: int | None = None
    calibration: str | None = None
    alpha: float | None = None


class _Predict(Kind[PredictionTerms]):
    name = "predict"
    noun = "prediction"
    read_by = "tree"
    Options = PredictionTerms

    def sources(self, find: Find, options: PredictionTerms) -> list[Source]:
        sources = [find.tree("tree", options.tree, model=True)]
        if options.calibration is not None:
            sources.append(find.calibration("calibration", options.calibration))
        return sources

    def seconds(
        self, options: PredictionTerms, params: Mapping[str, Any], size: Size
    ) -> float | None:
        """Rows are placed."""
        return size.placing_s

    def run(self, job: Job, options: PredictionTerms) -> Outcome:
        job.reading()
        tree, model = fitted_of(job.sources)
        values = new_rows(job.sources, model, but=("tree", "calibration"))
        if job.spec.piece is not None:
            results.save_arrays(placed_piece(tree, model, values, job.spec.piece), job.folder)
            return Outcome()
        job.at(0.1, "predicting")
        last = model.stages[-1]
        given = options.model_dump(exclude_unset=True)
        within = subprogress(job.progress, 0.1, 0.9)

        def crew_of(piece: Callable[[Piece, Progress], Arrays]) -> Crew:
            return Crew(piece, within, coordinator=job.coordinator)

        predictions = placed(tree, model, values, _options(given), crew_of)
        bounds = {key: given[key] for key in CUTS if key in given}
        # A method that knows noise answers by clusters, without a cut by the leaves.
        cut = clusters(tree, **bounds) if bounds or predictions.noise is not None else None
        answers = None
        if options.calibration is not None:
            from workers.kinds.calibrate import answered

            path = of_role(job.sources, "calibration").file
            data = placing_data(model, values)
            found = answered(path, last, tree, data, options.alpha)
            answers = CalibratedAnswers.of(tree, found)
        job.at(0.9, "writing")
        in_clusters = None if cut is None else PlacedClusters.of(tree, cut, predictions)
        named = method(last.method).classifies or has_names(tree)
        save_predictions(
            predictions,
            job.folder,
            tree.name if named else None,
            in_clusters,
            answers,
            ids_of(job.sources),
        )
        n_rows = int(predictions.leaf.shape[0])
        notes = () if cut is None or cut.warning is None else (cut.warning,)
        return Outcome(
            result={"tree": options.tree, "predictions": {"n_rows": n_rows}},
            warnings=(*notes, *predictions.warnings),
        )

    def shown(self, job_id: str, result: dict[str, Any]) -> dict[str, Any]:
        return {**result, "predictions": f"/v1/jobs/{job_id}/predictions"}


KIND = _Predict()


def _options(given: dict[str, Any]) -> PredictionOptions:
    names = ("top_k", "threshold", "confidence")
    return PredictionOptions(**{name: given[name] for name in names if name in given})
