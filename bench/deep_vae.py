"""The embedding of a plain VAE with TreeVAE's widths, the baseline of TreeVAE in `bench.deep`.

It has the encoder, the embedding and the decoder of the root with one leaf of the same sizes, and
is trained for as many passes as TreeVAE trains its root and then all its networks.
"""

from __future__ import annotations

import numpy as np

from models.arrays import Array, Float


def latent_means(images: Array, seed: int) -> Float:
    """(n_points, latent_size) mean embeddings of images, by TreeVAE's default widths and passes."""
    import torch

    from models.methods.deep.treevae import TreeVAEParams
    from models.methods.deep.variational.bound import drawn
    from models.methods.deep.variational.layers import (
        Weights,
        gaussian,
        gaussian_divergence,
        log_density,
    )
    from models.methods.deep.variational.phases import Schedule
    from models.methods.deep.variational.placing import Scaling
    from models.numerics.descent import Adam
    from models.running.device import computing

    chosen = TreeVAEParams()
    rows = images.reshape(len(images), -1)
    scaling = Scaling.of(rows, np.arange(len(rows)), None, True)
    passes = chosen.passes(len(rows))
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
        n_passes = passes.root + passes.tuning
        schedule = Schedule(n_passes, 0.0, 1.0, n_passes // 2)
        for epoch in range(n_passes):
            order = torch.randperm(len(scaled), generator=generator)
            weight = schedule.kl_weight(epoch)
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
                adam.step(gradient, schedule.step_share(epoch))
        mean, _ = viewed(weights.with_learned(parts(flat)), scaled, False)
        return np.asarray(mean.double().numpy())
