"""Parameters of the methods whose constraints run along the tree."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from models.methods.classifiers.classes.inputs import ClassifierParams, LossWeight
from models.methods.classifiers.recursive.inputs import GapShare
from models.parameters import MaxIter, Seed

Contract = Annotated[
    bool,
    Field(description="Whether inner nodes of the hierarchy that have one child are left out."),
]


class StructuredParams(ClassifierParams):
    C: LossWeight = 1.0
    tol: GapShare = 1e-2
    max_iter: MaxIter = 1000
    seed: Seed = 0
