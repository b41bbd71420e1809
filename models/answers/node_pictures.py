"""What a model draws of each node of its tree, as the hook `Method.pictures` gives it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class NodePictures:
    """Images of nodes.

    pixels : (n_nodes, n_each, height, width, channels) uint8, one or three channels; may be
        memory-mapped, and is read a node at a time.
    caption : what the images of a node are, in a sentence without its full stop.
    """

    pixels: npt.NDArray[np.uint8]
    caption: str
