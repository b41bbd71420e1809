"""Top-down SVM: at each node of the hierarchy a linear SVM of each child against its siblings.

Nodes are trained independently, on the rows below them (the 'pachinko machine'). A new row goes
from the root to the child of the largest score, down to a leaf; its probability is the product of
softmaxes of siblings' scores along the path. Where rows may have several labels, a row goes to all
children of positive score, and the score of a class is the smallest on its path. Inner nodes with
one child have nothing to decide. It is the hierarchical baseline that scales best, and errors near
the root are never mended.

Columns that lie far from 0 or are large are solved by an interior point in coordinates that make
them moderate (`recursive.interior`), to the same gap; what is not proven there is refused with the
column.

Source: Dumais and Chen, "Hierarchical Classification of Web Content" (2000); Liu et al., "Support
Vector Machines Classification with a Very Large-scale Taxonomy" (2005); Gopal, "Large-scale
Structured Learning" (2014), §2.6.2 (TD). Solver: `recursive.hinge`, each child tied to 0.

Cost: of each inner node that of `bsvm` on the rows below it, O(N D times the number of siblings) or
O(nnz) a pass, for each level of the tree; memory a copy of the features, and of those below one
node, 8 T D bytes for T nodes, and 48 D for each sibling.

Measured: CPU time as N^0.7 D^0.2 K^1.5, from 4,000 x 64 and 16 classes to four times each,
iterations bounded (`python -m bench costs`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from models.arrays import Float, Int
from models.method import Checkpoint, Paper, Run
from models.methods.classifiers.classes.classifier import Classifier, Trained
from models.methods.classifiers.classes.problem import Problem
from models.methods.classifiers.classes.structure import ClassTree
from models.methods.classifiers.recursive.inputs import HingeParams
from models.methods.classifiers.recursive.penalty import Penalty
from models.running.budget import CLASSES, Cost
from models.running.progress import subprogress


class TDSVM(Classifier[HingeParams]):
    """See the module's docstring."""

    title = "Top-down SVM"
    paper = Paper("Hierarchical Classification of Web Content", 2000)
    Params = HingeParams
    cost = Cost(1e-7, k=CLASSES)
    resumes = True
    proven = True
    advice = "Use fewer features ('preprocess' with svd or pca)."
    hurry = (1e-2, 10)

    def _train(self, problem: Problem, params: HingeParams, run: Run) -> Trained:
        from models.methods.classifiers.recursive.hinge import fit_bytes, minimize

        assert problem.tree is not None
        tree = problem.tree.contracted()
        widest = fit_bytes(problem, Penalty.of_classes(int(tree.n_children.max())))
        self._require(8 * tree.n_nodes * problem.n_columns + widest)
        inner = np.flatnonzero(tree.n_children)
        weights = np.zeros((tree.n_nodes, problem.n_columns))
        # By inner node: objective, gap, sweeps, whether converged.
        ends = np.zeros((inner.size, 4))
        saved = run.checkpoint.load()
        n_done = 0
        if saved is not None:
            weights, ends = np.array(saved["weights"]), np.array(saved["ends"])
            n_done = int(saved["n_done"][0])
        for number in range(n_done, inner.size):
            node = int(inner[number])
            children, part = siblings(problem, tree, node)
            if not part.n_rows:
                # In a fold there may be none; the weights stay 0.
                ends[number, 3] = True
                continue
            begin, end = ((number + step) / inner.size for step in (0, 1))
            own_seed = int(np.random.default_rng([params.seed, node]).integers(2**62))
            fit = minimize(
                part,
                Penalty.of_classes(children.size),
                replace(params.effort, seed=own_seed),
                subprogress(run.progress, begin, end, f"node {number + 1}/{inner.size}"),
                Checkpoint(),
            )
            weights[children] = fit.weights
            ends[number] = fit.objective, fit.gap, len(fit.duals), fit.converged
            run.checkpoint.save(
                {"weights": weights, "ends": ends, "n_done": np.array([number + 1])}
            )
        return _trained(weights, tree, ends, problem.one_each)


def siblings(problem: Problem, tree: ClassTree, node: int) -> tuple[Int, Problem]:
    """The children of a node, and the rows below it with the children as their classes.

    Rows without a class are rows below the root.
    """
    start, class_, child = tree.below
    classes, toward = (some[start[node] : start[node + 1]] for some in (class_, child))
    children = np.unique(toward)
    first, row = problem.by_class
    of_class = [row[first[number] : first[number + 1]] for number in classes.tolist()]
    code = np.repeat(np.searchsorted(children, toward), [some.size for some in of_class])
    pairs = np.unique(np.concatenate(of_class) * children.size + code)
    below, code = np.divmod(pairs, children.size)
    rows, times = np.unique(below, return_counts=True)
    if node == 0 and rows.size < problem.n_rows:
        times = np.bincount(below, minlength=problem.n_rows)
        rows = np.arange(problem.n_rows)
    design = problem.design if rows.size == problem.n_rows else problem.design[rows]
    part = replace(
        problem,
        design=design,
        start=np.concatenate([[0], np.cumsum(times)]),
        code=code,
        n_classes=int(children.size),
        tree=None,
    )
    return children, part


def _trained(weights: Float, tree: ClassTree, ends: Float, one_each: bool) -> Trained:
    objective, gap, n_sweeps, converged = ends.T
    open_ = int((converged == 0).sum())
    warnings = (
        f"Not converged at {open_} of {len(ends)} nodes: the sum of objectives "
        f"{objective.sum():.6g} may be {gap.sum():.2g} above its minimum. Raise 'max_iter' or "
        "'tol'.",
    )
    return Trained(
        weights=weights,
        link="softmax" if one_each else "logistic",
        tree=tree,
        metrics={
            "objective": float(objective.sum()),
            "gap": float(gap.sum()),
            "n_iter": float(n_sweeps.max()),
        },
        warnings=warnings if open_ else (),
        converged=not open_,
    )
