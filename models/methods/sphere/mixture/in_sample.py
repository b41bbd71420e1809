"""In-sample or out-of-sample: a row's log-likelihood compared with known in-sample rows.

The thesis (section 5.7.4) uses an interval of their mean, which shrinks as their number grows; here
a single row is compared with a quantile of the single likelihoods. The threshold is that of
conformal prediction (Vovk, Gammerman and Shafer, "Algorithmic Learning in a Random World", 2005):
at least a share `level` of rows like the reference, which were held out from the fit, lies inside.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from models.arrays import Float
from models.method import Model, Predictions

MOST_KEPT = 10_001
"""The largest number of quantiles of the reference that a model keeps."""


@dataclass(frozen=True, slots=True)
class InSample:
    """reference : log-likelihoods, ascending. level : approximate share of them that is inside."""

    reference: Float
    level: float
    threshold: float

    @classmethod
    def of(cls, evidence: Float, level: float) -> InSample:
        """The threshold from log-likelihoods of rows known to be inside, at least one."""
        reference = np.sort(evidence)
        below = max(1, int(np.floor((1.0 - level) * (reference.size + 1) + 1e-9)))
        threshold = float(reference[below - 1])
        if reference.size > MOST_KEPT:
            quantiles = np.linspace(0, reference.size - 1, MOST_KEPT).round().astype(int)
            reference = reference[quantiles]
        return cls(reference, level, threshold)

    @classmethod
    def of_model(cls, model: Model) -> InSample:
        """The threshold stored in the `arrays` and `facts` of a model."""
        facts = model.facts
        return cls(model.arrays["reference"], float(facts["level"]), float(facts["threshold"]))

    @property
    def arrays(self) -> dict[str, Float]:
        return {"reference": self.reference}

    @property
    def facts(self) -> dict[str, float]:
        return {"level": self.level, "threshold": self.threshold}

    def columns(self, evidence: Float) -> dict[str, Float]:
        """The columns for rows with these log-likelihoods.

        `in_sample` : 1 if the row reaches the threshold. `in_sample_rank` : the share of the
        reference that the row exceeds or equals.
        """
        rank = np.searchsorted(self.reference, evidence, side="right") / self.reference.size
        return {
            "log_likelihood": evidence,
            "in_sample": (evidence >= self.threshold).astype(np.float64),
            "in_sample_rank": rank,
        }


def with_in_sample(predictions: Predictions, model: Model, evidence: Float) -> Predictions:
    """The predictions with the columns from their log-likelihoods (`InSample.columns`)."""
    return replace(predictions, columns=InSample.of_model(model).columns(evidence))
