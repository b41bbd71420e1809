"""The nodes of a tree named by what their rows have in common, as the work of a child."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.inputs.data import Value
from models.node_names.evidence import evidence
from models.node_names.options import NamingTerms
from models.tree.tree import Tree
from workers.artifacts import results
from workers.formats.table_writers import save_arrow


@dataclass(frozen=True, slots=True)
class Named:
    """facts : of the answer. warnings : of the job."""

    facts: dict[str, Any]
    warnings: tuple[str, ...]


def named(
    options: Mapping[str, Any], tree: Tree, values: Mapping[str, Value], folder: Path
) -> Named:
    """Write the names into `folder`. Raises UsageError as `evidence`.

    Names of a language model are phrased afterwards from what is written here
    (`workers.phrasing`): a child has no network.
    """
    import pyarrow as pa

    terms = NamingTerms.model_validate(
        {name: options[name] for name in NamingTerms.model_fields if name in options}
    )
    found = evidence(tree, terms.found_by, values, terms.n_clusters)
    nodes = sorted(found.name)
    columns = {
        "node": pa.array(nodes, pa.int64()),
        "parent": pa.array([max(int(tree.parent[node]), -1) for node in nodes], pa.int64()),
        "size": pa.array([int(tree.size[node]) for node in nodes], pa.int64()),
        "name": pa.array([found.name[node] for node in nodes], pa.string()),
        "by": pa.array([terms.found_by] * len(nodes), pa.string()),
        "evidence": pa.array([found.said[node] for node in nodes], pa.string()),
    }
    save_arrow(pa.table(columns), folder / results.NAMES)
    facts = {
        "by": terms.by,
        "evidence": terms.found_by if terms.by == "model" else None,
        "n_named": len(nodes),
        "sent": None,
    }
    warnings = found.warnings
    if not nodes:
        warnings = (*warnings, f"There was nothing to name nodes by: no {terms.found_by}.")
    return Named(facts, warnings)
