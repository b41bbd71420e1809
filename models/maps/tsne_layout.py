"""A map that keeps neighbours together, by t-SNE: the library openTSNE, on given neighbours.

The layout starts at the principal components, scaled down, and takes the library's two phases: 250
steps with attraction exaggerated 12 times, then 500. Up to 10,000 points repulsion is summed over a
tree (Barnes-Hut), beyond on a grid (interpolation by Fourier transforms), O(N) a step.

Source: van der Maaten and Hinton, "Visualizing Data using t-SNE" (2008); Linderman, Rachh, Hoskins,
Steinerberger and Kluger, "Fast interpolation-based t-SNE" (2019); Belkina et al., "Automated
optimized parameters for t-SNE" (2019), for the step N / 12. Memory: about 36 k N bytes for k
neighbours, three times the perplexity.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from models.arrays import Float, Single
from models.graphs.lengths import Neighbours
from models.running.progress import Progress

EXAGGERATED, PLAIN = 250, 500
"""Steps of the two phases."""
_REPORTED = 25


def tsne_positions(
    neighbours: Neighbours,
    start: Single,
    perplexity: float,
    seed: int,
    threads: int,
    progress: Progress,
) -> Float:
    """(U, 2) positions of distinct points.

    neighbours : three times the perplexity of each point, at least. start : (U, 2).
    """
    from openTSNE import TSNEEmbedding, affinity, initialization
    from openTSNE.nearest_neighbors import PrecomputedNeighbors

    index = PrecomputedNeighbors(neighbours.index.astype(np.int64), neighbours.distance)
    similar = affinity.PerplexityBasedNN(knn_index=index, perplexity=perplexity, n_jobs=threads)
    done = 0

    def report(step: int, error: float, positions: Any) -> None:
        fraction = (done + step) / (EXAGGERATED + PLAIN)
        progress(fraction, "laying out", f"step {done + step} of {EXAGGERATED + PLAIN}")

    layout = TSNEEmbedding(
        initialization.rescale(start.astype(np.float64)),
        similar,
        n_jobs=threads,
        random_state=seed,
        callbacks=report,
        callbacks_every_iters=_REPORTED,
    )
    layout = layout.optimize(EXAGGERATED, exaggeration=12, momentum=0.5)
    done = EXAGGERATED
    layout = layout.optimize(PLAIN, momentum=0.8)
    return np.array(layout, dtype=np.float64)
