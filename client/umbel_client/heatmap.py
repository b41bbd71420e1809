"""A heatmap: the clusters of a tree as the rows of a matrix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from umbel_client.artifact import Artifact
from umbel_client.core.connection import Connection
from umbel_client.errors import UnexpectedResponse
from umbel_client.packages import package

HeatmapMetric: TypeAlias = Literal[
    "euclidean", "cosine", "cophenetic", "hamming", "jaccard", "gower", "pairwise"
]


class Heatmap(Artifact):
    """Clusters by their features, or by their distances; in a notebook it is its picture.

    matrix : (n_rows, n_columns) float32, each value to within 1/131,070 of the range from `low` to
    `high`, NaN where there is none. rows : from left to right in the tree, each with its `node`,
    `size` and `name`.
    columns : the features, each with `column`, `name`, `mean`, `deviation` and `between`; of
    distances the rows. merges : (n_columns - 1, 3) the tree over the features: what is joined, by
    its place or the number of columns plus that of an earlier merge, and at which distance; of
    distances none. svg : the picture, of at most 256 rows and columns. All are empty until it has
    succeeded.
    """

    _collection = "heatmaps"

    def __init__(self, connection: Connection, body: Mapping[str, Any]) -> None:
        super().__init__(connection, body)
        self.matrix: npt.NDArray[np.float32] = self.body.pop("matrix", np.empty((0, 0), "f4"))
        self.svg = str(self.body.pop("svg", ""))
        axes = self.body.pop("axes", {"rows": {}, "columns": None})
        columns = dict(axes["columns"] or {})
        merges = np.array(columns.pop("merges", ()), dtype=np.float64)
        self.merges: npt.NDArray[np.float64] = merges.reshape(-1, 3)
        self.rows = _each(axes["rows"])
        self.columns = _each(columns) if columns else self.rows

    @classmethod
    def _parts(cls, connection: Connection, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The matrix comes in tiles of the last level: a request for every 256 x 256 values."""
        result = body["result"]
        axes = connection.described(f"{path}/axes", "rows", "columns")
        # In the picture of a larger one, values have no cells of their own.
        picture = connection.raw(f"{path}.svg") if result["n_levels"] == 1 else b""
        side, low, high = result["tile"], result["low"], result["high"]
        missing = result.get("missing")
        matrix = np.empty((result["n_rows"], result["n_columns"]), dtype=np.float32)
        tiles = f"{path}/tiles/{result['n_levels'] - 1}"
        for row in range(-(-matrix.shape[0] // side)):
            for column in range(-(-matrix.shape[1] // side)):
                part = matrix[
                    row * side : (row + 1) * side,
                    column * side : (column + 1) * side,
                ]
                tile = connection.raw(f"{tiles}/{row}/{column}")
                cells = np.frombuffer(tile, dtype="<u2")
                if cells.size != part.size:
                    what = f"{tiles}/{row}/{column} has {cells.size} cells"
                    raise UnexpectedResponse(what, 200)
                part[:] = low + cells.reshape(part.shape) / 65_535 * (high - low)
                if missing is not None:
                    part[cells.reshape(part.shape) == missing] = np.nan
        return {"axes": axes, "svg": picture.decode(), "matrix": matrix}

    @property
    def low(self) -> float | None:
        """No value is lower; None until it has succeeded."""
        return self._result.get("low")

    @property
    def high(self) -> float | None:
        """No value is higher; None until it has succeeded."""
        return self._result.get("high")

    def to_pandas(self) -> Any:
        """A pandas.DataFrame of the matrix; nodes without a name have their id. Raises
        MissingPackage."""
        index, columns = (
            [each["node"] if each["name"] is None else each["name"] for each in side]
            for side in (self.rows, self.columns)
        )
        frame = package("pandas", "Heatmap.to_pandas()").DataFrame
        return frame(self.matrix, index=index, columns=columns)

    def _in_words(self) -> str:
        return f"{self._result['what']}, {len(self.rows)} x {len(self.columns)}"

    def _repr_svg_(self) -> str | None:
        return self.svg or None


def _each(lists: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    """Equally long lists by name as a mapping for each place."""
    return [dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)]
