"""`consensus`: one tree from several, or the support of a tree by others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from pydantic import Field

from models.arrays import Array
from models.consensus.items import Match, Rule, Support
from models.errors import UsageError
from models.running.progress import Progress
from models.tree.tree import Tree
from workers.artifacts import results
from workers.kinds.kind import Kind, Lane, Options, Size
from workers.model import Request
from workers.work.job import Job, Outcome, with_tree
from workers.work.sources import tree_of

MOST_NODES = 20_000_000
"""The most nodes of all trees together: about 2 GB of memory."""
_TRANSFER_STEPS = 1_000_000_000_000
"""The most steps of the transfer support: about ten minutes."""


class ConsensusOptions(Options):
    """How the trees become one."""

    rule: Rule | Literal["reference"] = "majority"
    threshold: float = 0.5
    match: Match = "auto"
    common: bool = False
    support: Support = "share"
    seed: int = Field(0, ge=0)


class _Consensus(Kind[ConsensusOptions]):
    name = "consensus"
    noun = "consensus"
    Options = ConsensusOptions

    def lane(self, request: Request) -> Lane:
        return "fit" if self.options(request).support == "transfer" else super().lane(request)

    def seconds(
        self, options: ConsensusOptions, params: Mapping[str, Any], size: Size
    ) -> float | None:
        """Nodes are matched; the transfer support compares all pairs of nodes of two trees."""
        pairs = size.n_nodes**2 / max(size.n_trees, 1)
        return size.linear_s + (6e-10 * pairs if options.support == "transfer" else 0.0)

    def run(self, job: Job, options: ConsensusOptions) -> Outcome:
        job.reading()
        trees = [tree_of(source) for source in job.sources if source.role == "trees"]
        references = [tree_of(source) for source in job.sources if source.role == "reference"]
        result = _agreed(options, trees, references[0] if references else None, job.progress)
        results.save_agreement(result.agreement, job.folder)
        metrics = {
            "robinson_foulds": float(np.mean(result.facts["normalized"])),
            "n_trees": float(len(trees)),
        }
        facts = {"model": None, "metrics": metrics, "consensus": result.facts}
        return with_tree(job.spec, result.tree, job.request.method, facts, result.warnings)


KIND = _Consensus()


@dataclass(frozen=True, slots=True)
class _Agreed:
    """tree : the consensus. facts : of the answer, `normalized` and `distance` in the order of the
    trees. agreement : (n_nodes, ceil(n_trees / 8)) bits, which trees have the items of a node as a
    cluster. warnings : of the job.
    """

    tree: Tree
    facts: dict[str, Any]
    agreement: Array
    warnings: list[str]


def _agreed(
    options: ConsensusOptions, trees: Sequence[Tree], reference: Tree | None, progress: Progress
) -> _Agreed:
    """Raises UsageError for trees that cannot be matched or are too large together."""
    from models.consensus.items import matched_items
    from models.consensus.rules import Clusters, consensus, distances
    from models.consensus.support import agreement_of_halves, having, same_nodes, support_by

    given = [*([] if reference is None else [reference]), *trees]
    n_nodes = sum(tree.n_nodes + tree.n_points for tree in given)
    if n_nodes > MOST_NODES:
        raise UsageError(
            f"The trees have {n_nodes} nodes and rows together; a consensus takes at most "
            f"{MOST_NODES}.",
            code="too-large",
            limit=MOST_NODES,
        )
    items = matched_items(given, options.match, options.common)
    if reference is None:
        assert options.rule != "reference"
        result = consensus(items, options.rule, options.threshold, progress)
        tree, agrees, warnings = result.tree, result.agrees, list(result.warnings)
        apart, normalized = result.distance, result.normalized
        clusters = result.clusters
    else:
        steps = items.trees[0].n_nodes * sum(tree.n_nodes for tree in items.trees[1:])
        if options.support == "transfer" and steps > _TRANSFER_STEPS:
            raise UsageError(
                "The transfer support of trees so large takes hours; take the share, fewer trees "
                "or smaller ones.",
                code="too-large",
                parameter="support",
            )
        warnings = list(items.warnings)
        node = same_nodes(reference, items)
        column = np.where(node >= 0, support_by(items, options.support, progress)[node], np.nan)
        tree = replace(reference, extra={**reference.extra, "support": column})
        agrees = having(items)[:, node] & (node >= 0)
        clusters = Clusters.of(items.trees[1:])
        both = Clusters.of(items.trees)
        own = np.unique(both.number[0][both.number[0] >= 0]).astype(np.int64)
        apart = distances(both, own)[1:]
        total = both.n_proper()[1:] + len(own) - 1
        normalized = np.divide(apart, total, out=np.zeros(len(apart)), where=total > 0)
    halves = agreement_of_halves(clusters, np.random.default_rng(options.seed))
    facts = {
        "rule": options.rule,
        "n_trees": len(trees),
        "n_items": items.n_items,
        "matched_by": "rows" if items.names is None else "names",
        "distance": [int(each) for each in apart],
        "normalized": [float(each) for each in normalized],
        "halves": None if halves is None else {"correlation": halves[0], "alike": halves[1]},
    }
    return _Agreed(tree, facts, np.packbits(agrees.T, axis=1), warnings)
