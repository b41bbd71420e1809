"""The base of the family's methods: inputs, shared parameters, new rows placed by posterior."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Literal, TypeVar

from pydantic import Field

from models.arrays import Arrays, Float
from models.clusters.placing import placed
from models.inputs.checks import require_width
from models.inputs.data import Data
from models.method import Input, Method, Model, Predictions, Shapes
from models.methods.sphere.mixture import pass_crew
from models.methods.sphere.mixture.result import InSample, with_in_sample
from models.methods.sphere.mixture.rows import UnitRows
from models.parameters import Device, HeldOut, NInit, Params
from models.running.progress import Piece, Progress
from models.tree.tree import Tree

P = TypeVar("P", bound=Params)

FEATURES = Input(sparse=True, by_rows=True, description="One row of length 1 per point.")
FEATURE_NAMES = Input(
    required=False,
    description="One name per column; clusters are named by their most distinctive features.",
)
NAMES = Input(required=False, description="One name per cluster, from the largest to the smallest.")


class SphereMethod(Method[P]):
    """A mixture of von Mises-Fisher distributions, whose model gives each row a log posterior of
    the leaves and a log-likelihood."""

    inputs = {"features": FEATURES, "feature_names": FEATURE_NAMES, "names": NAMES}
    outputs = ("tree", "model", "logits")
    placing = "the cluster with the largest posterior"
    advice = "Ask for fewer clusters, or use a sample of the points."
    resumes = True

    @abstractmethod
    def _bytes(self, shapes: Shapes, params: P) -> int:
        """The memory of a fit of features, (n_points, n_features), beside these."""

    @abstractmethod
    def _posterior(self, model: Model, data: Data) -> tuple[Float, Float]:
        """Log posterior of the leaves, (n_rows, n_leaves), and log-likelihood of new rows.

        Raises UsageError for rows that are not of length 1 or of another width than the fit's.
        """

    def _at_leaves(self, tree: Tree, logits: Float) -> Predictions:
        return placed(tree, logits.argmax(axis=1), logits)

    def _memory(self, shapes: Shapes, params: P) -> int:
        return self._bytes(shapes, params) if len(shapes.get("features", ())) == 2 else 0

    def _piece(
        self, data: Data, params: P, piece: Piece, progress: Progress, threads: int
    ) -> Arrays:
        return pass_crew.piece(UnitRows.of(data), piece, threads, progress)

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """The leaf with the largest posterior, with its probability; in or out of the sample."""
        logits, evidence = self._posterior(model, data)
        return with_in_sample(self._at_leaves(tree, logits), model, evidence)

    def _logits(self, model: Model, data: Data) -> Float:
        return self._posterior(model, data)[0]

    def in_sample(self, model: Model, data: Data) -> dict[str, Float]:
        """New rows' log-likelihoods and whether they are in-sample (`InSample.columns`)."""
        return InSample.of_model(model).columns(self._posterior(model, data)[1])


def new_rows(data: Data, n_features: int) -> UnitRows:
    """Rows to be placed. Raises UsageError for rows of another width or not of length 1."""
    points = UnitRows.of(data)
    require_width(points.values, n_features)
    points.require_unit()
    return points


Inference = Literal["variational-sampling", "variational-bounding"]
VariationalInference = Annotated[
    Inference,
    Field(
        description=(
            "How the posterior is computed: 'variational-sampling' with the exact distribution of "
            "each concentration given the rest, 'variational-bounding' with a log-normal one and "
            "a bound."
        ),
    ),
]
KappaMedian = Annotated[
    float,
    Field(
        gt=0,
        le=1e9,
        description=(
            "Median of the log-normal prior of the concentrations; used without 'empirical_bayes'."
        ),
    ),
]
KappaSigma = Annotated[
    float,
    Field(ge=0.05, le=10, description="Standard deviation of the logarithm of a concentration."),
]
MaxKappa = Annotated[float, Field(ge=1, le=1e9, description="Largest concentration of a cluster.")]
HeldOutForThreshold = Annotated[
    HeldOut,
    Field(
        description=(
            "Share of the rows kept out of the fit, to measure likelihood on and to set the "
            "threshold between in-sample and out-of-sample rows."
        ),
    ),
]
ConfidenceLevel = Annotated[
    float,
    Field(
        ge=0.5,
        le=0.9999,
        description="Share of rows like the fitted ones that count as in-sample.",
    ),
]
NInitByBound = Annotated[
    NInit,
    Field(
        description="Number of runs from different seeds; the one with the highest bound is kept.",
    ),
]
Tol = Annotated[
    float,
    Field(
        ge=0,
        le=1,
        description="A run ends when the lower bound rises by no more than this for each row.",
    ),
]
BatchSize = Annotated[
    int | None,
    Field(
        ge=1,
        le=10_000_000,
        description=(
            "Approximate number of rows in a batch, for data larger than memory: the parameters "
            "are updated after each batch; 1,000 to 10,000 work well. 'max_iter' then counts "
            "passes over the rows, without the last one that measures. Default: each update uses "
            "all rows."
        ),
    ),
]
Delay = Annotated[
    float,
    Field(
        ge=1,
        le=1e9,
        description=(
            "With 'batch_size': the step of batch t = 0, 1, ... is (delay + t)^-forgetting; the "
            "larger the delay, the less the first batches count."
        ),
    ),
]
Forgetting = Annotated[
    float,
    Field(
        gt=0.5,
        le=1,
        description="With 'batch_size': the smaller, the sooner earlier batches are forgotten.",
    ),
]
PassDevice = Annotated[
    Device,
    Field(
        description=(
            "Where passes over the rows are computed: on the processor or, for dense rows, on a "
            "GPU."
        ),
    ),
]
