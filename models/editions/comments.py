"""What an edition says of nodes, as comments in Newick and Nexus."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from models.editions.edited import COLLAPSED, COLOUR, NOTE
from models.tree.tree import Tree

_RESERVED = re.compile(r'[\x00-\x1f%\[\]"]')


def comments(tree: Tree) -> npt.NDArray[np.object_] | None:
    """(n_nodes,) `&!color=#d55e00,!collapsed=true,note="..."` for nodes that have any of these, as
    FigTree writes its own; None where no node has.

    In notes, brackets, double quotes, `%`, and controls are percent-encoded, since comments have no
    other way to hold a bracket. O(n_nodes).
    """
    if not {COLLAPSED, COLOUR, NOTE} & tree.extra.keys():
        return None
    texts = np.full(tree.n_nodes, None, dtype=object)
    for key in (COLOUR, COLLAPSED, NOTE):
        for row, value in enumerate(tree.extra[key].tolist() if key in tree.extra else ()):
            if value:
                before = "&" if texts[row] is None else f"{texts[row]},"
                texts[row] = before + _written(key, str(value))
    return texts


def _written(key: str, value: str) -> str:
    if key == COLOUR:
        return f"!color={value}"
    return "!collapsed=true" if key == COLLAPSED else f'note="{_encoded(value)}"'


def _encoded(text: str) -> str:
    return _RESERVED.sub(lambda match: f"%{ord(match[0]):02X}", text)
