"""gHHC: a hierarchy as points of the Poincaré ball, moved by gradient steps.

The nodes of a tree are points of the ball, those near its centre high in the tree; points of the
data lie further out. Every point and node has as its parent the nearest node that lies nearer to
the centre (`ball.decoding`). Nodes start as an agglomerative tree over some of the
points (`.seeding`), the best of `n_init` draws; then they are moved on triples of a point, one of
its neighbours and another point, so that the first two come together deeper in the tree than with
the third (`.losses`), in turn with steps that draw nodes to their parents and apart in norm. The
tree is judged after every 100 steps, without labels (`.judging`), and the best one serves. Leaves
hold the points that selected one node; what the tree's columns say is in `.extraction`.

With the input `base` nodes start where an earlier job's ended, in the same ball. Several processes
may take each step together (`processes`; `.ranks`), each for a part of its triples, and come to the
same nodes but for rounding. A fit that diverges is stopped: its best nodes serve, with a warning,
or where 'keep' is "last" it fails.

Source: Monath, Zaheer, Silva, McCallum and Ahmed, "Gradient-based Hierarchical Clustering using
Continuous Representations of Trees in Hyperbolic Space" (2019), §3 and §4. Not from there: nodes
start at midpoints ('placement': "order" as there), several draws of them (`n_init`: 1), the best
tree is kept ('keep': "last"), a temperature below 1, means over a batch for sums, longer steps
(`learning_rate` 0.01), norms apart without the factor of distance, by 1 ('structure': "distance",
`gamma` not said), which make trees of lower cost on most sets. The authors' program: 'loss':
"softplus", 'margin' 0.25, 'structure': "norms", 'mask': "nearest", 'max_norm' 0.8, 'placement':
"order", 'seeding': "random", `structure_every` 250 and 25 steps then.

Cost: O(B M D) a step for B = `batch_size` and M = `n_internal`, whatever the number of points N;
the tree O(N M D) twice and O(M^2 D) after every 100 steps (every M / 100 for more than 10,000
nodes); neighbours as `models.graphs.neighbours` for at most 131,072 points at a time, by an
approximate index for more than 10,000 (`.pools`). Memory: those points in float32 four times, about
100 B M values, and M^2 bytes for the seeds' tree; the rest is read by rows. `python -m bench
hyperbolic` measures both.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from models.checks import require_columns, require_rows, require_width
from models.data import Data, Earlier
from models.device import computing, require
from models.errors import UsageError
from models.method import Fitted, Input, Method, Model, Paper, Predictions, Run, Shapes
from models.parameters import Params, Seed
from models.tree.tree import Tree


class GHHCParams(Params):
    n_internal: int = Field(
        64,
        ge=3,
        le=200_000,
        description=(
            "Number of nodes of the tree that are moved, seeds included; those that no point needs "
            "are left out of it."
        ),
    )
    scaling: Literal["unit", "largest", "none"] = Field(
        "unit",
        description=(
            "How features become points of the ball, about their mean: 'unit' each at norm "
            "'point_norm', so that directions count; 'largest' all divided by one number, the "
            "farthest at 'point_norm'; 'none' they are such points, of norm below 1."
        ),
    )
    point_norm: float = Field(
        0.9, ge=0.01, le=0.99999, description="Norm of points, for 'unit' and 'largest'."
    )
    max_norm: float = Field(
        0.95, ge=0.01, le=0.99999, description="Largest norm of a node; beyond it is cut to that."
    )
    seeding: Literal["k-means", "k-means++", "afk-mc2", "random", "points"] = Field(
        "k-means",
        description=(
            "What nodes start from: half of them are seeds, which the others join by average "
            "linkage. Seeds are the centres of 'k-means', or points: drawn far apart as k-means "
            "begins ('k-means++', or 'afk-mc2' without looking at all points), or at 'random'. "
            "'points': all nodes are random points."
        ),
    )
    placement: Literal["midpoint", "order"] = Field(
        "midpoint",
        description=(
            "Where nodes start: at the hyperbolic 'midpoint' of the points under them, or by the "
            "'order' of merges, the j-th of S seeds at norm log(S - j) / log S."
        ),
    )
    n_init: int = Field(
        8, ge=1, le=1000, description="Draws of seeds; the one that makes the best tree serves."
    )
    n_neighbors: int = Field(
        5, ge=1, le=1000, description="Nearest neighbours that a point forms triples with."
    )
    batch_size: int = Field(100, ge=1, le=100_000, description="Triples of a step.")
    max_iter: int = Field(5000, ge=0, le=10_000_000, description="Steps on triples.")
    learning_rate: float = Field(0.05, gt=0, le=1e6, description="Step length.")
    optimizer: Literal["sgd", "adam"] = Field(
        "sgd", description="Riemannian gradient descent, or Riemannian Adam."
    )
    loss: Literal["sigmoid", "softplus"] = Field(
        "sigmoid", description="What the scores of triples go through."
    )
    temperature: float = Field(
        0.1,
        ge=1e-3,
        le=1e3,
        description="What dissimilarities are divided by where ancestors are likely or not.",
    )
    noise: float = Field(
        1.0, ge=0, le=100, description="Gumbel noise there, in temperatures; 0 for none."
    )
    mask: Literal["likeliest", "nearest"] = Field(
        "nearest",
        description=(
            "Which node two points have for ancestor that the third may not share: the "
            "'likeliest' with the noise, or the 'nearest' without."
        ),
    )
    margin: float = Field(
        0.0, ge=0, le=100, description="Margin between norms in all dissimilarities of triples."
    )
    structure: Literal["distance", "norms"] = Field(
        "norms",
        description=(
            "What steps on nodes and their parents lower: the 'distance' weighted by how much the "
            "norms break the margin 'gamma', or that of the 'norms' alone."
        ),
    )
    gamma: float = Field(1.0, ge=0, le=100, description="Margin between norms in those steps.")
    structure_every: int = Field(
        1,
        ge=0,
        le=1_000_000,
        description="Steps on triples to one on nodes and their parents; 0 for none of those.",
    )
    keep: Literal["best", "last"] = Field(
        "best", description="Which nodes serve: those that made the 'best' tree, or the 'last'."
    )
    device: Literal["cpu", "cuda"] = Field(
        "cpu", description="Where it is computed: on the processor, or on a GPU."
    )
    processes: int = Field(
        1,
        ge=1,
        le=64,
        description=(
            "Processes that take each step together, all for a part of its triples: the result is "
            "the same but for rounding. With 'cuda' each has a GPU of its own; else they share the "
            "threads that a job has."
        ),
    )
    seed: Seed = 0


class GHHC(Method[GHHCParams]):
    """See the module's docstring."""

    title = "gHHC"
    paper = Paper(
        "Gradient-based Hierarchical Clustering using Continuous Representations of Trees in "
        "Hyperbolic Space",
        2019,
        "KDD",
    )
    Params = GHHCParams
    inputs = {
        "features": Input(by_rows=True, description="One row per point."),
        "base": Input(
            required=False,
            description=(
                "An earlier job of this method: nodes start where its ended, and features are "
                "scaled as there. The tree is over the points of this job."
            ),
        ),
    }
    outputs = ("tree", "model")
    advice = "Lower 'n_internal', 'batch_size' or 'processes'."
    resumes = True
    example = {"n_internal": 9, "max_iter": 100, "n_init": 2}

    def _memory(self, shapes: Shapes, params: GHHCParams) -> int:
        from models.methods.hyperbolic.ball.pools import bytes_held
        from models.methods.hyperbolic.ball.process_group import BYTES
        from models.methods.hyperbolic.ball.seeding import n_seeds

        if len(shapes.get("features", ())) != 2:
            return 0
        n_points, n_features = shapes["features"]
        n_nodes, seeds = params.n_internal, n_seeds(params.n_internal)
        steps = 4 * 100 * min(params.batch_size, 100_000) * n_nodes + 64 * n_nodes * n_features
        seeding = 0 if params.seeding == "points" else 4 * seeds * seeds
        on_device = 0 if params.device == "cuda" else steps
        others = BYTES * (params.processes - 1)
        pool = bytes_held(n_points, n_features, params.n_neighbors)
        return pool + max(on_device + others, seeding) + 40 * n_points

    def _check(self, data: Data, params: GHHCParams) -> None:
        require(params.device)
        _check_processes(params)
        rows = data.rows("features")
        require_columns(rows)
        require_rows(rows, params.n_internal, "n_internal")
        earlier = data.earlier()
        if earlier is not None:
            _check_base(earlier, data, params)

    def _fit(self, data: Data, params: GHHCParams, run: Run) -> Fitted:
        from threadpoolctl import threadpool_limits

        from models.methods.hyperbolic.ball.fit import fitted

        with threadpool_limits(run.threads), computing(run.threads):
            return fitted(data, params, run)

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """Leaf of the parent by eq. 4; of a node the probability of the leaves under it."""
        from models.methods.hyperbolic.ball.placing import place

        return place(model, tree, data.rows("features"))


