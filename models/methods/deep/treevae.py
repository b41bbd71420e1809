"""TreeVAE: a tree of latent variables, grown leaf by leaf, with encoder, routers and decoders.

Data are generated from the root down: its embedding is standard normal; at each node a router, a
Bernoulli decision given the node's embedding, chooses a child, whose embedding is Gaussian given
its parent's; the decoder of the leaf gives the data. The posterior sees a row through a chain of
units, one level for each depth (`variational.network`): its routers look at the units of their
level, and its embeddings weight what the units suggest and what the prior says by their precisions,
as in a ladder VAE. Training maximises the evidence lower bound over all paths at once
(`variational.bound`). It starts with a root and two leaves; then the leaf with the most points is
split again and again, while only the new networks are trained, from the best of several starts;
then all are (`variational.growth`).

A row belongs to its most probable leaf. Logits are log q(leaf | x), in the order of the tree's
leaves; the probability of a node on a path is the product of the decisions above it. Heights count
the most edges down to a leaf. Columns of the nodes: `weight`, their mean probability, and
`decision_entropy`, the mean entropy of their decision (nats). For images the model has pictures of
every node. Metrics are means per row, in nats: `elbo` = `reconstruction` - `kl_root` - `kl_nodes` -
`kl_decisions`, with one draw of each embedding.

Images without negative values are divided by their largest value where it is above 1. Data in
[0, 1] are then Bernoulli by default; others are centred, scaled by one number, and Gaussian.

Source: Manduchi, Vandenhirtz, Ryser and Vogt, "Tree Variational Autoencoders" (NeurIPS 2023), and,
for the ladder, Sønderby et al., "Ladder Variational Autoencoders" (2016). Where text and program
differ, or this method from both:

- What the text writes as a standard deviation, the output of softplus, is a variance in the
  authors' program, and here: the combination needs precisions 1 / variance.
- KL_nodes weights a node by the probability of the whole path to it, and KL_decisions each decision
  by that of reaching it, as the expectation over paths requires; the program adds 1e-7 inside the
  logarithms and cuts KL_nodes off at -10. Here logarithms of sigmoids are exact.
- The bound has all divergences at weight 1; the program's default for digits reaches 0.15 while the
  tree grows and 1 in the last phase only. 'kl_growth' is that weight.
- Gaussian data: the program's loss is the squared error, a variance of 1/2 for every value; here
  one variance is learned, since a fixed one makes all embeddings collapse where it is too large.
- Steps shorten by half a cosine in each phase; the program divides them by 10 after every hundred
  passes.
- The split of a leaf is begun from `n_init` random weights, there from one. Splits that fail are
  undone, and epochs, widths and the encoder are smaller, for a processor; 'preset' "paper" has the
  program's epochs, batches and divergence weight for digits. The
  program trains all networks after every third split too. Digits are encoded by a small
  convolutional network there, by fully connected layers here. The contrastive loss for colour
  images is left out; without it natural images are clustered poorly.

Purity is lost where a split cuts classes in two. Which ones is settled in the first quarter of its
passes, and later neither smaller batches (2.7 times as many steps) nor a divergence weight of 1
mend it, nor does splitting by reconstruction; of several starts the bound does not tell the good
ones, but certain decisions do (`python -m bench deep`). With four starts instead of one, leaf
purity of trees of ten leaves before the last phase is .845 instead of .738 on 1,797 digits of 8 x 8
pixels (three seeds), .794 instead of .823 on optdigits (seed 0), on usps .721 and .692 instead of
.727 and .621 (seeds 0, 1). After the last phase it is .849 on digits, .858 on optdigits and .798 on
usps (five seeds each); k-means on a plain VAE has .789, .808 and .775.

Cost: with W the weights of encoder and of one leaf's decoder, about 6 N W (1 + leaves)
multiplications and additions a pass over all networks, a fraction of it for the pass of a split;
about a minute and a half of one thread for 10,000 rows of 784 values and ten leaves. All runs on
one thread. All nodes are trained at once, in 375 operations a step with 8 leaves; a GPU replays
whole steps (`variational.batched`). With `keep_steps` the trees before each split are kept; their
cost is the negative reconstruction term. Memory: the rows in float32, at most 256 MiB of frozen
units, some 20 values for each weight and about 6 B (values + widths) leaves for a batch of B rows.

Measured: CPU time as N^1.0 D^0.4 K^0.7, from 1,000 x 128 and 3 clusters to four times each,
iterations bounded (`python -m bench costs`).
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

from models.answers.beside_tree import NodePictures
from models.answers.learned_steps import KeptStates, LearnedStep
from models.arrays import Array, Float, Int
from models.errors import UsageError
from models.inputs.checks import require_distinct, require_squares, require_width
from models.inputs.data import Data, ImageSize, image_rows, require_finite
from models.method import Fitted, Input, Method, Model, Paper, Predictions, Run, Shapes
from models.methods.deep.variational.parameters import VariationalParams
from models.methods.deep.variational.placing import Scaling
from models.numerics.rows import canonical
from models.parameters import KeepSteps, Seed
from models.running import device
from models.running.progress import subprogress
from models.running.threads import limited
from models.tree.tree import Tree

if TYPE_CHECKING:
    from models.methods.deep.variational.growth import GrownNetwork
    from models.methods.deep.variational.placing import Placed

COLLAPSED = 0.1
"""Nats of KL_root + KL_nodes below which embeddings say nothing of a row."""

ONE_WAY = 0.01
"""Share of a node's points below which a decision counts as always the same."""

