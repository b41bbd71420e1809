"""DeepECT: a tree of clusters grown in the embedding of an autoencoder while both are trained.

A fully connected autoencoder first learns to reconstruct rows. Its embedding is then split in two
by k-means, and the tree of centres that begins so is trained together with the network: centres
move to the means of their points, points to the centres of all nodes above them, but only in the
direction that tells a node from its sibling (`trees.leaf_steps`). Meanwhile the leaf with the
largest sum of squared distances is split again and again until there are `n_clusters` leaves, and
leaves that points no longer come to are pruned (`trees.cluster_tree`).

Rows are moved by their mean and divided by one number first. A row goes to the leaf with the
nearest centre; the probability of a leaf is its posterior under spherical Gaussians around the
centres. Leaves are ordered by size. The height of an inner node is the sum of squared distances of
its points' embeddings to their mean, so a cut to k leaves undoes the splits that matter least. For
images each node has its decoded centre and the mean of its images as pictures.

Source: Mautz, Plant and Böhm, "Deep Embedded Cluster Tree" (ICDM 2019) and "DeepECT: The Deep
Embedded Cluster Tree" (2020). The directions and centres of the compression loss are constants
here, as the text has it; ClustPy's program also moves centres through the directions. Deviations:
defaults are for a processor and a hundred passes; the paper's network of [500, 500, 2000] and
50,000 steps in each stage are 'preset' "paper"; pretraining adds no noise and is not by layers; the
tree grows by a share of the passes, several leaves at once if need be, instead of one leaf after a
fixed number of steps; new leaves weigh as much as they have points in a batch, not 1, so that a
node's weight is always the sum of its children's; `trees.cluster_tree` says how weights are
averaged. `augment` is the paper's variant with augmented images (`networks.scaling`).

On images of digits with defaults (`python -m bench deep`, three seeds, 20 leaves) dendrogram purity
is .73 on 8 x 8 pixels (optdigits) and .65 on 16 x 16 (usps); by bisecting k-means in the embedding
of such an autoencoder .64 and .50. Cut to ten clusters, accuracy is about that of k-means. With
the paper's network and 1,000 + 1,500 passes over 5,000 MNIST digits (20,000 + 30,000 steps) and
`augment`, leaf purity is .926 and dendrogram purity .782; the paper has .92 and .82.

Cost: 6 N W multiplications and additions for each pass over N points, W the weights of encoder and
decoder, and about N W for each pass in which the tree grows; beside it O(N n_clusters E) a pass,
E = `embedding_size`. With `keep_steps` trees are kept whenever leaves are split; their cost is the
share of the points' squares that is left in the leaves. Memory: 24 W bytes, three times a batch's
values in all layers, 28 n_clusters for each of its rows, at most 64 MiB of batches ahead, 16 N E
for the embedding, and 8 N n_clusters for the logits; rows are read in place.

Measured: CPU time as N^0.8 D^0.5 K^0.5, from 2,000 x 128 and 8 clusters to four times each,
iterations bounded (`python -m bench costs`).
"""

from __future__ import annotations

from models.answers.beside_tree import NodePictures
from models.arrays import Array, Float
from models.clusters.placing import bytes_of_logits
from models.errors import UsageError
from models.inputs.checks import require_distinct, require_squares
from models.inputs.data import Data, image_rows, require_finite, size_of
from models.method import Fitted, Input, Method, Model, Paper, Predictions, Run, Shapes
from models.methods.deep.networks.autoencoder import n_parameters
from models.methods.deep.trees.parameters import AHEAD_BYTES, TreeParams
from models.methods.deep.trees.placing import CAPTION
from models.parameters import KeepSteps, Seed
from models.running import device
from models.running.threads import limited
from models.tree.tree import Tree


class DeepECTParams(TreeParams):
    keep_steps: KeepSteps = 0
    seed: Seed = 0


