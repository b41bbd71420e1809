"""TreeVAE on small images, beside k-means in the latent space of a plain VAE of the same widths.

`entry` measures one fit. The plain VAE has the encoder, the embedding and the decoder of the root
with one leaf of the same sizes, trained for as many passes as TreeVAE trains all its networks; its
clusters are k-means of the mean embeddings, its hierarchy bisecting k-means of these.

Source: Manduchi, Vandenhirtz, Ryser and Vogt, "Tree Variational Autoencoders" (2023), table 1.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from bench.quality import loaded
from models.arrays import Array, Float
from models.data import Data
from models.metrics.catalogue import evaluate
from models.registry import method
from models.tree.tree import Tree

METRICS = ("dendrogram_purity", "leaf_purity", "accuracy", "nmi")

PAPER: Mapping[tuple[str, str], Mapping[str, float]] = {
    ("MNIST", "TreeVAE"): {
        "dendrogram_purity": 0.879,
        "leaf_purity": 0.960,
        "accuracy": 0.902,
        "nmi": 0.900,
    },
}
"""The paper's figures, with 60,000 images of 28 x 28, a convolutional network and a GPU."""

IMAGES: Mapping[str, tuple[int, int]] = {"digits": (8, 8), "optdigits": (8, 8), "usps": (16, 16)}
"""Height and width of the images of each set."""


def images(name: str) -> tuple[Array, Array] | None:
    """Images (n_points, height, width) and the class of each; None where the file is absent."""
    if name == "digits":
        from sklearn.datasets import load_digits

        digits = load_digits()
        return digits.images, digits.target
    points_and_classes = loaded(name)
    if points_and_classes is None:
        return None
    points, classes = points_and_classes
    return points.reshape(-1, *IMAGES[name]), classes


def entry(
    points: Array, classes: Array, seed: int, params: Mapping[str, Any] | None = None
) -> dict[str, float]:
    """`METRICS` of TreeVAE with as many leaves as classes, leaves found, seconds of processor."""
    treevae = method("treevae")
    asked = {"n_clusters": len(np.unique(classes)), "seed": seed, **(params or {})}
    start = time.process_time()
    fitted = treevae.fit(Data({"features": points}), treevae.Params(**asked))
    seconds = time.process_time() - start
    return {
        **measured(fitted.tree, classes),
        "elbo": fitted.metrics["elbo"],
        "n_leaves": fitted.metrics["n_leaves"],
        "cpu_s": seconds,
    }


def baseline(
    points: Array, classes: Array, seed: int, params: Mapping[str, Any] | None = None
) -> dict[str, float]:
    """`METRICS` of k-means in the latent space of a plain VAE; of the tree of bisecting k-means
    there the dendrogram purity."""
    start = time.process_time()
    latent = plain_embeddings(points, seed, params)
    seconds = time.process_time() - start
    n_clusters = len(np.unique(classes))
    data = Data({"features": latent})
    flat, bisecting = method("kmeans"), method("bisecting-kmeans")
    clusters = flat.fit(data, flat.Params(n_clusters=n_clusters, seed=seed)).tree
    tree = bisecting.fit(data, bisecting.Params(n_clusters=n_clusters, seed=seed)).tree
    purity = measured(tree, classes)["dendrogram_purity"]
    return {**measured(clusters, classes), "dendrogram_purity": purity, "cpu_s": seconds}


def measured(tree: Tree, classes: Array) -> dict[str, float]:
    """`METRICS` of a tree whose leaves are the clusters."""
    evaluation = evaluate(tree, labels=classes, metrics=METRICS)
    return {name: float(evaluation.metrics[name]) for name in METRICS}


def plain_embeddings(points: Array, seed: int, params: Mapping[str, Any] | None = None) -> Float:
    """(n_points, latent_size) mean embeddings by a plain VAE, of TreeVAE's widths and schedule."""
    import torch

    from models.device import computing
    from models.methods.deep.treevae import TreeVAEParams, effort_of
    from models.methods.deep.variational.bound import drawn
    from models.methods.deep.variational.densities import (
        gaussian,
        gaussian_divergence,
        log_density,
    )
    from models.methods.deep.variational.layers import Weights
    from models.methods.deep.variational.scaling import Scaling
    from models.numerics.adam import Adam

    chosen = TreeVAEParams(**(params or {}))
    rows = points.reshape(len(points), -1)
    scaling = Scaling.of(rows, np.arange(len(rows)), None, True)
    effort = effort_of(chosen, len(rows))
    widths, n_latent = (rows.shape[1], *chosen.hidden_sizes), chosen.latent_size
    n_layers = len(chosen.hidden_sizes)
    generator = torch.Generator().manual_seed(seed)
    weights = Weights()
    for layer in range(n_layers):
        weights.add_block(f"up.{layer}", widths[layer], widths[layer + 1], generator)
    weights.add_linear("view", widths[-1], 2 * n_latent, generator)
    down = (n_latent, *widths[:0:-1])
    for layer in range(n_layers):
        weights.add_block(f"down.{layer}", down[layer], down[layer + 1], generator)
    weights.add_linear("out", down[-1], rows.shape[1], generator)
    log_noise = torch.zeros(())
    if scaling.likelihood == "gaussian":
        weights.learned["noise"] = log_noise
    names = sorted(weights.learned)
    shapes = [weights.learned[name].shape for name in names]
    flat = torch.cat([weights.learned[name].flatten() for name in names])

    def parts(values: torch.Tensor) -> dict[str, torch.Tensor]:
        sizes = [shape.numel() for shape in shapes]
        pieces = zip(names, values.split_with_sizes(sizes), shapes, strict=True)
        return {name: piece.view(shape) for name, piece, shape in pieces}

    def viewed(by: Weights, batch: torch.Tensor, training: bool) -> tuple[torch.Tensor, ...]:
        for layer in range(n_layers):
            batch = by.block(f"up.{layer}", batch, training)
        return gaussian(by.linear("view", batch))

    def noise(like: torch.Tensor) -> torch.Tensor:
        return torch.randn(like.shape, generator=generator)

    with computing(1):
        scaled = torch.from_numpy(scaling.singles(rows, np.arange(len(rows))))
        adam = Adam(flat, chosen.learning_rate)
        n_passes = effort.epochs + effort.tuning_epochs
        for epoch in range(n_passes):
            order = torch.randperm(len(scaled), generator=generator)
            weight = min(1.0, 2.0 * epoch / n_passes)
            for batch in order.tensor_split(max(1, len(scaled) // chosen.batch_size)):
                with torch.enable_grad():
                    leaf = flat.detach().requires_grad_()
                    by = weights.with_learned(parts(leaf))
                    mean, variance = viewed(by, scaled[batch], True)
                    output = drawn(mean, variance, noise)
                    for layer in range(n_layers):
                        output = by.block(f"down.{layer}", output, True)
                    density = log_density(
                        scaled[batch],
                        by.linear("out", output),
                        scaling.likelihood,
                        by.learned.get("noise"),
                    )
                    zeros, ones = torch.zeros_like(mean), torch.ones_like(mean)
                    divergence = gaussian_divergence(mean, variance, zeros, ones)
                    loss = (weight * divergence - density).mean()
                    (gradient,) = torch.autograd.grad(loss, [leaf])
                adam.step(gradient)
        mean, _ = viewed(weights.with_learned(parts(flat)), scaled, False)
        return np.asarray(mean.double().numpy())
