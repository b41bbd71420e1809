"""The table of a comparison."""

from __future__ import annotations

from typing import Any

from umbel_client import display
from umbel_client.artifact import Artifact
from umbel_client.packages import package


class Comparison(Artifact):
    """Several methods and seeds on the same data: means, spreads and times."""

    _collection = "comparisons"
    _needed = ("id", "status", "table")

    @property
    def table(self) -> list[dict[str, Any]]:
        """A row for each run, in order, as the service gives it."""
        return list(self.body.get("table") or [])

    @property
    def best(self) -> dict[str, int]:
        """The number of the row with the best mean, by metric."""
        return dict(self.body.get("best") or {})

    @property
    def differences(self) -> list[dict[str, Any]]:
        """Each run against the one with the highest dendrogram purity, tested on the same rows."""
        return list(self.body.get("differences") or [])

    def rows(self) -> list[dict[str, Any]]:
        """A flat mapping for each run: `method`, `params`, `seeds`, `seconds`, the mean of each
        metric and its `<metric>_std`, the `error` of a run that failed, and the `tree` of one that
        is kept.
        """
        flat = []
        for row in self.table:
            seconds = row["seconds"] or {}
            metrics = {
                name: value
                for metric, spread in row["metrics"].items()
                for name, value in ((metric, spread["mean"]), (f"{metric}_std", spread["std"]))
            }
            error = row.get("error") or {}
            flat.append(
                {
                    "method": row["method"],
                    "params": row["params"],
                    "seeds": row["seeds"],
                    **metrics,
                    "seconds": seconds.get("mean"),
                    "seconds_std": seconds.get("std"),
                    "error": error.get("detail"),
                    "tree": row.get("tree"),
                }
            )
        return flat

    def to_pandas(self) -> Any:
        """`rows` as a pandas.DataFrame. Raises MissingPackage."""
        return package("pandas", "Comparison.to_pandas()").DataFrame(self.rows())

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} {self.id}: {', '.join(row['method'] for row in self.table)}>"
        )

    def _repr_html_(self) -> str:
        rows = self.rows()
        names = list(dict.fromkeys(name for row in rows for name in row if "_std" not in name))
        shown = [
            {
                name: f"{value:.4g}" if isinstance(value, float) else value
                for name, value in row.items()
                if value is not None
            }
            for row in rows
        ]
        return display.table_html(names, shown)
