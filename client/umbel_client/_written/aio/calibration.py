"""A calibration: how deep answers of a tree may go, and how sure they then are.

For asyncio. Written by `make client` from `umbel_client.calibration`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from umbel_client._written.aio.artifact import AsyncArtifact
from umbel_client.core.drivers import AsyncDriver
from umbel_client.packages import package


class AsyncCalibration(AsyncArtifact):
    """What held-out rows tell of a tree's answers; `tree.predict(rows, calibration=...)` uses it.

    body : the calibration as the service describes it. curve : a step for each threshold:
    `threshold`, `coverage`, `error`, `depth`; empty until it has succeeded. groups : its
    thresholds, with `node`, `name`, `n_rows`, `promised`. suspects : rows whose labels look wrong,
    siblings first: `row`, `label_name`, `likely_name`, `of_label`, `of_likely` and more. pairs :
    classes and sibling subtrees that more data would tell apart better, by falling `gain`:
    `node_name`, `other_name`, `n_rows`, `n_confused`, `rate`, `expected` and more.
    """

    _collection = "calibrations"
    _part = "curve"

    def __init__(self, driver: AsyncDriver, body: Mapping[str, Any]) -> None:
        super().__init__(driver, body)
        self.curve: list[dict[str, Any]] = list(self.body.pop("curve", ()))
        self.groups: list[dict[str, Any]] = list(self.body.pop("groups", ()))
        self.suspects: list[dict[str, Any]] = list(self.body.pop("suspects", ()))
        self.pairs: list[dict[str, Any]] = list(self.body.pop("pairs", ()))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is not promised, and why."""
        return tuple(self.body["warnings"])

    @property
    def alpha(self) -> float | None:
        """The bound that is kept where predictions ask for no other; None until it succeeded."""
        return self._known("alpha")

    @property
    def temperature(self) -> float | None:
        """What scores are divided by."""
        return self._known("temperature")

    @property
    def area(self) -> float | None:
        """The area under the selective curve; smaller is better."""
        return self._known("area")

    def _known(self, name: str) -> float | None:
        result = self.body.get("result") or {}
        value = result.get(name)
        return None if value is None else float(value)

    def to_pandas(self) -> Any:
        """The curve as a pandas.DataFrame. Raises MissingPackage."""
        return package("pandas", "AsyncCalibration.to_pandas()").DataFrame(self.curve)

    def __repr__(self) -> str:
        result = self.body.get("result")
        if result is None:
            return f"<AsyncCalibration {self.id}: {self.body['status']}>"
        return (
            f"<AsyncCalibration {self.id}: {result['loss']} at most {result['alpha']:g}, "
            f"{result['per']}, {result['n_rows']} rows>"
        )