MOST_LATE_FALL = 0.05
"""Largest share of the loss's fall in the last fifth of the last phase that is not warned of."""


class TreeVAEParams(VariationalParams):
    keep_steps: KeepSteps = 0
    seed: Seed = 0


class TreeVAE(Method[TreeVAEParams]):
    """See the module's docstring."""

    title = "TreeVAE"
    paper = Paper("Tree Variational Autoencoders", 2023, "NeurIPS")
    Params = TreeVAEParams
    inputs = {
        "features": Input(images=True, description="One row per point, or one image."),
        "names": Input(
            required=False, description="One name per leaf, from the largest to the smallest."
        ),
    }
    outputs = ("tree", "model", "logits", "pictures")
    needs = ("torch",)
    placing = "its most probable leaf"
    advice = "Use smaller 'hidden_sizes', fewer clusters, or a sample of the points."
    resumes = True
    example = {
        "n_clusters": 3,
        "hidden_sizes": [16],
        "latent_size": 2,
        "max_depth": 2,
        "epochs": 10,
        "growth_epochs": 8,
        "tuning_epochs": 4,
        "batch_size": 20,
        "learning_rate": 0.01,
    }

    def _memory(self, shapes: Shapes, params: TreeVAEParams) -> int:
        shape = shapes.get("features", ())
        if len(shape) < 2:
            return 0
        n_points, n_values = shape[0], math.prod(shape[1:])
        n_nodes, n_leaves = 2 * params.n_clusters - 1, params.n_clusters
        width = params.hidden_sizes[-1]
        chain = (n_values, *params.hidden_sizes)
        layers = sum(a * b for a, b in pairwise(chain))
        of_node = 2 * width * (width + 4 * params.latent_size)
        n_weights = layers * (1 + n_leaves) + n_nodes * of_node + params.max_depth * width**2
        batch = min(params.batch_size, n_points)
        of_batch = 6 * batch * n_leaves * (sum(chain) + 8 * width)
        evaluated = 2 * min(n_points, 4096) * n_leaves * sum(chain)
        frozen = min(1 << 26, n_points * width * (params.max_depth + 1))
        placed = 8 * n_points * (4 * n_leaves + params.keep_steps)
        if params.device == "cuda":
            return placed + 4 * n_points * n_values
        return placed + 4 * (n_points * n_values + 6 * n_weights + of_batch + evaluated + frozen)

    def _check(self, data: Data, params: TreeVAEParams) -> None:
        device.require(params.device)
        data.leaf_names(params.n_clusters, "leaf")
        rows, _ = image_rows(data, "features", params.image_shape)
        if 0 in rows.shape:
            raise UsageError(
                f"Input 'features' has {rows.shape[0]} rows and {rows.shape[1]} values in each; at "
                "least one of each is needed.",
                code="wrong-shape",
                role="features",
            )
        require_finite(rows, "features")
        require_squares(rows)
        require_distinct(rows, params.n_clusters)

    def _fit(self, data: Data, params: TreeVAEParams, run: Run) -> Fitted:

        rows, image_size = image_rows(data, "features", params.image_shape)
        wanted = None if params.likelihood == "auto" else params.likelihood
        # Batches are drawn in an order that only the rows' values give.
        order = canonical(rows)
        scaling = Scaling.of(rows, order, wanted, image_size is not None)
        # Layers are small: a second thread costs more than it computes, and changes last digits.
        with limited(1), device.computing(1):
            return _fitted(rows, order, image_size, scaling, data, params, run)

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """The most probable leaf, with the probabilities of the nodes above it."""
        return _placed(model, data).predictions(tree)

    def _logits(self, model: Model, data: Data) -> Float:
        return _placed(model, data).logits

    def pictures(self, model: Model) -> NodePictures | None:
        """Images of the nodes, where the rows were images."""
        from models.methods.deep.variational.placing import CAPTION

        pixels = model.arrays.get("pictures")
        return None if pixels is None else NodePictures(pixels, CAPTION)


