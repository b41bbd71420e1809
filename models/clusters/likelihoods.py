"""A given labelling judged by a mixture: its likelihood beside that of the clusters found.

Both are the mean log-likelihood of a row in nats, which EM maximises: once at the parameters that a
fit has found, once at those that are likeliest if each label is a cluster. Where the labels are
less likely than what was found, no better optimum would bring them: the model, or its distances, do
not see what the labels mean. Where they are likelier, a better optimum is near them. The thesis
keeps each row in its label's cluster; here a row counts under all clusters both times, so that like
is compared with like.

Source: Gopal, "Large-scale Structured Learning" (2014), §6.3, table 6.1.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TypeVar, final

from models.arrays import Int
from models.inputs.data import Data
from models.method import Method, Model
from models.parameters import Params

P = TypeVar("P", bound=Params)


@dataclass(frozen=True, slots=True)
class Likelihoods:
    """found, labelled : mean log-likelihoods of a row, in nats, at the parameters of the fit and at
    the labels' likeliest. warnings : what they are worth."""

    found: float
    labelled: float
    warnings: tuple[str, ...] = ()

    @property
    def values(self) -> tuple[float, float]:
        return self.found, self.labelled

    @property
    def verdict(self) -> str:
        """What follows from them, in a sentence."""
        apart = self.labelled - self.found
        if apart > 0.0:
            return (
                f"The labels are likelier than the clusters that were found, by {apart:.3g} nats a "
                "row: the search has ended in a poor optimum, and more runs ('n_init') may find "
                "clusters nearer to the labels."
            )
        return (
            f"The clusters that were found are likelier than the labels, by {-apart:.3g} nats a "
            "row: the model's optimum is not the labels, and more runs will not find them. Other "
            "features or another model may, or a transformation learned from some labels ('tcs')."
        )


class JudgesLabels(Method[P]):
    """A mixture that tells how likely a labelling is."""

    @final
    def likelihoods(self, model: Model, data: Data, code: Int) -> Likelihoods:
        """data : rows as for a prediction. code : (n_rows,) their classes, 0, 1, ..., all used.

        Raises UsageError as predictions.
        """
        self._check_inputs(data, predicting=True)
        judged = self._likelihoods(model, self._with_room(data), code)
        n_found, n_classes = self._n_clusters(model), int(code.max()) + 1
        notes = judged.warnings
        if n_found != n_classes:
            notes = (
                f"The labels have {n_classes} classes and the model {n_found} clusters: more "
                "clusters are likelier by themselves, so that the two likelihoods compare only "
                "with that in mind.",
                *notes,
            )
        return Likelihoods(judged.found, judged.labelled, (*notes, judged.verdict))

    @abstractmethod
    def _likelihoods(self, model: Model, data: Data, code: Int) -> Likelihoods:
        """Hook: without a warning of the numbers of clusters."""

    @abstractmethod
    def _n_clusters(self, model: Model) -> int:
        """Hook: how many clusters the model has."""
