"""`import`: a tree made elsewhere, read from a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from models.inputs.data import doubled
from workers.kinds.kind import Find, Kind, Options, Size
from workers.work.job import Job, Outcome, with_tree
from workers.work.sources import Source, of_role


class ImportOptions(Options):
    """format : of the content, one of `workers.formats.trees`."""

    format: str


class _Import(Kind[ImportOptions]):
    name = "import"
    noun = "import"
    listed = False
    Options = ImportOptions

    def sources(self, find: Find, options: ImportOptions) -> list[Source]:
        return [find.inline("content")]

    def seconds(
        self, options: ImportOptions, params: Mapping[str, Any], size: Size
    ) -> float | None:
        """A file is read letter by letter."""
        return 1e-7 * size.n_bytes

    def run(self, job: Job, options: ImportOptions) -> Outcome:
        from workers.formats.trees import read_tree

        job.reading()
        tree = read_tree(options.format, of_role(job.sources, "content").file)
        warnings = [*tree.warnings, *doubled(tree.name[tree.leaves].tolist())]
        return with_tree(job.spec, tree, "import", {"model": None, "metrics": {}}, warnings)


KIND = _Import()
