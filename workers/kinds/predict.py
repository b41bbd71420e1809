"""`predict`: new rows placed in a tree by its model."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from models.arrays import Arrays, Int
from models.inputs.data import Value
from models.method import PredictionOptions, Predictions
from models.preprocess.inputs import Preparation
from models.registry import method
from models.running.progress import Piece, Progress, never_back, silent, subprogress
from models.tree.cluster_names import has_names
from models.tree.cut import CUTS, clusters
from workers.artifacts import results
from workers.artifacts.predictions import (
    CalibratedAnswers,
    PlacedClusters,
    PlacedRows,
    PlacedShares,
    arrays_of,
    nodes_of_labels,
    save_placed,
)
from workers.kinds.kind import Find, Kind, OfTree, Size
from workers.work.crew import Crew
from workers.work.job import Job, Outcome
from workers.work.named_columns import ids_of
from workers.work.placing import (
    NOTED,
    fitted_of,
    new_rows,
    note_rows,
    noted_in,
    placed,
    placed_piece,
    placed_share,
    placing_data,
    placing_shares,
)
from workers.work.row_shares import (
    SHARES,
    Division,
    Share,
    else_together,
    in_shares,
    piece_of_shares,
    refuse_early,
    rows_of,
)
from workers.work.sources import Source, of_role

if TYPE_CHECKING:
    from models.calibration.calibration import NodeAnswers


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
        predicted = _Predicted(job, options)
        if job.spec.piece is not None:
            results.save_arrays(predicted.piece(job.spec.piece), job.folder)
            return Outcome()
        job.progress(0.1, "predicting")
        warnings = predicted.written()
        return Outcome(
            result={"tree": options.tree, "predictions": {"n_rows": predicted.n_rows}},
            warnings=warnings,
        )

    def shown(self, job_id: str, result: dict[str, Any]) -> dict[str, Any]:
        return {**result, "predictions": f"/v1/jobs/{job_id}/predictions"}


KIND = _Predict()


class _Predicted:
    """The rows of a job, and what is predicted of them. n_rows : known once they are written."""

    def __init__(self, job: Job, terms: PredictionTerms) -> None:
        began_s = time.process_time()
        self._job, self._terms = job, terms
        self._tree, self._model = fitted_of(job.sources)
        self._values = new_rows(job.sources, self._model, but=("tree", "calibration"))
        self._given = terms.model_dump(exclude_unset=True)
        names = ("top_k", "threshold", "confidence")
        self._options = PredictionOptions(
            **{name: self._given[name] for name in names if name in self._given}
        )
        self.n_rows = 0
        self._reading_s = time.process_time() - began_s
        # Rows that shares cannot place are placed once more, together.
        _, self._within = never_back(subprogress(job.progress, 0.1, 0.9))

    def piece(self, piece: Piece) -> Arrays:
        """One piece, for an attempt on another worker."""
        if SHARES not in piece:
            return placed_piece(self._tree, self._model, self._values, piece)
        return piece_of_shares(self._arrays_of_share, piece, silent)

    def written(self) -> tuple[str, ...]:
        """Write all predictions; returns their warnings."""
        cut = placing_shares(self._tree, self._model, self._values)
        if len(cut) > 1:
            refuse_early(self._values, self._arrays_of_share, cut)
            with else_together(self._values, self._arrays_of_share):
                return self._in_shares(cut)
        return self._together()

    def _in_shares(self, cut: Sequence[Share]) -> tuple[str, ...]:
        with tempfile.TemporaryDirectory() as folder:
            shares = PlacedShares(Path(folder), len(cut))

            def of_share(share: Share) -> Arrays:
                return self._arrays_of_share(share, shares)

            division = Division(self._within, self._job.coordinator, self._reading_s)
            noted = False
            for number, arrays in in_shares(cut, of_share, division):
                shares.add(number, arrays)
                noted |= NOTED in arrays
            if noted:
                note_rows(self._tree, self._model, self._values)
            filled = Preparation(self._model.prepared).filled(self._values)
            return (*self._write(shares, shares.labelled, shares.answered), *filled)

    def _arrays_of_share(self, share: Share, shares: PlacedShares | None = None) -> Arrays:
        """shares : is shown names and columns first."""
        predictions, noted = placed_share(
            self._tree, self._model, self._values, share, self._options
        )
        answers = self._answers(rows_of(self._values, share))
        if shares is not None:
            shares.all_as(predictions, answers)
        return {**arrays_of(predictions, answers), **noted_in(noted)}

    def _together(self) -> tuple[str, ...]:
        def crew_of(piece: Callable[[Piece, Progress], Arrays]) -> Crew:
            return Crew(piece, self._within, coordinator=self._job.coordinator)

        predictions = placed(self._tree, self._model, self._values, self._options, crew_of)
        answers = self._answers(self._values)
        answered = np.unique(np.zeros(0, np.int64) if answers is None else answers.node)
        labelled = np.unique(nodes_of_labels(predictions))
        return (*self._write([(predictions, answers)], labelled, answered), *predictions.warnings)

    def _answers(self, values: Mapping[str, Value]) -> NodeAnswers | None:
        """What a calibration answers rows by, where one does."""
        if self._terms.calibration is None:
            return None
        from workers.kinds.calibrate import answered

        path = of_role(self._job.sources, "calibration").file
        data = placing_data(self._model, values)
        return answered(path, self._model.stages[-1], self._tree, data, self._terms.alpha)

    def _write(
        self,
        rows: Iterable[tuple[Predictions, NodeAnswers | None]],
        labelled: Int,
        answered: Int,
    ) -> tuple[str, ...]:
        """Write rows, in order; returns warnings of the cut.

        labelled, answered : as of `PlacedShares`.
        """
        self._job.at(0.9, "writing")
        tree, bounds = self._tree, {key: self._given[key] for key in CUTS if key in self._given}
        cut = clusters(tree, **bounds) if bounds else None

        def with_clusters() -> Iterator[PlacedRows]:
            nonlocal cut
            for predictions, answers in rows:
                if cut is None and predictions.noise is not None:
                    # A method that knows noise answers by clusters, without a cut by the leaves.
                    cut = clusters(tree)
                self.n_rows += int(predictions.leaf.shape[0])
                yield PlacedRows(
                    predictions,
                    None if cut is None else PlacedClusters.of(tree, cut, predictions),
                    None if answers is None else CalibratedAnswers.of(tree, answers, answered),
                )

        named = method(self._model.stages[-1].method).classifies or has_names(tree)
        names, ids = tree.name if named else None, ids_of(self._job.sources)
        save_placed(with_clusters(), labelled, self._job.folder, names, ids)
        return () if cut is None or cut.warning is None else (cut.warning,)
