"""Inputs and parameters that all classifiers have."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from models.method import Input
from models.methods.classifiers.classes.cut_offs import CutOff
from models.methods.classifiers.classes.validation import Criterion
from models.parameters import Params

FEATURES = Input(sparse=True, description="One row per point.")
LABELS = Input(
    one_per="row",
    fit_only=True,
    description="The class of each row, or its classes: names of nodes of the hierarchy, or paths "
    "of names. Rows that are not labelled (null, or -1) are left out of the training.",
)
HIERARCHY = Input(
    required=False,
    fit_only=True,
    description="A tree whose leaves are the classes, or class paths. Rows with the label of an "
    "inner node get a leaf of that name below it.",
)
GRAPH = Input(
    required=False,
    fit_only=True,
    description="Pairs of labels: the edges of an undirected graph over the classes.",
)
NAMES = Input(
    required=False,
    fit_only=True,
    description="Where labels are the numbers 0, 1, ...: what they are called.",
)
FLAT_INPUTS = {"features": FEATURES, "labels": LABELS, "hierarchy": HIERARCHY, "names": NAMES}


class ClassifierParams(Params):
    intercept: bool = Field(
        True,
        description="Whether a constant feature is added; its weight is penalised like the others.",
    )
    empty_classes: Literal["refuse", "leave-out"] = Field(
        "refuse",
        description="What to do with leaves of the hierarchy that have no example: refuse the job, "
        "or never predict them.",
    )
    calibrate: bool = Field(
        False,
        description="Whether probabilities, and where rows may have several labels their cut-offs, "
        "are fitted to the scores of rows held out in folds. With 'C' auto they always are.",
    )
    cut_off: CutOff = Field(
        "auto",
        description="Where rows may have several labels, which ones a row gets: classes of at "
        "least one half ('half'), classes above a cut-off fitted to the best scores of each row "
        "('instance'), the same number of best ones for each row ('rank', RCut), or classes above "
        "a threshold for each class ('class', SCut); the last three by rows held out in folds. "
        "'auto': 'instance' where folds are there, else 'half'. Where every row of the training "
        "has a label, a row gets its best one at least.",
    )
    n_folds: int = Field(5, ge=2, le=100, description="Number of folds of rows to choose by.")
    criterion: Criterion = Field(
        "micro_f1", description="What 'C' auto maximises on the rows held out."
    )


MOST_WEIGHT = 1e9


def _number_or_auto(value: Any) -> Any:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if value == "auto" or (number and 0.0 < value <= MOST_WEIGHT):
        return value
    raise PydanticCustomError(
        "number_type", f"Input should be 'auto' or a number above 0, at most {MOST_WEIGHT:g}"
    )


LossWeight: TypeAlias = Annotated[
    Annotated[float, Field(gt=0, le=MOST_WEIGHT)] | Literal["auto"],
    BeforeValidator(_number_or_auto),
    Field(
        description="Weight of the loss against the penalty of weights; 'auto' chooses the best of "
        "0.001, 0.01, ..., 1000 on folds of rows."
    ),
]
"""The type of a parameter `C`."""


def loss_weight(C: float | Literal["auto"]) -> float:
    """The number; a training never sees 'auto'."""
    assert not isinstance(C, str)
    return C
