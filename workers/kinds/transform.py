"""`transform`: rows transformed by a model, with their ids, as a new dataset."""

from __future__ import annotations

from models.inputs.data import Data
from models.preprocess.inputs import Preparation
from models.registry import method
from workers.artifacts import results
from workers.kinds.kind import Find, Kind, Options
from workers.model import sibling
from workers.work.job import Job, Outcome
from workers.work.named_columns import ids_of
from workers.work.placing import new_rows
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
        (source,) = (source for source in job.sources if source.kind == "model")
        model = results.load_model(source.file)
        first = model.stages[0]
        given = [source for source in job.sources if source.kind != "model"]
        values = new_rows(given, model)
        preparation = Preparation(model.prepared)
        data = Data(preparation.apply(values))
        job.at(0.1, "transforming")
        rows = method(first.method).transform(first.model, data)
        job.at(0.9, "writing")
        results.save_transformed(rows, job.folder, ids_of(given))
        return Outcome(
            result={
                "model": options.model,
                "dataset": sibling(job.request.id, "ds"),
                "shape": list(rows.shape),
                "dtype": str(rows.dtype),
            },
            warnings=preparation.filled(values),
        )


KIND = _Transform()
