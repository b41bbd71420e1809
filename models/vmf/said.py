"""What a user is told of a variational fit: one sentence each, nothing where nothing is odd."""

from __future__ import annotations

from models.partitions.points import Float

FEW_FEATURES = 20
"""Below which the bounding scheme shrinks kappa too much to go unsaid."""


def said_of_end(ended: bool, max_iter: int, by_batches: bool = False) -> tuple[str, ...]:
    if ended:
        return ()
    unit = "epochs" if by_batches else "iterations"
    return (f"The best run was stopped after max_iter = {max_iter} {unit}, before it converged.",)


def said_of_bounding(inference: str, n_features: int) -> tuple[str, ...]:
    if inference != "variational-bounding" or n_features >= FEW_FEATURES:
        return ()
    return (
        f"With {n_features} features the bound of 'variational-bounding' makes concentrations too "
        f"small by one part in {n_features - 1}, those of wide clusters by up to two in "
        f"{n_features}; 'variational-sampling' does not.",
    )


def said_of_caps(high: Float, max_kappa: float, why: str, whose: str = "") -> tuple[str, ...]:
    """high : upper ends of the concentrations' intervals."""
    capped = int((high >= 0.99 * max_kappa).sum())
    if not capped:
        return ()
    return (f"{capped} concentration(s){whose} reached 'max_kappa' = {max_kappa:g}: {why}.",)
