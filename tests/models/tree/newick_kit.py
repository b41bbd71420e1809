"""Trees as rows of values, to compare readers of Newick with."""

from __future__ import annotations

import dendropy

from models.tree import walk
from models.tree.tree import Tree

NodeRows = list[tuple[int, str | None, float]]


def node_rows(tree: Tree) -> NodeRows:
    """Depth, name and branch length of each node in preorder; the root has length 0."""
    order = walk.preorder(tree)
    length = tree.height[tree.parent] - tree.height
    length[0] = 0.0
    columns = (tree.depth, tree.name, length)
    return list(zip(*(column[order].tolist() for column in columns), strict=True))


def dendropy_rows(text: str, schema: str = "newick") -> NodeRows:
    read = dendropy.Tree.get(
        data=text, schema=schema, rooting="force-rooted", case_sensitive_taxon_labels=True
    )
    return [
        (node.level(), node.taxon.label if node.taxon else node.label, node.edge.length or 0.0)
        for node in read.preorder_node_iter()
    ]
