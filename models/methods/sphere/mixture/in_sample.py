"""In-sample or out-of-sample: a row's log-likelihood against those of rows known to be inside.

The thesis (section 5.7.4) takes an interval of their mean, which shrinks with their number; a
single row is judged by a quantile of the single likelihoods. The threshold is that of conformal
prediction (Vovk, Gammerman and Shafer, "Algorithmic Learning in a Random World", 2005): of rows
like the reference, which were held out from the fit, at least a share `level` lies inside.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from models.arrays import Float
from models.method import Model, Predictions

MOST_KEPT = 10_001
"""The most quantiles of the reference that a model keeps."""


@dataclass(frozen=True, slots=True)
class InSample:
    """reference : log-likelihoods, ascending. level : the share of them that is inside, about."""

    reference: Float
    level: float
    threshold: float

    @classmethod
    def of(cls, evidence: Float, level: float) -> InSample:
        """From the log-likelihoods of rows that are inside, at least one."""
        reference = np.sort(evidence)
        below = max(1, int(np.floor((1.0 - level) * (reference.size + 1) + 1e-9)))
        threshold = float(reference[below - 1])
        if reference.size > MOST_KEPT:
            quantiles = np.linspace(0, reference.size - 1, MOST_KEPT).round().astype(int)
            reference = reference[quantiles]
        return cls(reference, level, threshold)

    @classmethod
    def of_model(cls, model: Model) -> InSample:
        """From a model that has `arrays` and `facts`."""
        facts = model.facts
        return cls(model.arrays["reference"], float(facts["level"]), float(facts["threshold"]))

    @property
    def arrays(self) -> dict[str, Float]:
        return {"reference": self.reference}

    @property
    def facts(self) -> dict[str, float]:
        return {"level": self.level, "threshold": self.threshold}

    def columns(self, evidence: Float) -> dict[str, Float]:
        """Columns of rows with these log-likelihoods.

        `in_sample` : 1 where it reaches the threshold. `in_sample_rank` : the share of the
        reference that it exceeds or equals.
        """
        rank = np.searchsorted(self.reference, evidence, side="right") / self.reference.size
        return {
            "log_likelihood": evidence,
            "in_sample": (evidence >= self.threshold).astype(np.float64),
            "in_sample_rank": rank,
        }


def with_in_sample(predictions: Predictions, model: Model, evidence: Float) -> Predictions:
    """The predictions with the columns of their rows' log-likelihoods (`InSample.columns`)."""
    return replace(predictions, columns=InSample.of_model(model).columns(evidence))
