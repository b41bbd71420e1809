"""Predictions as they go over the wire."""

from __future__ import annotations

from pydantic import ConfigDict, Field, model_validator

from app.creation.fields import MOST_BEST, Given, NewWork
from app.http.late import LateModel
from models.parameters import Exact


class PredictionRequest(Exact, NewWork):
    """New rows, as the inputs that the tree's method takes."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={"examples": [{"inputs": {"logits": [[2.0, 0.5], [0.1, 1.9]]}}]},
    )

    inputs: dict[str, Given] = Field(
        max_length=100, description="For each role a dataset's id or a list of rows."
    )
    top_k: int | None = Field(
        None,
        ge=0,
        le=MOST_BEST,
        description="Classifiers only: how many best classes each row gets.",
    )
    threshold: float | None = Field(
        None,
        ge=0,
        le=1,
        description="Classifiers only: labels are classes of at least this probability; by default "
        "the best, or by the model's own rule.",
    )
    confidence: float | None = Field(
        None,
        ge=0,
        le=1,
        description="Classifiers only: paths end at the deepest node of at least this "
        "probability; by default at a leaf.",
    )
    k: int | None = Field(
        None,
        ge=1,
        le=2**31 - 1,
        description="Also give each row's cluster, of the cut into this many.",
    )
    height: float | None = Field(
        None,
        allow_inf_nan=False,
        description="In place of `k`: of the cut at this height.",
    )
    level: int | None = Field(
        None,
        ge=0,
        le=2**31 - 1,
        description="In place of `k`: of the cut this many edges below the root.",
    )
    calibration: str | None = Field(
        None,
        max_length=200,
        description="A calibration of this tree: also give the `nodes` that it promises.",
    )
    alpha: float | None = Field(
        None,
        gt=0,
        le=1e9,
        allow_inf_nan=False,
        description="With `calibration`: another bound.",
    )

    @model_validator(mode="after")
    def _alpha_of_a_calibration(self) -> PredictionRequest:
        if self.alpha is not None and self.calibration is None:
            raise ValueError("alpha is that of a calibration: give `calibration` too")
        return self


class TopClass(LateModel):
    """One of the best classes of a row."""

    label: str
    node: int
    score: float = Field(description="As the method computes it, before it is made a probability.")
    probability: float


class Prediction(LateModel):
    """The place of one row in the tree."""

    id: str | None = Field(None, description="The row's id, where its table has ids.")
    leaf: int = Field(description="The leaf; for classifiers that of the best class.")
    path: list[int] = Field(
        description="Nodes from the root to the leaf, with `confidence` to `node`."
    )
    probabilities: list[float] = Field(description="The probability of each node on the path.")
    node: int | None = Field(None, description="The last node of the path, for classifiers.")
    label: str | None = Field(
        None,
        description="The name of `node`, for classifiers; else of the leaf. Null if it has none; "
        "absent if no leaf has a name, numbers aside.",
    )
    labels: list[str] | None = Field(
        None, description="The classes given to the row, the most probable first."
    )
    top: list[TopClass] | None = Field(
        None, description="The best classes, the best first, if `top_k` asks for them."
    )
    cluster: int | None = Field(
        None,
        description="With `k`, `height` or `level`: its cluster, as in `assignments`; -1 for "
        "noise, null above the cut. Methods that know noise always give it.",
    )
    cluster_node: int | None = Field(
        None,
        description="The node of this cluster or noise; null where the tree has none.",
    )
    cluster_name: str | None = Field(
        None, description='Its name, as in `assignments`; "noise" for noise.'
    )
    nodes: list[int] | None = Field(
        None,
        description="With `calibration`: the node or nodes that hold the row's class.",
    )
    node_names: list[str | None] | None = Field(
        None, description="Their names, as for clusters; null where nothing names one."
    )
    depth: int | None = Field(
        None, description="Edges from the root to the highest of these nodes."
    )
    n_classes: int | None = Field(None, description="Classes under them.")
    mass: float | None = Field(
        None,
        description="Their probability; not what is promised.",
    )
    promise: str | None = Field(None, description="What the calibration promises of `nodes`.")
    value: float | int | str | None = Field(
        None, description="The predicted target, for methods that learn targets."
    )
    value_probability: float | None = Field(
        None, description="Probability of the predicted target, if it is a class."
    )
    margin: float | None = Field(
        None, description="Distance from the nearest split on its path, for `hmmc` and `mmc`."
    )
    log_likelihood: float | None = Field(
        None, description="Log-likelihood of the row, for mixtures on the unit sphere."
    )
    in_sample: float | None = Field(
        None,
        description="1 if it is as likely as a share `level` of the rows fitted, or held out; "
        "else 0.",
    )
    in_sample_rank: float | None = Field(
        None, description="The share of those rows at most as likely."
    )


class Predictions(LateModel):
    """The places of the rows, in the given order."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"items": [{"leaf": 17, "path": [0, 3, 17], "probabilities": [1.0, 0.9, 0.7]}]},
                {
                    "items": [
                        {
                            "leaf": 17,
                            "path": [0, 3, 17],
                            "probabilities": [1.0, 0.9, 0.7],
                            "node": 17,
                            "label": "dog",
                            "labels": ["dog"],
                            "top": [{"label": "dog", "node": 17, "score": 1.3, "probability": 0.7}],
                        }
                    ]
                },
            ]
        }
    )

    items: list[Prediction]
