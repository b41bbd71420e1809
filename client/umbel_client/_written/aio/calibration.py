"""A calibration: how deep answers of a tree may go, and how sure they then are.

For asyncio. Written by `make client` from `umbel_client.calibration`.
"""

from __future__ import annotations

from typing import Any

from umbel_client._written.aio.artifact import AsyncArtifact
from umbel_client.packages import package


class AsyncCalibration(AsyncArtifact):
    """What held-out rows tell of a tree's answers; `tree.predict(rows, calibration=...)` uses it.

    curve : a step for each threshold: `threshold`, `coverage`, `error`, `depth`. groups : its
    thresholds, with `node`, `name`, `n_rows`, `promised`, `held` and more. suspects : rows whose
    labels look wrong, the likeliest errors first: `row`, `label_name`, `likely_name`, `of_label`,
    `of_likely` and more. pairs : classes and sibling subtrees that more data would tell apart
    better, by falling `gain`: `node_name`, `other_name`, `n_rows`, `n_confused`, `rate`, `expected`
    and more. All are empty until it has succeeded.
    """

    _collection = "calibrations"
    _part = "curve"
    _lists = {
        "curve": ("curve", "steps"),
        "groups": ("groups", "items"),
        "suspects": ("suspects", "items"),
        "pairs": ("pairs", "items"),
    }
    curve: list[dict[str, Any]]
    groups: list[dict[str, Any]]
    suspects: list[dict[str, Any]]
    pairs: list[dict[str, Any]]

    @property
    def alpha(self) -> float | None:
        """The bound that is kept where predictions ask for no other; None until it succeeded."""
        return self._known("alpha")

    @property
    def following(self) -> dict[str, Any] | None:
        """With `after`: the rows given so far, how many were missed, the `level` and `surplus`."""
        return self._result.get("following")

    @property
    def temperature(self) -> float | None:
        """What scores are divided by."""
        return self._known("temperature")

    @property
    def area(self) -> float | None:
        """The area under the selective curve; smaller is better."""
        return self._known("area")

    def _known(self, name: str) -> float | None:
        value = self._result.get(name)
        return None if value is None else float(value)

    def to_pandas(self) -> Any:
        """The curve as a pandas.DataFrame. Raises MissingPackage."""
        return package("pandas", "Calibration.to_pandas()").DataFrame(self.curve)

    def _in_words(self) -> str:
        result = self._result
        kept = f"{result['loss']} at most {result['alpha']:g}, {result['per']}"
        return f"{kept}, {result['n_rows']} rows"
