"""A tree's columns in the forms of other packages: pandas, networkx, ete4, matplotlib."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from umbel_client.packages import package

Shape = Literal["circular", "rectangular", "icicle"]
"""How a tree is drawn."""


def frame(nodes: Sequence[Mapping[str, Any]]) -> Any:
    """A DataFrame with a row for each node, indexed by its id; the root's parent is missing.

    Raises MissingPackage without pandas.
    """
    pandas = package("pandas", "to_pandas()")
    table = pandas.DataFrame(list(nodes)).set_index("id")
    table["parent"] = table["parent"].astype("Int64")
    return table


def digraph(nodes: Sequence[Mapping[str, Any]]) -> Any:
    """A networkx.DiGraph from parents to children; nodes have the tree's fields, edges `length`.

    Raises MissingPackage without networkx.
    """
    graph = package("networkx", "to_networkx()").DiGraph()
    height = {node["id"]: node["height"] for node in nodes}
    for node in nodes:
        fields = {name: value for name, value in node.items() if name not in ("id", "parent")}
        graph.add_node(node["id"], **fields)
    for node in nodes:
        parent = node["parent"]
        if parent is not None:
            graph.add_edge(parent, node["id"], length=height[parent] - node["height"])
    return graph


def ete(newick: str) -> Any:
    """An ete4.Tree with names and lengths. Raises MissingPackage without ete4."""
    return package("ete4", "to_ete()").Tree(newick, parser=1)


def written(content: bytes, path: Path) -> None:
    """Write a form to a file. Raises OSError."""
    path.write_bytes(content)


def axes(png: bytes, ax: Any) -> Any:
    """Matplotlib axes with a picture. ax : the ones to draw on; None: new ones.

    Raises MissingPackage without matplotlib.
    """
    pyplot = package("matplotlib.pyplot", "plot()")
    image = pyplot.imread(io.BytesIO(png), format="png")
    if ax is None:
        width = image.shape[1] / 100
        _, ax = pyplot.subplots(figsize=(width, width * image.shape[0] / image.shape[1]))
    ax.imshow(image)
    ax.set_axis_off()
    return ax
