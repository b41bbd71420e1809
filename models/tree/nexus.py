"""Nexus text: a Newick tree with its taxa, for phylogenetics programs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from models.tree import newick
from models.tree.columns import texts
from models.tree.newick import Labels
from models.tree.tree import Tree
from models.tree.walk import leaf_order


def write(
    tree: Tree, *, labels: Labels = "name", ids: npt.NDArray[np.int64] | None = None
) -> Iterator[str]:
    """The tree as Nexus, in pieces: a TAXA block with each leaf label once, then a TREES block.

    Labels, lengths and parameters are those of `newick.write`, but every label is quoted. Leaves
    without a name have no taxon. Programs require distinct leaf labels, most of them ignoring case:
    `labels="id"` ensures that. O(n_nodes).
    """
    import pyarrow as pa

    leaves = leaf_order(tree)
    if labels == "id":
        numbers = leaves if ids is None else ids[leaves]
        taxa = pa.array(numbers).cast(pa.string())
    else:
        taxa = texts(tree.name[leaves]).unique().drop_null()
    yield f"#NEXUS\nBEGIN TAXA;\n  DIMENSIONS NTAX={len(taxa)};\n  TAXLABELS"
    for start in range(0, len(taxa), 8192):
        some = taxa.slice(start, 8192).to_pylist()
        yield "".join([f"\n    {newick.quoted(taxon)}" for taxon in some])
    yield ";\nEND;\nBEGIN TREES;\n  TREE tree = [&R] "
    yield from newick.write(tree, labels=labels, ids=ids, plain=False)
    yield "END;\n"
