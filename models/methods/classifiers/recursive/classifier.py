"""What the two methods of recursive regularization share: all classes at once, or in blocks."""

from __future__ import annotations

from abc import abstractmethod
from typing import TypeVar

from models.arrays import Arrays
from models.errors import UsageError
from models.method import Run
from models.methods.classifiers.classes.classifier import Classifier, Trained
from models.methods.classifiers.classes.problem import Problem
from models.methods.classifiers.recursive.inputs import (
    INPUTS,
    LossName,
    RecursiveParams,
    penalty_of,
)
from models.methods.classifiers.recursive.penalty import Penalty
from models.running.progress import Piece

P = TypeVar("P", bound=RecursiveParams)


class RecursiveClassifier(Classifier[P]):
    """Base of `rr-svm` and `rr-lr`."""

    inputs = INPUTS
    one_of = ("hierarchy", "graph")
    resumes = True
    loss: LossName

    @abstractmethod
    def _train_at_once(
        self, problem: Problem, penalty: Penalty, params: P, run: Run, warnings: tuple[str, ...]
    ) -> Trained:
        """Hook: the weights of all classes."""

    def _train(self, problem: Problem, params: P, run: Run) -> Trained:
        penalty, warnings = penalty_of(problem, params.contract)
        if params.block_size is None:
            return self._train_at_once(problem, penalty, params, run, warnings)
        if problem.coordinates is not None:
            column, mean, spread = problem.coordinates.furthest
            raise UsageError(
                f"Column {column} (counted from 0) of input 'features' varies by {spread:.2g} "
                f"around {mean:.6g}; with 'block_size' weights are kept to three digits, which "
                "is too little for that. Scale the columns, for instance by the 'preprocess' step "
                "standardize, or leave 'block_size' out.",
                code="wrong-input",
                role="features",
                column=column,
            )
        from models.methods.classifiers.recursive.blocks.block import BlockedClasses, piece_bytes
        from models.methods.classifiers.recursive.blocks.sweeps import train

        blocked = BlockedClasses.of(problem, penalty, params.block_size)
        self._require(piece_bytes(problem, blocked.largest, self.loss))
        return train(problem, blocked, self.loss, params.effort, run, warnings)

    def _piece_of(self, problem: Problem, params: P, piece: Piece) -> Arrays:
        from models.methods.classifiers.recursive.blocks.block import BlockedClasses
        from models.methods.classifiers.recursive.blocks.block import piece as trained

        assert params.block_size is not None
        penalty, _ = penalty_of(problem, params.contract)
        blocked = BlockedClasses.of(problem, penalty, params.block_size)
        return trained(problem, blocked, self.loss, piece)
