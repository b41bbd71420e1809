"""A map that keeps neighbours together, by UMAP: the parts of the library umap-learn that make the
graph of neighbours fuzzy and lay it out.

Neighbours are those of `models.graphs.neighbours`, and the layout starts at the principal
components, which keeps the arrangement of the whole (Kobak and Linderman, "Initialization is
critical for preserving global data structure in both t-SNE and UMAP", 2021). The library's compiled
functions are kept in numba's cache, as this project's own are.

Source: McInnes, Healy and Melville, "UMAP: Uniform Manifold Approximation and Projection for
Dimension Reduction" (2018). One thread, so that a seed gives one map. Cost: O(N k) in each of 500
epochs, or 200 for more than 10,000 points. Memory: about 60 k N bytes.
"""

from __future__ import annotations

import numpy as np

from models.arrays import Float, Single
from models.graphs.lengths import Neighbours


def umap_positions(neighbours: Neighbours, start: Single, min_dist: float, seed: int) -> Float:
    """(U, 2) positions of distinct points.

    neighbours : k of each point. start : (U, 2) where the layout starts, not all in one place.
    """
    from umap import layouts, umap_

    for module in (umap_, layouts):
        for function in vars(module).values():
            # Those compiled at import keep their code elsewhere already.
            if hasattr(function, "enable_caching"):
                function.enable_caching()
    n_points, n_neighbors = neighbours.index.shape
    own = np.arange(n_points, dtype=np.int32)[:, None]
    random = np.random.RandomState(seed)
    graph, _, _ = umap_.fuzzy_simplicial_set(
        start,
        n_neighbors + 1,
        random,
        "euclidean",
        knn_indices=np.hstack([own, neighbours.index]),
        knn_dists=np.hstack([np.zeros((n_points, 1)), neighbours.distance]),
    )
    a, b = umap_.find_ab_params(1.0, min_dist)
    positions, _ = umap_.simplicial_set_embedding(
        start,
        graph,
        2,
        initial_alpha=1.0,
        a=a,
        b=b,
        gamma=1.0,
        negative_sample_rate=5,
        n_epochs=None,
        init=start,
        random_state=random,
        metric="euclidean",
        metric_kwds={},
        densmap=False,
        densmap_kwds={},
        output_dens=False,
    )
    return np.asarray(positions, dtype=np.float64)
