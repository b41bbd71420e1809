"""HypHC: leaves moved in the Poincaré ball so that their tree has a low cost of Dasgupta.

Every point is a leaf in the ball. How deep two leaves part is the distance from the origin to their
lowest common ancestor, the point of the geodesic between them nearest to it
(`leaves.ancestors`). Of three leaves the two that part deepest are merged first, which
Dasgupta's cost asks for their similarities; with a softmax over the three depths that cost has
gradients (`.objective`), which leaves are moved along on triples drawn at random (`.triples`,
`.training`). The tree is decoded from the leaves greedily: the deepest pair merges first
(`.decoding`). It is decoded and its discrete cost measured after every round of steps; the best
tree of `n_init` runs serves.

The height of a node is how far, along the radius, it lies above the leaves.

Source: Chami, Gu, Chatziafratis and Ré, "From Trees to Continuous Embeddings and Back: Hyperbolic
Hierarchical Clustering" (2020). Not from there: the radius that all leaves share grows on a
schedule (their program learns it), steps are along the sphere of that radius, the third of a triple
is never one of the other two, several runs (`n_init`: 1), and new points go to the leaf of the
point most similar to them.

Cost: O(B (D + d)) a step for B = `batch_size` and d = `dimension`, and O(N d) for N points;
O(N log N + N D) after every round of max(10, N / 50) steps, for 'cosine'. Memory: the features
twice, about 40 B (D + 8) bytes and 100 N d; a matrix of similarities is read in place, and never
made.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from models.checks import require_points, require_squares
from models.data import Data, require_finite
from models.device import computing, require
from models.errors import UsageError
from models.method import Fitted, Input, Method, Model, Paper, Predictions, Run, Shapes
from models.parameters import Params, Seed
from models.tree.tree import Tree


def triples_of_step(batch_size: int | None, n_points: int) -> int:
    """The batch size as given, or what comes with so many points: fewer leave steps to chance."""
    return max(1024, min(4 * n_points, 65_536)) if batch_size is None else batch_size


class HypHCParams(Params):
    affinity: Literal["cosine", "rbf"] = Field(
        "cosine",
        description=(
            "Similarity of the features' rows: 'cosine' is (1 + cos) / 2, 'rbf' exp(-gamma d^2). "
            "With the input 'similarity' it has no meaning."
        ),
    )
    gamma: float | None = Field(
        None,
        gt=0,
        le=1e12,
        description="Of 'rbf'; default: 1 / (2 s^2), s^2 the mean of d^2 over all pairs.",
    )
    dimension: int = Field(
        2,
        ge=2,
        le=64,
        description="Dimensions of the ball; with 2, decoding is fastest and trees can be drawn.",
    )
    n_init: int = Field(
        8, ge=1, le=1000, description="Number of runs from random leaves; the best tree serves."
    )
    max_iter: int = Field(1500, ge=0, le=10_000_000, description="Most steps of a run.")
    patience: int = Field(
        75,
        ge=1,
        le=1_000_000,
        description=(
            "A run ends after so many rounds without a better tree. A round is 10 steps, for more "
            "than 500 points one for each 50 of them, and at most 'max_iter' / 20."
        ),
    )
    batch_size: int | None = Field(
        None,
        ge=1,
        le=1_000_000,
        description="Triples of a step; default: four for each point, 1,024 to 65,536.",
    )
    learning_rate: float = Field(
        0.2, gt=0, le=1e3, description="Length of a step, in the ball's own distance."
    )
    temperature: float = Field(
        0.05,
        ge=1e-4,
        le=1e3,
        description="What depths are divided by where it is decided which two of three part last.",
    )
    final_temperature: float = Field(
        0.05, ge=1e-4, le=1e3, description="What it has come to at the end, each step by a factor."
    )
    max_norm: float = Field(
        0.999,
        ge=0.1,
        le=0.999999,
        description="Norm that leaves have in the ball at the end; higher, the more points.",
    )
    device: Literal["cpu", "cuda"] = Field(
        "cpu", description="Where it is computed: on the processor, or on a GPU."
    )
    seed: Seed = 0


class HypHC(Method[HypHCParams]):
    """See the module's docstring."""

    title = "HypHC"
    paper = Paper(
        "From Trees to Continuous Embeddings and Back: Hyperbolic Hierarchical Clustering",
        2020,
        "NeurIPS",
    )
    Params = HypHCParams
    inputs = {
        "features": Input(required=False, description="One row per point."),
        "similarity": Input(
            required=False,
            description=(
                "Square symmetric matrix of similarities between points; of new points one row "
                "each, a column for each point of the fit."
            ),
        ),
        "names": Input(required=False, description="One name per point."),
    }
    one_of = ("features", "similarity")
    outputs = ("tree", "model")
    advice = "Lower 'batch_size', or give 'features' in place of a matrix."
    resumes = True
    example = {"max_iter": 100, "n_init": 2, "batch_size": 256}

    def _memory(self, shapes: Shapes, params: HypHCParams) -> int:
        role = next((role for role in self.one_of if role in shapes), None)
        if role is None or len(shapes[role]) != 2:
            return 0
        n_points, n_columns = shapes[role]
        wide = 8 if role == "similarity" else 8 + n_columns
        held = 0 if role == "similarity" else 20 * n_points * n_columns
        batch = triples_of_step(params.batch_size, n_points)
        steps = 0 if params.device == "cuda" else 40 * batch * wide
        return held + steps + n_points * (100 * params.dimension + 400)

    def _check(self, data: Data, params: HypHCParams) -> None:
        require(params.device)
        role = next(role for role in self.one_of if role in data)
        values = require_points(data, role)
        if role == "similarity":
            for parameter, usual in (("affinity", "cosine"), ("gamma", None)):
                if getattr(params, parameter) != usual:
                    raise UsageError(
                        f"Parameter {parameter!r} applies to the input 'features'; leave it out "
                        "when 'similarity' is given.",
                        code="wrong-parameter",
                        parameter=parameter,
                    )
        elif params.gamma is not None and params.affinity != "rbf":
            raise UsageError(
                "Parameter 'gamma' applies to the affinity 'rbf' only.",
                code="wrong-parameter",
                parameter="gamma",
            )
        if len(values) < 2:
            raise UsageError(
                f"Input {role!r} has only one point; a tree over points needs two or more.",
                code="too-few-points",
                role=role,
            )
        data.leaf_names(len(values), "point")
        require_finite(values, role)
        if role == "similarity":
            from models.methods.hyperbolic.leaves.similarity import require_symmetric

            require_symmetric(values)
        else:
            require_squares(values)

    def _fit(self, data: Data, params: HypHCParams, run: Run) -> Fitted:
        from threadpoolctl import threadpool_limits

        from models.methods.hyperbolic.leaves.fit import fitted

        with threadpool_limits(run.threads), computing(run.threads):
            return fitted(data, params, run)

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """Leaf of the most similar point; of a node the probability of the leaves under it."""
        from models.methods.hyperbolic.leaves.placing import place

        return place(model, tree, data)
