"""Agglomerative clustering along the edges of a graph within (1 + epsilon) of the best, in rounds.

Every merge is at most (1 + epsilon) times as long as the shortest edge between any two clusters at
its time, in the order in which the merges are listed: the definition of approximate agglomeration.
A round may so merge many pairs in a row without looking for the one shortest edge after each, and
a cluster that takes up many others, a few of them at a time, measures its own edges once for all.
Lengths and heights are exact; only the order is nearly that of the best.

Source: Dhulipala et al., "Hierarchical Agglomerative Graph Clustering in Poly-Logarithmic Depth"
(2022, ParHAC), for the definition and the rounds, as in "TeraHAC" (2023); Bateni et al., "Efficient
Centroid-Linkage Clustering" (2024), for lengths that may become shorter, where TeraHAC's rule by
the merges of each part alone certifies nothing. The bound by how far a centre moved is our own.

Cost: O((N + E) D) and logarithms of both in practice, for a graph of N nodes and E edges; where
clusters have very many neighbours, the edges of the larger part at each merge that moves its centre
noticeably. Memory: 8 N (D + 12) + 40 E bytes. Edges are measured on several threads, merges are
made by one; their number changes no digit.

By 'average' the slack is epsilon at first and shrinks with the root of the share of groups that are
left (`_slack`). Dendrogram purity that is lost against average linkage of all pairs, on draws of
five sets, with errors: `docs/decisions/agglomeration.md`; with epsilon .1 -.2 to 2.3%, as much as
by the exact order along the same graph, where a slack that stays loses .7 to 8.5%.

Nodes are numbered so that those which merge early lie side by side in memory (`loops.near_order`),
and so do the edges of each: 200,000 x 32 'average' with .1 takes 8.6 CPU s by one thread, beyond
the neighbours, on a busy machine, where it took 12.9 without; 1,000,000 x 32 takes 75 there, as
long as its neighbours: 34 for merging, 20 for measuring edges, which threads share.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from models.arrays import Array, Arrays, Float, Int
from models.errors import UsageError
from models.graphs.neighbours import Graph
from models.method import Checkpoint
from models.methods.features.linkage.graph_linkage import (
    BY_CENTRE,
    GRAPH_RULES,
    GraphRule,
    all_merges,
    equal_points,
    rule_of,
)
from models.numerics.distances import FLAT, DistanceMetric
from models.running.progress import Progress

ROUND_EDGE_BYTES = 40
"""Memory for each edge while clusters merge in rounds."""

AT_A_TIME = 512
"""Clusters whose edges one thread measures at a time."""

ORDER_ROUNDS = 8
"""Rounds in which nodes are put in order; groups are at least twice as large after each."""

STEP = 2_000
"""Merges between two reports of progress, at least."""


def agglomerate_nearly(
    graph: Graph,
    rule: GraphRule,
    points: Array,
    epsilon: float,
    threads: int,
    progress: Progress,
    checkpoint: Checkpoint | None = None,
) -> tuple[Int, Float]:
    """As `graph_linkage.agglomerate`, each merge within (1 + epsilon) of the best.

    rule : one of `BY_CENTRE`. checkpoint : has the state after each round; an attempt that goes on
        gives the same bits.
    """
    assert rule in BY_CENTRE
    early, node, size = equal_points(graph.first, graph.place)
    order = _order(graph)
    state = _Rounds.start(graph, rule, points, size, order)
    saved = None if checkpoint is None else checkpoint.load()
    state.fill(None if saved is None or "rounds_merges" not in saved else saved)
    n_rounds, reported = 0, -STEP
    with ThreadPoolExecutor(threads, "rounds") as pool:
        while state.n_done < state.n_merges:
            if state.n_done >= reported + STEP or n_rounds % STEP == 0:
                reported = state.n_done
                message = f"{state.n_done:,} of {state.n_merges:,} merges, round {n_rounds + 1:,}"
                progress(state.n_done / (state.n_merges + 1), "merging", message)
            state.round(_slack(rule, epsilon, state.n_done, state.n_merges + 1), pool, threads)
            n_rounds += 1
            if checkpoint is not None:
                checkpoint.save(state.arrays())
    inner = state.merges >= graph.n_nodes
    late = np.where(inner, state.merges, order[np.where(inner, 0, state.merges)])
    return all_merges(graph.place.size, early, node, late, state.height)


def _slack(rule: GraphRule, epsilon: float, n_done: int, n_nodes: int) -> float:
    """The slack of the next round. By 'average' it shrinks with the root of the share of groups
    that are left: what merges late are large groups, whose order decides how pure a tree is, and
    rounds of few groups cost little."""
    if rule != "spread":
        return epsilon
    return epsilon * float(np.sqrt((n_nodes - n_done) / n_nodes))


def check_epsilon(
    linkage: GraphRule, metric: DistanceMetric, given: str | None, *, along_neighbours: bool
) -> None:
    """Raises UsageError where merges can only be made in the exact order.

    given : an input of constraints, if there is one.
    """
    if not along_neighbours:
        reason = "applies to merging along nearest neighbours: set 'connectivity' to 'knn'"
    elif given is not None:
        reason = f"has no merges under constraints, such as the input {given!r}"
    elif rule_of(linkage, metric) not in BY_CENTRE:
        by = f" by {metric!r}" if linkage == "average" else ""
        reason = (
            f"has no merges by linkage {linkage!r}{by}, which goes by edges and not by centres; it "
            "takes 'ward', 'centroid' and 'median', and 'average' by "
            f"{', '.join(map(repr, FLAT))}"
        )
    else:
        return
    raise UsageError(
        f"Parameter 'epsilon' {reason}; 0 merges in the exact order.",
        code="wrong-parameter",
        parameter="epsilon",
    )


def slack_warnings(epsilon: float) -> tuple[str, ...]:
    """What is given away, for the result."""
    return (
        f"Merges are nearly in the order of the closest: each is at most {1.0 + epsilon:g} times "
        "as long as the shortest possible at its time. Heights are exact; 'epsilon' 0 merges the "
        "closest two every time.",
    )


@dataclass(slots=True, eq=False)
class _Rounds:
    """The clusters of a graph of n nodes and E edges, and the merges so far.

    halves : (2 E,) of type `loops.HALF`. head, tail : (n,) the first and last half in each
    cluster's list. link : (n,) what a cluster has become. number : (n,) its number in the merges.
    size, spread : (n,), centre : (n, D), as in `graph_linkage.Clusters`. least : (n,) lower bounds.
    heap, place, level : by `least`. changed, measured : (n,) the number of merges at that time.
    moved, noted, note : (n,), of a round.
    merges, height : of all merges, filled up to `n_done`. seen : (n + 1,) for each thread.
    """

    rule: int
    halves: Array
    head: Array
    tail: Array
    link: Array
    number: Int
    size: Float
    centre: Float
    spread: Float
    least: Float
    heap: Array
    place: Array
    level: Array
    changed: Array
    measured: Array
    moved: Float
    noted: Array
    note: Float
    taken: Array
    merges: Int
    height: Float
    seen: list[Array]
    n_done: int = 0
    n_heap: int = 0

    @classmethod
    def start(cls, graph: Graph, rule: GraphRule, points: Array, size: Int, order: Int) -> _Rounds:
        """order : (n,) the nodes of the graph in the order of their numbers here. size : (n,) of
        the nodes."""
        from models.methods.features.linkage.loops import rounds as loops

        n_nodes, n_edges = graph.n_nodes, graph.length.size
        weight = size.astype(np.float64)
        edge = graph.length.astype(np.float64)
        if rule == "ward":
            first, second = weight[graph.ends[:, 0]], weight[graph.ends[:, 1]]
            edge *= np.sqrt(2.0 * first * second / (first + second))
        narrow = 2 * n_edges < 1 << 31
        kind = np.int32 if narrow else np.int64
        head, tail = np.empty(n_nodes, kind), np.empty(n_nodes, kind)
        halves = np.empty(2 * n_edges, loops.HALF if narrow else loops.WIDE_HALF)
        rank, least = np.empty(n_nodes, np.int32), np.empty(n_nodes)
        rank[order] = np.arange(n_nodes, dtype=np.int32)
        loops.prepare(graph.ends, edge, rank, halves, head, tail, least)
        # Lengths in single precision are bounds alone, and are measured.
        known = graph.length.dtype == np.float64
        return cls(
            rule=GRAPH_RULES.index(rule),
            halves=halves,
            head=head,
            tail=tail,
            link=np.arange(n_nodes, dtype=np.int32),
            number=np.arange(n_nodes),
            size=weight[order],
            centre=points[graph.first[order]].astype(np.float64),
            spread=np.zeros(n_nodes),
            least=least,
            heap=np.empty(n_nodes, np.int32),
            place=np.empty(n_nodes, np.int32),
            level=np.zeros(n_nodes, np.int8),
            changed=np.zeros(n_nodes, np.int32),
            measured=np.full(n_nodes, 0 if known else -1, np.int32),
            moved=np.zeros(n_nodes),
            noted=np.zeros(n_nodes, np.int32),
            note=np.zeros(n_nodes),
            taken=np.empty(n_nodes, np.int64),
            merges=np.empty((n_nodes - 1, 2), dtype=np.int64),
            height=np.empty(n_nodes - 1),
            seen=[],
        )

    @property
    def n_merges(self) -> int:
        return len(self.height)

    def arrays(self) -> dict[str, Array]:
        """What an attempt that goes on needs beside the graph."""
        done = slice(0, self.n_done)
        return {
            "rounds_merges": self.merges[done],
            "rounds_height": self.height[done],
            "rounds_least": self.least,
        }

    def fill(self, saved: Arrays | None) -> None:
        """The heap, after the merges of an earlier attempt where there are any."""
        from models.methods.features.linkage.loops import rounds as loops

        if saved is not None:
            done = np.asarray(saved["rounds_merges"], dtype=np.int64)
            self.n_done = len(done)
            self.merges[: self.n_done] = done
            self.height[: self.n_done] = saved["rounds_height"]
            self.least[:] = saved["rounds_least"]
            loops.replay(
                self.rule, done, self.link, self.number, self.halves, self.head, self.tail,
                self.changed, self.measured, self.size, self.centre, self.spread,
            )  # fmt: skip
        self.n_heap = loops.fill(self.link, self.least, self.heap, self.place, self.level)

    def round(self, epsilon: float, pool: ThreadPoolExecutor, threads: int) -> None:
        """Merge what is within (1 + epsilon) of the shortest edges, once through."""
        from models.methods.features.linkage.loops import rounds as loops

        n_taken, self.n_heap = loops.take(
            epsilon, self.n_heap, self.least, self.heap, self.place, self.level, self.taken
        )
        taken = self.taken[:n_taken]
        shares = list(_shares(n_taken, threads))
        while len(self.seen) < len(shares):
            self.seen.append(np.zeros(len(self.link) + 1, dtype=np.int64))
        if len(shares) == 1:
            self._scan(taken, self.seen[0])
        else:
            parts = [taken[share] for share in shares]
            list(pool.map(self._scan, parts, self.seen))
        bound, one, other, apart = loops.candidates(
            epsilon, taken, self.n_heap, self.halves, self.head, self.least, self.heap, self.place,
        )  # fmt: skip
        order = np.lexsort((other, one, apart))
        self.n_done, self.n_heap = loops.merge_round(
            self.rule, epsilon, bound, self.n_done, self.n_heap, one, other, apart, order, taken,
            self.halves, self.head, self.tail, self.link, self.number, self.changed, self.measured,
            self.seen[0], self.moved, self.noted, self.note, self.size, self.centre, self.spread,
            self.least, self.heap, self.place, self.level, self.merges, self.height,
        )  # fmt: skip

    def _scan(self, clusters: Array, seen: Array) -> None:
        from models.methods.features.linkage.loops import rounds as loops

        loops.scan(
            self.rule, self.n_done, clusters, self.halves, self.head, self.tail, self.link,
            self.changed, self.measured, seen, self.size, self.centre, self.spread, self.least,
        )  # fmt: skip


def _order(graph: Graph) -> Int:
    """The nodes of a graph, those that merge early side by side in memory."""
    from models.methods.features.linkage.loops import rounds as loops

    order = np.empty(graph.n_nodes, dtype=np.int64)
    loops.near_order(graph.ends, graph.length, ORDER_ROUNDS, order)
    return order


def _shares(n_taken: int, threads: int) -> Iterator[slice]:
    """A share for each thread, one where there is little to measure."""
    n_shares = max(1, min(threads, n_taken // AT_A_TIME))
    edges = [n_taken * number // n_shares for number in range(n_shares + 1)]
    for first, last in pairwise(edges):
        yield slice(first, last)
