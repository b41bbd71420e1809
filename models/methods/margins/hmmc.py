"""Hierarchical maximum-margin clustering (HMMC): a tree grown from the root, each node split with
large margins, by features that the split's clusters share and its ancestors do not use.

A split minimises alpha G + beta E + the mean squared hinge, alternating between weights and
clusters (`splitting.objective`, `.alternating`): G, the group sparsity, selects features for all
clusters of a split; E, the exclusive sparsity, penalises features that its ancestors use. All
leaves are split on trial and the one with the highest splitting score is split for good
(`splitting.growth`). `regularizer` also offers the paper's variants: 'group' (HMMC-G), 'exclusive'
(HMMC-E), 'l1' (HMMC-1), 'l2' (HMMC-2).

Every node is explained by the features that separate its clusters, the share of weights that are 0
and the overlap with its ancestors (`splitting.result`). New points descend by the rule that
placed the fitted ones (`splitting.placing`). The `margin` of a point is the smallest on its path;
it is below 0 where the bounds on sizes kept the point from the cluster with its highest score.

Features whose size is far from 1 are divided by a power of 2 near it, as in `mmc`, with a warning.

Source: Zhou, Hwang, Schmidt, Sigal and Mori, "Hierarchical Maximum-Margin Clustering" (2015),
sections 3 and 4. Deviations: scores may have an intercept; sizes are bounded by floor(0.9 n / K)
and ceil(1.1 n / K), at least 1, since few points cannot meet the printed bounds; `max_leaves` is
never exceeded; a score whose denominator is 0 is the best; a leaf that would be split by zero
weights is not split; the starts of a large node are compared on a sample of it. The paper
alternates exact half-steps from one start, which ends far above the optimum: here the weights first
take single steps (`splitting.alternating`), and the best of several kinds of starts is disturbed
and improved until that is vain (`splitting.split`). On sets of 12 points, where all clusterings can
be enumerated, the result is on average 0.8 % above the smallest objective, with `gaps` 0.1 %.

Cost: O(N K P) for each of the tens to hundreds of steps of an alternation, of which a split has
about 20; O(N log N) for a flow; O(N (P + 200) (log N + K)) to find gaps; every level of a balanced
tree costs as much as its root. Memory: two copies of the features in double precision.

Measured: CPU time as N^0.2 D^1.3, from 1,000 x 32 to four times each, iterations bounded (`python
-m bench costs`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import Field

from models.clusters.counts import term_names
from models.inputs.checks import require_width
from models.inputs.data import Data, require_finite
from models.method import Fitted, Input, Method, Model, Paper, Predictions, Run, Shapes
from models.methods.margins.splitting.growth import grow
from models.methods.margins.splitting.inputs import (
    MarginParams,
    bytes_to_split,
    check_points,
    in_units,
    parted_warnings,
    require_moderate,
    round_warnings,
    single_threaded_and_quiet,
    size_of,
    size_of_fit,
    size_warnings,
)
from models.methods.margins.splitting.objective import Kind, Regularizer
from models.methods.margins.splitting.placing import place
from models.methods.margins.splitting.result import GrowthLimits, MarginTree, columns, metrics
from models.methods.margins.splitting.split import stacked
from models.node_names.by_input import POINT_NAMES, by_points
from models.running.progress import subprogress
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
        1.0,
        ge=0,
        le=1e6,
        description="Weight of the exclusive sparsity, if the regularizer has one.",
    )
    branching: int = Field(
        2, ge=2, le=5, description="Number of clusters that a node is split into."
    )
    max_leaves: int = Field(
        64, ge=2, le=1_000_000, description="Largest number of leaves of the tree."
    )
    min_size: int = Field(
        2, ge=2, le=1_000_000_000, description="Leaves with fewer points are not split."
    )
    max_depth: int | None = Field(
        None,
        ge=1,
        le=1_000_000,
        description="Leaves this many splits below the root are not split.",
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
        "names": POINT_NAMES,
    }
    outputs = ("tree", "model")
    placing = "the leaf reached by the rules of the splits"
    resumes = True
    advice = "The method 'hkm' needs less memory."
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
        data.leaf_names(len(data.dense("features")), "point")

    def _fit(self, data: Data, params: HMMCParams, run: Run) -> Fitted:
        given = data.dense("features")
        size = size_of(given, params.intercept)
        features = in_units(given, size)
        limits = GrowthLimits(params.max_leaves, params.min_size, params.max_depth)
        with single_threaded_and_quiet():
            grown = grow(
                features,
                params.terms(params.branching, regularizer_of(params)),
                params.search,
                limits,
                int(run.rng.integers(2**63)),
                run.threads,
                subprogress(run.progress, 0.05, 0.95),
                run.checkpoint,
            )
        run.progress(0.95, "building the tree")
        terms = term_names(data, grown.n_features)
        tree = _tree(grown, columns(grown, regularizer_of(params), terms))
        n_unfinished = sum(not split.ended for split in grown.splits)
        return Fitted(
            tree=by_points(tree, data.names()),
            model=_model(grown, params.branching, size),
            metrics=metrics(grown.splits),
            point_columns={"margin": grown.margin},
            warnings=(
                *size_warnings(size),
                *parted_warnings(features, grown.leaf_of_point),
                *grown.end_warnings(limits, params.branching),
                *_score_warnings(grown),
                *round_warnings(n_unfinished, params.max_iter),
            ),
        )

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """The leaf reached by the rules of the splits; `margin` is the smallest on a row's path."""
        features = data.dense("features")
        require_width(features, model.arrays["weights"].shape[2])
        require_finite(features, "features")
        require_moderate(features)
        placed = place(model, tree, in_units(features, size_of_fit(model)))
        return Predictions(
            placed.leaf, placed.start, placed.node, placed.probability, {"margin": placed.smallest}
        )


def regularizer_of(params: HMMCParams) -> Regularizer:
    return Regularizer(params.regularizer, params.alpha, params.beta)


def _tree(grown: MarginTree, extra: dict[str, npt.NDArray[Any]]) -> Tree:
    """The tree; leaves are numbered from the largest to the smallest, ties by age."""
    size = grown.size
    leaf = np.flatnonzero(grown.step < 0)
    order = leaf[np.argsort(-size[leaf], kind="stable")]
    name = np.full(grown.parent.size, None, dtype=object)
    name[order] = [str(number) for number in range(order.size)]
    return from_parents(grown.parent, grown.height, name, grown.leaf_of_point, extra=extra)


def _model(grown: MarginTree, branching: int, size: float) -> Model:
    splits = stacked(grown.splits, branching, grown.n_features)
    arrays = {name: splits[name] for name in ("weights", "intercept", "price")}
    return Model(arrays={**arrays, "split_of_node": grown.step, "size": np.array([size])})


def _score_warnings(grown: MarginTree) -> tuple[str, ...]:
    n_free = sum(np.isinf(split.score) for split in grown.splits)
    if not n_free:
        return ()
    return (
        f"{n_free} split(s) cost nothing by this regularizer, which makes their splitting score "
        "infinite; they took precedence over all others.",
    )
