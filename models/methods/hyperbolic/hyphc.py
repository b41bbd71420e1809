"""HypHC: leaves move in the Poincaré ball so that their tree has a low Dasgupta cost.

Every point is a leaf in the ball. The depth at which two leaves part is the distance from the
origin to their lowest common ancestor, the point nearest to it on the geodesic between them
(`leaves.decoding`). Among three leaves, the two with the deepest ancestor merge first; under
Dasgupta's cost these should be the most similar two. With a softmax over the three depths the cost
has gradients, along which leaves move on random triples (`leaves.fit`). The tree is decoded from
the leaves greedily: the pair with the deepest ancestor merges first (`leaves.decoding`). After
every round of steps it is decoded and its discrete cost measured; the result is the best tree of
`n_init` runs.

The height of a node is its distance, along the radius, above the leaves.

Source: Chami, Gu, Chatziafratis and Ré, "From Trees to Continuous Embeddings and Back: Hyperbolic
Hierarchical Clustering" (2020). Deviations: the radius that all leaves share grows on a schedule
(the authors' program learns it), steps are along the sphere of that radius, the third of a triple
is never one of the other two, there can be several runs (`n_init`: 1 in the paper), and new points
go to the leaf of the most similar point.

Cost: O(B (D + d)) a step for B = `batch_size` and d = `dimension`, and O(N d) for N points;
O(N log N + N D) after every round of max(10, N / 50) steps, for 'cosine'. Memory: the features
twice, about 40 B (D + 8) bytes and 100 N d; a matrix of similarities is read in place and never
copied.

Measured: CPU time as N^0.7 D^0.3, from 500 x 32 to four times each, iterations bounded (`python -m
bench costs`).
"""

from __future__ import annotations

import numpy as np

from models.arrays import Array
from models.errors import UsageError
from models.inputs.checks import require_points, require_squares, require_symmetric, require_two
from models.inputs.data import Data, require_finite
from models.inputs.frames import Aside
from models.method import Fitted, Input, Method, Model, Paper, Predictions, Run, Shapes
from models.methods.hyperbolic.leaves.parameters import LeafParams
from models.parameters import KeepSteps, Seed
from models.running.device import computing, require
from models.running.threads import limited
from models.tree.tree import Tree


class HypHCParams(LeafParams):
    keep_steps: KeepSteps = 0
    seed: Seed = 0


class HypHC(Method[HypHCParams]):
    """See the module's docstring."""

    id = "hyphc"
    title = "HypHC"
    family = "hyperbolic"
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
                "Square symmetric matrix of similarities between points. A new point has one row, "
                "with a column for each point of the fit."
            ),
        ),
        "names": Input(required=False, one_per="row", description="One name per point."),
    }
    one_of = ("features", "similarity")
    outputs = ("tree", "model", "ball")
    needs = ("torch",)
    placing = "the leaf of the most similar point of the fit"
    advice = "Lower 'batch_size', or give 'features' instead of a matrix."
    resumes = True
    example = {"max_iter": 30, "n_init": 2, "batch_size": 256}

    def _memory(self, shapes: Shapes, params: HypHCParams) -> int:
        role = next((role for role in self.one_of if role in shapes), None)
        if role is None or len(shapes[role]) != 2:
            return 0
        n_points, n_columns = shapes[role]
        width = 8 if role == "similarity" else 8 + n_columns
        held = 0 if role == "similarity" else 20 * n_points * n_columns
        batch = params.triples_of_step(n_points)
        steps = 0 if params.device == "cuda" else 40 * batch * width
        kept = params.keep_steps * (16 * params.dimension + 100)
        return held + steps + n_points * (100 * params.dimension + 400 + kept)

    def _check(self, data: Data, params: HypHCParams) -> None:
        require(params.device)
        role = next(role for role in self.one_of if role in data)
        values = require_points(data, role)
        if role == "similarity":
            for parameter, default in (("affinity", "cosine"), ("gamma", None)):
                if getattr(params, parameter) != default:
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
        require_two(len(values), role)
        data.leaf_names(len(values), "point")
        require_finite(values, role)
        if role == "similarity":
            require_symmetric(values)
        require_squares(values, role)
        if role == "features" and params.affinity == "cosine":
            from models.methods.hyperbolic.leaves.similarity import TOO_NARROW

            Aside.of(values).require_directions(TOO_NARROW)

    def _fit(self, data: Data, params: HypHCParams, run: Run) -> Fitted:

        from models.methods.hyperbolic.leaves.fit import fit
        from models.methods.hyperbolic.leaves.similarity import (
            FeatureSimilarity,
            MatrixSimilarity,
            Similarity,
        )

        with limited(run.threads), computing(run.threads):
            run.progress(0.02, "preparing similarities")
            similarity: Similarity
            if "features" in data:
                features = np.asarray(data.dense("features"))
                similarity = FeatureSimilarity(
                    features, params.affinity, params.gamma, params.device
                )
            else:
                matrix = np.asarray(data.dense("similarity"))
                similarity = MatrixSimilarity(matrix, params.device)
            names = data.leaf_names(len(similarity.order), "point")
            return fit(similarity, names, params, run, params.keep_steps)

    def ball(self, model: Model, data: Data) -> Array:
        """Where the leaves ended."""
        return model.arrays["embedding"]

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """The leaf of the most similar point.

        The probability of a node is that of the leaves below it.
        """
        from models.methods.hyperbolic.leaves.similarity import place

        return place(model, tree, data)
