"""The points of a tree laid out in the plane, as `MapTerms` say, and how near neighbours stay.

Points with the same features lie in one place of `umap` and `tsne`: the distinct ones are laid out.

`in_disc` places points of the Poincaré ball in its disc. In a ball of two dimensions they are the
points themselves. In a ball of more, they are projected in the tangent space at the origin, where a
point lies in its direction at its hyperbolic distance: on the plane through the origin that holds
most of the sum of squares, from which the exponential map leads back into the disc. Distances to
the origin never grow.

Cost of `in_disc`: O(N d^2). Memory: twice the points in float64.

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

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from models.arrays import Array, Float, Matrix, Single
from models.errors import UsageError
from models.graphs.lengths import Neighbours
from models.graphs.neighbours import nearest
from models.inputs.checks import blocks, distinct, require_squares
from models.inputs.data import Data, require_finite
from models.inputs.frames import Frame
from models.inputs.oddities import most_of
from models.inputs.rows import Rows
from models.maps.kept import neighbours_kept
from models.maps.options import MapTerms
from models.maps.principal import Components, components
from models.numerics import poincare
from models.numerics.distances import flat
from models.running import budget, packages
from models.running.progress import Progress, subprogress

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


@dataclass(frozen=True, slots=True)
class DiscPoints:
    """points : (n_points, 2) of norm below 1. explained : share of the sum of squared distances to
    the origin that the plane holds; 1 where the ball is the disc."""

    points: Single
    explained: float


def in_disc(ball: Array) -> DiscPoints:
    """The points `ball`, (n_points, d) of norm below 1 with d >= 2, in the disc."""
    if ball.shape[1] == 2:
        return DiscPoints(ball.astype(np.float32), 1.0)
    origin = np.zeros((1, ball.shape[1]))
    tangent = np.asarray(poincare.log_map(origin, ball.astype(np.float64)))
    squares, axes = np.linalg.eigh(tangent.T @ tangent)
    plane = axes[:, :-3:-1]
    largest = plane[np.abs(plane).argmax(axis=0), np.arange(2)]
    flat = tangent @ (plane * np.where(largest < 0, -1.0, 1.0))
    points = poincare.exp_map(np.zeros((1, 2)), flat)
    total = float(squares.sum())
    share = float(squares[-2:].sum()) / total if total > 0 else 1.0
    return DiscPoints(np.asarray(points, dtype=np.float32), min(share, 1.0))


FEWEST = 4
"""Distinct points that a layout by neighbours needs."""


@dataclass(frozen=True, slots=True)
class PointMap:
    """positions : (n_points, 2) float32. n_columns : of what was mapped. explained : share of the
    variance in the plane, for `pca` and `disc`. neighbours_kept : by the function so named; None
    for one point, and where the map is what was mapped. warnings : one sentence each.
    """

    positions: Single
    n_columns: int
    explained: float | None
    neighbours_kept: float | None
    warnings: tuple[str, ...] = ()


def mapped(rows: Matrix | Rows, terms: MapTerms, threads: int, progress: Progress) -> PointMap:
    """A map by `pca`, `umap` or `tsne` of rows, (n_points, D), dense, sparse or read by blocks.

    Sparse rows are first reduced to `n_components`, and what is kept is measured there. Raises
    UsageError for rows that cannot be mapped: not finite, too large for memory, or too few; and
    where the package of the map is not installed.
    """
    n_columns = rows.shape[1]
    _, far = most_of(Data({"features": rows}))
    if isinstance(rows, sp.csr_array):
        rows = components(rows, min(terms.n_components, *rows.shape), terms.seed, progress).points
    if terms.by == "pca":
        plane = components(rows, 2, terms.seed, subprogress(progress, 0.0, 0.9))
        progress(0.9, "measuring")
        kept = neighbours_kept(rows, plane.points, terms.seed)
        positions, notes = _in_single(plane)
        return PointMap(positions, n_columns, plane.explained, kept, (*notes, *far))
    _require_memory(rows.shape, terms)
    points = _reduced(rows, terms, subprogress(progress, 0.0, 0.1))
    first, place = distinct(points)
    if first.size < FEWEST:
        raise UsageError(
            f"A map by {terms.by!r} needs at least {FEWEST} points with different features; there "
            f"are {first.size}. By 'pca' any number can be mapped.",
            code="too-few-points",
            parameter="by",
        )
    unique = points if first.size == len(points) else points[first]
    start = components(unique, 2, terms.seed, subprogress(progress, 0.1, 0.15)).points
    laying = subprogress(progress, 0.15, 0.9)
    with packages.refusing(f"A map by {terms.by!r}", parameter="by"):
        positions, warnings = _laid_out(unique, start, terms, threads, laying)
    progress(0.9, "measuring")
    measured = flat(unique, terms.metric)
    kept = neighbours_kept(measured, positions, terms.seed)
    whole = positions.astype(np.float32)[place]
    return PointMap(whole, n_columns, None, kept, (*warnings, *far))


def _in_single(plane: Components) -> tuple[Single, tuple[str, ...]]:
    """(positions in the unit of the rows, or in another where single precision has no room for
    them; a warning of that)."""
    positions = plane.frame.scaled_back(plane.points)
    if positions.dtype == np.float32:
        return positions, ()
    unit = f"2^{plane.frame.exponent}"
    note = f"Single precision has no room for the positions: they are in units of {unit}."
    return plane.points, (note,)


def disc_map(ball: Array, terms: MapTerms) -> PointMap:
    """The map `disc` of points of the Poincaré ball, (n_points, d)."""
    flat_points = in_disc(ball)
    if ball.shape[1] == 2:
        return PointMap(flat_points.points, 2, 1.0, None)
    kept = neighbours_kept(ball, flat_points.points, terms.seed)
    note = (
        f"The ball has {ball.shape[1]} dimensions: the disc shows the plane that holds "
        f"{100 * flat_points.explained:.0f} % of the squared distances to the centre."
    )
    return PointMap(flat_points.points, ball.shape[1], flat_points.explained, kept, (note,))


def _laid_out(
    points: Array, start: Single, terms: MapTerms, threads: int, progress: Progress
) -> tuple[Array, tuple[str, ...]]:
    """(positions of distinct points, warnings)."""
    most = len(points) - 1
    finding, laying = subprogress(progress, 0.0, 0.3), subprogress(progress, 0.3, 1.0)
    if terms.by == "umap":
        k = min(terms.n_neighbors, most)
        near = nearest(points, k, terms.metric, threads, finding)
        laying(0.0, "laying out")
        notes = _fewer("n_neighbors", terms.n_neighbors, k)
        return umap_positions(near, start, terms.min_dist, terms.seed), notes
    k = min(int(np.ceil(3 * terms.perplexity)), most)
    perplexity = min(terms.perplexity, k / 3)
    near = nearest(points, k, terms.metric, threads, finding)
    notes = _fewer("perplexity", terms.perplexity, perplexity)
    return tsne_positions(near, start, perplexity, terms.seed, threads, laying), notes


def _fewer(term: str, requested: float, taken: float) -> tuple[str, ...]:
    if taken == requested:
        return ()
    return (f"`{term}` is {taken:g} and not {requested:g}: there are no more distinct points.",)


def _reduced(rows: Array | Rows, terms: MapTerms, progress: Progress) -> Array:
    """(n_points, at most n_components) the rows, or their principal components, in float32."""
    if rows.shape[1] > terms.n_components:
        return components(rows, terms.n_components, terms.seed, progress).points
    points = np.empty(rows.shape, dtype=np.float32)
    frame = Frame.of(rows, moves=terms.metric == "euclidean")
    for block, values in blocks(rows):
        require_finite(values, "features", first_row=block.start)
        framed = frame.block(values)
        require_squares(framed.astype(np.float32), n_points=len(points), first_row=block.start)
        points[block] = framed
    return points


def _require_memory(shape: tuple[int, ...], terms: MapTerms) -> None:
    """Raises UsageError `too-large` where the layout would not fit."""
    n_points = shape[0]
    width = min(shape[1], terms.n_components)
    k = terms.n_neighbors if terms.by == "umap" else 3 * terms.perplexity
    needed = n_points * (24 * width + 72 * k + 200)
    budget.require(terms.by, int(needed), "Map fewer rows, or by 'pca', which reads in blocks.")