def _fitted(
    rows: Array,
    order: Int,
    image_size: ImageSize | None,
    scaling: Scaling,
    data: Data,
    params: TreeVAEParams,
    run: Run,
) -> Fitted:
    import torch

    from models.methods.deep.variational.growth import grow
    from models.methods.deep.variational.network import Architecture
    from models.methods.deep.variational.phases import mean_terms
    from models.methods.deep.variational.placing import (
        arrays_of,
        facts_of,
        learned,
        node_pixels,
        place,
    )

    run.progress(0.0, "scaling the rows")
    scaled = torch.from_numpy(scaling.singles(rows, order)).to(params.device)
    architecture = Architecture(
        rows.shape[1],
        tuple(params.hidden_sizes),
        params.latent_size,
        params.max_depth,
        scaling.likelihood,
    )
    training = subprogress(run.progress, 0.01, 0.95)
    kept = KeptStates(params.keep_steps)
    grown = grow(scaled, architecture, params, run.rng, training, run.checkpoint, kept)
    run.progress(0.95, "assigning points")
    generator = torch.Generator(params.device).manual_seed(int(run.rng.integers(2**62)))
    metrics = mean_terms(grown.network, scaled, generator)
    arrays = {**arrays_of(grown.network), "centre": scaling.scale.mean}
    if image_size is not None:
        run.progress(0.97, "drawing the nodes")
        arrays["pictures"] = node_pixels(grown.network, scaling, scaled, image_size, generator)
    facts = {**facts_of(architecture), **scaling.facts(), "image_shape": image_size}
    if image_size is not None:
        facts["image_shape"] = list(image_size)
    model = Model(arrays, facts)
    points = place(model, rows)
    n_leaves = points.nodes.leaves.size
    names = data.leaf_names(params.n_clusters, "leaf")
    extra = {"weight": points.weight(), "decision_entropy": points.entropy}
    return Fitted(
        tree=points.nodes.tree(points.leaf, names, extra),
        model=model,
        logits=points.logits,
        metrics={
            **metrics,
            "n_leaves": float(n_leaves),
            "cost": -metrics["reconstruction"],
            "best_step": float(grown.n_passes),
        },
        steps=tuple(
            LearnedStep(step, cost, learned(state, order, names))
            for step, cost, state in grown.kept.falling(grown.n_passes, -metrics["reconstruction"])
        ),
        curves={
            name: curve
            for name, curve in (("loss", grown.losses), ("split_loss", grown.split_losses))
            if curve
        },
        warnings=(
            *_leaf_warnings(n_leaves, grown, data, params),
            *_collapse_warnings(metrics, points),
            *_loss_warnings(grown, params.passes(len(rows)).tuning),
        ),
    )


def _placed(model: Model, data: Data) -> Placed:
    from models.methods.deep.variational.placing import place

    rows, _ = image_rows(data, "features", None)
    require_width(rows, len(model.arrays["centre"]))
    require_finite(rows, "features")
    if rows.size:
        require_squares(rows)
    with device.computing(1):
        return place(model, rows)


def _leaf_warnings(
    n_leaves: int, grown: GrownNetwork, data: Data, params: TreeVAEParams
) -> tuple[str, ...]:
    """Warnings if leaves were pruned, or fewer than requested."""
    warnings = []
    if grown.n_pruned:
        warnings.append(
            f"{grown.n_pruned} leaf or leaves had no point after training and were pruned."
        )
    if n_leaves < params.n_clusters:
        n_failed = sum(grown.n_failed.values())
        reason = (
            f"{n_failed} split(s) left one side (almost) without points and were undone"
            if n_failed
            else "leaves are at 'max_depth', have fewer than 4 points or were pruned"
        )
        names = " Names are given to the largest." if "names" in data else ""
        warnings.append(
            f"The tree has {n_leaves} leaves, not n_clusters = {params.n_clusters}: {reason}. "
            f"Raise the numbers of epochs or 'max_depth', or lower 'least_share'.{names}"
        )
    return tuple(warnings)


def _collapse_warnings(metrics: dict[str, float], points: Placed) -> tuple[str, ...]:
    """Warnings if embeddings say nothing of their rows, or decisions are always the same."""
    warnings = []
    informed = metrics["kl_root"] + metrics["kl_nodes"]
    if informed < COLLAPSED:
        warnings.append(
            f"The embeddings collapsed: they differ from their prior by {informed:.2g} nats, so "
            "that all points of a leaf are decoded alike. Raise the numbers of epochs or "
            "'learning_rate', or lower 'kl_growth'."
        )
    weight, parent = points.weight(), points.nodes.parent
    share = weight[1:] / weight[parent[1:]]
    n_idle = int((share < ONE_WAY).sum())
    if n_idle:
        warnings.append(
            f"{n_idle} decision(s) send less than {ONE_WAY:.0%} of their points to one side."
        )
    return tuple(warnings)


def _loss_warnings(grown: GrownNetwork, n_epochs: int) -> tuple[str, ...]:
    """A warning if the loss was still falling in the last phase, of `n_epochs` passes."""
    n_late = n_epochs // 5
    losses = [loss for _, loss in grown.losses]
    if not n_late:
        return ()
    late, early = losses[-n_late:], losses[-2 * n_late : -n_late]
    fall = losses[0] - sum(late) / n_late
    share = (sum(early) - sum(late)) / n_late / fall if fall > 0.0 else 0.0
    if share <= MOST_LATE_FALL:
        return ()
    return (
        f"The loss was still falling: {share:.0%} of its fall came in the last fifth of the last "
        f"phase. Raise 'tuning_epochs' (now {n_epochs}) or 'learning_rate'.",
    )
