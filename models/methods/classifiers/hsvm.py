"""Hierarchical SVM: the path of a row's class must lead the paths of all other classes by a margin
that grows with their distance in the hierarchy.

The score of a class is the sum of the scores of the nodes on its path. It minimises half the
squared weights of nodes plus C times the largest violation of each row. The loss of a class is half
the number of edges between it and the row's own, so that it is 1 between siblings, and without a
hierarchy this is the multiclass SVM `msvm`. With 'rescaling' `margin` the violation is the loss
minus the lead; with `slack` it is the loss times (1 minus the lead). Dual coordinate descent by
rows, until the duality gap is small (`structured.dual`).

Columns that lie far from 0 or are large are solved by an interior point in coordinates that make
them moderate (`recursive.interior`), to the same gap; what is not proven there is refused with the
column.

Source: Cai and Hofmann, "Hierarchical Document Categorization with Support Vector Machines" (2004);
Tsochantaridis et al., "Large Margin Methods for Structured and Interdependent Output Variables"
(2005), both rescalings. Its cutting planes reach the same optimum. Weights of attributes are 1.

Cost: tens to hundreds of sweeps of O(N T D) for T nodes, or O(nnz T); more of them the larger C is.
Memory: 1.5 times the features, 32 T D bytes, 12 bytes for each support vector's places.

Measured: CPU time as N^0.9 D^0.7 K^1.0, from 4,000 x 64 and 16 classes to four times each,
iterations bounded (`python -m bench costs`).
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from models.arrays import Float
from models.method import Paper, Run
from models.methods.classifiers.classes.classifier import Classifier, Trained
from models.methods.classifiers.classes.inputs import loss_weight
from models.methods.classifiers.classes.problem import Problem
from models.methods.classifiers.classes.structure import ClassTree
from models.methods.classifiers.structured.inputs import Contract, StructuredParams
from models.running.budget import CLASSES, Cost


class HSVMParams(StructuredParams):
    contract: Contract = True
    rescaling: Literal["margin", "slack"] = Field(
        "margin",
        description="What grows with the distance of a wrong class: the margin by which it must be "
        "led, or the penalty where it is not led by 1.",
    )


class HSVM(Classifier[HSVMParams]):
    """See the module's docstring."""

    title = "Hierarchical SVM"
    paper = Paper(
        "Large Margin Methods for Structured and Interdependent Output Variables", 2005, "§5.2"
    )
    Params = HSVMParams
    cost = Cost(4e-7, k=CLASSES)
    several_labels = False
    resumes = True
    hurry = (0.1, 10)
    proven = True
    advice = "Use fewer features ('preprocess' with svd or pca), or 'rr-svm'."

    def _train(self, problem: Problem, params: HSVMParams, run: Run) -> Trained:
        from models.methods.classifiers.structured.dual import fit_bytes, minimize
        from models.methods.classifiers.structured.penalty import Plain

        assert problem.tree is not None
        tree = problem.tree.contracted() if params.contract else problem.tree
        self._require(fit_bytes(problem, tree.n_nodes))
        fit = minimize(
            problem,
            tree,
            Plain(tree.n_nodes),
            loss_weight(params.C),
            candidates="paths",
            rescaled=params.rescaling,
            tol=params.tol,
            max_iter=params.max_iter,
            seed=params.seed,
            progress=run.progress,
            checkpoint=run.checkpoint,
        )
        return fit.trained(_along_paths(fit.weights, tree), "softmax")


def _along_paths(weights: Float, tree: ClassTree) -> Float:
    """(n_classes, n_columns) the sum of the weights of nodes on each class's path."""
    total = weights.copy()
    for node in range(1, tree.n_nodes):
        total[node] += total[tree.parent[node]]
    return total[tree.node]
