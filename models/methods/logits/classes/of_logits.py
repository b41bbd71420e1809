"""A method that makes a tree of classes from logits: inputs, what it refuses, where new rows go."""

from __future__ import annotations

from abc import ABC
from typing import TYPE_CHECKING, ClassVar, TypeVar

import numpy as np

from models.answers.beside_tree import ClassScores, finite
from models.answers.confusions import Confusions, ordered
from models.arrays import Float, Int, row_blocks
from models.errors import UsageError
from models.inputs.data import Data
from models.method import Input, Method, Model, Predictions, Shapes
from models.methods.logits.classes.given import check_base, class_names
from models.methods.logits.classes.parameters import LogitsParams
from models.methods.logits.classes.shown import confusion_warnings
from models.methods.logits.merging.input_kind import note_kind
from models.methods.logits.merging.logit_matrix import LogitMatrix
from models.methods.logits.merging.masks import unmasked
from models.methods.logits.merging.reference import exponentials
from models.tree.tree import Tree
from models.tree.walk import paths

if TYPE_CHECKING:
    from models.methods.logits.merging.row_digest import Digest

L = TypeVar("L", bound=LogitsParams)

MOST_LISTED = 8
"""`row_digest.LISTED`, which cannot be imported here without loading compiled code."""

LISTED_ERROR, REST_ERROR = 1e-6, 4e-5
"""Bounds on the relative errors of what is listed and of the rest: above `WEIGHT_ERROR` of
`loops.bounds`, of both factors, and `TAIL_ERROR`, likewise."""

CLASS_BYTES = 1000
"""Memory for a class: its name, its two nodes of the tree, and the state of merging."""


class OfLogits(Method[L], ABC):
    """Class attribute `as_before`: parameters that the earlier job in `base` must have, too."""

    as_before: ClassVar[tuple[str, ...]]

    inputs = {
        "logits": Input(
            by_rows=True,
            description=(
                "One row per point, one column per class; with 'top_classes', only the values of "
                "each row's best classes."
            ),
        ),
        "top_classes": Input(
            required=False,
            one_per="value",
            description=(
                "For rows of which only the best classes are known: the class (from 0) of each "
                "value of 'logits'. Missing values are bounded, and the job reports whether the "
                "bounds decide the hierarchy."
            ),
        ),
        "names": Input(
            required=False, one_per="column", description="One name per class, in column order."
        ),
        "base": Input(
            required=False,
            description=(
                "An earlier job, run with `growable`, whose rows come before these. The hierarchy "
                "is that of all rows; old rows are only read again where the kept state does "
                "not decide it."
            ),
        ),
    }
    outputs = ("tree", "model", "confusions")
    placing = "the leaf of the class with its largest logit"
    advice = "Fit a sample of the rows; the others can be placed by prediction."

    def _sizes(self, shapes: Shapes, params: L) -> tuple[int, int] | None:
        """The number of rows and of classes; None where they are not known yet."""
        if len(shapes.get("logits", ())) != 2:
            return None
        n_rows, n_columns = shapes["logits"]
        return n_rows, params.n_classes or n_columns if "top_classes" in shapes else n_columns

    def _memory(self, shapes: Shapes, params: L) -> int:
        """The digest, twice: as read, and in order of classes; and what is kept of each class."""
        sizes = self._sizes(shapes, params)
        if sizes is None:
            return 0
        n_rows, n_classes = sizes
        n_columns = shapes["logits"][1]
        n_listed, reading = min(MOST_LISTED, n_classes - 1), 0
        if "top_classes" in shapes:
            n_listed = max(1, n_columns - 1)
            # The values and classes in order, their exponentials, and bounds on them.
            reading = 64 * n_columns
        wide = "top_classes" in shapes or n_classes >= 1 << 16
        digest = 12 + n_listed * (8 if wide else 6)
        state = 100 if params.growable else 0
        per_row = digest + max(digest + 8, reading) + state
        return n_rows * per_row + CLASS_BYTES * n_classes

    def _check(self, data: Data, params: L) -> None:
        n_points, n_columns = data.rows("logits").shape
        if n_points == 0:
            raise UsageError(
                "Input 'logits' has no rows; at least one point is needed.",
                code="wrong-shape",
                role="logits",
            )
        if n_columns == 0 or (n_columns < 2 and "top_classes" not in data):
            raise UsageError(
                f"Input 'logits' has {n_columns} column(s), one per class; a hierarchy needs at "
                "least 2 classes.",
                code="wrong-shape",
                role="logits",
            )
        if params.n_classes is not None and "top_classes" not in data:
            raise UsageError(
                "Parameter 'n_classes' requires the input 'top_classes'; without it, every column "
                "of 'logits' is a class.",
                code="wrong-parameter",
                parameter="n_classes",
            )
        earlier = data.earlier()
        if earlier is not None:
            check_base(earlier, data, params, self.id, self.as_before)
        if params.growable and "top_classes" in data:
            raise UsageError(
                "Parameter 'growable' requires the logits of all classes, not 'top_classes'.",
                code="wrong-parameter",
                parameter="growable",
            )
        class_names(data, params)

    def confusions(self, model: Model, tree: Tree) -> Confusions | None:
        """The expected confusions, by the logits alone: rows whose largest logit is that of class
        a are a's, and the mass of (a, b) is the sum of their softmax probabilities of b.

        In each row the 8 most probable other classes count one by one, so a mass is a lower bound;
        `rest` has the others' sum. None for fits that kept no probabilities: fits of earlier
        versions, and fits with one class a row.
        """
        if "confused.of" not in model.arrays or not model.arrays["confused.total"].any():
            return None
        array = {
            name: np.asarray(model.arrays[f"confused.{name}"])
            for name in ("of", "taken_for", "mass", "right", "rest", "total")
        }
        leaf = model.arrays["leaf_of_class"].astype(np.int64)
        right, total = np.zeros((2, tree.n_nodes))
        right[leaf], total[leaf] = array["right"], array["total"]
        facts = model.facts["confusions"]
        rest, listed = float(array["rest"].sum()) + facts["dropped"], float(array["mass"].sum())
        most = None
        if "confused.most" in model.arrays and not facts["best_only"]:
            most = np.zeros(tree.n_nodes)
            most[leaf] = model.arrays["confused.most"]
        return ordered(
            leaf[array["of"]],
            leaf[array["taken_for"]],
            array["mass"],
            right,
            total,
            rest,
            most,
            LISTED_ERROR * listed + REST_ERROR * rest,
            confusion_warnings(facts, rest, listed),
        )

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """Leaf of the largest logit; a node's probability is the softmax mass of its classes."""
        matrix, leaf_of_class = _new_rows(model, data)
        n_rows = matrix.shape[0]
        leaf = np.empty(n_rows, dtype=np.int64)
        blocks = list(row_blocks(n_rows, tree.n_nodes, 1 << 20))
        for block in blocks:
            matrix.require_values(block.start, block.stop)
            leaf[block] = leaf_of_class[matrix.block(block.start, block.stop).argmax(axis=1)]
        start, node = paths(tree, leaf)
        probability = np.empty(len(node))
        for block in blocks:
            values = matrix.block(block.start, block.stop).astype(np.float64)
            exponentials(values, matrix.scale)
            mass = _masses(values, leaf_of_class, tree)
            part = slice(start[block.start], start[block.stop])
            row = np.repeat(np.arange(mass.shape[1]), np.diff(start[block.start : block.stop + 1]))
            probability[part] = mass[node[part], row]
        return Predictions(leaf, start, node, probability)

    def ungrown(self, data: Data) -> Data:
        """The logits of all rows: growing is exact."""
        from models.methods.logits.merging import resume

        earlier = data.earlier()
        assert earlier is not None
        if not earlier.state:
            return data
        rows = resume.stacked(earlier, data.rows("logits"))
        if rows.readable_from:
            raise UsageError(
                "Rows of the earlier job in 'base' are gone, and the fit on all rows needs them.",
                code="wrong-input",
                role="base",
            )
        values = {role: value for role, value in data.values.items() if role != "base"}
        return Data({**values, "logits": rows})

    def class_scores(self, model: Model, data: Data) -> ClassScores:
        """The logits as they are, at the temperature of the fit."""
        self._check_inputs(data, predicting=True)
        matrix, leaf_of_class = _new_rows(model, data)

        def read(start: int, stop: int) -> Float:
            matrix.require_values(start, stop)
            return finite(matrix.block(start, stop).astype(np.float64) * matrix.scale)

        return ClassScores(leaf_of_class, matrix.shape[0], read)


