"""Which attributes explain the splits of a maximum-margin hierarchy: 50 animals with 85 attributes.

The paper's figure 3: a tree with `N_LEAVES` leaves over the animals of Animals with Attributes,
whose features have names (how far each holds of the animal, rows of length 1). Each row is a node:
its animals, and the attributes that draw animals into it and that keep them out of it, the largest
weights first. `bench-output/attributes.png` draws the same. Then figure 4: the share of weights
that are 0 in each variant with both trade-offs at 1, and the overlap of a split's features with its
ancestors', means and standard deviations over seeds.

Result: the first split tells animals with hooves that graze, or of the arctic, from active, furry
eaters of meat; then hunters with paws part from those that eat plants, beasts of the plains from
those with teeth to strain water, cats and dogs of the house from cats and dogs of the forest.
Sparsity with both trade-offs at 1 is .93 for HMMC, HMMC-G and HMMC-1, .81 for HMMC-E, .04 for
HMMC-2; features of ancestors come again least in HMMC and HMMC-E (.01; .07 in HMMC-G and HMMC-1,
.57 in HMMC-2), which alone penalise that.

Source: Zhou et al., "Hierarchical Maximum-Margin Clustering" (2015), figures 3 and 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench import Size, real_data
from bench.margins import VARIANTS
from bench.report import Report
from models.arrays import Float
from models.inputs.data import Data
from models.method import Fitted
from models.registry import method

N_LEAVES = 8
WEIGHT = 0.01
"""alpha and beta of the tree that is shown."""
N_SHOWN = 4
"""The number of attributes shown on either side."""

_FILES = ("awa-classes.txt", "awa-predicates.txt", "awa-predicate-matrix-continuous.txt")
_N_SEEDS: dict[Size, int] = {"quick": 1, "default": 5, "full": 10}


def table(report: Report, size: Size) -> None:
    located = [real_data(file) for file in _FILES]
    if any(path is None for path in located):
        report.left_out("attributes", "awa")
        return
    animals, attributes, features = loaded(*(path for path in located if path is not None))
    fitted = fit(features, attributes, {"alpha": WEIGHT, "beta": WEIGHT, "n_init": 10})
    for row in nodes(fitted, animals):
        report.row("attributes", **row)
    report.heading("figure 4: both trade-offs at 1")
    for called, regularizer in VARIANTS.items():
        params = {"alpha": 1.0, "beta": 1.0, "regularizer": regularizer}
        runs = [
            fit(features, attributes, {**params, "seed": seed}).metrics
            for seed in range(_N_SEEDS[size])
        ]
        columns = {
            name: f"{np.mean(values):.3f} +- {np.std(values):.3f}"
            for name in ("sparsity", "exclusive_overlap")
            for values in [[run[name] for run in runs]]
        }
        report.row("attributes: sparsity", what=called, **columns)


def loaded(animals: Path, attributes: Path, matrix: Path) -> tuple[list[str], list[str], Float]:
    """Names of animals and of attributes, and rows of length 1; unknown strengths count as 0."""
    names = [
        [line.split()[1].replace("+", " ") for line in path.read_text().splitlines()]
        for path in (animals, attributes)
    ]
    strength = np.maximum(np.loadtxt(matrix), 0.0)
    return *names, strength / np.linalg.norm(strength, axis=1, keepdims=True)


def fit(features: Float, attributes: Sequence[str], params: Mapping[str, Any]) -> Fitted:
    hmmc = method("hmmc")
    data = Data({"features": features, "feature_names": np.array(attributes, dtype=object)})
    return hmmc.fit(data, hmmc.Params(max_leaves=N_LEAVES, **params))


def nodes(fitted: Fitted, animals: Sequence[str]) -> list[dict[str, Any]]:
    """A row for each node, parents first. `parent` is None for the root."""
    tree = fitted.tree
    rows = []
    for node in range(tree.n_nodes):
        weights = tree.extra["own_features"][node] or ()
        inside = np.array(animals)[tree.leaf_of_point == node]
        rows.append(
            {
                "node": node,
                "parent": int(tree.parent[node]) if node else None,
                "n": int(tree.size[node]),
                "draws_in": _named(weights, 1.0),
                "keeps_out": _named(weights, -1.0),
                "animals": ", ".join(inside) or None,
            }
        )
    return rows


def _named(weights: Sequence[Mapping[str, Any]], sign: float) -> str:
    chosen = [entry["feature"] for entry in weights if sign * entry["weight"] > 0]
    return ", ".join(chosen[:N_SHOWN])
