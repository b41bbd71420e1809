"""One of several candidates by validation, or a cautious one where clusters are too few for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from models.methods.labelled.choosing.validation import FEWEST, Candidate, validate
from models.methods.labelled.discovery.mixture import Clusterer
from models.methods.labelled.supervision.known import KnownClusters
from models.running.progress import Progress


@dataclass(frozen=True, slots=True)
class Choice:
    """number : of the candidate. warnings, curves : what was chosen and why."""

    number: int
    warnings: tuple[str, ...]
    curves: dict[str, list[tuple[int, float]]]


def choose(
    known: KnownClusters,
    candidates: Sequence[Candidate],
    cautious: int,
    clusterer: Clusterer,
    rng: np.random.Generator,
    progress: Progress,
    threads: int = 1,
) -> Choice:
    """The candidate that validation chooses; the first does nothing.

    cautious : number of the candidate for fewer known clusters than `FEWEST`.
    threads : see `validate`, also for the cost.
    """
    if known.n_clusters < FEWEST:
        message = (
            f"{known.n_clusters} known clusters are too few to validate on ({FEWEST} are needed), "
            f"so the transformation was learned with {candidates[cautious].name}."
        )
        return Choice(cautious, (message,), {})
    validated = validate(known, candidates, clusterer, rng, progress, threads)
    means = validated.scores.mean(axis=1)
    message = (
        f"Chosen by validation on known clusters: {candidates[validated.best].name} (normalized "
        f"mutual information {means[validated.best]:.3f}, {means[0]:.3f} without a transformation)."
    )
    return Choice(validated.best, (message,), {"validation_nmi": list(enumerate(means.tolist()))})
