"""What merging classes gains and loses: as JSON, and the curve as CSV."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from app.http.forms import Chunks, Form
from app.http.json_parts import ITEMS, json_object, slices
from app.resources.confusions.forms import ConfusionSource
from models.answers.confusions import Merges
from models.tree.cluster_names import cluster_names
from models.tree.tree import Tree
from workers.formats.table_writers import Piece, csv_chunks, json_rows

STEP = [
    *("node", "name", "n_classes", "accuracy", "bits", "ratio"),
    *("accuracy_low", "accuracy_high"),
]


@dataclass(frozen=True, slots=True)
class Merged:
    """The curve of a tree, and how many nodes the JSON form lists."""

    tree: Tree
    merges: Merges
    n_rows: float
    source: ConfusionSource
    limit: int
    warnings: tuple[str, ...] = ()

    def json(self) -> Chunks:
        tree, merges = self.tree, self.merges
        best = np.lexsort((np.arange(tree.n_nodes), -merges.gain))
        best = best[(merges.gain[best] > 0) & (tree.n_children[best] > 0)][: self.limit]
        yield from json_object(
            {
                "source": self.source,
                "n_rows": self.n_rows,
                "steps": json_rows(STEP, self._steps()),
                "nodes": [
                    {
                        "node": node,
                        "name": name,
                        "gain": float(merges.gain[node]),
                        "lost_bits": float(merges.lost[node]),
                        "gain_low": float(merges.gain_low[node]),
                        "gain_high": float(merges.gain_high[node]),
                    }
                    for node, name in zip(best.tolist(), cluster_names(tree, best), strict=True)
                ],
                "warnings": list(self.warnings),
            }
        )
        yield b"\n"

    def csv(self) -> Chunks:
        return csv_chunks(STEP, self._steps())

    def _steps(self) -> Iterator[Piece]:
        merges = self.merges
        for some in slices(np.arange(len(merges.node)), ITEMS):
            node = merges.node[some]
            begun = node >= 0
            numbers = np.empty(len(node), dtype=object)
            numbers[:] = [None if each < 0 else each for each in node.tolist()]
            names = np.full(len(node), None, dtype=object)
            names[begun] = cluster_names(self.tree, node[begun])
            ratio = np.where(np.isfinite(merges.ratio[some]), merges.ratio[some], np.nan)
            yield [
                *(numbers, names, merges.n_classes[some]),
                *(merges.accuracy[some], merges.bits[some], ratio),
                *(merges.accuracy_low[some], merges.accuracy_high[some]),
            ]


FORMS: tuple[Form[Merged], ...] = (
    Form("json", "application/json", lambda merged: merged.json()),
    Form("csv", "text/csv", lambda merged: merged.csv()),
)
