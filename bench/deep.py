"""Trees learned together with a representation, against clusters in an autoencoder's embedding.

Each entry of `ENTRIES` on images of digits with several seeds. The baselines cluster the embedding
of the same autoencoder, trained as long as `deepect` pretrains it and then as long again as it
trains with its tree; the methods of `treevae` cluster the latent space of a plain VAE
(`bench.deep_vae`). Dendrogram and leaf purity are of the tree with `N_LEAVES` leaves, of `treevae`
and the VAE with as many as there are classes, as the papers have them; 'growth of treevae' is its
tree before the last phase, which trains all networks. Accuracy, NMI and ARI are of the tree cut to
as many clusters as there are classes. Figures are mean and standard deviation over the seeds.

Result (dendrogram purity, leaf purity, accuracy): digits, two seeds: DeepECT .746, .904, .781, its
embedding with bisecting k-means .604, .821, .676, with k-means accuracy .770. optdigits, one seed:
DeepECT .722, .892, .776, augmented .792, .910, .871, its embedding .633, .865, .742 and accuracy
.777 by k-means. usps-28x28, one seed: DeepECT .699, .821, .717 in 50 CPU seconds of one thread,
augmented .749, .876, .718 in 92.

TreeVAE beside its VAE with k-means, five seeds (dendrogram purity, leaf purity, accuracy, NMI):
digits .716, .849, .847, .811 and .617, .789, .771, .751; optdigits .750, .858, .850, .838 and .640,
.808, .800, .763; usps .717, .798, .751, .755 and .549, .775, .701, .671; deviations of leaf purity
.023 to .046 and .006 to .023. The VAE's bisecting k-means has .57 to .69 of leaf purity on usps. On
usps-28x28, one seed: .759, .822, .758, .780 in 94 s, 92 of one core; DeepECT there .699, .821,
.717, .702 in 34 s. Leaf purity of the growth with one start of each split and with four, from the
same root: digits .748 and .861, .680 and .817, .785 and .856 (seeds 0, 1, 2), optdigits .823 and
.794 (seed 0), usps .727 and .721, .621 and .692 (seeds 0, 1); then all networks are trained, which
gives .752, .759, .842, .801, .837 on usps (seeds 0 to 4) from .721, .692, .791, .754, .798. Among
eight starts of the root on digits, the share of points that it cuts off from the most of their
class correlates by .76 with the entropy of decisions after a quarter of the passes, by -.41 with
the loss: seeds 0 to 7, measured once. Growing half as many leaves more and joining the least
distinguished pairs was tried: least by entropies, growth gains .03 to .05 on usps (two seeds) and
loses .08 on digits; by entropies relative to the split's, .02 to .05 and nothing; for a fifth more
time.

The papers' figures are for MNIST, with networks of [500, 500, 2000] and 100,000 steps, so they say
which order is to be expected, not which numbers.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench import Chosen, Size
from bench.deep_vae import latent_means
from bench.quality import present
from bench.report import Report
from models.arrays import Array, Single
from models.inputs.data import Data
from models.method import Run
from models.methods.deep.deepect import DeepECTParams
from models.methods.deep.networks.scaling import measure_scaling
from models.methods.deep.trees.training import ScaledRows, Trainer
from models.metrics.catalogue import evaluate
from models.numerics.rows import canonical
from models.registry import methods
from models.running.device import computing
from models.running.progress import Alone, silent
from models.tree.tree import Tree

N_LEAVES = 20
METRICS = ("dendrogram_purity", "leaf_purity", "accuracy", "nmi", "ari")

LARGE = "usps-28x28"
"""usps with 28 x 28 pixels, and `N_LARGE` images: the last ones are first ones, a pixel moved."""
N_LARGE = 10_000

_SETS: dict[Size, tuple[str, ...]] = {
    "quick": ("digits",),
    "default": ("digits", "optdigits", "usps"),
    "full": ("digits", "optdigits", "usps", LARGE),
}
_SEEDS: dict[Size, int] = {"quick": 1, "default": 3, "full": 5}


@dataclass(frozen=True, slots=True)
class Entry:
    """A way to a tree.

    tree : for rows, number of classes and seed. paper : dendrogram and leaf purity as printed.
    """

    name: str
    tree: Callable[[Array, int, int], Tree]
    paper: str = ""


def by_method(method: str, **params: Any) -> Callable[[Array, int, int], Tree]:
    """The tree of a method, with as many clusters as classes unless `params` say otherwise."""

    def tree(rows: Array, n_classes: int, seed: int) -> Tree:
        entry = methods()[method]
        filled = {"n_clusters": n_classes, "seed": seed, **params}
        return entry.fit(Data({"features": rows}), entry.Params(**filled)).tree

    return tree


def embedded(method: str, **params: Any) -> Callable[[Array, int, int], Tree]:
    """The tree of a method in the embedding of the autoencoder."""
    in_embedding = by_method(method, **params)
    return lambda rows, n_classes, seed: in_embedding(embedding_of(rows, seed), n_classes, seed)


def by_method_of_images(method: str, **params: Any) -> Callable[[Array, int, int], Tree]:
    """The tree of a method that knows that rows are square images, as `by_method` otherwise."""

    def tree(rows: Array, n_classes: int, seed: int) -> Tree:
        side = math.isqrt(rows.shape[1])
        return by_method(method, image_shape=[side, side], **params)(rows, n_classes, seed)

    return tree


def in_latent_space(method: str, **params: Any) -> Callable[[Array, int, int], Tree]:
    """The tree of a method on the mean embeddings of a plain VAE."""
    in_space = by_method(method, **params)
    return lambda rows, n_classes, seed: in_space(
        latent_means(as_images(rows), seed), n_classes, seed
    )


def as_images(rows: Array) -> Array:
    """(n_points, side, side)."""
    side = math.isqrt(rows.shape[1])
    return rows.reshape(-1, side, side)


ENTRIES = (
    Entry("deepect", by_method("deepect", n_clusters=N_LEAVES), "0.82, 0.92"),
    Entry("deepect, augmented", by_method_of_images("deepect", n_clusters=N_LEAVES, augment=True)),
    Entry(
        "autoencoder, bisecting-kmeans",
        embedded("bisecting-kmeans", n_clusters=N_LEAVES),
        "0.53, -",
    ),
    Entry("autoencoder, kmeans", embedded("kmeans")),
    Entry("treevae", by_method_of_images("treevae"), "0.88, 0.96"),
    Entry("growth of treevae", by_method_of_images("treevae", tuning_epochs=0)),
    Entry(
        "growth of treevae, one start",
        by_method_of_images("treevae", tuning_epochs=0, n_init=1),
    ),
    Entry("vae, bisecting-kmeans", in_latent_space("bisecting-kmeans")),
    Entry("vae, kmeans", in_latent_space("kmeans")),
    Entry("bisecting-kmeans", by_method("bisecting-kmeans", n_clusters=N_LEAVES)),
    Entry("kmeans", by_method("kmeans")),
)


def embedding_of(rows: Array, seed: int) -> Single:
    """(n_points, E) the embedding of an autoencoder, trained as long as `deepect` trains its own,
    but for reconstruction alone."""
    params = DeepECTParams(seed=seed)
    alone = params.model_copy(update={"pretrain_epochs": params.n_epochs, "epochs": 0})
    order = canonical(rows)
    rng = np.random.default_rng(seed)
    # The first number of the seed's generator, as in a fit: the network starts the same.
    scaled = ScaledRows(rows, order, measure_scaling(rows, order))
    with computing(1):
        trainer = Trainer(scaled, alone, int(rng.integers(2**63)))
        trainer.train(Run(rng, silent, 1, Alone(lambda piece, progress: {})))
        embedding = np.empty((len(rows), params.embedding_size), dtype=np.float32)
        embedding[order] = trainer.embed()
    return embedding


def table(report: Report, size: Size, chosen: Chosen) -> None:
    """One row for each set and entry."""
    kept = chosen.systems_of(entry.name for entry in ENTRIES)
    for name, rows, classes in _images(report, chosen.sets_of(_SETS[size])):
        for entry in ENTRIES:
            if entry.name in kept:
                _measure(report, name, rows, classes, entry, chosen.seeds_of(_SEEDS[size]))


def _images(report: Report, names: Sequence[str]) -> Iterator[tuple[str, Array, Array]]:
    """Name, images as rows and classes of each set."""
    from sklearn.datasets import load_digits

    if "digits" in names:
        digits = load_digits()
        yield "digits", digits.data, digits.target
    yield from present(report, "deep", [name for name in names if name not in ("digits", LARGE)])
    if LARGE in names:
        for _, rows, classes in present(report, "deep", ["usps"]):
            yield LARGE, *enlarged(rows, classes)


def enlarged(rows: Array, classes: Array) -> tuple[Array, Array]:
    """`N_LARGE` images of 28 x 28 pixels, as rows, and their classes, from fewer of 16 x 16."""
    from scipy.ndimage import zoom

    again = slice(N_LARGE - len(rows))
    images = as_images(rows)
    moved = np.roll(images[again], 1, axis=2)
    large = zoom(np.concatenate([images, moved]), (1.0, 28 / 16, 28 / 16), order=1)
    return large.reshape(N_LARGE, -1), np.concatenate([classes, classes[again]])


def _measure(
    report: Report, name: str, rows: Array, classes: Array, entry: Entry, n_seeds: int
) -> None:
    n_classes = len(np.unique(classes))
    scores: dict[str, list[float]] = {metric: [] for metric in METRICS}
    cpu_s, wall_s = [], []
    for seed in range(n_seeds):
        began, began_cpu = time.perf_counter(), time.process_time()
        tree = entry.tree(rows, n_classes, seed)
        wall_s.append(time.perf_counter() - began)
        cpu_s.append(time.process_time() - began_cpu)
        whole = evaluate(tree, labels=classes, metrics=METRICS[:2])
        flat = evaluate(tree, labels=classes, metrics=METRICS[2:], cut={"k": n_classes})
        for metric, value in (whole.metrics | flat.metrics).items():
            scores[metric].append(float("nan") if value is None else value)
    report.row(
        "deep",
        what=f"{name}: {entry.name}",
        n=len(rows),
        d=rows.shape[1],
        classes=n_classes,
        seeds=n_seeds,
        **{
            metric: f"{np.mean(values):.3f} +-{np.std(values):.3f}"
            for metric, values in scores.items()
        },
        cpu_s=float(np.mean(cpu_s)),
        wall_s=float(np.mean(wall_s)),
        paper_mnist=entry.paper,
    )
