"""gHHC: a hierarchy as points of the Poincaré ball, moved by gradient steps.

The nodes of a tree are points of the ball, those near its centre high in the tree; the points of
the data lie further out. The parent of a point or node is the nearest node that is closer to the
centre (`ball.decoding`). Nodes start as an agglomerative tree over some of the points, the best of
`n_init` draws (`ball.seeding`). They are then moved on triples of a point, one of its neighbours
and another point, so that the first two meet deeper in the tree than with the third: steps lower
the expected cost of the tree that these probabilities describe (`ball.expected_cost_torch`). The
cost of the tree itself, which needs no labels, is measured after every 100 steps
(`ball.decoding`), and the best tree is the result. A leaf holds the points that selected one node,
which the tree does not separate; with 'below': "average" they are joined by average linkage below
it, and each point is a leaf (`ball.extraction`). `ball.extraction` describes the tree's columns.

With the input `base` nodes start from the final nodes of an earlier job, in the same ball. Several
processes may share each step (`processes`), each with a part of its triples, and reach the same
nodes up to rounding (`ball.process_group`). A fit that diverges is stopped: its best nodes are the
result, with a warning, or it fails if 'keep' is "last".

Source: Monath, Zaheer, Silva, McCallum and Ahmed, "Gradient-based Hierarchical Clustering using
Continuous Representations of Trees in Hyperbolic Space" (2019), §3 and §4. The objective differs:
steps lower the expected cost of eq. 10 itself, not the ranking objective of eq. 12 to 15, whose
steps rarely lower the cost of the tree (docs/decisions/expected-cost.md). Some defaults differ too,
since they give trees of lower cost on most data sets: nodes start at midpoints ('placement':
"order" in the paper), from several draws (`n_init`: 1), the best tree is kept ('keep': "last"), the
temperature is set by a perplexity (1 throughout), steps are by Adam, fewer, and fall to 0
('optimizer': "sgd", `learning_rate` 0.01, `max_iter` 5000), and none is needed that keeps norms
apart (`structure_every`: 1, 'structure': "distance", `gamma` not stated). The paper's objective is
'loss': "sigmoid" with these values, 'perplexity': null, 'decay': false and 'temperature' 1. The
authors' program: besides 'loss': "softplus", 'margin' 0.25, 'structure': "norms", 'mask':
"nearest", 'max_norm' 0.8, 'placement': "order", 'seeding': "random", `structure_every` 250 with 25
steps each time.

Cost: O((B + R) (M D + R^2)) a step for B = `batch_size`, M = `n_internal` and R of these nodes that
the points of a batch reach, independently of the number of points N; O(B M D) with another 'loss';
R is M up to 256 nodes, and grows slowly beyond. With 'below': "average" O(n^2 D) and 8 n^2 bytes
for n points of one node, 8,192 at most, and the model holds all points. The tree takes O(N M D)
twice and O(M^2 D) after every 100 steps (every M / 100 for more than 10,000 nodes); neighbours as
in `models.graphs.neighbours`, for at most 131,072 points at a time and by an approximate index for
more than 10,000 (`ball.points`). Memory: those points in
float32 four times, about 100 B M values, 22 M^2 for the expected cost, and M^2 bytes for the tree
over the seeds; the rest is read by rows. `python -m bench hyperbolic` measures both.

Measured: CPU time as N^0.8 D^0.6, from 5,000 x 64 to four times each, iterations bounded (`python
-m bench costs`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from pydantic import Field

from models.arrays import Array
from models.errors import UsageError
from models.inputs.checks import require_columns, require_two, require_width
from models.inputs.data import Data, Earlier
from models.method import Fitted, Input, Method, Model, Paper, Predictions, Run, Shapes
from models.methods.hyperbolic.ball.parameters import BallParams, step_bytes
from models.node_names.by_input import POINT_NAMES, by_points
from models.parameters import KeepSteps, Seed
from models.running.device import computing, require
from models.running.threads import limited
from models.tree.tree import Tree


class GHHCParams(BallParams):
    processes: int = Field(
        1,
        ge=1,
        le=64,
        description=(
            "Number of processes that take each step together, each for a part of its triples; "
            "the result is the same up to rounding. With 'cuda' each has a separate GPU; "
            "otherwise they share the threads of the job."
        ),
    )
    keep_steps: KeepSteps = 0
    seed: Seed = 0


class GHHC(Method[GHHCParams]):
    """See the module's docstring."""

    id = "ghhc"
    title = "gHHC"
    family = "hyperbolic"
    paper = Paper(
        "Gradient-based Hierarchical Clustering using Continuous Representations of Trees in "
        "Hyperbolic Space",
        2019,
        "KDD",
    )
    Params = GHHCParams
    inputs = {
        "features": Input(by_rows=True, description="One row per point."),
        "names": POINT_NAMES,
        "base": Input(
            required=False,
            description=(
                "An earlier job of this method: nodes start where its nodes ended, and features "
                "are scaled as there. The tree is over the points of this job."
            ),
        ),
    }
    outputs = ("tree", "model", "ball")
    needs = ("torch",)
    placing = "the leaf of its most probable parent, or of the nearest point below that"
    advice = (
        "Lower 'n_internal', 'batch_size' or 'processes', or use the ranking objective, "
        "'loss': 'sigmoid', for very many nodes."
    )
    resumes = True
    example = {"n_internal": 9, "max_iter": 30, "n_init": 2}

    def opens_sockets(self, params: Mapping[str, Any]) -> bool:
        return int(params.get("processes", 1)) > 1

    def _memory(self, shapes: Shapes, params: GHHCParams) -> int:
        from models.methods.hyperbolic.ball.extraction import MOST
        from models.methods.hyperbolic.ball.points import bytes_held
        from models.methods.hyperbolic.ball.process_group import PROCESS_BYTES
        from models.methods.hyperbolic.ball.seeding import n_seeds

        if len(shapes.get("features", ())) != 2:
            return 0
        n_points, n_features = shapes["features"]
        n_nodes, seeds = params.n_internal, n_seeds(params.n_internal)
        steps = step_bytes(n_nodes, params.batch_size, params.loss) + 64 * n_nodes * n_features
        seeding = 0 if params.seeding == "points" else 4 * seeds * seeds
        on_processor = 0 if params.device == "cuda" else steps
        followers = PROCESS_BYTES * (params.processes - 1)
        pool = bytes_held(n_points, n_features, params.n_neighbors)
        merges = 0
        if params.below != "none":
            merges = 8 * n_points * (n_features + 16) + 8 * min(n_points, MOST) ** 2
        kept = params.keep_steps * (200 * n_points + 8 * n_nodes * n_features)
        return pool + max(on_processor + followers, seeding, merges) + 40 * n_points + kept

    def _check(self, data: Data, params: GHHCParams) -> None:
        require(params.device)
        _check_processes(params)
        rows = data.rows("features")
        require_columns(rows)
        require_two(rows.shape[0])
        data.leaf_names(rows.shape[0], "point")
        earlier = data.earlier()
        if earlier is not None:
            _check_base(earlier, data, params)

    def _fit(self, data: Data, params: GHHCParams, run: Run) -> Fitted:

        from models.methods.hyperbolic.ball.fit import fit

        with limited(run.threads), computing(run.threads):
            fitted = fit(
                data.rows("features"),
                data.earlier(),
                params,
                params.processes,
                run,
                params.keep_steps,
            )
        names = data.names()
        steps = tuple(replace(each, tree=by_points(each.tree, names)) for each in fitted.steps)
        return replace(fitted, tree=by_points(fitted.tree, names), steps=steps)

    def ball(self, model: Model, data: Data) -> Array:
        """The features as the fit scaled them into the ball."""
        from models.methods.hyperbolic.ball.points import from_model, scaled_points

        rows = data.rows("features")
        require_width(rows, model.arrays["mean"].shape[0])
        return scaled_points(rows, from_model(model.arrays, model.facts))

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """The leaf of the parent by eq. 4; the probability of a node is that of the leaves below
        it."""
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
                f"separate GPU, and there are {n_gpus} where the job runs.",
                code="no-gpu",
                parameter="processes",
            )


_UNCHANGED = ("n_internal", "scaling", "point_norm")
"""Parameters that must be equal to the parameters of the job in `base`."""


def _check_base(earlier: Earlier, data: Data, params: GHHCParams) -> None:
    if earlier.method != GHHC.id or "nodes" not in earlier.state:
        raise UsageError(
            "Input 'base' must be a job of method 'ghhc'.", code="wrong-input", role="base"
        )
    require_width(data.rows("features"), earlier.state["nodes"].shape[1])
    before = GHHCParams.model_validate(earlier.params)
    for name in _UNCHANGED:
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