def model_of(tree: Tree, digest: Digest, params: LogitsParams, *, best_only: bool) -> Model:
    """Where new rows go, and which classes are taken for which.

    best_only : whether only the best classes of each row were known.
    """
    from models.methods.logits.merging.class_pairs import class_pairs

    pairs = class_pairs(digest)
    return Model(
        arrays={"leaf_of_class": tree.leaves.astype(np.int32), **pairs.arrays()},
        facts={
            "n_classes": len(digest.size),
            "input": params.input,
            "temperature": params.temperature,
            "confusions": {
                "n_listed": digest.listed.shape[1],
                "best_only": best_only,
                "n_unknown": int(np.isnan(digest.second).sum()),
                "n_dropped": pairs.n_dropped,
                "dropped": pairs.dropped,
            },
        },
    )


def _new_rows(model: Model, data: Data) -> tuple[LogitMatrix, Int]:
    """The logits of rows to be placed, and the leaf of each class."""
    if "top_classes" in data:
        raise UsageError(
            "Prediction needs the logits of all classes; it takes no input 'top_classes'.",
            code="cannot-predict",
            role="top_classes",
        )
    rows = data.rows("logits")
    leaf_of_class = model.arrays["leaf_of_class"].astype(np.int64)
    if rows.shape[1] != len(leaf_of_class):
        raise UsageError(
            f"Input 'logits' has {rows.shape[1]} columns; the model was fitted on "
            f"{len(leaf_of_class)} classes.",
            code="wrong-shape",
            role="logits",
        )
    if model.facts["input"] == "logits":
        rows = unmasked(rows)
    matrix = LogitMatrix(rows, model.facts["input"], model.facts["temperature"])
    note_kind(matrix, log_probs_too=False)
    return matrix, leaf_of_class


def _masses(weights: Float, leaf_of_class: Int, tree: Tree) -> Float:
    """(n_nodes, n_rows) softmax mass of the classes under each node; the root's is exactly 1.

    Masses are sums over children, never differences, so that none is lost to rounding and none
    exceeds its parent's.
    """
    mass = np.zeros((tree.n_nodes, weights.shape[0]))
    mass[leaf_of_class] = weights.T
    for node in range(tree.n_nodes - 1, 0, -1):
        mass[tree.parent[node]] += mass[node]
    mass /= mass[0]
    return mass
