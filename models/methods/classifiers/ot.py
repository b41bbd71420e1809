"""Orthogonal transfer: SVMs from the root down whose weights differ from their ancestors' weights.

A new row goes from the root to the child of the largest score, down to a leaf; its probability is
the product of softmaxes of siblings' scores along the path. All nodes are trained together. They
minimise half their squared weights, K |w_i.w_j| for each node i and node j above it, and C times,
for each row, by how much a sibling of a node on its path comes nearer to it than 1 at worst.
'orthogonality' is K as a share of the largest K for which this is convex for every pair of signs.
Inner nodes with one child have nothing to decide.

Columns that lie far from 0 or are large are solved by an interior point in coordinates that make
them moderate (`recursive.interior`), to the same gap; what is not proven there is refused with the
column.

Source: Zhou, Xiao and Wu, "Hierarchical Classification via Orthogonal Transfer" (2011). Deviations:
one K for all pairs, where theirs differ by pair; the dual instead of regularized dual averaging, to
the same optimum: rows in turn, then the signs of the products, until the duality gap is small
(`structured.dual`, `structured.penalty`).

Cost: tens to hundreds of sweeps of O(N T D + T^3) for T nodes, or O(nnz T + T^3); more of them the
larger C is. Memory: 1.5 times the features, 32 T D + 64 T^2 bytes.

Measured: CPU time as N^1.0 D^0.8 K^1.0, from 4,000 x 64 and 16 classes to four times each,
iterations bounded (`python -m bench costs`).
"""

from __future__ import annotations

from pydantic import Field

from models.method import Paper, Run
from models.methods.classifiers.classes.classifier import Classifier, Trained
from models.methods.classifiers.classes.inputs import loss_weight
from models.methods.classifiers.classes.problem import Problem
from models.methods.classifiers.structured.inputs import StructuredParams
from models.running.budget import CLASSES, Cost


class OTParams(StructuredParams):
    orthogonality: float = Field(
        0.5,
        ge=0,
        lt=1,
        description="Weight of the products of nodes with those above, as a share of the largest "
        "weight that keeps the problem convex.",
    )


class OT(Classifier[OTParams]):
    """See the module's docstring."""

    title = "Orthogonal transfer"
    paper = Paper("Hierarchical Classification via Orthogonal Transfer", 2011)
    Params = OTParams
    cost = Cost(4e-7, k=CLASSES)
    several_labels = False
    resumes = True
    hurry = (0.1, 10)
    proven = True
    advice = "Use a smaller hierarchy, fewer features ('preprocess' with svd or pca), or 'td-svm'."

    def _train(self, problem: Problem, params: OTParams, run: Run) -> Trained:
        from models.methods.classifiers.structured.dual import fit_bytes, minimize
        from models.methods.classifiers.structured.penalty import Orthogonal

        assert problem.tree is not None
        tree = problem.tree.contracted()
        n_nodes = tree.n_nodes
        self._require(fit_bytes(problem, n_nodes) + 64 * n_nodes**2)
        fit = minimize(
            problem,
            tree,
            Orthogonal.over(tree, params.orthogonality),
            loss_weight(params.C),
            candidates="siblings",
            tol=params.tol,
            max_iter=params.max_iter,
            seed=params.seed,
            progress=run.progress,
            checkpoint=run.checkpoint,
        )
        return fit.trained(fit.weights, "softmax", tree)