def _check_processes(params: GHHCParams) -> None:
    if params.processes > params.batch_size:
        raise UsageError(
            f"Parameter 'processes' is {params.processes}; each takes part of a batch, so it may "
            f"be at most 'batch_size', {params.batch_size}.",
            code="wrong-parameter",
            parameter="processes",
        )
    if params.device == "cuda" and params.processes > 1:
        import torch

        n_gpus = torch.cuda.device_count()
        if params.processes > n_gpus:
            raise UsageError(
                f"Parameter 'processes' is {params.processes}; with 'device': 'cuda' each needs a "
                f"GPU of its own, and there are {n_gpus} where the job runs.",
                code="no-gpu",
                parameter="processes",
            )


_AS_BEFORE = ("n_internal", "scaling", "point_norm")


def _check_base(earlier: Earlier, data: Data, params: GHHCParams) -> None:
    if earlier.method != GHHC.id or "nodes" not in earlier.state:
        raise UsageError(
            "Input 'base' must be a job of method 'ghhc'.", code="wrong-input", role="base"
        )
    require_width(data.rows("features"), earlier.state["nodes"].shape[1])
    before = GHHCParams.model_validate(earlier.params)
    for name in _AS_BEFORE:
        if getattr(before, name) != getattr(params, name):
            raise UsageError(
                f"Parameter {name!r} is {getattr(params, name)!r}; the job in 'base' had "
                f"{getattr(before, name)!r}, and it must be the same.",
                code="wrong-parameter",
                parameter=name,
            )
    if not np.isfinite(earlier.state["nodes"]).all():
        raise UsageError(
            "Input 'base' has nodes that are not finite.", code="wrong-input", role="base"
        )
