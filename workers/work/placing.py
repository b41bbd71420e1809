"""New rows in a tree: a fitted model places them, for predictions and for evaluations on them."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from models.arrays import Array, Arrays, Float, Int
from models.errors import UsageError
from models.graphs.nearest_points import CrewOf, PlacesNearest, placing_by
from models.inputs.data import Data, Value
from models.inputs.oddities import note_new_rows
from models.inputs.reading import note, noting
from models.inputs.stand_ins import marks
from models.method import PredictionOptions, Predictions, handed_on
from models.preprocess.inputs import Preparation
from models.preprocess.pipeline import ROLE as FEATURES
from models.registry import method
from models.running.progress import Piece, Progress, silent
from models.tree.noise import noise_leaves
from models.tree.rows import over_rows
from models.tree.tree import Tree
from workers.artifacts import results
from workers.work.bare_rows import (
    NONE,
    BareRows,
    counting_without,
    left_out,
    placed_as_noise,
)
from workers.work.crew import Coordinator
from workers.work.named_columns import matched, named_matrices
from workers.work.row_shares import (
    Division,
    Share,
    else_together,
    in_shares,
    n_rows_of,
    piece_of_shares,
    refuse_early,
    rows_of,
    shares,
)
from workers.work.sources import Source, many_of, of_role, tree_of, values_of

NOTED = "noted"
"""The array, without values, of a share of which `note_rows` has something to note."""


def noted_in(noted: bool) -> dict[str, Array]:
    """What the arrays of a share have of it."""
    return {NOTED: np.zeros(0)} if noted else {}


def fitted_of(sources: Sequence[Source], role: str = "tree") -> tuple[Tree, results.FittedModel]:
    """The tree among the sources, and its model. Raises UsageError `cannot-predict` without one."""
    source = of_role(sources, role)
    if results.MODEL not in source.files:
        raise UsageError(
            "This tree has no model, so it cannot place new rows; methods that predict say so in "
            "the catalogue.",
            code="cannot-predict",
        )
    model = results.load_model(source.files[results.MODEL])
    if not model.places:
        raise UsageError(
            "The tree is by a second method, which does not predict, so new rows cannot be placed "
            "in it; the model can transform them.",
            code="cannot-predict",
        )
    return tree_of(source), model


def new_rows(
    sources: Sequence[Source], model: results.FittedModel, but: Collection[str] = ("tree",)
) -> dict[str, Value]:
    """The inputs by role, their columns matched by name with the columns of the fit. Marks of
    missing values among the features are noted.

    Raises UsageError as `matched` and `values_of`.
    """
    values = values_of(
        matched(sources, model.columns, model.given_names),
        but,
        many_of(model.stages[0].method),
    )
    for matrix, names in named_matrices(values.get(FEATURES), model.columns):
        for sentence in marks(matrix, names):
            note(sentence)
    return values


def placing_data(model: results.FittedModel, values: Mapping[str, Value]) -> Data:
    """The inputs of the last step of a model, which places rows.

    values : the inputs that the first step's predictions need, by role, as a user gives them.

    Raises UsageError for rows that cannot be prepared as in the fit.
    """
    preparation = Preparation(model.prepared)
    data = Data(preparation.apply(values), pairwise=preparation.pairwise)
    for stage, following in pairwise(model.stages):
        used = method(stage.method)
        role = handed_on(used, method(following.method))
        give = used.logits if role == "logits" else used.transform
        data = Data({role: give(stage.model, data)})
    return data


def placed(
    tree: Tree,
    model: results.FittedModel,
    values: Mapping[str, Value],
    options: PredictionOptions | None = None,
    crew_of: CrewOf | None = None,
) -> Predictions:
    """Rows placed in a tree by its model, with warnings of the empty values that were filled. Rows
    without a value go to its leaf of noise.

    crew_of : its pieces are answered by `placed_piece`; None: this process alone.

    Raises UsageError as `placing_data`, `Method.predict`, and for a row without a value where the
    tree has no such leaf.
    """
    predictions, others = _placed(tree, model, values, options, crew_of)
    warnings = (*Preparation(model.prepared).filled(others), *predictions.warnings)
    return replace(predictions, warnings=warnings)


def _placed(
    tree: Tree,
    model: results.FittedModel,
    values: Mapping[str, Value],
    options: PredictionOptions | None,
    crew_of: CrewOf | None = None,
) -> tuple[Predictions, Mapping[str, Value]]:
    """As `placed`, without the warnings of empty values; and the inputs of rows with values."""
    last = model.stages[-1]
    used, own = method(last.method), BareRows(model.bare, model.n_nodes).of(tree)
    bare, others = _with_values(tree, model, values)
    with counting_without(bare):
        data = placing_data(model, others)
        with nullcontext() if crew_of is None else placing_by(crew_of):
            predictions = used.predict(last.model, own, data, options)
    if bare.rows.size:
        predictions = placed_as_noise(tree, bare.rows, predictions)
    return predictions, others


def placing_shares(
    tree: Tree, model: results.FittedModel, values: Mapping[str, Value]
) -> list[Share]:
    """The shares in which new rows are placed by `placed_share`; one where that is not done."""
    n_rows = n_rows_of(values)
    if n_rows is None or isinstance(method(model.stages[-1].method), PlacesNearest):
        return [(0, n_rows or 0)]
    return shares(n_rows, max(tree.n_nodes, tree.n_points))


def placed_share(
    tree: Tree,
    model: results.FittedModel,
    values: Mapping[str, Value],
    share: Share,
    options: PredictionOptions | None = None,
) -> tuple[Predictions, bool]:
    """The rows of a share, as `placed`, without the warnings of empty values; and whether
    `note_rows` has something to note of them.

    Raises UsageError as `placed`, with numbers of rows that count from the share's first, and where
    its rows have another warning, which counts all rows: `placed` then places them together.
    """
    own = rows_of(values, share)
    with noting() as notes:
        predictions, _ = _placed(tree, model, own, options)
    expected: Mapping[str, None] = {}
    if notes:
        with noting() as expected:
            note_rows(tree, model, own)
    if predictions.warnings or notes.keys() - expected.keys():
        raise UsageError("There are warnings of these rows.", code="unusable-input")
    return predictions, bool(notes)


def note_rows(tree: Tree, model: results.FittedModel, values: Mapping[str, Value]) -> None:
    """Note what `placed` notes of rows as it reads them, without placing them: those too far from
    the rows of the fit. One pass over the features.

    Raises UsageError as `placing_data`.
    """
    bare, others = _with_values(tree, model, values)
    with counting_without(bare):
        note_new_rows(model.stages[-1].model.arrays, placing_data(model, others))


def placed_piece(
    tree: Tree, model: results.FittedModel, values: Mapping[str, Value], piece: Piece
) -> Arrays:
    """One piece of `placed`, for an attempt on another worker."""
    last = model.stages[-1]
    bare, others = _with_values(tree, model, values)
    with counting_without(bare):
        used = method(last.method)
        assert isinstance(used, PlacesNearest), "only these place rows in pieces"
        return used.placed_piece(last.model, placing_data(model, others), piece)


@dataclass(frozen=True, slots=True)
class PlacedLeaves:
    """leaf : (n_rows,) the node of each row's leaf. last : (n_rows,) the probability of the last
    node of its path."""

    leaf: Int
    last: Float
    warnings: tuple[str, ...]


def refuse_leaves(tree: Tree, model: results.FittedModel, values: Mapping[str, Value]) -> None:
    """Refuse rows that `leaves` would refuse for a value, as `refuse_early`."""
    cut = placing_shares(tree, model, values)
    refuse_early(values, partial(_share_of_leaves, tree, model, values), cut)


def leaves(
    tree: Tree, model: results.FittedModel, values: Mapping[str, Value], division: Division
) -> PlacedLeaves:
    """The leaves of rows, as `placed`, in shares that workers compute (`leaves_piece`); the caller
    has them refused first (`refuse_leaves`).

    Raises UsageError as `placed`.
    """
    cut = placing_shares(tree, model, values)
    if len(cut) > 1:
        leaf, last = np.empty(cut[-1][1], dtype=np.int64), np.empty(cut[-1][1])
        of_share = partial(_share_of_leaves, tree, model, values)
        with else_together(values, of_share):
            noted = False
            for number, found in in_shares(cut, of_share, division):
                rows = slice(*cut[number])
                leaf[rows], last[rows] = found["leaf"], found["last"]
                noted |= NOTED in found
            if noted:
                note_rows(tree, model, values)
            return PlacedLeaves(leaf, last, Preparation(model.prepared).filled(values))
    predictions = placed(tree, model, values)
    return PlacedLeaves(**_leaf_and_last(predictions), warnings=predictions.warnings)


def leaves_piece(
    tree: Tree, model: results.FittedModel, values: Mapping[str, Value], piece: Piece
) -> Arrays:
    """One piece of `leaves`, for an attempt on another worker."""
    of_share = partial(_share_of_leaves, tree, model, values)
    return piece_of_shares(of_share, piece, silent)


def _share_of_leaves(
    tree: Tree, model: results.FittedModel, values: Mapping[str, Value], share: Share
) -> Arrays:
    predictions, noted = placed_share(tree, model, values, share)
    return {**_leaf_and_last(predictions), **noted_in(noted)}


def _leaf_and_last(predictions: Predictions) -> dict[str, Any]:
    last = np.asarray(predictions.probability)[predictions.start[1:] - 1]
    return {"leaf": predictions.leaf.astype(np.int64), "last": last.astype(np.float64)}


def _with_values(
    tree: Tree, model: results.FittedModel, values: Mapping[str, Value]
) -> tuple[BareRows, dict[str, Value]]:
    """The rows without a value that go to the tree's leaf of noise, and the inputs without them."""
    if method(model.stages[-1].method).classifies or not noise_leaves(tree).size:
        return NONE, dict(values)
    steps = [step.model_dump() for step in model.prepared[0].steps] if model.prepared else []
    bare, others, _ = left_out(model.stages[0].method, steps, dict(values))
    return bare, others


