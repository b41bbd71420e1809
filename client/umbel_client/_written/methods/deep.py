"""The methods of the family deep. Written by `make client` from the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar

from umbel_client.core.fields import Expiry, Retrying
from umbel_client.inputs import Input
from umbel_client.progress import Progress

R = TypeVar("R")


class DeepMethods(Generic[R]):
    """The methods of the family deep; each gives what `run` gives, a tree."""

    def __init__(self, run: Callable[..., R]) -> None:
        self._run = run

    def deepect(
        self,
        *,
        features: Input,
        names: Input | None = None,
        preset: Literal["processor", "paper"] = "processor",
        n_clusters: int = 20,
        hidden_sizes: Sequence[int] = [256, 128],
        embedding_size: int = 10,
        pretrain_epochs: int | Literal["paper"] = 50,
        epochs: int | Literal["paper"] = 50,
        growth: float = 0.5,
        clustering_weight: float = 1.0,
        batch_size: int | Literal["auto"] = "auto",
        learning_rate: float = 0.001,
        pruning_threshold: float = 0.1,
        augment: bool = False,
        image_shape: Sequence[int] | None = None,
        device: Literal["cpu", "cuda"] = "cpu",
        keep_steps: int = 0,
        seed: int = 0,
        preprocess: Sequence[Mapping[str, Any]] | None = None,
        then: str | Mapping[str, Any] | None = None,
        support: Mapping[str, Any] | None = None,
        name_by: str | None = None,
        name: str | None = None,
        description: str | None = None,
        tags: Sequence[str] = (),
        webhook: str | None = None,
        expires_at: Expiry = None,
        retrying: Retrying | None = None,
        wait_s: float | None = None,
        progress: Progress = None,
        extra_inputs: Mapping[str, Input] | None = None,
    ) -> R:
        """DeepECT: a tree of clusters grown in the embedding of an autoencoder while both are
        trained.

        Leaves: tree, model, logits, pictures.

        Source: DeepECT: The Deep Embedded Cluster Tree (2020, Data Science and Engineering).

        features : One row per point, or one image, grey or of three colours.
        names : optional. One name per cluster, from the largest to the smallest.
        preset : Settings of all parameters that are left at their defaults: 'processor' none;
            'paper' the paper's length and network: hidden_sizes [500, 500, 2000],
            pretrain_epochs and epochs 'paper', batch_size 256; with images the paper's better
            variant adds 'augment'.
        n_clusters : Number of leaves of the tree.
        hidden_sizes : Widths of the hidden layers, the first first.
        embedding_size : Dimensions of the embedding in which the tree lies.
        pretrain_epochs : Passes over the points by reconstruction alone; paper: as many as make
            50,000 steps.
        epochs : Passes over the points with the tree; paper: as 'pretrain_epochs'.
        growth : Share of 'epochs' within which the tree grows, evenly, from two leaves to all.
        clustering_weight : Weight of the tree's losses beside reconstruction.
        batch_size : Points of a step; auto: 256, but for fewer than 5,120 points a twentieth of
            them, at least 16.
        learning_rate : Step length of the network and of centres (Adam).
        pruning_threshold : A leaf is removed once fewer points of a batch come to it on
            average.
        augment : Whether images are also turned, sheared, resized and moved a little, at
            random, so that the tree ignores that.
        image_shape : Shape of the images that are rows of a matrix, [height, width] or [height,
            width, channels]; none: rows are plain vectors, unless the array is one of images.
        device : Where the computation runs: on the processor, or on a GPU.
        keep_steps : Number of earlier trees that are kept beside the result, each of lower cost
            than the one before, to look at how the tree was learned; the result is the same.
        seed : Seed of the random generator.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "deepect",
            features=features,
            names=names,
            params={
                "preset": preset,
                "n_clusters": n_clusters,
                "hidden_sizes": hidden_sizes,
                "embedding_size": embedding_size,
                "pretrain_epochs": pretrain_epochs,
                "epochs": epochs,
                "growth": growth,
                "clustering_weight": clustering_weight,
                "batch_size": batch_size,
                "learning_rate": learning_rate,
                "pruning_threshold": pruning_threshold,
                "augment": augment,
                "image_shape": image_shape,
                "device": device,
                "keep_steps": keep_steps,
                "seed": seed,
            },
            preprocess=preprocess,
            then=then,
            support=support,
            name_by=name_by,
            name=name,
            description=description,
            tags=tags,
            webhook=webhook,
            expires_at=expires_at,
            retrying=retrying,
            wait_s=wait_s,
            progress=progress,
            **(extra_inputs or {}),
        )

    def treevae(
        self,
        *,
        features: Input,
        names: Input | None = None,
        preset: Literal["processor", "paper"] = "processor",
        n_clusters: int = 8,
        n_init: int = 4,
        hidden_sizes: Sequence[int] = [256, 128],
        latent_size: int = 8,
        max_depth: int = 6,
        epochs: int | Literal["auto"] = "auto",
        growth_epochs: int | Literal["auto"] = "auto",
        tuning_epochs: int | Literal["auto"] = "auto",
        batch_size: int = 128,
        learning_rate: float = 0.001,
        kl_growth: float = 0.1,
        kl_warm_up: float = 1.0,
        likelihood: Literal["auto", "bernoulli", "gaussian"] = "auto",
        split_by: Literal["points", "reconstruction"] = "points",
        least_share: float = 0.1,
        image_shape: Sequence[int] | None = None,
        device: Literal["cpu", "cuda"] = "cpu",
        keep_steps: int = 0,
        seed: int = 0,
        preprocess: Sequence[Mapping[str, Any]] | None = None,
        then: str | Mapping[str, Any] | None = None,
        support: Mapping[str, Any] | None = None,
        name_by: str | None = None,
        name: str | None = None,
        description: str | None = None,
        tags: Sequence[str] = (),
        webhook: str | None = None,
        expires_at: Expiry = None,
        retrying: Retrying | None = None,
        wait_s: float | None = None,
        progress: Progress = None,
        extra_inputs: Mapping[str, Input] | None = None,
    ) -> R:
        """TreeVAE: a tree of latent variables, grown leaf by leaf, with encoder, routers and
        decoders.

        Leaves: tree, model, logits, pictures.

        Source: Tree Variational Autoencoders (2023, NeurIPS).

        features : One row per point, or one image.
        names : optional. One name per leaf, from the largest to the smallest.
        preset : Settings of all parameters that are left at their defaults: 'processor' none;
            'paper' what the authors' program has for digits: epochs and growth_epochs 150,
            tuning_epochs 200, batch_size 256, kl_growth 0.15, latent_size 8, max_depth 6.
            Layers stay fully connected.
        n_clusters : Number of leaves.
        n_init : Random starts of the split of a leaf; after a quarter of its passes the one
            whose decisions are least in doubt goes on.
        hidden_sizes : Widths of the hidden layers, the first first.
        latent_size : Length of the embeddings of all nodes.
        max_depth : Most edges from the root to a leaf; deeper leaves are kept.
        epochs : Passes over the rows that train the root with two leaves; auto: about 850
            steps, in 10 to 60 passes.
        growth_epochs : Passes over a leaf's rows that train its split; auto: as 'epochs'.
        tuning_epochs : Passes that train all networks at the end; auto: as 'epochs'.
        batch_size : Rows of a step.
        learning_rate : Step length (Adam) of a phase's first pass; it falls to 0 by half a
            cosine.
        kl_growth : Weight that the divergences reach while the tree grows; in the last phase
            they go on to 1, that of the evidence lower bound.
        kl_warm_up : Share of a phase's passes over which that weight rises.
        likelihood : Distribution of the data given a leaf; auto: 'bernoulli' where all values
            lie in [0, 1], images scaled, and fill more than 1/64 of it, else 'gaussian'.
        split_by : Which leaf is split next: that with the most points, or with the largest sum
            of reconstruction losses.
        least_share : A split is undone if one of its leaves has fewer points than this times
            the number of points / 'n_clusters'.
        image_shape : Shape of the images that are rows of a matrix, [height, width] or [height,
            width, channels]; none: rows are plain vectors, unless the array is one of images.
        device : Where the computation runs: on the processor, or on a GPU.
        keep_steps : Number of earlier trees that are kept beside the result, each of lower cost
            than the one before, to look at how the tree was learned; the result is the same.
        seed : Seed of the random generator.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "treevae",
            features=features,
            names=names,
            params={
                "preset": preset,
                "n_clusters": n_clusters,
                "n_init": n_init,
                "hidden_sizes": hidden_sizes,
                "latent_size": latent_size,
                "max_depth": max_depth,
                "epochs": epochs,
                "growth_epochs": growth_epochs,
                "tuning_epochs": tuning_epochs,
                "batch_size": batch_size,
                "learning_rate": learning_rate,
                "kl_growth": kl_growth,
                "kl_warm_up": kl_warm_up,
                "likelihood": likelihood,
                "split_by": split_by,
                "least_share": least_share,
                "image_shape": image_shape,
                "device": device,
                "keep_steps": keep_steps,
                "seed": seed,
            },
            preprocess=preprocess,
            then=then,
            support=support,
            name_by=name_by,
            name=name,
            description=description,
            tags=tags,
            webhook=webhook,
            expires_at=expires_at,
            retrying=retrying,
            wait_s=wait_s,
            progress=progress,
            **(extra_inputs or {}),
        )
