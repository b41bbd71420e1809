"""Maps that keep neighbours together, by UMAP and by t-SNE.

UMAP: the parts of the library umap-learn that make the graph of neighbours fuzzy and lay it out.
Neighbours come from `models.graphs.neighbours`, and the layout starts at the principal components,
which keeps the arrangement of the whole (Kobak and Linderman, "Initialization is critical for
preserving global data structure in both t-SNE and UMAP", 2021). The library's compiled functions
are kept in numba's cache, as this project's own are.

Source: McInnes, Healy and Melville, "UMAP: Uniform Manifold Approximation and Projection for
Dimension Reduction" (2018). One thread, so that a seed gives one map. Cost: O(N k) in each of 500
epochs, or 200 for more than 10,000 points. Memory: about 60 k N bytes.

t-SNE: the library openTSNE, on given neighbours. The layout starts at the principal components,
scaled down, and takes the library's two phases: 250 steps with attraction exaggerated 12 times,
then 500. Up to 10,000 points repulsion is summed over a tree (Barnes-Hut), beyond on a grid
(interpolation by Fourier transforms), O(N) a step.

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