@dataclass(frozen=True, slots=True)
class NewRows:
    """Rows that were not in the fit, placed in its tree for an evaluation.

    fitted : the tree over the points of its fit. tree : the same nodes over the new rows.
    others : the inputs of the evaluation beside those that were placed; a single matrix of features
        that was placed is among them.
    facts : number of rows, and the method with its rule, as the answer has them.
    """

    fitted: Tree
    tree: Tree
    others: dict[str, Value]
    facts: dict[str, Any]
    warnings: tuple[str, ...]

    @classmethod
    def of(
        cls,
        sources: Sequence[Source],
        roles: Collection[str],
        progress: Progress = silent,
        coordinator: Coordinator | None = None,
    ) -> NewRows:
        """Read and place the inputs of the given roles.

        coordinator : hands out pieces, which `piece` answers; None: all are computed here.

        Raises UsageError as `fitted_of`, `placing_data` and `Method.predict`.
        """
        began_s = time.process_time()
        fitted, model = fitted_of(sources)
        values = new_rows(sources, model)
        given = {role: value for role, value in values.items() if role in roles}
        predicts = method(model.stages[-1].method)
        division = Division(progress, coordinator, time.process_time() - began_s)
        refuse_leaves(fitted, model, given)
        predictions = leaves(fitted, model, given, division)
        others = {role: value for role, value in values.items() if role not in roles}
        if "features" in given and not isinstance(given["features"], tuple):
            others["features"] = given["features"]
        facts = {"n_rows": len(predictions.leaf), "method": predicts.id, "rule": predicts.placing}
        tree = over_rows(fitted, predictions.leaf)
        return cls(fitted, tree, others, facts, predictions.warnings)

    @staticmethod
    def piece(sources: Sequence[Source], roles: Collection[str], piece: Piece) -> Arrays:
        """One piece of the placing, for an attempt on another worker."""
        fitted, model = fitted_of(sources)
        values = new_rows(sources, model)
        given = {role: value for role, value in values.items() if role in roles}
        return leaves_piece(fitted, model, given, piece)
