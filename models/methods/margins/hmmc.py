"""Hierarchical maximum-margin clustering (HMMC): a tree grown from the root, each node split by
large margins, with features that the split's clusters share and its ancestors do not use.

A split minimises alpha G + beta E + the mean squared hinge over weights and clusters in turn
(`splitting.objective`, `.alternating`): G, the group sparsity, selects features for all
clusters of a split; E, the exclusive sparsity, keeps it off those of its ancestors. All leaves are
split on trial and the one with the highest splitting score is split for good
(`splitting.growth`). `regularizer` has the paper's variants too: 'group' (HMMC-G),
'exclusive' (HMMC-E), 'l1' (HMMC-1), 'l2' (HMMC-2).

Each node says why: the features that tell its clusters apart, the share of weights that are 0, the
overlap with its ancestors (`splitting.explanation`). New points go down by the rule that placed
the fitted ones (`splitting.placing`). Of each point `margin` is the smallest on its path, and
below 0 where the bounds on sizes kept it from the cluster that it scores highest in.

Source: Zhou, Hwang, Schmidt, Sigal and Mori, "Hierarchical Maximum-Margin Clustering" (2015),
sections 3 and 4. Deviations: scores may have an intercept; sizes are bounded by floor(0.9 n / K)
and ceil(1.1 n / K), at least 1, since the print's bounds cannot be met by few points; `max_leaves`
is never passed; a score whose denominator is 0 is the best; a leaf that would be split by weights
of 0 is not; starts of a large node are compared on a sample of it.

Cost: O(N K P) for each of the tens to hundreds of steps of a split, O(N log N) for a flow; a level
of a balanced tree costs what its root does. Memory: the features twice, in double precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import Field

from models.checks import require_width
from models.clusters.counts import term_names
from models.data import Data, require_finite
from models.method import Fitted, Input, Method, Model, Paper, Predictions, Run, Shapes
from models.methods.margins.splitting.explanation import columns, metrics
from models.methods.margins.splitting.growth import grow
from models.methods.margins.splitting.inputs import (
    MarginParams,
    alone_and_quiet,
    bytes_to_split,
    check_points,
    require_moderate,
    said_of_parted,
    said_of_rounds,
)
from models.methods.margins.splitting.objective import Kind, Regularizer
from models.methods.margins.splitting.placing import place
from models.methods.margins.splitting.result import Grown, Limits
from models.methods.margins.splitting.split import stacked
from models.progress import subprogress
from models.tree.build import from_parents
from models.tree.tree import Tree


class HMMCParams(MarginParams):
    regularizer: Kind = Field(
        "group+exclusive",
        description=(
            "'group+exclusive' (HMMC), 'group' (HMMC-G), 'exclusive' (HMMC-E), 'l1' (HMMC-1) or "
            "'l2' (HMMC-2)."
        ),
    )
    beta: float = Field(
        1.0, ge=0, le=1e6, description="Weight of the exclusive sparsity, where there is one."
    )
    branching: int = Field(2, ge=2, le=5, description="Clusters that a node is split into.")
    max_leaves: int = Field(64, ge=2, le=1_000_000, description="Most leaves of the tree.")
    min_size: int = Field(
        2, ge=2, le=1_000_000_000, description="A leaf with fewer points is not split."
    )
    max_depth: int | None = Field(
        None, ge=1, le=1_000_000, description="A leaf so many splits below the root is not split."
    )


class HMMC(Method[HMMCParams]):
    """See the module's docstring."""

    title = "Hierarchical maximum-margin clustering"
    paper = Paper("Hierarchical Maximum-Margin Clustering", 2015, "sections 3 and 4")
    Params = HMMCParams
    inputs = {
        "features": Input(description="One row per point."),
        "feature_names": Input(
            required=False, description="One name per column; splits are explained by them."
        ),
    }
    outputs = ("tree", "model")
    resumes = True
    advice = "The method 'hkm' needs less."
    example = {"max_leaves": 3, "alpha": 0.1, "min_balance": 0.5, "max_balance": 1.5}

    def _memory(self, shapes: Shapes, params: HMMCParams) -> int:
        needed = bytes_to_split(shapes, params.branching)
        if not needed:
            return 0
        n_points, n_features = shapes["features"]
        nodes = 2 * min(params.max_leaves, n_points)
        return needed + nodes * (8 * n_features * (params.branching + 2) + 2000)

    def _check(self, data: Data, params: HMMCParams) -> None:
        regularizer_of(params).require_some()
        check_points(data, params.branching, "branching")

    def _fit(self, data: Data, params: HMMCParams, run: Run) -> Fitted:
        features = data.dense("features")
        limits = Limits(params.max_leaves, params.min_size, params.max_depth)
        with alone_and_quiet():
            grown = grow(
                features,
                params.terms(params.branching, regularizer_of(params)),
                params.starts,
                limits,
                int(run.rng.integers(2**63)),
                run.threads,
                subprogress(run.progress, 0.05, 0.95),
                run.checkpoint,
            )
        run.progress(0.95, "building the tree")
        names = term_names(data, grown.n_features)
        cut = sum(not one.ended for one in grown.splits)
        return Fitted(
            tree=_tree(grown, columns(grown, regularizer_of(params), names)),
            model=_model(grown, params.branching),
            metrics=metrics(grown.splits),
            points={"margin": grown.margin},
            warnings=(
                *said_of_parted(features, grown.leaf_of_point),
                *grown.said_of_end(limits, params.branching),
                *_said_of_scores(grown),
                *said_of_rounds(cut, params.max_iter),
            ),
        )

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """Down the tree by the splits' own rule; `margin` is each row's smallest on its path."""
        features = data.dense("features")
        require_width(features, model.arrays["weights"].shape[2])
        require_finite(features, "features")
        require_moderate(features)
        placed = place(model, tree, features)
        return Predictions(
            placed.leaf, placed.start, placed.node, placed.probability, {"margin": placed.smallest}
        )


def regularizer_of(params: HMMCParams) -> Regularizer:
    return Regularizer(params.regularizer, params.alpha, params.beta)


def _tree(grown: Grown, extra: dict[str, npt.NDArray[Any]]) -> Tree:
    """Leaves are numbered from the largest on, those of one size as they were made."""
    size = grown.size
    leaf = np.flatnonzero(grown.step < 0)
    order = leaf[np.argsort(-size[leaf], kind="stable")]
    name = np.full(grown.parent.size, None, dtype=object)
    name[order] = [str(number) for number in range(order.size)]
    return from_parents(grown.parent, grown.height, name, grown.leaf_of_point, extra=extra)


def _model(grown: Grown, branching: int) -> Model:
    kept = stacked(grown.splits, branching, grown.n_features)
    arrays = {name: kept[name] for name in ("weights", "intercept", "price")}
    return Model(arrays={**arrays, "split_of_node": grown.step})


def _said_of_scores(grown: Grown) -> tuple[str, ...]:
    free = sum(np.isinf(one.score) for one in grown.splits)
    if not free:
        return ()
    return (
        f"{free} split(s) cost nothing by this regularizer, which makes their splitting score "
        "infinite; they were made before all others.",
    )
