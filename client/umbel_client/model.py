"""A fitted model: its use without a tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from umbel_client.calibration import Calibration
from umbel_client.core.events import Waiting
from umbel_client.core.fields import Expiry, Retrying, new_work
from umbel_client.core.messages import Reply, json_of
from umbel_client.core.runs import done, evaluated, predicted
from umbel_client.dataset import Dataset
from umbel_client.held import Held
from umbel_client.inputs import Input, converted_inputs
from umbel_client.results import Evaluation, Predictions


class Model(Held):
    """What a method fitted, and the inputs that it needs for new rows.

    `content()` is a safetensors file; `content("/features.svg", by="reach")` and
    `content("/paths.csv")` are what it learned.
    """

    _collection = "models"
    _needed = ("id", "inputs")
    _form = "/content"

    @property
    def inputs(self) -> tuple[str, ...]:
        """The roles of the inputs that predictions need."""
        return tuple(self.body["inputs"])

    def predict(
        self,
        *,
        top_k: int | None = None,
        threshold: float | None = None,
        confidence: float | None = None,
        k: int | None = None,
        height: float | None = None,
        level: int | None = None,
        calibration: Calibration | str | None = None,
        alpha: float | None = None,
        name: str | None = None,
        description: str | None = None,
        tags: Sequence[str] = (),
        webhook: str | None = None,
        expires_at: Expiry = None,
        retrying: Retrying | None = None,
        wait_s: float | None = None,
        **inputs: Input,
    ) -> Predictions:
        """New rows placed in the model's tree; each input by its role.

        top_k, threshold, confidence : for classifiers. k, height, level, calibration, alpha, name,
        description, tags, webhook, expires_at, retrying : as for a tree.

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
            **new_work(name, description, tags, webhook, expires_at, retrying),
        }
        how = Waiting(wait_s, title="predicting")
        return Predictions(predicted(self._connection, self._path, inputs, fields, how))

    def evaluate(
        self,
        labels: Input,
        *,
        metrics: Sequence[str] | None = None,
        by: Sequence[str] | None = None,
        against: Model | str | None = None,
        name: str | None = None,
        description: str | None = None,
        tags: Sequence[str] = (),
        webhook: str | None = None,
        expires_at: Expiry = None,
        retrying: Retrying | None = None,
        wait_s: float | None = None,
        **inputs: Input,
    ) -> Evaluation:
        """What a classifier does on rows with known labels; each input by its role.

        by : the tables to make. against : another classifier, a model or its id, to compare with on
        the same rows; `versus` of the answer says what is beyond chance. name, description, tags,
        webhook, expires_at, retrying : as for a tree.

        Raises InputError, CannotClassify, WaitTimeout, JobCancelled.
        """
        work = new_work(name, description, tags, webhook, expires_at, retrying)
        rival = against.id if isinstance(against, Model) else against
        fields = {"metrics": metrics, "by": by, "against": rival, **work}
        how = Waiting(wait_s, title="evaluating")
        truths = {"labels": labels}
        return Evaluation(evaluated(self._connection, self._path, truths, inputs, fields, how))

    def transform(
        self,
        *,
        name: str | None = None,
        description: str | None = None,
        tags: Sequence[str] = (),
        webhook: str | None = None,
        expires_at: Expiry = None,
        retrying: Retrying | None = None,
        wait_s: float | None = None,
        **inputs: Input,
    ) -> Dataset:
        """Rows under the transformation that the method learned, as a new dataset.

        name, description, tags, webhook, expires_at, retrying : as of `Umbel.run`, of the dataset
        and of the job that makes it.

        Raises InputError, CannotTransform, WaitTimeout, JobCancelled.
        """
        fields = {**new_work(name, description, tags, webhook, expires_at, retrying), "inputs": {}}
        rows = converted_inputs(inputs, "inputs.")
        how = Waiting(wait_s, title="transforming")
        answer = done(self._connection, f"{self._path}/transformations", rows, fields, how)
        if isinstance(answer, Reply):
            return Dataset(self._connection, json_of(answer, "id", "status"))
        return Dataset._read(self._connection, answer.job["result"]["dataset"])

    def features(
        self, by: Literal["stretch", "reach"] = "stretch", *, limit: int = 20
    ) -> list[dict[str, Any]]:
        """The features by which the learned transformation moves a row the farthest, for a growth
        by 1 or, by `reach`, by their standard deviation.

        Raises NotFound for models without a transformation.
        """
        query = {"by": by, "limit": limit}
        body = self._connection.described(f"{self._path}/features", "items", query=query)
        return list(body["items"])

    def paths(self, clusters: Sequence[int] | None = None) -> list[dict[str, Any]]:
        """The periods of a model whose clusters move with time, each with the weight and the turn
        of every cluster. clusters : only these, from 0, the largest.

        Raises NotFound for models without periods.
        """
        chosen = None if clusters is None else ",".join(map(str, clusters))
        return self._connection.listed(f"{self._path}/paths", {"clusters": chosen})

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} of {self.body.get('method')}>"
