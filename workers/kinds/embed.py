"""`embed`: texts or images as vectors, with their ids, as a new dataset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from models.errors import UsageError
from models.inputs.items import ItemTable
from workers.artifacts import results
from workers.formats.table_writers import save_arrow
from workers.kinds.kind import Kind, Lane, Options, Size
from workers.model import Request, sibling
from workers.settings import WorkerSettings
from workers.work.job import Job, Outcome
from workers.work.named_columns import ids_of
from workers.work.sources import Source, values_of

TEXTS, IMAGES = "documents", "items"
"""The roles that are embedded, of which a request has one."""


class EmbeddingOptions(Options):
    """Nothing: the model is the operator's."""


class _Embed(Kind[EmbeddingOptions]):
    name = "embed"
    noun = "embedding"
    makes_dataset = True
    embeds = True
    Options = EmbeddingOptions

    def lane(self, request: Request) -> Lane:
        return "fit"

    def resumes(self, request: Request) -> bool:
        return True

    def seconds(
        self, options: EmbeddingOptions, params: Mapping[str, Any], size: Size
    ) -> float | None:
        """An endpoint answers for each row."""
        return 0.01 * size.n_rows + 1e-7 * size.n_bytes

    def run(self, job: Job, options: EmbeddingOptions) -> Outcome:
        """Leaves the items to be embedded. The embedder gets them afterwards
        (`workers.embedding`): a child has no network."""
        import pyarrow as pa

        job.reading()
        (source,) = job.sources
        if source.role == TEXTS:
            columns = _texts(source)
        else:
            columns = _images(values_of(job.sources)[IMAGES])
        save_arrow(pa.table(columns), job.folder / results.TO_EMBED)
        job.at(0.05, "embedding")
        result = {"dataset": sibling(job.request.id, "ds"), "shape": [], "dtype": "float32"}
        return Outcome(result=result)


KIND = _Embed()


def embedding_models(settings: WorkerSettings) -> dict[str, str]:
    """The operator's models by the role that they embed; "" for none."""
    if not settings.embedding_url:
        folders = {TEXTS: settings.embedding_folder, IMAGES: settings.embedding_image_folder}
        return {role: "" if folder is None else folder.name for role, folder in folders.items()}
    return {TEXTS: settings.embedding_model, IMAGES: settings.embedding_image_model}


def _texts(source: Source) -> dict[str, Any]:
    """The columns `text` and, where the table has ids, `id`. Raises UsageError for a blank text."""
    import pyarrow as pa

    found: Any = values_of([source])[TEXTS]
    texts = [str(text) for text in found]
    blank = next((row for row, text in enumerate(texts) if not text.strip()), None)
    if blank is not None:
        raise UsageError(
            f"The text at row {blank} (counted from 0) is blank: an embedder takes none.",
            code="missing-value",
            role=TEXTS,
            row=blank,
        )
    ids = ids_of([source])
    columns = {"text": pa.array(texts, pa.large_string())}
    return columns if ids is None else {"id": pa.array(ids, pa.large_string()), **columns}


def _images(items: Any) -> dict[str, Any]:
    """The columns `image` and `id`, the names of the files. Raises UsageError for items without
    images, or without one in a row."""
    assert isinstance(items, ItemTable)
    image = next((column for column in items.columns if column.kind == "image"), None)
    if image is None:
        raise UsageError(
            "The items have no images: give a zip of images, or texts as `documents`.",
            code="wrong-input",
            role=IMAGES,
        )
    if image.values.null_count:
        row = image.values.is_null().to_pylist().index(True)
        raise UsageError(
            f"Row {row} (counted from 0) has no image.", code="missing-value", role=IMAGES, row=row
        )
    columns = {"image": image.values}
    file = next((column for column in items.columns if column.name == "file"), None)
    return columns if file is None else {"id": file.values, **columns}
