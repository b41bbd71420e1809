"""A fitted model: its use without a tree.

For asyncio. Written by `make client` from `umbel_client.model`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from umbel_client._written.aio.calibration import AsyncCalibration
from umbel_client._written.aio.dataset import AsyncDataset
from umbel_client.core import runs, trees, uploads
from umbel_client.core.changes import KEPT, Kept, changed
from umbel_client.core.drivers import AsyncDriver
from umbel_client.core.expiry import Expiry, expiry
from umbel_client.core.waiting import Waiting
from umbel_client.inputs import Input
from umbel_client.results import Evaluation, Predictions


class AsyncModel:
    """What a method fitted, and the inputs that it needs for new rows.

    Every call raises ProblemError for a refusal, ConnectionFailed, and UnexpectedResponse.

    body : the model as the service describes it.
    """

    def __init__(self, driver: AsyncDriver, body: Mapping[str, Any]) -> None:
        self._driver = driver
        self.body = dict(body)

    @property
    def id(self) -> str:
        """The model's id, `md_...`."""
        return str(self.body["id"])

    @property
    def inputs(self) -> tuple[str, ...]:
        """The roles of the inputs that predictions need."""
        return tuple(self.body["inputs"])

    async def predict(
        self,
        *,
        top_k: int | None = None,
        threshold: float | None = None,
        confidence: float | None = None,
        k: int | None = None,
        height: float | None = None,
        level: int | None = None,
        calibration: AsyncCalibration | str | None = None,
        alpha: float | None = None,
        expires_at: Expiry = None,
        wait_s: float | None = None,
        **inputs: Input,
    ) -> Predictions:
        """New rows placed in the model's tree; each input by its role.

        top_k, threshold, confidence : for classifiers. k, height, level, calibration, alpha,
        expires_at : as for a tree.

        Raises InputError, WaitTimeout, JobCancelled.
        """
        fields = {
            "top_k": top_k,
            "threshold": threshold,
            "confidence": confidence,
            "k": k,
            "height": height,
            "level": level,
            "calibration": getattr(calibration, "id", calibration),
            "alpha": alpha,
            "expires_at": expiry(expires_at),
        }
        operation = trees.predicted(
            f"/v1/models/{self.id}",
            runs.converted_inputs(inputs),
            fields,
            Waiting(wait_s, title="predicting"),
        )
        return Predictions(await self._driver.run(operation))

    async def evaluate(
        self,
        labels: Input,
        *,
        metrics: Sequence[str] | None = None,
        by: Sequence[str] | None = None,
        expires_at: Expiry = None,
        wait_s: float | None = None,
        **inputs: Input,
    ) -> Evaluation:
        """What a classifier does on rows with known labels; each input by its role.

        by : the tables to make. expires_at : as for a tree.

        Raises InputError, CannotClassify, WaitTimeout, JobCancelled.
        """
        operation = trees.evaluated(
            f"/v1/models/{self.id}",
            runs.converted_inputs({"labels": labels}),
            runs.converted_inputs(inputs),
            {"metrics": metrics, "by": by, "expires_at": expiry(expires_at)},
            Waiting(wait_s, title="evaluating"),
        )
        return Evaluation(await self._driver.run(operation))

    async def transform(
        self,
        *,
        name: str | None = None,
        expires_at: Expiry = None,
        wait_s: float | None = None,
        **inputs: Input,
    ) -> AsyncDataset:
        """Rows under the transformation that the method learned, as a new dataset.

        expires_at : when the dataset may be removed, and the job that makes it.

        Raises InputError, CannotTransform, WaitTimeout, JobCancelled.
        """
        operation = trees.transformed(
            f"/v1/models/{self.id}",
            runs.converted_inputs(inputs),
            {"name": name, "expires_at": expiry(expires_at)},
            Waiting(wait_s, title="transforming"),
        )
        return AsyncDataset(self._driver, await self._driver.run(operation))

    async def features(
        self, by: Literal["stretch", "reach"] = "stretch", *, limit: int = 20
    ) -> list[dict[str, Any]]:
        """The features by which the learned transformation moves a row the farthest, for a growth
        by 1 or, by `reach`, by their standard deviation.

        Raises NotFound for models without a transformation.
        """
        query = {"by": by, "limit": limit}
        path = f"/v1/models/{self.id}/features"
        body = await self._driver.run(trees.described(path, "items", query=query))
        return list(body["items"])

    async def paths(self, clusters: Sequence[int] | None = None) -> list[dict[str, Any]]:
        """The periods of a model whose clusters move with time, each with the weight and the turn
        of every cluster. clusters : only these, from 0, the largest.

        Raises NotFound for models without periods.
        """
        chosen = None if clusters is None else ",".join(map(str, clusters))
        return await self._driver.run(trees.all_paths(f"/v1/models/{self.id}/paths", chosen))

    async def content(self, form: str = "/content", **query: Any) -> bytes:
        """The model as a safetensors file, or what the ending of an address names:
        `content("/features.svg", by="reach")`, `content("/paths.csv")`.
        """
        return await self._driver.run(trees.raw(f"/v1/models/{self.id}{form}", query))

    async def update(
        self,
        *,
        name: str | Literal[Kept.KEPT] | None = KEPT,
        description: str | Literal[Kept.KEPT] | None = KEPT,
        tags: Sequence[str] | Literal[Kept.KEPT] | None = KEPT,
    ) -> None:
        """Change name, description or tags of the model; what is left out stays, None removes.

        tags : all of them, in place of the earlier ones.
        """
        self.body = await self._driver.run(
            changed(f"/v1/models/{self.id}", name, description, tags)
        )

    async def delete(self) -> None:
        """Remove the model from the service; the tree stays."""
        await self._driver.run(uploads.removed(f"/v1/models/{self.id}"))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} of {self.body.get('method')}>"
