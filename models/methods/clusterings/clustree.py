"""Tree of clusterings: labels of the same rows at several resolutions, as a graph and a tree.

A column of the table is a level: the label of each row at one resolution or number of clusters,
from any tool. The clusters of all levels are nodes; an edge says how many rows a cluster has in
common with one of the next level. In the tree each cluster hangs under the one of the level before
that most of its rows come from; of equal ones, under that of which they are the larger share, then
under the first by label, which is warned of. Rows lie in their cluster of the last level. Nested
clusterings give the exact tree; of others, rows that at some level are elsewhere than the tree has
them are counted (`rows_apart`) and warned of.

Levels are the columns that `levels` names, in that order. Otherwise: the columns whose names differ
in a number alone (`res.0.2`, `res.0.4`; `K2`, `K3`), in its order; without such names, all columns
but ids of rows, by their number of clusters. What this decides stands in `warnings`. A row without
a label (missing, -1, NA, noise) is in the bucket `noise` of that level, its last cluster.

Nodes have the columns `level`, `cluster` (the label), `noise`, `rows` (of the cluster; `size`
counts the rows under the node), `stability` and `flows`: from each cluster of the level before, the
rows, their share of this cluster (in-proportion) and of the other one (out-proportion). `GET
/v1/trees/{id}/flows` has the graph as JSON, CSV, GraphML and pictures. Heights are levels above the
last one. What drives a split is found by a naming by `features`: how far each cluster is from its
siblings in each feature, in standard deviations.

Source: Zappia and Oshlack, "Clustering trees" (2018), and its package clustree, of which this has
the definitions: in-proportions, and the stability of SC3 (Kiselev et al., 2017) divided by the
number of levels. Out-proportions and the rule for ties are added here.

Cost: O(N L^2) for L levels of N rows, and memory of about 80 N + 9 N L + 500 E bytes for E edges,
at most two million.

Measured: 1.1 s of CPU time and 0.4 GB for 1,000,000 x 20 with 2 to 21 clusters.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from models.clusterings.graph import MOST_EDGES, Hanging, graph_of, hang
from models.clusterings.levels import FEWEST, LONGEST_LABEL, ROLE, of_table
from models.errors import UsageError
from models.inputs.data import Data
from models.inputs.items import MOST_COLUMNS, ItemTable
from models.method import Fitted, Input, Method, Paper, Run, Shapes
from models.parameters import Params


class ClustreeParams(Params):
    levels: (
        Annotated[
            list[Annotated[str, Field(min_length=1, max_length=LONGEST_LABEL)]],
            Field(min_length=FEWEST, max_length=MOST_COLUMNS),
        ]
        | None
    ) = Field(
        None,
        description="The columns that are levels, the coarsest first; none: those whose names "
        "differ in a number alone, in its order, or all columns by their number of clusters.",
    )


class Clustree(Method[ClustreeParams]):
    """See the module's docstring."""

    title = "Tree of clusterings"
    paper = Paper(
        "Clustering trees: a visualization for evaluating clusterings at multiple resolutions",
        2018,
        "GigaScience",
    )
    Params = ClustreeParams
    inputs = {
        ROLE: Input(
            description="A table with a row per point and a column of labels per level, under its "
            "name."
        ),
    }
    advice = "Name fewer columns in 'levels', or use a sample of the rows."

    def _memory(self, shapes: Shapes, params: ClustreeParams) -> int:
        shape = shapes.get(ROLE, ())
        if not shape:
            return 0
        n_columns = shape[1] if len(shape) > 1 else FEWEST
        n_edges = min(shape[0] * (n_columns - 1), MOST_EDGES)
        return shape[0] * (80 + 9 * n_columns) + 500 * n_edges

    def _check(self, data: Data, params: ClustreeParams) -> None:
        table = data.values[ROLE]
        if not isinstance(table, ItemTable):
            raise UsageError(
                f"Input {ROLE!r} must be a table with named columns, one of labels for each level.",
                code="wrong-input",
                role=ROLE,
            )
        if not table.columns or not table.n_items:
            raise UsageError(
                f"Input {ROLE!r} has no rows or no columns; {FEWEST} columns of labels are needed.",
                code="wrong-shape",
                role=ROLE,
            )

    def _fit(self, data: Data, params: ClustreeParams, run: Run) -> Fitted:
        table = data.values[ROLE]
        assert isinstance(table, ItemTable)
        run.progress(0.0, "labels")
        levels, warnings = of_table(table, params.levels)
        graph = graph_of(levels, run.progress)
        run.progress(0.9, "tree")
        hanging = hang(levels, graph)
        if graph.n_tied:
            warnings.append(
                f"{graph.n_tied:,} cluster(s) have as many rows from one cluster of the level "
                "before as from another; each hangs under that of which these rows are the larger "
                "share, then under the first by label."
            )
        return Fitted(
            tree=hanging.tree,
            metrics={
                "levels": float(len(levels)),
                "rows_apart": float(hanging.n_apart),
                "stability": float(graph.stability.mean()),
            },
            warnings=(*warnings, *_lost(hanging, table.n_items)),
        )


def _lost(hanging: Hanging, n_rows: int) -> list[str]:
    """What the tree does not keep of the graph, a sentence each."""
    warnings = []
    if hanging.n_apart:
        warnings.append(
            f"The clusterings are not nested: {hanging.n_apart:,} of {n_rows:,} row(s) are at some "
            "level in another cluster than the tree has above their cluster of the last level; "
            "the flows of the graph count them."
        )
    if hanging.n_bare:
        warnings.append(
            f"{hanging.n_bare:,} cluster(s) above the last level are leaves without rows in the "
            "tree: no cluster of the next level takes most of its rows from them."
        )
    if hanging.n_under_noise:
        warnings.append(
            f"{hanging.n_under_noise:,} cluster(s) take most of their rows from noise and hang "
            "under it."
        )
    return warnings
