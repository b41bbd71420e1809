"""`transform`: rows transformed by a model, with their ids, as a new dataset."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np

from models.arrays import Array, Arrays
from models.errors import UsageError
from models.inputs.data import Data, Value
from models.inputs.oddities import note_new_rows
from models.inputs.reading import noting
from models.preprocess.inputs import Preparation
from models.registry import method
from models.running.progress import never_back, silent, subprogress
from workers.artifacts import results
from workers.kinds.kind import Find, Kind, Options
from workers.model import sibling
from workers.work.job import Job, Outcome
from workers.work.named_columns import ids_of
from workers.work.placing import NOTED, new_rows, noted_in
from workers.work.row_shares import (
    Division,
    Share,
    else_together,
    in_shares,
    n_rows_of,
    piece_of_shares,
    refuse_early,
    rows_of,
    shares,
)
from workers.work.sources import Source


class TransformationOptions(Options):
    """model : the id of the one that transforms."""

    model: str


class _Transform(Kind[TransformationOptions]):
    name = "transform"
    noun = "transformation"
    makes_dataset = True
    Options = TransformationOptions

    def sources(self, find: Find, options: TransformationOptions) -> list[Source]:
        return [find.model("model", options.model)]

    def run(self, job: Job, options: TransformationOptions) -> Outcome:
        job.reading()
        work = _Transformed(job)
        if job.spec.piece is not None:
            results.save_arrays(piece_of_shares(work.share, job.spec.piece, silent), job.folder)
            return Outcome()
        job.at(0.1, "transforming")
        rows = work.rows()
        job.at(0.9, "writing")
        results.save_transformed(rows, job.folder, ids_of(work.given))
        return Outcome(
            result={
                "model": options.model,
                "dataset": sibling(job.request.id, "ds"),
                "shape": list(rows.shape),
                "dtype": str(rows.dtype),
            },
            warnings=work.preparation.filled(work.values),
        )


class _Transformed:
    """The rows of a job, and what its model makes of them. given : the sources of the rows."""

    def __init__(self, job: Job) -> None:
        began_s = time.process_time()
        (source,) = (source for source in job.sources if source.kind == "model")
        model = results.load_model(source.file)
        self._first = model.stages[0]
        self.given = [source for source in job.sources if source.kind != "model"]
        self.values = new_rows(self.given, model)
        self.preparation = Preparation(model.prepared)
        _, within = never_back(subprogress(job.progress, 0.1, 0.9))
        reading_s = time.process_time() - began_s
        self._division = Division(within, job.coordinator, reading_s, stage="transforming")

    def rows(self) -> Array:
        """All rows transformed, in shares.

        Raises UsageError as `models.method.Method.transform`.
        """
        n_rows = n_rows_of(self.values)
        cut = [] if n_rows is None else shares(n_rows, 0)
        if len(cut) > 1:
            refuse_early(self.values, self.share, cut)
            with else_together(self.values, self.share):
                return self._in_shares(cut)
        return self._of(self.values)

    def _in_shares(self, cut: Sequence[Share]) -> Array:
        rows, noted = np.empty((0, 0)), False
        for number, found in in_shares(cut, self.share, self._division):
            part = found["rows"]
            if not len(rows):
                rows = np.empty((cut[-1][1], *part.shape[1:]), dtype=part.dtype)
            rows[slice(*cut[number])] = part
            noted |= NOTED in found
        if noted:
            self._note(self.values)
        return rows

    def share(self, share: Share) -> Arrays:
        """Raises UsageError as `rows`, and where its rows have a warning that `_note` has not."""
        own = rows_of(self.values, share)
        with noting() as notes:
            rows = self._of(own)
        with noting() as expected:
            if notes:
                self._note(own)
        if notes.keys() - expected.keys():
            raise UsageError("There are warnings of these rows.", code="unusable-input")
        return {"rows": rows, **noted_in(bool(notes))}

    def _of(self, values: Mapping[str, Value]) -> Array:
        data = Data(self.preparation.apply(values))
        return method(self._first.method).transform(self._first.model, data)

    def _note(self, values: Mapping[str, Value]) -> None:
        """Note what reading rows notes of them."""
        note_new_rows(self._first.model.arrays, Data(self.preparation.apply(values)))


KIND = _Transform()
