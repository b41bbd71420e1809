"""`name`: the nodes of a tree named by what their rows have in common."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import mean
from typing import Any

from pydantic import ConfigDict

from models.inputs.data import Value
from models.node_names.by_input import NamingTerms
from models.tree.tree import Tree
from workers.artifacts import results
from workers.formats.table_writers import save_arrow
from workers.kinds.kind import Find, Lane, NamedKind, OfTree, Size
from workers.model import Request
from workers.work.job import Job, Outcome
from workers.work.named_columns import implied
from workers.work.sources import Source, of_role, tree_of, values_of


class NamingOptions(OfTree, NamingTerms):
    """What nodes are named by."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class _Name(NamedKind[NamingOptions]):
    name = "name"
    noun = "naming"
    prefix = "nm"
    Options = NamingOptions

    def lane(self, request: Request) -> Lane:
        return "fit" if self.phrases(request) else super().lane(request)

    def sources(self, find: Find, options: NamingOptions) -> list[Source]:
        return [find.tree("tree", options.tree)]

    def seconds(
        self, options: NamingOptions, params: Mapping[str, Any], size: Size
    ) -> float | None:
        """Documents are read word by word."""
        return size.linear_s + 2e-7 * size.n_bytes

    def run(self, job: Job, options: NamingOptions) -> Outcome:
        job.reading()
        tree = tree_of(of_role(job.sources, "tree"))
        values = values_of(job.sources, but=("tree",), many=frozenset({"features"}))
        values |= implied(job.sources, values, {"names": "row", "feature_names": "column"})
        job.at(0.1, "naming")
        facts, warnings = _named(options, tree, values, job.folder)
        return Outcome(result={"tree": options.tree, "naming": facts}, warnings=warnings)

    def phrases(self, request: Request) -> bool:
        return self.options(request).by == "model"


KIND = _Name()


def _named(
    terms: NamingOptions, tree: Tree, values: Mapping[str, Value], folder: Path
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """(facts of the answer, warnings); the names are written. Raises UsageError as `evidence`.

    Names of a language model are phrased afterwards from what is written here
    (`workers.phrasing`): a child has no network.
    """
    import pyarrow as pa

    from models.node_names.evidence import evidence

    found = evidence(tree, terms.found_by, values, terms.n_clusters)
    nodes = sorted(found.name)
    columns = {
        "node": pa.array(nodes, pa.int64()),
        "parent": pa.array([max(int(tree.parent[node]), -1) for node in nodes], pa.int64()),
        "size": pa.array([int(tree.size[node]) for node in nodes], pa.int64()),
        "name": pa.array([found.name[node] for node in nodes], pa.string()),
        "by": pa.array([terms.found_by] * len(nodes), pa.string()),
        "evidence": pa.array([found.detail[node] for node in nodes], pa.string()),
    }
    routed = None if terms.by == "model" else found.routed
    tallies = [None if routed is None else routed.of_node.get(node) for node in nodes]
    columns["n_routed"] = pa.array([each and each.n for each in tallies], pa.int64())
    columns["routed"] = pa.array([each and each.share for each in tallies], pa.float64())
    posed = [found.questions.get(node) for node in nodes]
    answered = [each.right if each and terms.by != "model" else None for each in posed]
    known = [share for share in answered if share is not None]
    columns["question"] = pa.array([each and each.text for each in posed], pa.string())
    columns["answered"] = pa.array(answered, pa.float64())
    save_arrow(pa.table(columns), folder / results.NAMES)
    facts = {
        "by": terms.by,
        "evidence": terms.found_by if terms.by == "model" else None,
        "n_named": len(nodes),
        "routed": None
        if routed is None
        else {
            "share": routed.share,
            "low": routed.low,
            "high": routed.high,
            "draw": routed.by_draw,
            "n_rows": routed.n_rows,
        },
        "answered": mean(known) if known else None,
        "sent": None,
    }
    warnings = found.warnings if routed is None else (*found.warnings, *routed.warnings)
    if not nodes:
        warnings = (*warnings, f"There was nothing to name nodes by: no {terms.found_by}.")
    return facts, warnings