class DeepECT(Method[DeepECTParams]):
    """See the module's docstring."""

    title = "DeepECT"
    paper = Paper("DeepECT: The Deep Embedded Cluster Tree", 2020, "Data Science and Engineering")
    Params = DeepECTParams
    inputs = {
        "features": Input(
            images=True, description="One row per point, or one image, grey or of three colours."
        ),
        "names": Input(
            required=False, description="One name per cluster, from the largest to the smallest."
        ),
    }
    outputs = ("tree", "model", "logits", "pictures")
    needs = ("torch",)
    placing = "the leaf with the nearest centre in the embedding"
    advice = "Ask for fewer clusters, use narrower layers, or use a sample of the points."
    resumes = True
    example = {
        "n_clusters": 3,
        "hidden_sizes": [8],
        "embedding_size": 2,
        "pretrain_epochs": 8,
        "epochs": 5,
        "learning_rate": 0.01,
    }

    def _memory(self, shapes: Shapes, params: DeepECTParams) -> int:
        if len(shapes.get("features", ())) < 2:
            return 0
        n_points, *own = shapes["features"]
        n_features = 1
        for length in own:
            n_features *= length
        size = size_of(shapes["features"], params.image_shape)
        widths = n_features + sum(params.hidden_sizes) + params.embedding_size
        n_values = n_parameters(n_features, params.hidden_sizes, params.embedding_size)
        n_nodes = 2 * params.n_clusters
        batch = params.points_of_step(n_points)
        versions = 2 if params.augment else 1
        steps = 0
        if params.device == "cpu":
            ahead = min(AHEAD_BYTES, 4 * versions * n_points * (n_features + 1))
            held = 24 * widths + 28 * params.n_clusters
            steps = 24 * n_values + versions * batch * held + ahead
        drawn = 0 if size is None else 60 * n_nodes * n_features
        points = n_points * (16 * params.embedding_size + 60 + 8 * params.keep_steps)
        return (
            bytes_of_logits(shapes, params.n_clusters)
            + steps
            + drawn
            + points
            + 16 * n_nodes * (params.n_clusters + params.embedding_size)
            + (64 << 20)
        )

    def _check(self, data: Data, params: DeepECTParams) -> None:
        device.require(params.device)
        data.leaf_names(params.n_clusters, "cluster")
        rows, size = image_rows(data, "features", params.image_shape)
        if params.augment and size is None:
            raise UsageError(
                "Parameter 'augment' is true, but rows are vectors. Give an array of images, or "
                "say by 'image_shape' which images the rows are.",
                code="wrong-parameter",
                parameter="augment",
            )
        if rows.shape[0] == 0 or rows.shape[1] == 0:
            raise UsageError(
                f"Input 'features' has {rows.shape[0]} rows and {rows.shape[1]} columns; at least "
                "one of each is needed.",
                code="wrong-shape",
                role="features",
            )
        require_finite(rows, "features")
        require_squares(rows)
        require_distinct(rows, params.n_clusters)

    def _fit(self, data: Data, params: DeepECTParams, run: Run) -> Fitted:

        from models.methods.deep.trees.fit import fit

        rows, size = image_rows(data, "features", params.image_shape)
        names = data.leaf_names(params.n_clusters, "cluster")
        with limited(run.threads), device.computing(run.threads):
            return fit(rows, size, names, params.of_rows(len(rows)), run, params.keep_steps)

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """The leaf with the nearest centre, with the probability of each node on the path."""
        from models.methods.deep.trees.placing import place

        return place(model, tree, _rows_of(model, data))

    def _logits(self, model: Model, data: Data) -> Float:
        from models.methods.deep.trees.placing import log_posteriors

        return log_posteriors(model, _rows_of(model, data))[1]

    def pictures(self, model: Model) -> NodePictures | None:
        pixels = model.arrays.get("pictures")
        return None if pixels is None else NodePictures(pixels, CAPTION)


def _rows_of(model: Model, data: Data) -> Array:
    """New rows as a matrix.

    Raises UsageError for images of another size than the fit's.
    """
    rows, size = image_rows(data, "features", None)
    fitted = model.facts.get("image_size")
    if size is not None and fitted is not None and list(size) != fitted:
        raise UsageError(
            f"Input 'features' has images of shape {list(size)}; the model was fitted on images of "
            f"shape {fitted}: height, width, channels.",
            code="wrong-shape",
            role="features",
        )
    return rows
